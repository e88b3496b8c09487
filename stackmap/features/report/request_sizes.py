"""The section on request sizes: at the top, and mean sizes per layer."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.document import blocks as doc
from stackmap.document.wording import REQUESTS, kib, known_directions, percent, sentence, size
from stackmap.features.report.figures import Report
from stackmap.features.report.size_classes import span
from stackmap.ledger.amplification import StackFigures
from stackmap.model.load import ratio

CAVEAT = (
    "The kernel counts requests and bytes, not the size of each request. The chart uses the mean size "
    "of each interval. Small and large requests in the same interval appear as a size in between."
)


def section(report: Report) -> doc.Section:
    """Return one part per stack."""
    parts = [doc.Part(s.top.full_title, tuple(_blocks(report, s))) for s in report.stacks]
    return doc.Section("sizes", "Request sizes", (doc.Paragraph(CAVEAT), *doc.side_by_side(parts)))


def _blocks(report: Report, stack: StackFigures) -> Iterator[doc.Block]:
    found = {
        direction: classes
        for direction in known_directions(stack.layers[0])
        if (classes := report.sizes.of(stack.top.name, direction))
    }
    if found:
        yield _chart(stack, found)
    yield _mean_sizes(stack)


def _chart(stack: StackFigures, found: dict[str, dict[int, float]]) -> doc.Chart:
    """Return the share of requests per size class, by direction."""
    every = span(each for classes in found.values() for each in classes)
    shares = {
        direction: {each: count / sum(classes.values()) for each, count in classes.items()}
        for direction, classes in found.items()
    }
    lines = tuple(
        doc.Line(REQUESTS[direction], tuple(classes.get(each, 0.0) for each in every))
        for direction, classes in shares.items()
    )
    words = "; ".join(
        f"{percent(max(classes.values()))} of the {REQUESTS[direction]} were "
        f"{_class(max(classes, key=lambda each: classes[each]))}"
        for direction, classes in shares.items()
    )
    return doc.Chart(
        f"sizes-{stack.top.name}",
        f"Requests by size at {stack.top.title}",
        "share",
        "size",
        tuple(map(float, every)),
        lines,
        sentence(words),
    )


def _class(low: int) -> str:
    return f"{size(low)} to under {size(low * 2)}" if low else "without data (flushes)"


def _mean_sizes(stack: StackFigures) -> doc.Table:
    directions = known_directions(stack.layers[0])
    rows: list[doc.Row] = []
    for figures in stack.layers:
        flows = [figures.share.part(direction) for direction in directions]
        sizes = ((ratio(flow.bytes, flow.arrivals), flow.size) for flow in flows)
        cells = (doc.Value(mean, kib) for pair in sizes for mean in pair)
        rows.append((figures.layer.word, *cells))
    headings = ["Layer"]
    for direction in directions:
        name = REQUESTS[direction].capitalize()
        headings += [f"{name} arriving, KiB", f"{name} completed, KiB"]
    return doc.Table(
        f"mean-sizes-{stack.top.name}",
        doc.plain_columns(headings),
        (doc.Rows(tuple(rows)),),
        caption="Mean sizes per layer: as requests arrive, and as they complete after merging",
    )
