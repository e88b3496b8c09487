"""The figures of a stack: one row per layer, then what they mean in sentences."""

from collections.abc import Iterable, Iterator

from stackmap.document import blocks as doc
from stackmap.document.describe import layout
from stackmap.document.interval import dated, span
from stackmap.document.sentences import sentences
from stackmap.document.wording import await_directions, divided, kib, known_directions
from stackmap.ledger.amplification import COLUMNS, LAYER_METRICS, LayerFigures, StackFigures
from stackmap.model.interval import Interval
from stackmap.model.raid import Layout
from stackmap.model.topology import is_inferred

NAME = doc.Column("", "layer", ("devices",), is_text=True)
FIGURES = [doc.Column(metric.heading, metric.key) for metric in COLUMNS]
FIGURES[0] = FIGURES[0]._replace(beside=("estimated",))
# Bytes, which a table may divide over several disks.
FIGURES[1] = FIGURES[1]._replace(beside=doc.RANGE)
PER_REQUEST = ("iops_amplification", "shrink")  # at the top
MEANINGS = {metric.title: metric.help for metric in LAYER_METRICS if metric.title}
TITLES = {"read": "READS", "write": "WRITES", "total": "READS AND WRITES"}
LEGEND = (
    "IOPS × top: requests arriving here (before merging) ÷ requests at the top; shrink: request "
    "size at the top ÷ size on arrival here; size and IOPS: after merging; coalescing: arrived ÷ "
    "completed; accounted: arrived ÷ sent by the layer above; ~ estimate; - unknown; empty: does "
    "not apply"
)
WITH_PARITY = ", parity reads included"
TOTALS = {"IOPS": "requests", "KiB/s": "KiB"}
IDLE = "no I/O in this interval"
UNKNOWN = "the top has no figures for the whole interval: its I/O is unknown"


def layers_document(
    stacks: Iterable[StackFigures], interval: Interval, *, time: bool = False, why: bool = False
) -> Iterator[doc.Block]:
    """
    Yield the table and the sentences of each stack; the last table has the legend.

    *time*: with the end of the interval. *why*: with the reasons of corrections.
    """
    whole = (block for stack in stacks for block in _stack(stack, span(interval)))
    blocks = map(_of_totals, whole) if interval.totals else whole
    return dated(_with_legend(blocks), interval, time=time, why=why)


def _of_totals(block: doc.Block) -> doc.Block:
    """Return *block*, a table with the headings of totals: its figures are no rates."""
    if not isinstance(block, doc.Table):
        return block
    return block._replace(
        columns=tuple(
            column._replace(heading=TOTALS.get(column.heading, column.heading))
            for column in block.columns
        )
    )


def _with_legend(blocks: Iterable[doc.Block]) -> Iterator[doc.Block]:
    held: list[doc.Block] = []  # the newest table, and the blocks after it
    for block in blocks:
        if isinstance(block, doc.Table):
            yield from held
            held = []
        held.append(block)
    for block in held:
        yield block._replace(legend=LEGEND) if isinstance(block, doc.Table) else block


def _stack(stack: StackFigures, when: str) -> list[doc.Block]:
    words = layout_words(stack.top.layout)
    if is_inferred(stack.ledger.topology, stack.top.name):
        words = f"{words}, inferred" if words else "layout inferred"
    headline = doc.Headline((stack.top.full_title, words, when))
    table = layers_table(stack)
    if table is None:
        parts = [stack.layers[0].share.part(direction) for direction in TITLES]
        known = any(part.arrivals is not None or part.bytes is not None for part in parts)
        return [headline, doc.Paragraph(IDLE if known else UNKNOWN)]
    remarks = sentences(stack)
    return [headline, table, *([doc.Listing(tuple(remarks))] if remarks else [])]


def layers_table(stack: StackFigures) -> doc.Table | None:
    """Return the table of *stack*, in groups reads, writes, and both where only they have an await; None if nothing moved."""
    head = stack.layers[0]
    caused = WITH_PARITY * any(f.parity_reads and f.parity_reads.ios for f in stack.layers)
    groups = [
        doc.Rows(rows, TITLES[direction] + caused * (direction == "read"), direction)
        for direction in dict.fromkeys((*known_directions(head), *await_directions(head)))
        if (rows := _rows(stack, direction))
    ]
    if not groups:
        return None
    return doc.Table(
        f"layers-{stack.top.name}",
        (NAME, *FIGURES),
        tuple(groups),
        about=(("stack", stack.top.title), ("device", stack.top.name)),
        group="direction",
    )


def _rows(stack: StackFigures, direction: str) -> tuple[doc.Row, ...]:
    """Return a row per layer and one per layer's metadata, () if nothing moved."""
    parts = [figures.share.part(direction) for figures in stack.layers]
    if not any(part.arrivals or part.bytes for part in parts):
        return ()
    rows: list[doc.Row] = []
    for figures in stack.layers:
        rows.append(_row(figures, direction))
        metadata = figures.layer.metadata
        if metadata and figures.metadata[direction].ios:
            flow = figures.metadata[direction]
            names = (f"{figures.layer.role} metadata", " ".join(metadata))
            cells = (
                doc.Value(flow.ios, divided()),
                doc.Value(flow.bytes, kib),
                doc.Value(flow.size, kib),
                doc.Value(flow.await_ms, divided()),
            )
            rows.append((doc.Label(f" {len(metadata)} metadata", names), *cells, *[""] * 5))
    return tuple(rows)


def _row(figures: LayerFigures, direction: str) -> doc.Row:
    flow, layer = figures.share.part(direction), figures.layer
    name = counted(len(layer.devices), layer.word)
    requests, moved, *others = (
        doc.Value(metric.value(figures, direction), divided(metric.divisor, metric.digits))
        for metric in COLUMNS
    )
    estimated = flow.is_range or (figures.share.divided and flow.ios != flow.arrivals)
    if figures.per_counted_piece(direction):
        others = [
            value._replace(estimated=metric.key in PER_REQUEST)
            for metric, value in zip(COLUMNS[2:], others, strict=True)
        ]
    if flow.is_range:
        low, high = flow.bounds
        moved = moved._replace(low=low.bytes, high=high.bytes)
    label = doc.Label(name, (layer.role, " ".join(layer.devices)))
    return (label, requests._replace(estimated=estimated), moved, *others)


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
