"""Two recordings beside each other: a table of each volume, and what it says in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackmap.analysis.compare.comparison import (
    Comparison,
    FigureComparison,
    StackComparison,
    StackRecord,
)
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.compare.sums import LAST, TOP
from stackmap.analysis.compare.volume_pairs import Unmatched
from stackmap.document.compare_sentences import change_of, range_of, row_name, sentences, value_of
from stackmap.render.intervals import instant
from stackmap.render.paragraph import paragraph
from stackmap.render.table import table
from stackmap.render.text import WIDTH, safe

COLUMNS = ("BEFORE", "AFTER", "CHANGE", "95 % OF THE CHANGE", "")
# Not in the table: they follow from its other rows, and -J has them.
FOLLOWS = {("shrink", "read"), ("shrink", "write"), ("coalescing", "read"), ("coalescing", "write")}


def compare_text(found: Comparison, *, heading: bool = True, width: int = WIDTH) -> str:
    """Return the comparison for people."""
    lines = [_recording("before", found.before), _recording("after ", found.after)]
    lines += [paragraph(_apart(found.unmatched), width)] if found.unmatched else []
    parts = ["\n".join(lines) + "\n"]
    parts += [_stack(stack, heading=heading, width=width) for stack in found.stacks]
    return "\n".join(parts)


def _recording(name: str, recording: Recording) -> str:
    told = [f"{recording.count} interval{'s' * (recording.count != 1)}"]
    if recording.length is not None:
        told = [f"{told[0]} of {recording.length:.1f} s"]
    told += filter(None, [instant(recording.start)])
    return safe(f"{name}: {recording.source}: {', '.join(told)}")


def _stack(stack: StackComparison, *, heading: bool, width: int) -> str:
    lines = [safe(_title(stack))]
    groups = [("LOAD", stack.load), *_by_layer(stack)]
    rows: list[tuple[str, ...]] = []
    for name, figures in groups:
        if figures:
            rows += [(name, *([""] * len(COLUMNS))), *map(_row, filter(_is_shown, figures))]
    lines.append(table(["", *COLUMNS], rows, words=1, heading=heading))
    lines += [paragraph(sentence, width) for sentence in sentences(stack)]
    return "\n".join(lines) + "\n"


def _title(stack: StackComparison) -> str:
    before, after = stack.before.top, stack.after.top
    names = list(dict.fromkeys(filter(None, (before.title, after.title))))
    devices = dict.fromkeys((before.name, after.name))
    layouts = dict.fromkeys(map(_layouts, (stack.before, stack.after)))
    kernel = "" if list(devices) == names else f" ({' → '.join(devices)})"
    return f"{' → '.join(names)}{kernel}  {' → '.join(layouts)}"


def _layouts(side: StackRecord) -> str:
    """Return what spreads the data of a side, and of what that is the layout, if not of the top."""
    told = (
        str(raid.layout) if raid is side.top else f"{raid.layout} of {raid.title}"
        for raid in side.raids
    )
    return ", ".join(told) or str(side.top.layout or "no RAID")


def _apart(unmatched: Sequence[Unmatched]) -> str:
    """Return what was left out, and why, in one sentence."""
    told = []
    for when, other in (("after", "before"), ("before", "after")):
        names = [each.title for each in unmatched if each.when == when]
        if names:
            told.append(f"{', '.join(names)}: a top {other}, below another {when}")
    return f"left out: {'; '.join(told)}"


def _by_layer(stack: StackComparison) -> Iterator[tuple[str, tuple[FigureComparison, ...]]]:
    order = list(dict.fromkeys(each.layer for each in (*stack.waits, *stack.ratios)))
    order.sort(key=lambda layer: (layer != TOP, layer == LAST))
    for layer in order:
        figures = tuple(e for e in (*stack.ratios, *stack.waits) if e.layer == layer)
        yield _layer_name(stack, layer), figures


def _layer_name(stack: StackComparison, layer: str) -> str:
    counts = [len(side.sums.devices.get(layer, ())) for side in (stack.before, stack.after)]
    if layer == TOP:
        return "TOP"
    told = str(counts[0]) if counts[0] == counts[1] else " → ".join(str(n or "-") for n in counts)
    return f"{layer.upper()} ({told})"


def _is_shown(each: FigureComparison) -> bool:
    return (each.figure.key, each.direction) not in FOLLOWS


def _row(each: FigureComparison) -> tuple[str, ...]:
    return (
        f"  {row_name(each)}",
        value_of(each, each.before),
        value_of(each, each.after),
        change_of(each.change),
        range_of(each.change),
        "*" if each.significant else "",
    )
