"""The figures of a stack: one row per layer, then what they mean in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.document.blocks import Block, Headline, Listing, Paragraph, Rows, Table
from stackmap.document.describe import layout
from stackmap.document.interval import dated, span
from stackmap.document.stack_sentences import sentences
from stackmap.document.units import kib, number, rate
from stackmap.document.wording import await_directions, known_directions
from stackmap.ledger.amplification import LayerFigures, StackFigures
from stackmap.ledger.layer_metrics import COLUMNS, LayerMetric
from stackmap.model.interval import Interval
from stackmap.model.raid import Layout

TITLES = {"read": "READS", "write": "WRITES", "total": "READS AND WRITES"}
LEGEND = (
    "IOPS × top: requests arriving here (before merging) ÷ requests at the top; shrink: request "
    "size at the top ÷ size on arrival here; size and IOPS: after merging; coalescing: arrived ÷ "
    "completed; accounted: arrived ÷ sent by the layer above; ~ estimate; - unknown; empty: does "
    "not apply"
)
WITH_PARITY = ", parity reads included"
IDLE = "no I/O in this interval"
UNKNOWN = "the top has no figures for the whole interval: its I/O is unknown"


def layers_document(
    stacks: Iterable[StackFigures], interval: Interval, *, time: bool = False, why: bool = False
) -> Iterator[Block]:
    """
    Yield the table and the sentences of each stack; the last table has the legend.

    *time*: with the end of the interval. *why*: with the reasons of corrections.
    """
    blocks = (block for stack in stacks for block in _stack(stack, span(interval)))
    return dated(_with_legend(blocks), interval, time=time, why=why)


def _with_legend(blocks: Iterable[Block]) -> Iterator[Block]:
    held: list[Block] = []  # the newest table, and the blocks after it
    for block in blocks:
        if isinstance(block, Table):
            yield from held
            held = []
        held.append(block)
    for block in held:
        yield block._replace(legend=LEGEND) if isinstance(block, Table) else block


def _stack(stack: StackFigures, when: str) -> list[Block]:
    headline = Headline((stack.top.full_title, layout_words(stack.top.layout), when))
    table = layers_table(stack)
    if table is None:
        return [headline, Paragraph(IDLE if _is_known(stack) else UNKNOWN)]
    found = sentences(stack)
    return [headline, table, *([Listing(tuple(found))] if found else [])]


def _is_known(stack: StackFigures) -> bool:
    """Whether there is any figure of the top."""
    parts = [stack.layers[0].share.part(direction) for direction in TITLES]
    return any(part.arrivals is not None or part.bytes is not None for part in parts)


def layers_table(stack: StackFigures) -> Table | None:
    """Return the table of *stack*, reads and writes in groups; None if nothing moved."""
    groups = [
        Rows(rows, _title(stack, direction))
        for direction in _directions(stack)
        if (rows := _rows(stack, direction))
    ]
    headings = ("", *(metric.heading for metric in COLUMNS))
    return Table(f"layers-{stack.top.name}", headings, tuple(groups)) if groups else None


def _title(stack: StackFigures, direction: str) -> str:
    caused = direction == "read" and any(
        f.parity_reads and f.parity_reads.ios for f in stack.layers
    )
    return TITLES[direction] + (WITH_PARITY if caused else "")


def _directions(stack: StackFigures) -> tuple[str, ...]:
    """Return reads and writes, then both together where only they have an await."""
    head = stack.layers[0]
    return tuple(dict.fromkeys((*known_directions(head), *await_directions(head))))


def _rows(stack: StackFigures, direction: str) -> tuple[tuple[str, ...], ...]:
    """Return a row per layer and one per layer's metadata, () if nothing moved."""
    parts = [figures.share.part(direction) for figures in stack.layers]
    if not any(part.arrivals or part.bytes for part in parts):
        return ()
    rows: list[tuple[str, ...]] = []
    for figures in stack.layers:
        rows.append(_row(figures, direction))
        if figures.layer.metadata and figures.metadata[direction].ios:
            flow, count = figures.metadata[direction], len(figures.layer.metadata)
            cells = (rate(flow.ios), kib(flow.bytes), kib(flow.size), rate(flow.await_ms))
            rows.append((f" {count} metadata", *cells, *[""] * 5))
    return tuple(rows)


def _row(figures: LayerFigures, direction: str) -> tuple[str, ...]:
    flow = figures.share.part(direction)
    first, *others = (_cell(metric, metric.value(figures, direction)) for metric in COLUMNS)
    estimated = flow.is_range or (figures.share.divided and flow.ios != flow.arrivals)
    return (
        counted(len(figures.layer.devices), figures.layer.word),
        ("~" if estimated else "") + first,
        *others,
    )


def _cell(metric: LayerMetric, value: float | None) -> str:
    shown = None if value is None else value / metric.divisor
    return rate(shown) if metric.digits is None else number(shown, metric.digits)


def layout_words(shape: Layout | None) -> str:
    """Return a layout and its chunk, "" without one."""
    if shape is None:
        return ""
    return f"{layout(shape)} chunk" if shape.chunk else str(shape)


def counted(count: int, role: str) -> str:
    """
    Return a layer's devices as a count and a noun.

    >>> counted(4, "members"), counted(1, "disks"), counted(1, "volume")
    ('4 members', '1 disk', '1 volume')
    """
    return f"{count} {role.removesuffix('s') if count == 1 else role}"
