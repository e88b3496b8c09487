"""Charts and bars as static SVG, for readers without scripts and for print; the page's style has their colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from stackmap.document.blocks import Bar, Bars, Chart, Line
from stackmap.document.wording import with_band
from stackmap.render.html.axes import largest, places, scale_of, ticks, x_ticks
from stackmap.render.html.markup import Markup, tag

WIDE, HIGH = 480, 190
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 10, 22
BAR = 0.8  # width of a bar, as a share of its room
DOTS = 30  # up to so many points get a dot each
BARS_WIDE, BAR_ROW, BAR_HIGH = 760, 34, 20
LABELS, FIGURES = 230, 150  # room beside bars

Place = Callable[[float], float]


def plot(chart: Chart) -> Markup:
    """Return *chart* as SVG; the page's style has its colours."""
    scale = scale_of(chart)
    marks = ticks(largest(chart) / scale.factor)
    has_bars = chart.axis in ("hour", "size")
    along = places(chart)
    ends = (-0.5, len(along) - 0.5) if has_bars else (along[0], along[-1])
    x = _placed(ends, (LEFT, WIDE - RIGHT))
    y = _placed((0.0, marks[-1] * scale.factor), (HIGH - BOTTOM, TOP))
    draw = _bars if has_bars else _line
    parts = [_grid(y(mark * scale.factor), f"{mark:g}") for mark in marks]
    parts += [_mark(x(at), words) for at, words in x_ticks(chart)]
    parts += [
        draw(line, number, [x(at) for at in along], y, len(chart.lines))
        for number, line in enumerate(chart.lines)
    ]
    return tag(
        "svg",
        *parts,
        klass="still",
        viewBox=f"0 0 {WIDE} {HIGH}",
        role="img",
        aria_label=f"{chart.title}. {chart.words}",
    )


def _placed(values: tuple[float, float], pixels: tuple[float, float]) -> Place:
    least, most = values
    span = (most - least) or 1.0
    return lambda value: pixels[0] + (value - least) / span * (pixels[1] - pixels[0])


def _grid(y: float, words: str) -> Markup:
    return tag(
        "g",
        tag("line", klass="grid", x1=f"{LEFT}", x2=f"{WIDE - RIGHT}", y1=_n(y), y2=_n(y)),
        tag("text", words, x=f"{LEFT - 5}", y=_n(y + 3.5), text_anchor="end"),
    )


def _mark(x: float, words: str) -> Markup:
    return tag("text", words, x=_n(x), y=f"{HIGH - 6}", text_anchor="middle")


def _line(line: Line, number: int, xs: Sequence[float], y: Place, _: int) -> Markup:
    """Return a line with gaps for unknown values, and its extremes as an area."""
    known = [place for place, value in enumerate(line.values) if value is not None]
    paths = []
    for run in _runs(known):
        if line.high:
            edge = [(xs[at], line.high[at]) for at in run]
            edge += [(xs[at], line.low[at]) for at in reversed(run)]
            paths.append(tag("path", klass=f"range s{number}", d=_path(edge, y) + "Z"))
        paths.append(
            tag("path", klass=f"line s{number}", d=_path([(xs[a], line.values[a]) for a in run], y))
        )
    if len(known) <= DOTS:
        paths += [
            tag(
                "circle",
                klass=f"dot s{number}",
                cx=_n(xs[at]),
                cy=_n(y(line.values[at] or 0.0)),
                r="2",
            )
            for at in known
        ]
    return tag("g", *paths)


def _runs(known: Sequence[int]) -> list[list[int]]:
    return [
        [place for _, place in run]
        for _, run in groupby(enumerate(known), key=lambda pair: pair[1] - pair[0])
    ]


def _path(points: Sequence[tuple[float, float | None]], y: Place) -> str:
    return "M" + "L".join(f"{_n(x)} {_n(y(value or 0.0))}" for x, value in points)


def _bars(line: Line, number: int, xs: Sequence[float], y: Place, lines: int) -> Markup:
    room = (WIDE - LEFT - RIGHT) / max(1, len(xs)) * BAR
    wide = room / lines
    return tag(
        "g",
        *(
            tag(
                "rect",
                klass=f"bar s{number}",
                x=_n(x - room / 2 + wide * number),
                y=_n(y(value)),
                width=_n(wide),
                height=_n(y(0.0) - y(value)),
            )
            for x, value in zip(xs, line.values, strict=True)
            if value
        ),
    )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def bars(block: Bars) -> Markup:
    """Return *block* as SVG; the page's style has its colours."""
    most = max((max(bar.value, bar.high or 0.0) for bar in block.bars), default=0.0) or 1.0
    rows = [_row(block, bar, place, most) for place, bar in enumerate(block.bars)]
    high = BAR_ROW * len(block.bars)
    words = "; ".join(f"{bar.label}: {with_band(block.unit, bar)}" for bar in block.bars)
    return tag(
        "svg",
        *rows,
        klass="bars",
        viewBox=f"0 0 {BARS_WIDE} {high}",
        role="img",
        aria_label=f"{block.title}. {words}",
    )


def _row(block: Bars, bar: Bar, place: int, most: float) -> Markup:
    top = place * BAR_ROW + (BAR_ROW - BAR_HIGH) / 2
    middle = top + BAR_HIGH / 2
    room = BARS_WIDE - LABELS - FIGURES

    def at(value: float) -> str:
        return f"{LABELS + value / most * room:.1f}"

    parts = [
        tag("text", bar.label, x=f"{LABELS - 10}", y=f"{middle + 4:.0f}", text_anchor="end"),
        tag(
            "rect",
            klass="bar s0" if bar.low is None else "bar s1",
            x=f"{LABELS}",
            y=f"{top:.0f}",
            width=f"{bar.value / most * room:.1f}",
            height=f"{BAR_HIGH}",
        ),
    ]
    end = bar.value
    if bar.low is not None and bar.high is not None:
        end = max(end, bar.high)
        ends = "".join(f"M{at(x)} {middle - 5:.0f}v10" for x in (bar.low, bar.high))
        path = f"M{at(bar.low)} {middle:.0f}H{at(bar.high)}{ends}"
        parts.append(tag("path", klass="whisker", d=path))
    x = f"{LABELS + end / most * room + 8:.1f}"
    parts.append(
        tag("text", with_band(block.unit, bar), klass="figure", x=x, y=f"{middle + 4:.0f}")
    )
    return tag("g", *parts)
