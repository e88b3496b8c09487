"""Figures to compare, as static SVG: a bar each, with a whisker over its band."""

from __future__ import annotations

from stackmap.document.blocks import Bar, Bars
from stackmap.document.wording import with_band
from stackmap.render.html.markup import Markup, tag

WIDE, ROW, HIGH = 760, 34, 20
LEFT, RIGHT = 230, 150  # room for labels and figures


def bars(block: Bars) -> Markup:
    """Return *block* as SVG; the page's style has its colours."""
    most = max((max(bar.value, bar.high or 0.0) for bar in block.bars), default=0.0) or 1.0
    rows = [_row(block, bar, place, most) for place, bar in enumerate(block.bars)]
    high = ROW * len(block.bars)
    words = "; ".join(f"{bar.label}: {with_band(block.unit, bar)}" for bar in block.bars)
    return tag(
        "svg",
        *rows,
        klass="bars",
        viewBox=f"0 0 {WIDE} {high}",
        role="img",
        aria_label=f"{block.title}. {words}",
    )


def _row(block: Bars, bar: Bar, place: int, most: float) -> Markup:
    top = place * ROW + (ROW - HIGH) / 2
    middle = top + HIGH / 2
    room = WIDE - LEFT - RIGHT

    def at(value: float) -> str:
        return f"{LEFT + value / most * room:.1f}"

    parts = [
        tag("text", bar.label, x=f"{LEFT - 10}", y=f"{middle + 4:.0f}", text_anchor="end"),
        tag(
            "rect",
            klass="bar s0" if bar.low is None else "bar s1",
            x=f"{LEFT}",
            y=f"{top:.0f}",
            width=f"{bar.value / most * room:.1f}",
            height=f"{HIGH}",
        ),
    ]
    end = bar.value
    if bar.low is not None and bar.high is not None:
        end = max(end, bar.high)
        ends = "".join(f"M{at(x)} {middle - 5:.0f}v10" for x in (bar.low, bar.high))
        path = f"M{at(bar.low)} {middle:.0f}H{at(bar.high)}{ends}"
        parts.append(tag("path", klass="whisker", d=path))
    x = f"{LEFT + end / most * room + 8:.1f}"
    parts.append(
        tag("text", with_band(block.unit, bar), klass="figure", x=x, y=f"{middle + 4:.0f}")
    )
    return tag("g", *parts)
