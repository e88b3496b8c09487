"""Charts and bars as static SVG, for readers without scripts and for print; the page's style has their colours."""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from stackmap.document.blocks import Bar, Bars, Chart, Line
from stackmap.document.wording import KIB, SIZES, size, with_band
from stackmap.render.html import Markup, tag

MARKS = 5  # about so many per axis
NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
# Seconds between marks of a time axis.
PACES = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
    172800, 604800,
)  # fmt: skip
DAY = 86400


class Scale(NamedTuple):
    """The unit that a chart shows, and its size in the chart's own unit."""

    unit: str
    factor: float


def scale_of(chart: Chart) -> Scale:
    """Return the unit that fits the largest value; for bytes a power of 1024."""
    if chart.unit == "share":
        return Scale("%", 0.01)
    if chart.unit != "bytes/s":
        return Scale(chart.unit, 1.0)
    power, rest = 0, largest(chart)
    while rest >= KIB and power < len(SIZES) - 1:
        power, rest = power + 1, rest / KIB
    return Scale(f"{SIZES[power]}/s", float(KIB**power))


def largest(chart: Chart) -> float:
    """Return the largest value of any line, extremes included."""
    every = (v for line in chart.lines for v in (*line.values, *line.high) if v is not None)
    return max(every, default=0.0)


def ticks(most: float, count: int = MARKS) -> tuple[float, ...]:
    """
    Return marks from 0 to at least *most*, at round numbers.

    >>> ticks(140.3)
    (0.0, 50.0, 100.0, 150.0)
    """
    if most <= 0:
        return (0.0, 1.0)
    rough = most / (count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in NICE if nice * power >= rough * (1 - 1e-9))
    return tuple(step * place for place in range(math.ceil(most / step - 1e-9) + 1))


def time_ticks(start: float, end: float, count: int = MARKS + 1) -> list[tuple[float, str]]:
    """
    Return marks between two instants, with labels in UTC.

    >>> time_ticks(1795257542.8, 1795257552.8, 4)
    [(1795257545.0, '10:39:05'), (1795257550.0, '10:39:10')]
    """
    pace = next((p for p in PACES if (end - start) / p <= count), PACES[-1])
    first = math.ceil(start / pace) * pace
    form = "%H:%M:%S" if pace < 60 else "%H:%M" if pace < DAY else "%m-%d"
    marks = range(first, math.floor(end) + 1, pace)
    return [(float(at), datetime.fromtimestamp(at, UTC).strftime(form)) for at in marks]


def x_ticks(chart: Chart) -> list[tuple[float, str]]:
    """Return the marks of a chart's x axis; bars count from 0."""
    if chart.axis == "time":
        return time_ticks(chart.x[0], chart.x[-1])
    if chart.axis == "number":
        step = max(1, math.ceil(len(chart.x) / 8))
        return [(x, f"{x:g}") for x in chart.x[::step]]
    step = max(1, math.ceil(len(chart.x) / 12))
    return [(float(place), label(chart, place)) for place in range(0, len(chart.x), step)]


def label(chart: Chart, place: int) -> str:
    """Return the label of the bar at *place*."""
    if chart.axis == "hour":
        return f"{chart.x[place]:02.0f}"
    return size(chart.x[place]) if chart.x[place] else "0"


def places(chart: Chart) -> Sequence[float]:
    """Return the x positions; bars count from 0."""
    return chart.x if chart.axis in ("time", "number") else range(len(chart.x))


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
    parts = [_shade(x(max(a, ends[0])), x(min(b, ends[1]))) for a, b in chart.shaded]
    parts += [_grid(y(mark * scale.factor), f"{mark:g}") for mark in marks]
    parts += [_mark(x(at), words) for at, words in x_ticks(chart)]
    parts += [
        draw(line, number, [x(at) for at in along], y, len(chart.lines))
        for number, line in enumerate(chart.lines)
    ]
    return _svg("still", (WIDE, HIGH), f"{chart.title}. {chart.words}", parts)


def _svg(klass: str, size: tuple[int, int], words: str, parts: Iterable[Markup]) -> Markup:
    box = f"0 0 {size[0]} {size[1]}"
    return tag("svg", *parts, klass=klass, viewBox=box, role="img", aria_label=words)


def _placed(values: tuple[float, float], pixels: tuple[float, float]) -> Place:
    least, most = values
    span = (most - least) or 1.0
    return lambda value: pixels[0] + (value - least) / span * (pixels[1] - pixels[0])


def _shade(left: float, right: float) -> Markup:
    """Return a span of the x axis as an area behind the lines, at least as wide as can be seen."""
    wide = max(2.0, right - left)
    return _rect("shade", _n(left), f"{TOP}", _n(wide), f"{HIGH - BOTTOM - TOP}")


def _rect(klass: str, x: str, y: str, width: str, height: str) -> Markup:
    return tag("rect", klass=klass, x=x, y=y, width=width, height=height)


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
        ends = ((_n(xs[at]), _n(y(line.values[at] or 0.0))) for at in known)
        paths += [tag("circle", klass=f"dot s{number}", cx=x, cy=cy, r="2") for x, cy in ends]
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
    wide, klass = room / lines, f"bar s{number}"
    shown = [
        (_n(x - room / 2 + wide * number), _n(y(value)), _n(wide), _n(y(0.0) - y(value)))
        for x, value in zip(xs, line.values, strict=True)
        if value
    ]
    return tag("g", *(_rect(klass, *sides) for sides in shown))


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def bars(block: Bars) -> Markup:
    """Return *block* as SVG; the page's style has its colours."""
    most = max((max(bar.value, bar.high or 0.0) for bar in block.bars), default=0.0) or 1.0
    rows = [_row(block, bar, place, most) for place, bar in enumerate(block.bars)]
    words = "; ".join(f"{bar.label}: {with_band(block.unit, bar)}" for bar in block.bars)
    size = (BARS_WIDE, BAR_ROW * len(block.bars))
    return _svg("bars", size, f"{block.title}. {words}", rows)


def _row(block: Bars, bar: Bar, place: int, most: float) -> Markup:
    top = place * BAR_ROW + (BAR_ROW - BAR_HIGH) / 2
    middle = top + BAR_HIGH / 2
    room = BARS_WIDE - LABELS - FIGURES

    def at(value: float) -> str:
        return f"{LABELS + value / most * room:.1f}"

    parts = [
        tag("text", bar.label, x=f"{LABELS - 10}", y=f"{middle + 4:.0f}", text_anchor="end"),
        _rect(
            "bar s0" if bar.low is None else "bar s1",
            *(f"{LABELS}", f"{top:.0f}", f"{bar.value / most * room:.1f}", f"{BAR_HIGH}"),
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
