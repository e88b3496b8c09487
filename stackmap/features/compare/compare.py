"""
Two recordings compared: which volumes are the same, what changed in each stack, and what to beware of.

    compare(before, after, [("dm-8", "dm-17")]) → Comparison

A volume is matched by its title. A device that is a top in one recording and below another in the
other does not have the same load: a spare disk that became part of an array, or a former member.

Each figure is a ratio of sums over all intervals, with its range and the probability that a change is
chance (``estimate``). Significance is judged over all figures of a stack together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stackmap.features.compare.await_change import AwaitComparison
from stackmap.features.compare.comparison import (
    AWAIT,
    LOAD,
    RATIOS,
    Figure,
    FigureComparison,
    compare_figure,
)
from stackmap.features.compare.estimate import MIN_INTERVALS, significant
from stackmap.features.compare.recording import LAST, TOP, Recording, StackRecord, record_of
from stackmap.model.device import Device
from stackmap.model.load import ratio
from stackmap.model.topology import Topology, of_another

Pairs = list[tuple[str, str]]
FigureComparer = Callable[[Figure, StackRecord, StackRecord, str, str], "FigureComparison | None"]

LENGTH_RATIO = 2.0  # of intervals: a longer one averages more
# Settings that change how many requests a write causes. A reshape leaves a larger stripe cache, because it
# must hold the stripes it moves (raid5.c, check_stripe_cache): 256 rows became 1025 in the lab.
SETTINGS = ("stripe cache", "rmw level", "consistency", "region")
SIZE_TOLERANCE = 0.02  # LVM rounds a size to whole extents per stripe


@dataclass(frozen=True)
class StackComparison:
    """
    One volume before and after.

    ``load``: the load at the top; ``ratios``: figures of the layers per request or byte at the
    top; ``waits``: await in ms at similar load. ``shared``: the part of the recordings with similar load, 0…1.
    """

    before: StackRecord
    after: StackRecord
    load: tuple[FigureComparison, ...]
    ratios: tuple[FigureComparison, ...]
    waits: tuple[FigureComparison, ...]
    shared: float
    warnings: tuple[str, ...]

    @property
    def idle(self) -> bool:
        """Whether the top had no load in either recording."""
        return not self.load

    @property
    def judged(self) -> tuple[FigureComparison, ...]:
        """The figures whose significance is judged together."""
        return self.ratios + self.waits

    def find(self, key: str, layer: str, direction: str) -> FigureComparison | None:
        """Return one of the judged figures; None if neither recording has it."""
        place = (key, layer, direction)
        matching = (e for e in self.judged if (e.figure.key, e.layer, e.direction) == place)
        return next(matching, None)


@dataclass(frozen=True)
class Comparison:
    """Two recordings and their compared stacks; ``unmatched``: devices that are a top in only one of them."""

    before: Recording
    after: Recording
    stacks: tuple[StackComparison, ...]
    unmatched: "tuple[Unmatched, ...]" = ()


class Unmatched(NamedTuple):
    """A top of one recording that is below another device in the other: ``when``, "before" or "after"."""

    title: str
    when: str


def pairs_of(
    before: Topology, old: Iterable[str], after: Topology, new: Iterable[str]
) -> tuple[Pairs, tuple[Unmatched, ...]]:
    """Return the kernel names of tops *old* with their match after; and the tops that are not comparable."""
    pairs: Pairs = []
    unmatched: list[Unmatched] = []
    titles_before, titles_after = by_title(before), by_title(after)
    for name in old:
        match = titles_after.get(before[name].title)
        if match is not None and _gained(before, name, after, match):
            unmatched.append(Unmatched(before[name].title, "after"))
        elif match is not None:
            pairs.append((name, match))
    taken = {match for _, match in pairs}
    for name in new:
        was = titles_before.get(after[name].title)
        if was is not None and name not in taken and _gained(after, name, before, was):
            unmatched.append(Unmatched(after[name].title, "before"))
    return pairs, tuple(dict.fromkeys(unmatched))


def by_title(topology: Topology) -> dict[str, str]:
    """Return kernel names by title."""
    return {device.title: device.name for device in topology}


def _gained(topology: Topology, name: str, other: Topology, match: str) -> bool:
    """Whether *match* has a device above it in *other* that *name* lacks here, counted or not."""
    return not _titles_above(other, match) <= _titles_above(topology, name)


def _titles_above(topology: Topology, name: str) -> set[str]:
    return {topology[above].title for above in topology.with_all_above(name)[1:]}


def compare(before: Recording, after: Recording, pairs: Iterable[tuple[str, str]]) -> Comparison:
    """Return the comparison of each of *pairs*: kernel names of a top before and after."""
    stacks = (_stack(before, after, *pair) for pair in pairs)
    return Comparison(before, after, tuple(stacks))


def _stack(before: Recording, after: Recording, top: str, top_after: str) -> StackComparison:
    old, new = record_of(before, top), record_of(after, top_after)
    load = tuple(_all_of(LOAD, old, new, compare_figure))
    ratios = tuple(_all_of(RATIOS, old, new, compare_figure))
    waiting = AwaitComparison(old, new, load)
    waits = tuple(_all_of([AWAIT], old, new, waiting.compare))
    judged = _judged((*ratios, *waits))
    warnings = tuple(dict.fromkeys(_warnings(old, new, waiting.differences)))
    count = len(ratios)
    return StackComparison(old, new, load, judged[:count], judged[count:], waiting.shared, warnings)


def _all_of(
    figures: Iterable[Figure], old: StackRecord, new: StackRecord, comparer: FigureComparer
) -> Iterable[FigureComparison]:
    """Yield each figure of each layer that was above 0 on either side."""
    layers = [*old.layers, *(n for n in new.layers if n not in old.layers)]
    layers.sort(key=lambda layer: (layer != TOP, layer == LAST))
    for layer in layers:
        for figure in figures:
            for direction in figure.titles if figure.is_of(layer) else ():
                comparison = comparer(figure, old, new, layer, direction)
                if comparison is not None:
                    yield comparison


def _judged(figures: tuple[FigureComparison, ...]) -> tuple[FigureComparison, ...]:
    """Return *figures* with the significant ones marked, judged together."""
    chances = {
        place: figure.change.chance
        for place, figure in enumerate(figures)
        if figure.change is not None and figure.change.chance is not None
    }
    marked = significant(chances)
    return tuple(
        figure._replace(significant=place in marked) for place, figure in enumerate(figures)
    )


def _warnings(old: StackRecord, new: StackRecord, differences: Sequence[str]) -> Iterator[str]:
    """Yield the reasons that make the two less comparable; *differences*: how the loads differ."""
    before, after = old.recording, new.recording
    for name, recording in (("before", before), ("after", after)):
        for work in recording.work:
            if recording.worked:
                yield f"{name}: during all intervals, {work}; figures and await include that work"
            else:
                yield f"{name}: {recording.at_work} intervals are left out: {work}"
        if recording.changed:
            yield f"{name}: {recording.changed} intervals are left out: the stack was different"
    if min(before.count, after.count) < MIN_INTERVALS:
        yield (
            f"too few intervals to test significance or to compute ranges: {before.count} before, "
            f"{after.count} after; each side needs {MIN_INTERVALS}"
        )
    if what := of_another(before.machine, after.machine):
        yield f"after is from another machine: {what}"
    times = ratio(new.top.size, old.top.size)
    if times is not None and abs(times - 1) > SIZE_TOLERANCE:
        yield f"{new.top.title} has {times:.2f} times the size of {old.top.title} before: seeks differ"
    for name, side, other in (("before", old.top, new.top), ("after", new.top, old.top)):
        cut, of_other = side.queue.boundary or 0, other.queue.boundary or 0
        if cut and cut != of_other and side.layout is not None and side.layout.parity:
            yield (
                f"{name}, md cuts writes at full stripes of {cut // 1024} KiB and counts the pieces, not the "
                "program's requests: compare bytes"
            )
    yield from _settings(old.raids, new.raids)
    times = ratio(after.length, before.length)
    if times is not None and not 1 / LENGTH_RATIO <= times <= LENGTH_RATIO:
        yield (
            f"intervals are {before.length:.1f} s before and {after.length:.1f} s after: short ones show "
            "more of the peaks"
        )
    for difference in differences:
        yield f"the load differs, so the cost per request may differ too: {difference}"


def _settings(before: Sequence[Device], after: Sequence[Device]) -> Iterator[str]:
    """Yield the settings that differ, if one array spreads the data on each side and both report them."""
    if len(before) != 1 or len(after) != 1:
        return
    (old,), (new,) = before, after
    for what in SETTINGS:
        was, now = old.facts.get(what), new.facts.get(what)
        if was is not None and now is not None and was != now:
            yield f"{what} of {new.title} is {now}, before {was}: this changes the cost of a write too"
