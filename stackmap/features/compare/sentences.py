"""What a comparison says in sentences: the load, what changed significantly, and what was not compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from stackmap.document.wording import UNKNOWN, change_percent, kib, number, percent, rate, sentence
from stackmap.features.compare.bootstrap import DRAWS
from stackmap.features.compare.comparison import FigureComparison, StackComparison, StackRecord
from stackmap.features.compare.estimate import Change, Estimate
from stackmap.features.compare.load_matching import is_similar
from stackmap.features.compare.sums import LAST, TOP

METHOD = "circular block bootstrap over intervals"

Headline = tuple[str, str, str]

# The figures that sentences name, by figure, layer and direction: what a migration is for comes first.
HEADLINES: dict[Headline, str] = {
    ("disk_bytes", LAST, "write"): "disk bytes per byte written",
    ("completed", LAST, "total"): "disk requests per request",
    ("requests", LAST, "total"): "disk requests per request, before merging",
    ("write_cost", LAST, "write"): "disk requests per write, with reads",
    ("bytes", LAST, "total"): "data and parity at the disks per byte",
    ("await", TOP, "read"): "read await",
    ("await", TOP, "write"): "write await",
    ("await", TOP, "total"): "await",
}
# Named only where the better figure before it was not compared.
SECOND_CHOICE: dict[Headline, Headline] = {
    ("requests", LAST, "total"): ("completed", LAST, "total"),
    ("bytes", LAST, "total"): ("disk_bytes", LAST, "write"),
}
# What the load is described by.
LOAD = {
    ("rate", "read"): "reads/s",
    ("rate", "write"): "writes/s",
    ("rate", "total"): "requests/s",
    ("size", "read"): "KiB per read",
    ("size", "write"): "KiB per write",
    ("size", "total"): "KiB per request",
    ("queue", "total"): "queue depth",
}
NO_CHANGE = change_percent(1.0)
FACTOR = 3.0  # a change by this much or more is shown as a factor, not in percent


def conclusions(stack: StackComparison) -> list[str]:
    """
    Return the cost of a write and of a request before and after, then await and how the load differs.

    Where no cost changed, this comes first.
    """
    if absent := [name for name, side in _sides(stack) if TOP in side.sums.reasons]:
        return [f"Nothing to compare: the volume has no figures {' and '.join(absent)}."]
    known = {
        key: each
        for key in HEADLINES
        if (each := stack.find(*key)) is not None and each.change is not None
    }
    named = {key: each for key, each in known.items() if SECOND_CHOICE.get(key) not in known}
    found = [_figure(key, each) for key, each in named.items()]
    load = [*_limited_by_volume(stack), _load(stack)]
    if not any(map(_is_changed, named.values())):
        return [*(["No change of cost or await."] if found else []), *load, *found]
    if not any(map(_is_tested, named.values())):
        found.append("Too few intervals to prove these changes.")
    return [*found, *load]


def caveats(stack: StackComparison) -> list[str]:
    """Return what was not compared and why, the warnings and the method."""
    found = [sentence(words) for words in _not_compared(stack)]
    found += [f"Warning: {each}." for each in stack.warnings]
    return [*found, _method(stack)] if any(map(_is_tested, stack.judged)) else found


def _is_tested(each: FigureComparison) -> bool:
    return each.change is not None and each.change.chance is not None


def _is_changed(each: FigureComparison) -> bool:
    ratio = None if each.change is None else each.change.ratio
    return ratio is None or factor(ratio) != NO_CHANGE


def _figure(key: Headline, each: FigureComparison) -> str:
    before, after = value_of(each, each.before), value_of(each, each.after)
    unit = " ms" if each.figure.unit == "ms" else ""
    between = range_of(each.change)
    parts = [change_of(each.change)]
    if between != UNKNOWN:
        parts.append(f"95 % interval {between}")
    if _is_tested(each):
        parts.append("significant" if each.significant else "not significant")
    return sentence(f"{HEADLINES[key]}: {before} → {after}{unit} ({'; '.join(parts)})")


def _load(stack: StackComparison) -> str:
    changes = [
        f"{LOAD[each.figure.key, each.direction]} {factor(each.change.ratio)}"
        for each in stack.load
        if each.change is not None and each.change.ratio
        if (each.figure.key, each.direction) in LOAD and _is_changed(each)
    ]
    load = f"Change of the load: {', '.join(changes) or 'none'}."
    return (
        f"{load} Ratios are per request or byte at the top; await is compared only at similar load."
    )


def _limited_by_volume(stack: StackComparison) -> Iterator[str]:
    """Yield what another request rate at a similar queue depth means: a closed loop."""
    changes = {each.figure.key: each for each in stack.load if each.direction == "total"}
    requests, queue = changes.get("rate"), changes.get("queue")
    if requests is None or queue is None or requests.change is None or queue.change is None:
        return
    times, deeper, before = requests.change.ratio, queue.change.ratio, queue.before
    if times is None or deeper is None or before is None or before.value < 1:
        return
    if is_similar(deeper) and not is_similar(times):
        yield (
            f"At a similar queue depth, requests/s {factor(times)}{_awaits(stack)}: the volume limits "
            "the rate, not the load."
        )


def _awaits(stack: StackComparison) -> str:
    """Return the await at the top on both sides, at the load of each: ", read await 9.00 → 5.00 ms"."""
    parts = [
        f"{HEADLINES['await', TOP, each.direction]} {value_of(each, each.before)} → "
        f"{value_of(each, each.after)} ms"
        for each in stack.waits
        if each.layer == TOP and each.before is not None and each.after is not None
    ]
    return "".join(f", {part}" for part in parts)


def _not_compared(stack: StackComparison) -> Iterator[str]:
    """Yield which figures were not compared and why, each reason once."""
    waits = [e for e in stack.waits if e.layer == TOP and e.reason]
    for reason, several in groupby(waits, key=lambda each: each.reason):
        names = " and ".join(HEADLINES["await", TOP, each.direction] for each in several)
        yield f"{names} not compared: {reason}"
    for name, side in _sides(stack):
        for layer, reason in side.sums.reasons.items():
            yield f"{layer} not compared, {name}: {reason}"
            if layer == TOP:
                break


def _sides(stack: StackComparison) -> tuple[tuple[str, StackRecord], ...]:
    return ("before", stack.before), ("after", stack.after)


def _method(stack: StackComparison) -> str:
    tested = [each for each in stack.judged if _is_tested(each)]
    before = _blocks([e.before for e in tested], stack.before.batch)
    after = _blocks([e.after for e in tested], stack.after.batch)
    return (
        f"Method: {METHOD}, {DRAWS} draws, blocks of {before} before and {after} after. * marks "
        f"significance at 5 % over all {len(tested)} figures together (Holm). await uses the "
        f"{percent(stack.shared)} of the intervals with similar load."
    )


def _blocks(estimates: Iterable[Estimate | None], batch: int) -> str:
    """Return the block lengths in intervals, lowest and highest; *batch*: intervals per value."""
    spreads = [each.spread or each.absolute for each in estimates if each is not None]
    lengths = sorted({spread.block * batch for spread in spreads if spread is not None})
    return "-".join(map(str, dict.fromkeys((*lengths[:1], *lengths[-1:])))) or "-"


def value_of(each: FigureComparison, estimate: Estimate | None) -> str:
    """Return a figure of one side, in the unit of its row."""
    if estimate is None:
        return UNKNOWN
    if each.figure.unit in ("B", "B/s"):
        return kib(estimate.value)
    if each.figure.unit in ("/s", "ms") or each.figure.key == "queue":
        return rate(estimate.value)
    return number(estimate.value, 3 if estimate.value < 0.1 else 2)


def change_of(change: Change | None) -> str:
    """Return a change in percent, or as a factor if it is large."""
    if change is None:
        return UNKNOWN
    return "from 0" if change.ratio is None else factor(change.ratio, as_factor=_is_large(change))


def range_of(change: Change | None) -> str:
    """Return the 95 % interval of a change."""
    if change is None or change.low is None or change.high is None:
        return UNKNOWN
    low, high = (factor(end, as_factor=_is_large(change)) for end in (change.low, change.high))
    return f"{low} … {high}"


def _is_large(change: Change) -> bool:
    """Whether the change or an end of its range is shown as a factor, and so all three."""
    return any(each is not None and each >= FACTOR for each in change[:3])


def factor(ratio: float, *, as_factor: bool = False) -> str:
    """
    Return after ÷ before in percent, or as a factor if it is large or *as_factor*.

    >>> factor(0.304), factor(3.55), factor(1.5, as_factor=True)
    ('-69.6 %', '×3.55', '×1.50')
    """
    return f"×{ratio:.2f}" if as_factor or ratio >= FACTOR else change_percent(ratio)
