"""The section on how large requests are, at the top and on the way down."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.report import Report
from stackmap.analysis.size_classes import span
from stackmap.document.blocks import (
    Block,
    Chart,
    Line,
    Paragraph,
    Part,
    Rows,
    Section,
    Table,
    side_by_side,
)
from stackmap.document.report.names import REQUESTS, known_directions, sentence
from stackmap.document.units import kib, size
from stackmap.model.load import ratio

CAVEAT = (
    "The kernel counts requests and bytes, not the size of each request. So the chart shares out the "
    "requests by the mean size of the interval that they fell in: where large and small ones are mixed "
    "in every interval, it shows the size between them."
)


def section(report: Report) -> Section:
    """Return the classes of sizes at each top, and the mean sizes of each layer."""
    parts = [Part(s.top.full_title, tuple(_blocks(report, s))) for s in report.stacks]
    return Section("sizes", "Sizes of requests", (Paragraph(CAVEAT), *side_by_side(parts)))


def _blocks(report: Report, stack: StackFigures) -> Iterator[Block]:
    directions = known_directions(stack.layers[0])
    chart = _classes(report, stack, directions)
    if chart is not None:
        yield chart
    yield _by_layer(stack, directions)


def _classes(report: Report, stack: StackFigures, directions: tuple[str, ...]) -> Chart | None:
    found = {d: report.sizes.of(stack.top.name, d) for d in directions}
    moved = {d: classes for d, classes in found.items() if classes}
    if not moved:
        return None
    every = span(each for classes in moved.values() for each in classes)
    sums = {d: sum(classes.values()) for d, classes in moved.items()}
    lines = tuple(
        Line(REQUESTS[d], tuple(ratio(classes.get(each, 0.0), sums[d]) for each in every))
        for d, classes in moved.items()
    )
    words = "; ".join(
        f"most {REQUESTS[d]} ({100 * max(classes.values()) / sums[d]:.0f} %) were of "
        f"{_class(max(classes, key=lambda each: classes[each]))}"
        for d, classes in moved.items()
    )
    return Chart(
        f"sizes-{stack.top.name}",
        f"Requests by size at {stack.top.title}",
        "share",
        "size",
        tuple(map(float, every)),
        lines,
        sentence(words),
    )


def _class(least: int) -> str:
    return f"{size(least)} to under {size(least * 2)}" if least else "no bytes (flushes)"


def _by_layer(stack: StackFigures, directions: tuple[str, ...]) -> Table:
    rows = []
    for figures in stack.layers:
        cells = [figures.layer.role]
        for direction in directions:
            flow = figures.share.part(direction)
            cells += [kib(ratio(flow.bytes, flow.arrivals)), kib(flow.size)]
        rows.append(tuple(cells))
    headings = ["Layer"]
    for direction in directions:
        headings += [
            f"{REQUESTS[direction].capitalize()} arriving, KiB",
            f"{REQUESTS[direction].capitalize()} merged, KiB",
        ]
    return Table(
        f"mean-sizes-{stack.top.name}",
        tuple(headings),
        (Rows(tuple(rows)),),
        caption="Mean sizes, layer by layer: as requests arrive, and after they merged",
    )
