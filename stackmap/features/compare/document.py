"""Two recordings side by side: one table per volume, and the conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackmap.document.blocks import (
    RANGE,
    Block,
    Column,
    Headline,
    Label,
    Listing,
    Paragraph,
    Row,
    Rows,
    Table,
    Terms,
    Value,
)
from stackmap.document.interval import instant
from stackmap.document.wording import plural
from stackmap.features.compare.comparison import (
    Comparison,
    FigureComparison,
    StackComparison,
    StackRecord,
)
from stackmap.features.compare.estimate import Estimate
from stackmap.features.compare.recording import Recording
from stackmap.features.compare.sentences import (
    LOAD,
    caveats,
    change_of,
    conclusions,
    range_of,
    value_of,
)
from stackmap.features.compare.sums import LAST, TOP
from stackmap.features.compare.volume_pairs import Unmatched

MEANINGS = {
    "arrived per": "Requests arriving at a layer per request of the top, before merging.",
    "completed per": "Requests that the disks completed after merging, per request of the top.",
    "with reads": "With the reads that writes cause.",
    "change": "Increase or decrease in percent; from three times on, after ÷ before (×3.55).",
    "95 % interval": "The change lies in this range with 95 % confidence.",
    "*": "The change is significant.",
}
COLUMNS = (
    Column("", "figure", ("direction", "unit"), is_text=True),
    Column("before", "before"),
    Column("after", "after"),
    Column("change", "ratio", RANGE),
    Column("95 % interval"),
    Column("", "significant"),
)
ROWS = LOAD | {
    ("bytes/s", "read"): "KiB/s read",
    ("bytes/s", "write"): "KiB/s written",
    ("flushes", "total"): "flushes/s",
    ("requests", "read"): "arrived per read",
    ("requests", "write"): "arrived per write",
    ("requests", "total"): "arrived per request",
    ("bytes", "read"): "bytes per byte read",
    ("bytes", "write"): "bytes per byte written",
    ("bytes", "total"): "bytes per byte",
    ("disk_bytes", "total"): "disk bytes per byte",
    ("shrink", "read"): "shrink of reads",
    ("shrink", "write"): "shrink of writes",
    ("shrink", "total"): "shrink",
    ("coalescing", "read"): "coalescing of reads",
    ("coalescing", "write"): "coalescing of writes",
    ("coalescing", "total"): "coalescing",
    ("completed", "read"): "completed per read",
    ("completed", "write"): "completed per write",
    ("completed", "total"): "completed per request",
    ("write_cost", "write"): "completed per write, with reads",
    ("disk_bytes", "write"): "disk bytes per byte written",
    ("await", "read"): "read await, ms",
    ("await", "write"): "write await, ms",
    ("await", "total"): "await, ms",
}
UNITS = {"/s": "requests/s", "B/s": "bytes/s", "B": "bytes"}  # in CSV; others as they are
# Left out of the table: they follow from other rows. The JSON has them.
DERIVED = {("shrink", "read"), ("shrink", "write"), ("coalescing", "read"), ("coalescing", "write")}


def document(found: Comparison) -> Iterator[Block]:
    """Yield what ``compare`` prints: the volumes, the conclusions first, and then what was compared."""
    for stack in found.stacks:
        yield Headline(_title(stack))
        first, *others = conclusions(stack)
        yield Paragraph(first, headline=True)
        if others:
            yield Listing(tuple(others))
        yield _table(stack)
        yield Listing(tuple(caveats(stack)))
    if found.unmatched:
        yield Listing((_left_out(found.unmatched),))
    yield Terms((("before", _recording(found.before)), ("after", _recording(found.after))))


def _recording(recorded: Recording) -> str:
    """Return the source of one side, how much it measured and when it began."""
    length = "" if recorded.length is None else f" of {recorded.length:.1f} s"
    parts = (f"{plural(recorded.count, 'interval')}{length}", instant(recorded.start))
    return f"{recorded.source}: {', '.join(filter(None, parts))}"


def _left_out(unmatched: Sequence[Unmatched]) -> str:
    """Return which volumes are a top on one side only."""
    parts = []
    for when, other in (("after", "before"), ("before", "after")):
        names = [each.title for each in unmatched if each.when == when]
        if names:
            parts.append(f"{', '.join(names)}: a top {other}, below another {when}")
    return f"Left out: {'; '.join(parts)}."


def _title(stack: StackComparison) -> tuple[str, ...]:
    before, after = stack.before.top, stack.after.top
    names = list(dict.fromkeys(filter(None, (before.title, after.title))))
    devices = list(dict.fromkeys((before.name, after.name)))
    layouts = dict.fromkeys(map(_layouts, (stack.before, stack.after)))
    kernel = "" if devices == names else f" ({' → '.join(devices)})"
    return f"{' → '.join(names)}{kernel}", " → ".join(layouts)


def _layouts(side: StackRecord) -> str:
    """Return the layouts that spread a side's data, with their device where it is not the top."""
    layouts = (
        str(raid.layout) if raid is side.top else f"{raid.layout} of {raid.title}"
        for raid in side.raids
    )
    return ", ".join(layouts) or str(side.top.layout or "no RAID")


def _table(stack: StackComparison) -> Table:
    """Return the load and then each layer's figures, top first and disks last."""
    groups = (("load", "load", stack.load), *_by_layer(stack))
    return Table(
        f"compare-{stack.before.top.name}",
        COLUMNS,
        tuple(
            Rows(
                tuple(_row(e) for e in figures if (e.figure.key, e.direction) not in DERIVED),
                name,
                layer,
            )
            for layer, name, figures in groups
            if figures
        ),
        about=(("volume_before", stack.before.top.title), ("volume_after", stack.after.top.title)),
        group="layer",
    )


def _by_layer(stack: StackComparison) -> Iterator[tuple[str, str, tuple[FigureComparison, ...]]]:
    """Yield each layer with its title and its figures."""
    every = (*stack.ratios, *stack.waits)
    order = dict.fromkeys(each.layer for each in (*stack.waits, *stack.ratios))
    for layer in sorted(order, key=lambda layer: (layer != TOP, layer == LAST)):
        figures = tuple(each for each in every if each.layer == layer)
        yield layer, _layer_name(stack, layer), figures


def _layer_name(stack: StackComparison, layer: str) -> str:
    """Return the layer with its number of devices, before → after where it changed."""
    if layer == TOP:
        return "top"
    counts = [len(side.sums.devices.get(layer, ())) for side in (stack.before, stack.after)]
    return f"{layer} ({' → '.join(dict.fromkeys(str(count or '-') for count in counts))})"


def _row(compared: FigureComparison) -> Row:
    figure, direction, change = compared.figure, compared.direction, compared.change
    key = "bytes/s" if figure.unit == "B/s" else figure.key
    names = (figure.key, direction, UNITS.get(figure.unit, figure.unit))
    ends = (None, None, None) if change is None else change[:3]
    return (
        Label(f"  {ROWS[key, direction]}", names),
        *(_side(compared, estimate) for estimate in (compared.before, compared.after)),
        Value(ends[0], lambda _: change_of(change), *ends[1:]),
        range_of(change),
        Label("*" if compared.significant else "", (str(compared.significant).lower(),)),
    )


def _side(compared: FigureComparison, estimate: Estimate | None) -> Value:
    number = None if estimate is None else estimate.value
    return Value(number, lambda _: value_of(compared, estimate))
