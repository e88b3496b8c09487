"""The figures of a stack, a row a layer, with what they say in words below."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.document.stack_sentences import findings
from stackmap.document.units import kib, number, rate
from stackmap.model.interval import Interval
from stackmap.render.intervals import span
from stackmap.render.paragraph import paragraph
from stackmap.render.table import table
from stackmap.render.text import WIDTH, safe

if TYPE_CHECKING:
    from stackmap.model.raid import Layout

DIRECTIONS = {"read": "READS", "write": "WRITES", "total": "BOTH"}
COLUMNS = ("DEV", "IO/s", "KiB/s", "KiB", "await", "xIOPS", "xBYTES", "SHRINK", "COAL", "CLOSURE")


def layers_table(
    stack: StackFigures, interval: Interval, *, heading: bool = True, width: int = WIDTH
) -> str:
    """Return the table of one stack, reads and writes apart, and its finding in *width* columns."""
    top = stack.top
    title = "  ".join(filter(None, (safe(top.full_title), _layout(top.layout), span(interval))))
    head = stack.layers[0].share
    known = [d for d in ("read", "write") if head.part(d).ios is not None] or ["total"]
    parts = [
        [*([(DIRECTIONS[direction], *COLUMNS)] if heading else []), *rows]
        for direction in known
        if (rows := layer_rows(stack, direction))
    ]
    if not parts:
        return f"{title}\nno I/O in this interval\n"
    lines = [title] if heading else []
    lines.append(table(["", *COLUMNS], list(chain.from_iterable(parts)), words=1, heading=False))
    lines += [paragraph(sentence, width) for sentence in findings(stack)]
    return "\n".join(lines) + "\n"


def layer_rows(stack: StackFigures, direction: str) -> list[tuple[str, ...]]:
    """
    Return a row a layer, with one below it for its metadata; none where nothing moved.

    Each has what its first cell names, and then a cell for each of ``COLUMNS``.
    """
    parts = [figures.share.part(direction) for figures in stack.layers]
    if not any(part.arrivals or part.bytes for part in parts):
        return []
    rows: list[tuple[str, ...]] = []
    for figures in stack.layers:
        rows.append(_row(figures, direction))
        if figures.layer.metadata and figures.metadata[direction].ios:
            rows.append(_metadata_row(figures, direction))
    return rows


def _row(figures: LayerFigures, direction: str) -> tuple[str, ...]:
    flow, own = figures.share.part(direction), figures.own[direction]
    guessed = flow.loose or (figures.share.divided and flow.ios != flow.arrivals)
    mark = "~" if guessed else ""
    return (
        figures.layer.role,
        str(len(figures.layer.devices)),
        mark + rate(flow.ios),
        kib(flow.bytes),
        kib(flow.size),
        rate(own.await_ms),
        *(
            number(ratios.get(direction), digits)
            for ratios, digits in (
                (figures.iops_amplification, 2),
                (figures.byte_amplification, 3),
                (figures.shrink, 2),
                (figures.coalescing, 2),
                (figures.closure, 3),
            )
        ),
    )


def _metadata_row(figures: LayerFigures, direction: str) -> tuple[str, ...]:
    flow = figures.metadata[direction]
    return (
        " metadata",
        str(len(figures.layer.metadata)),
        rate(flow.ios),
        kib(flow.bytes),
        kib(flow.size),
        rate(flow.await_ms),
        *[""] * 5,
    )


def _layout(layout: Layout | None) -> str:
    if layout is None:
        return ""
    return f"{layout}, {kib(layout.chunk, 0)} KiB chunk" if layout.chunk else str(layout)
