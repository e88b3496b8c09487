"""What a comparison says in words: its figures, and what of them is significant and what is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from stackmap.analysis.compare.bootstrap import DRAWS
from stackmap.analysis.compare.comparison import FigureComparison, StackComparison
from stackmap.analysis.compare.estimate import Change, Estimate
from stackmap.analysis.compare.load_matching import is_similar
from stackmap.analysis.compare.sums import LAST, TOP
from stackmap.document.units import UNKNOWN, kib, number, rate

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
GREAT = 3.0  # from here on a change is told as a factor


def row_name(each: FigureComparison) -> str:
    """Return what a row of this figure is called."""
    key = "bytes/s" if each.figure.unit == "B/s" else each.figure.key
    return ROWS[key, each.direction]


def value_of(each: FigureComparison, estimate: Estimate | None) -> str:
    """Return a figure of one side, in the unit its kind is shown in."""
    if estimate is None:
        return UNKNOWN
    value = estimate.value
    if each.figure.unit in ("B", "B/s"):
        return kib(value)
    return rate(value) if each.figure.unit in ("/s", "ms") else number(value, 3)


def change_of(change: Change | None) -> str:
    """Return a change in percent, or as a factor where it is great."""
    if change is None:
        return UNKNOWN
    if change.ratio is None:
        return "new"
    return "gone" if change.ratio == 0 else _times(change.ratio)


def _times(ratio: float) -> str:
    return f"×{ratio:.2f}" if ratio >= GREAT else f"{(ratio - 1) * 100:+.1f} %"


def range_of(change: Change | None) -> str:
    """Return what a change lies in with 95 %."""
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


def _said(key: Headline, each: FigureComparison) -> str:
    before, after = value_of(each, each.before), value_of(each, each.after)
    unit = " ms" if each.figure.unit == "ms" else ""
    between = range_of(each.change)
    sure = f", with 95 % {between}" if between != UNKNOWN else ""
    return f"{HEADLINES[key]} {before} → {after}{unit} ({change_of(each.change)}{sure})"


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


def _not_judged(known: dict[Headline, FigureComparison]) -> list[str]:
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
    if is_similar(flying) and not is_similar(times):
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
