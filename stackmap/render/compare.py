"""Two recordings beside each other, as a table of each volume with what it says in words, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

from stackmap.analysis.compare.bootstrap import DRAWS, SEED
from stackmap.analysis.compare.estimate import Change, Estimate
from stackmap.analysis.compare.likeness import is_like
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.compare.sums import LAST, TOP
from stackmap.analysis.compare.values import Compared, Comparison, Side, StackComparison
from stackmap.render.intervals import instant
from stackmap.render.layers_json import layout_json
from stackmap.render.table import table
from stackmap.render.text import safe
from stackmap.render.units import UNKNOWN, kib, number, rate

SCHEMA = "stackmap.compare/1"
WIDTH = 80
COLUMNS = ("BEFORE", "AFTER", "CHANGE", "95 % OF THE CHANGE", "")
METHOD = "circular block bootstrap over intervals"

# What a row says, by figure and direction.
ROWS = {
    ("rate", "read"): "reads/s",
    ("rate", "write"): "writes/s",
    ("rate", "total"): "requests/s",
    ("bytes/s", "read"): "KiB/s read",
    ("bytes/s", "write"): "KiB/s written",
    ("size", "read"): "KiB a read",
    ("size", "write"): "KiB a write",
    ("size", "total"): "KiB a request",
    ("queue", "total"): "in flight",
    ("flushes", "total"): "flushes/s",
    ("requests", "read"): "reads for a read",
    ("requests", "write"): "writes for a write",
    ("requests", "total"): "requests for a request",
    ("bytes", "read"): "bytes for a byte read",
    ("bytes", "write"): "bytes for a byte written",
    ("bytes", "total"): "bytes for a byte",
    ("shrink", "read"): "shrink of reads",
    ("shrink", "write"): "shrink of writes",
    ("shrink", "total"): "shrink",
    ("coalescing", "read"): "reads merged into one",
    ("coalescing", "write"): "writes merged into one",
    ("coalescing", "total"): "requests merged into one",
    ("completed", "read"): "done for a read",
    ("completed", "write"): "done for a write",
    ("completed", "total"): "done for a request",
    ("write_cost", "write"): "done for a write, reads too",
    ("await", "read"): "await of reads, ms",
    ("await", "write"): "await of writes, ms",
}

# Those that a sentence names: figure, layer, direction, and how it calls them.
HEADLINES = {
    ("completed", LAST, "total"): "requests done by the disks for a request",
    (
        "write_cost",
        LAST,
        "write",
    ): "requests done by the disks for a write, reads it caused included",
    ("bytes", LAST, "total"): "bytes at the disks for a byte",
    ("await", TOP, "read"): "await of reads",
    ("await", TOP, "write"): "await of writes",
}
# Not in the table: they follow from its other rows, and -J has them.
FOLLOWS = {("shrink", "read"), ("shrink", "write"), ("coalescing", "read"), ("coalescing", "write")}
GREAT = 3.0  # from here on a change is told as a factor


def compare_text(found: Comparison, *, heading: bool = True, width: int = WIDTH) -> str:
    """Return the comparison for people."""
    lines = [_recording("before", found.before), _recording("after ", found.after)]
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
    lines += [_wrapped(sentence, width) for sentence in sentences(stack)]
    return "\n".join(lines) + "\n"


def _title(stack: StackComparison) -> str:
    before, after = stack.before.top, stack.after.top
    names = list(dict.fromkeys(filter(None, (before.title, after.title))))
    devices = dict.fromkeys((before.name, after.name))
    layouts = dict.fromkeys(str(top.layout or "no RAID") for top in (before, after))
    kernel = "" if list(devices) == names else f" ({' → '.join(devices)})"
    return f"{' → '.join(names)}{kernel}  {' → '.join(layouts)}"


def _by_layer(stack: StackComparison) -> Iterator[tuple[str, tuple[Compared, ...]]]:
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


def _is_shown(each: Compared) -> bool:
    return (each.figure.key, each.direction) not in FOLLOWS


def _row(each: Compared) -> tuple[str, ...]:
    return (
        f"  {row_name(each)}",
        _value(each, each.before),
        _value(each, each.after),
        _change(each.change),
        _range(each.change),
        "*" if each.significant else "",
    )


def row_name(each: Compared) -> str:
    """Return what a row of this figure is called."""
    key = "bytes/s" if each.figure.unit == "B/s" else each.figure.key
    return ROWS[key, each.direction]


def _value(each: Compared, estimate: Estimate | None) -> str:
    if estimate is None:
        return UNKNOWN
    value = estimate.value
    if each.figure.unit in ("B", "B/s"):
        return kib(value)
    return rate(value) if each.figure.unit in ("/s", "ms") else number(value, 3)


def _change(change: Change | None) -> str:
    if change is None:
        return UNKNOWN
    if change.ratio is None:
        return "new"
    return "gone" if change.ratio == 0 else _times(change.ratio)


def _times(ratio: float) -> str:
    return f"×{ratio:.2f}" if ratio >= GREAT else f"{(ratio - 1) * 100:+.1f} %"


def _range(change: Change | None) -> str:
    if change is None or change.low is None or change.high is None:
        return UNKNOWN
    return f"{_times(change.low)} … {_times(change.high)}"


def sentences(stack: StackComparison) -> list[str]:
    """Return what is significant, what is not, what was not compared and why, and what warns."""
    told = {key: stack.find(*key) for key in HEADLINES}
    known = {key: each for key, each in told.items() if each is not None}
    judged = {k: e for k, e in known.items() if e.change and e.change.chance is not None}
    sure = [_said(k, e) for k, e in judged.items() if e.significant]
    unsure = [_said(k, e) for k, e in judged.items() if not e.significant]
    found = [_load(stack)]
    if judged:
        found.append(f"Significant: {'; '.join(sure) or 'nothing'}.")
        found.append(f"Not significant: {'; '.join(unsure) or 'nothing'}.")
    found += _not_judged(known)
    found += [f"Not compared: {words}." for words in _not_compared(stack)]
    found += _pace(stack)
    found += [f"warning: {each}" for each in stack.warnings]
    if judged:
        found.append(f"method: {_method(stack)}")
    return found


Headline = tuple[str, str, str]


def _said(key: Headline, each: Compared) -> str:
    before, after = _value(each, each.before), _value(each, each.after)
    unit = " ms" if each.figure.unit == "ms" else ""
    between = _range(each.change)
    sure = f", with 95 % {between}" if between != UNKNOWN else ""
    return f"{HEADLINES[key]} {before} → {after}{unit} ({_change(each.change)}{sure})"


def _load(stack: StackComparison) -> str:
    """Return by how much the load differs, and what that means for the figures."""
    told = [
        f"{_times(each.change.ratio)} {row_name(each)}"
        for each in stack.load
        if each.change is not None and each.change.ratio
        if each.figure.key in ("rate", "size", "queue")
    ]
    return (
        f"Load after, by that before: {', '.join(told) or 'not known'}. What the layers make of it "
        "is for one request or byte at the top, await is compared at like load alone."
    )


def _not_judged(known: dict[Headline, Compared]) -> list[str]:
    found = [
        _said(key, each)
        for key, each in known.items()
        if each.change is not None and each.change.chance is None
    ]
    return [f"Measured, but nothing tells whether by chance: {'; '.join(found)}."] if found else []


def _not_compared(stack: StackComparison) -> Iterator[str]:
    """Yield why figures were not compared, each reason once."""
    waits = [e for e in stack.waits if e.layer == TOP and e.reason]
    for reason, several in groupby(waits, key=lambda each: each.reason):
        names = " and ".join(HEADLINES["await", TOP, each.direction] for each in several)
        yield f"{names}, because {reason}"
    for name, side in (("before", stack.before), ("after", stack.after)):
        for layer, reason in side.sums.reasons.items():
            yield f"{layer} {name}, because {reason}"


def _pace(stack: StackComparison) -> Iterator[str]:
    """Yield what it means that another rate had a like queue: whoever asks waits for the answers."""
    changes = {each.figure.key: each for each in stack.load if each.direction == "total"}
    rate, queue = changes.get("rate"), changes.get("queue")
    if rate is None or queue is None or rate.change is None or queue.change is None:
        return
    times, flying, before = rate.change.ratio, queue.change.ratio, queue.before
    if times is None or flying is None or before is None or before.value < 1:
        return
    if is_like(flying) and not is_like(times):
        yield (
            f"As many requests were in flight as before, and {times:.2f} times as many were done: "
            "whoever sends them waits for them, so the volume set the pace, not the load."
        )


def _method(stack: StackComparison) -> str:
    judged = [e for e in stack.judged if e.change and e.change.chance is not None]
    before = _blocks([e.before for e in judged], stack.before.batch)
    after = _blocks([e.after for e in judged], stack.after.batch)
    return (
        f"{METHOD}, {DRAWS} draws, blocks of {before} before and {after} after; * is significant "
        f"at 5 % among all {len(judged)} figures together (Holm); waits are of the "
        f"{stack.shared:.0%} of the intervals that have a like load"
    )


def _blocks(estimates: Iterable[Estimate | None], batch: int) -> str:
    """Return how many intervals a block had, of *batch* intervals a value."""
    spreads = [each.spread or each.absolute for each in estimates if each is not None]
    lengths = sorted({spread.block * batch for spread in spreads if spread is not None})
    return "-".join(map(str, dict.fromkeys((*lengths[:1], *lengths[-1:])))) or "-"


def _wrapped(sentence: str, width: int) -> str:
    return textwrap.fill(safe(sentence), width, subsequent_indent="  ", break_on_hyphens=False)


def compare_json(found: Comparison) -> dict[str, object]:
    """Return the object of ``compare -J``."""
    return {
        "schema": SCHEMA,
        "method": {"name": METHOD, "draws": DRAWS, "seed": SEED, "level": 0.95},
        "before": _recording_json(found.before),
        "after": _recording_json(found.after),
        "stacks": [_stack_json(stack) for stack in found.stacks],
    }


def _recording_json(recording: Recording) -> dict[str, object]:
    return {
        "source": recording.source,
        "host": recording.topology.machine.host or None,
        "kernel": recording.topology.machine.kernel or None,
        "start": recording.start,
        "end": recording.end,
        "intervals": recording.count,
        "seconds": recording.seconds,
        "left_out": {"changed": recording.changed, "at_work": recording.at_work},
        "work": list(recording.work),
        "worked": recording.worked,
        "corrections": list(recording.corrections),
    }


def _stack_json(stack: StackComparison) -> dict[str, object]:
    batches = stack.before.batch, stack.after.batch
    return {
        "before": _side_json(stack.before),
        "after": _side_json(stack.after),
        "load": _figures_json(stack.load, batches),
        "ratios": _figures_json(stack.ratios, batches),
        "waits": _figures_json(stack.waits, batches),
        "comparable": stack.shared,
        "warnings": list(stack.warnings),
        "sentences": sentences(stack),
    }


def _side_json(side: Side) -> dict[str, object]:
    top = side.top
    return {
        "top": top.title,
        "device": top.name,
        "size": top.size,
        "layout": layout_json(top.layout),
        "layers": [
            {
                "layer": layer,
                "devices": list(side.sums.devices.get(layer, ())),
                "reason": side.sums.reasons.get(layer),
            }
            for layer in side.sums.layers
        ],
    }


def _figures_json(figures: Iterable[Compared], batches: tuple[int, int]) -> list[dict[str, object]]:
    return [
        {
            "figure": each.figure.key,
            "layer": each.layer,
            "direction": each.direction,
            "before": _estimate_json(each.before, batches[0]),
            "after": _estimate_json(each.after, batches[1]),
            "change": _change_json(each),
            "reason": each.reason or None,
        }
        for each in figures
    ]


def _estimate_json(estimate: Estimate | None, batch: int) -> dict[str, object] | None:
    if estimate is None:
        return None
    known = estimate.spread or estimate.absolute
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "block": known.block * batch if known else None,
    }


def _change_json(each: Compared) -> dict[str, object] | None:
    if each.change is None:
        return None
    return {
        "ratio": each.change.ratio,
        "low": each.change.low,
        "high": each.change.high,
        "p": each.change.chance,
        "significant": each.significant if each.change.chance is not None else None,
    }
