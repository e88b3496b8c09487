"""What a comparison prints: the conclusions in sentences, a table per volume, what was not compared, and the method."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from math import inf, log

from stackmap.document import blocks as doc
from stackmap.document.interval import instant
from stackmap.document.wording import (
    UNKNOWN,
    change_percent,
    kib,
    number,
    percent,
    plural,
    rate,
    sentence,
)
from stackmap.features.compare.await_change import is_similar
from stackmap.features.compare.compare import Comparison, StackComparison
from stackmap.features.compare.comparison import FigureComparison
from stackmap.features.compare.estimate import DRAWS, Change, Estimate
from stackmap.features.compare.recording import LAST, TOP, Recording, StackRecord
from stackmap.model.load import ratio

METHOD = "circular block bootstrap over intervals"

Figured = tuple[str, str, str]

# The figures that sentences name, by figure, layer and direction: what a migration is for comes first.
HEADLINES: dict[Figured, str] = {
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
SECOND_CHOICE: dict[Figured, Figured] = {
    ("requests", LAST, "total"): ("completed", LAST, "total"),
    ("bytes", LAST, "total"): ("disk_bytes", LAST, "write"),
}
DESCRIBED = ("rate", "size", "queue")  # the figures that describe the load in a sentence
NO_CHANGE = change_percent(1.0)
MOST = log(1e6)  # a change that is one from or to 0 counts as much
FACTOR = 3.0  # a change by this much or more is shown as a factor, not in percent
MEANINGS = {
    "arrived per": "Requests arriving at a layer per request of the top, before merging.",
    "completed per": "Requests that the disks completed after merging, per request of the top.",
    "with reads": "With the reads that writes cause.",
    "change": "Increase or decrease in percent; from three times on, after ÷ before (×3.55).",
    "95 % interval": "The change lies in this range with 95 % confidence.",
    "*": "The change is significant.",
}
COLUMNS = (
    doc.Column("", "figure", ("direction", "unit"), is_text=True),
    doc.Column("before", "before"),
    doc.Column("after", "after"),
    doc.Column("change", "ratio", doc.RANGE),
    doc.Column("95 % interval"),
    doc.Column("", "significant"),
)
UNITS = {"/s": "requests/s", "B/s": "bytes/s", "B": "bytes"}  # in CSV; others as they are
# Left out of the table: they follow from other rows. The JSON has them.
DERIVED = {("shrink", "read"), ("shrink", "write"), ("coalescing", "read"), ("coalescing", "write")}


def conclusions(stack: StackComparison) -> list[str]:
    """
    Return cost and await before and after, what changed most first, then what they do not prove, and the load.

    Where none of them changed, this comes first.
    """
    if absent := [name for name, side in _sides(stack) if TOP in side.reasons]:
        return [f"Nothing to compare: the volume has no figures {' and '.join(absent)}."]
    named = _named(stack)
    most = sorted(named.items(), key=lambda entry: -_far(entry[1]))
    figures = [_figure(key, compared) for key, compared in most]
    load = [*_limited_by_volume(stack), _load(stack)]
    if not any(map(_is_changed, named.values())):
        return [*(["No change of cost or await."] if figures else []), *load, *figures]
    changed = [compared for compared in named.values() if compared.change is not None]
    if any(map(_is_changed, changed)) and not any(map(_is_tested, changed)):
        figures.append("Too few intervals to prove these changes.")
    reasons = dict.fromkeys(why.reason for why in _waits(stack))
    figures += [f"The change of await says nothing about the volume: {why}." for why in reasons]
    return [*figures, *load]


def _named(stack: StackComparison) -> dict[Figured, FigureComparison]:
    """Return the figures that sentences name."""
    known = {
        key: compared
        for key in HEADLINES
        if (compared := stack.find(*key)) is not None and compared.change is not None
    }
    named = {
        key: compared for key, compared in known.items() if SECOND_CHOICE.get(key) not in known
    }
    return named | {("await", TOP, compared.direction): compared for compared in _waits(stack)}


def _far(compared: FigureComparison) -> float:
    """Return how much a figure changed: the logarithm of the factor, up or down."""
    return abs(log(_times(compared) or inf))


def _place(stack: StackComparison) -> tuple[float, float]:
    """Return the sort key of *stack*: what changed most first; of about as much, by the change of its requests."""
    most = max(map(_far, _named(stack).values()), default=0.0)
    load = (_far(compared) for compared in stack.load if compared.figure.key == "rate")
    return -round(min(most, MOST) / log(2)), -max(load, default=0.0)


def _waits(stack: StackComparison) -> list[FigureComparison]:
    """Return the awaits at the top that are known on both sides, but not at a similar load."""
    unlike = (compared for compared in stack.waits if compared.layer == TOP and compared.reason)
    return [compared for compared in unlike if _times(compared) is not None]


def _times(compared: FigureComparison) -> float | None:
    """Return after ÷ before, compared or not; None if one of them is unknown or 0."""
    if compared.change is not None:
        return compared.change.ratio or None
    if compared.before is None or compared.after is None:
        return None
    return ratio(compared.after.value, compared.before.value) or None


def caveats(stack: StackComparison) -> list[str]:
    """Return the figures that were not compared, with the reason; the warnings; the method."""
    sentences = [sentence(words) for words in _not_compared(stack)]
    sentences += [f"Warning: {warning}." for warning in stack.warnings]
    return [*sentences, _method(stack)] if any(map(_is_tested, stack.judged)) else sentences


def _is_tested(compared: FigureComparison) -> bool:
    return compared.change is not None and compared.change.chance is not None


def _is_changed(compared: FigureComparison) -> bool:
    times = _times(compared)
    return times is None or factor(times) != NO_CHANGE


def _figure(key: Figured, compared: FigureComparison) -> str:
    before, after = value_of(compared, compared.before), value_of(compared, compared.after)
    unit = " ms" if compared.figure.unit == "ms" else ""
    between = range_of(compared.change)
    times = _times(compared)
    parts = [change_of(compared.change) if compared.change or times is None else factor(times)]
    if between != UNKNOWN:
        parts.append(f"95 % interval {between}")
    if _is_tested(compared):
        parts.append("significant" if compared.significant else "not significant")
    return sentence(f"{HEADLINES[key]}: {before} → {after}{unit} ({'; '.join(parts)})")


def _load(stack: StackComparison) -> str:
    changes = [
        f"{compared.figure.titles[compared.direction]} {_times_or_ends(compared, compared.change)}"
        for compared in stack.load
        if compared.change is not None and compared.before != compared.after
        if compared.figure.key in DESCRIBED and _is_changed(compared)
    ]
    load = f"Change of the load: {', '.join(changes) or 'none'}."
    return (
        f"{load} Ratios are per request or byte at the top; await is compared only at similar load."
    )


def _times_or_ends(compared: FigureComparison, change: Change) -> str:
    """Return the factor of *change*; both figures where one is 0."""
    if change.ratio:
        return factor(change.ratio)
    return f"{value_of(compared, compared.before)} → {value_of(compared, compared.after)}"


def _limited_by_volume(stack: StackComparison) -> Iterator[str]:
    """Yield the meaning of another request rate at a similar queue depth: a closed loop."""
    changes = {
        compared.figure.key: compared for compared in stack.load if compared.direction == "total"
    }
    requests, queue = changes.get("rate"), changes.get("queue")
    if requests is None or queue is None or requests.change is None or queue.change is None:
        return
    times, deeper, before = requests.change.ratio, queue.change.ratio, queue.before
    if times is None or deeper is None or before is None or before.value < 1:
        return
    if is_similar(deeper) and not is_similar(times):
        waits = "".join(
            f", {HEADLINES['await', TOP, compared.direction]} {value_of(compared, compared.before)} → "
            f"{value_of(compared, compared.after)} ms"
            for compared in stack.waits
            if compared.layer == TOP and compared.before is not None and compared.after is not None
        )
        rates = f"requests/s {factor(times)}{waits}"
        yield f"At a similar queue depth, {rates}: the volume limits the rate, not the load."


def _not_compared(stack: StackComparison) -> Iterator[str]:
    """Yield which figures were not compared and why, each reason once."""
    shown = _waits(stack)  # with their reasons among the conclusions
    waits = [e for e in stack.waits if e.layer == TOP and e.reason and e not in shown]
    for reason, several in groupby(waits, key=lambda compared: compared.reason):
        names = " and ".join(HEADLINES["await", TOP, compared.direction] for compared in several)
        yield f"{names} not compared: {reason}"
    for name, side in _sides(stack):
        for layer, reason in side.reasons.items():
            yield f"{layer} not compared, {name}: {reason}"
            if layer == TOP:
                break


def _sides(stack: StackComparison) -> tuple[tuple[str, StackRecord], ...]:
    return ("before", stack.before), ("after", stack.after)


def _method(stack: StackComparison) -> str:
    tested = [compared for compared in stack.judged if _is_tested(compared)]
    before = _blocks([e.before for e in tested], stack.before.recording.batch_size)
    after = _blocks([e.after for e in tested], stack.after.recording.batch_size)
    return (
        f"Method: {METHOD}, {DRAWS} draws, blocks of {before} before and {after} after. * marks "
        f"significance at 5 % over all {len(tested)} figures together (Holm). await uses the "
        f"{percent(stack.shared)} of the intervals with similar load."
    )


def _blocks(estimates: Iterable[Estimate | None], batch: int) -> str:
    """Return the block lengths in intervals, lowest and highest; *batch*: intervals per value."""
    spreads = [
        estimate.spread or estimate.absolute for estimate in estimates if estimate is not None
    ]
    lengths = sorted({spread.block * batch for spread in spreads if spread is not None})
    return "-".join(map(str, dict.fromkeys((*lengths[:1], *lengths[-1:])))) or "-"


def value_of(compared: FigureComparison, estimate: Estimate | None) -> str:
    """Return a figure of one side, in the unit of its row."""
    if estimate is None:
        return UNKNOWN
    if compared.figure.unit in ("B", "B/s"):
        return kib(estimate.value)
    if compared.figure.unit in ("/s", "ms") or compared.figure.key == "queue":
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
    return any(times is not None and times >= FACTOR for times in change[:3])


def factor(ratio: float, *, as_factor: bool = False) -> str:
    """
    Return after ÷ before in percent, or as a factor if it is large or *as_factor*.

    >>> factor(0.304), factor(3.55), factor(1.5, as_factor=True)
    ('-69.6 %', '×3.55', '×1.50')
    """
    return f"×{ratio:.2f}" if as_factor or ratio >= FACTOR else change_percent(ratio)


def document(comparison: Comparison) -> Iterator[doc.Block]:
    """Yield the blocks of ``compare``: the volumes, the conclusions, then the comparison."""
    for stack in sorted(comparison.stacks, key=_place):
        yield doc.Headline(_title(stack))
        first, *others = conclusions(stack)
        yield doc.Paragraph(first, headline=True)
        if others:
            yield doc.Listing(tuple(others))
        yield _table(stack)
        yield doc.Listing(tuple(caveats(stack)))
    parts = []
    for when, other in (("after", "before"), ("before", "after")):
        names = [top.title for top in comparison.unmatched if top.when == when]
        parts += [f"{', '.join(names)}: a top {other}, below another {when}"] if names else []
    if parts:
        yield doc.Listing((f"Left out: {'; '.join(parts)}.",))
    yield doc.Terms(
        (("before", _recording(comparison.before)), ("after", _recording(comparison.after)))
    )


def _recording(recorded: Recording) -> str:
    """Return the source of one side, how much it measured and when it began."""
    length = "" if recorded.length is None else f" of {recorded.length:.1f} s"
    parts = (f"{plural(recorded.count, 'interval')}{length}", instant(recorded.start))
    return f"{recorded.source}: {', '.join(filter(None, parts))}"


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


def _table(stack: StackComparison) -> doc.Table:
    """Return the load and then each layer's figures, top first and disks last."""
    groups = (("load", "load", stack.load), *_by_layer(stack))
    return doc.Table(
        f"compare-{stack.before.top.name}",
        COLUMNS,
        tuple(
            doc.Rows(
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
    """Yield each layer, its title with its number of devices, before → after where it changed, and its figures."""
    every = (*stack.ratios, *stack.waits)
    order = dict.fromkeys(compared.layer for compared in (*stack.waits, *stack.ratios))
    for layer in sorted(order, key=lambda layer: (layer != TOP, layer == LAST)):
        counts = [len(side.devices.get(layer, ())) for _, side in _sides(stack)]
        named = f"{layer} ({' → '.join(dict.fromkeys(str(count or '-') for count in counts))})"
        figures = tuple(compared for compared in every if compared.layer == layer)
        yield layer, "top" if layer == TOP else named, figures


def _row(compared: FigureComparison) -> doc.Row:
    figure, direction, change = compared.figure, compared.direction, compared.change
    names = (figure.key, direction, UNITS.get(figure.unit, figure.unit))
    ends = (None, None, None) if change is None else change[:3]
    return (
        doc.Label(f"  {figure.titles[direction]}", names),
        *(_side(compared, estimate) for estimate in (compared.before, compared.after)),
        doc.Value(ends[0], lambda _: change_of(change), *ends[1:]),
        range_of(change),
        doc.Label("*" if compared.significant else "", (str(compared.significant).lower(),)),
    )


def _side(compared: FigureComparison, estimate: Estimate | None) -> doc.Value:
    number = None if estimate is None else estimate.value
    return doc.Value(number, lambda _: value_of(compared, estimate))
