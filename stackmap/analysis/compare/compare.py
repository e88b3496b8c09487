"""
What became of a volume: its stack in two recordings, figure by figure.

    compare(before, after, [("dm-8", "dm-17")]) → Comparison

Every figure is a ratio of sums over all intervals, with the range it lies in
(``bootstrap``) and the chance that the change is none (``estimate``); which of
them are significant is judged of all figures of a stack together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from stackmap.analysis.compare.estimate import Change, Estimate, change, estimate, significant
from stackmap.analysis.compare.figures import AWAIT, LOAD, RATIOS, Figure, columns_of
from stackmap.analysis.compare.likeness import (
    LEAST_SHARED,
    Classes,
    classes,
    unlike,
    unmixed,
    within,
)
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.compare.sums import LAST, TOP, Sums, sums_of
from stackmap.analysis.compare.warnings import warnings_of
from stackmap.model.device import Device
from stackmap.model.load import plus, ratio


@dataclass(frozen=True, slots=True)
class Compared:
    """
    One figure of one layer, before and after; None where it cannot be known.

    ``change`` is None where one of them is. ``reason``: why it was not
    compared, though both were measured. ``significant``: the change is no
    chance, as far as all that was compared of the stack tells.
    """

    figure: Figure
    layer: str
    direction: str
    before: Estimate | None
    after: Estimate | None
    change: Change | None
    reason: str = ""
    significant: bool = False


@dataclass(frozen=True)
class Side:
    """The stack of ``top`` in one recording, and what its layers did; ``batch``: intervals a sum."""

    top: Device
    sums: Sums
    batch: int = 1


@dataclass(frozen=True)
class StackComparison:
    """
    One volume before and after.

    ``load``: what was asked of it; ``ratios``: what the layers made of it, for
    one request or byte at the top; ``waits``: milliseconds, at like load.
    ``shared``: how much of the recordings had like loads, 0…1.
    """

    before: Side
    after: Side
    load: tuple[Compared, ...]
    ratios: tuple[Compared, ...]
    waits: tuple[Compared, ...]
    shared: float
    warnings: tuple[str, ...]

    @property
    def idle(self) -> bool:
        """Nothing came to the top in either recording."""
        return not self.load

    @property
    def judged(self) -> tuple[Compared, ...]:
        """The figures whose changes were judged together."""
        return self.ratios + self.waits

    def find(self, key: str, layer: str, direction: str) -> Compared | None:
        """Return one of the figures; None if neither recording has it."""
        return next(
            (
                each
                for each in self.judged
                if (each.figure.key, each.layer, each.direction) == (key, layer, direction)
            ),
            None,
        )


@dataclass(frozen=True)
class Comparison:
    """Two recordings, and the stacks that were compared."""

    before: Recording
    after: Recording
    stacks: tuple[StackComparison, ...]


def compare(before: Recording, after: Recording, pairs: Iterable[tuple[str, str]]) -> Comparison:
    """Return what became of each of *pairs*, a top before and the same one after, by kernel names."""
    stacks = (_stack(before, after, *pair) for pair in pairs)
    return Comparison(before, after, tuple(stacks))


def _stack(before: Recording, after: Recording, top: str, top_after: str) -> StackComparison:
    old = Side(before.topology[top], sums_of(before, top), before.each)
    new = Side(after.topology[top_after], sums_of(after, top_after), after.each)
    load = tuple(_all_of(LOAD, old, new, _plainly))
    ratios = tuple(_all_of(RATIOS, old, new, _plainly))
    like = classes(_rates(old.sums), _rates(new.sums))
    waiting = _Waits(old, new, like, load)
    waits = tuple(_all_of([AWAIT], old, new, waiting.compared))
    ratios, waits = _judged(ratios, waits)
    told = warnings_of(before, after, (old.top, new.top), waiting.unlike)
    return StackComparison(old, new, load, ratios, waits, like.shared, told)


Comparing = Callable[[Figure, Side, Side, str, str], "Compared | None"]


def _all_of(
    figures: Iterable[Figure], old: Side, new: Side, comparing: Comparing
) -> Iterable[Compared]:
    """Yield each figure of each layer that one of the two has, where it was ever anything."""
    layers = [*old.sums.layers, *(n for n in new.sums.layers if n not in old.sums.layers)]
    layers.sort(key=lambda layer: (layer != TOP, layer == LAST))
    for layer in layers:
        for figure in figures:
            for direction in figure.directions if figure.is_of(layer) else ():
                found = comparing(figure, old, new, layer, direction)
                if found is not None:
                    yield found


def _plainly(figure: Figure, old: Side, new: Side, layer: str, direction: str) -> Compared | None:
    sides = [_measured(figure, side.sums, layer, direction) for side in (old, new)]
    return _compared(figure, (layer, direction), sides)


def _compared(
    figure: Figure, place: tuple[str, str], sides: Sequence[Estimate | None], reason: str = ""
) -> Compared | None:
    """Return the two *sides* of a figure in a layer and direction; None where it never was anything."""
    before, after = sides
    if not any(each is not None and each.value for each in sides):
        return None
    both = change(before, after) if before and after and not reason else None
    return Compared(figure, *place, before, after, both, reason)


def _measured(figure: Figure, sums: Sums, layer: str, direction: str) -> Estimate | None:
    if figure.key == "write_cost" and sums.parity and layer not in sums.caused:
        return None  # nothing says which reads are parity's
    columns = columns_of(figure, sums, layer, direction)
    return None if columns is None else estimate(columns, figure.of, _grain(sums))


def _grain(sums: Sums) -> float:
    """Return what requests in flight at the ends of a recording may be of all."""
    done = _sum(sums, "total", "ios")
    flying = ratio(_sum(sums, "total", "queue"), _sum(sums, "total", "seconds"))
    return (1 + (flying or 0.0)) / done if done else 0.0


def _sum(sums: Sums, direction: str, quantity: str) -> float | None:
    column = sums.columns.get((TOP, direction, quantity), ())
    known = [value for value in column if value is not None]
    return math.fsum(known) if known else None


def _rates(sums: Sums) -> list[float | None]:
    """Return the top's requests a second, batch by batch."""
    ios = sums.columns.get((TOP, "total", "ios"), ())
    seconds = sums.columns.get((TOP, "total", "seconds"), ())
    return [ratio(done, length) for done, length in zip(ios, seconds, strict=True)]


def _mix(side: Side) -> float | None:
    """Return the share of writes among the requests."""
    both = plus(_sum(side.sums, "read", "ios"), _sum(side.sums, "write", "ios"))
    return ratio(_sum(side.sums, "write", "ios"), both)


class _Waits:
    """Compares waits at like load, or says why that cannot be."""

    def __init__(self, old: Side, new: Side, like: Classes, load: Sequence[Compared]) -> None:
        self._like = like
        sizes = {direction: self._unlike(direction, load) for direction in AWAIT.directions}
        mixed = unmixed(_mix(old), _mix(new))
        self._reasons = {direction: size or mixed for direction, size in sizes.items()}
        self._apart = _apart(old, new, like)
        self.unlike = tuple(filter(None, (*sizes.values(), mixed)))

    def compared(
        self, figure: Figure, old: Side, new: Side, layer: str, direction: str
    ) -> Compared | None:
        """Return one; with a reason, the two as they were, at the load each had."""
        reason = self._reasons[direction] or self._apart
        if reason:
            plain = [_measured(figure, side.sums, layer, direction) for side in (old, new)]
            return _compared(figure, (layer, direction), plain, reason)
        sides = [
            self._at_like_load(figure, side.sums, which, layer, direction)
            for side, which in ((old, self._like.before), (new, self._like.after))
        ]
        return _compared(figure, (layer, direction), sides)

    @staticmethod
    def _unlike(direction: str, load: Sequence[Compared]) -> str:
        # A text may not tell reads from writes; then both together are looked at.
        sizes = {each.direction: each for each in load if each.figure.key == "size"}
        way = direction if {"read", "write"} & sizes.keys() else "total"
        each = sizes.get(way)
        if each is None or each.before is None or each.after is None:
            return ""
        name = "requests" if way == "total" else f"{way}s"
        return unlike(name, each.before.value, each.after.value)

    def _at_like_load(
        self, figure: Figure, sums: Sums, which: Sequence[int | None], layer: str, direction: str
    ) -> Estimate | None:
        wait, ios = (sums.columns.get(key) for key in figure.columns(layer, direction))
        if wait is None or ios is None or None in wait or None in ios:
            return None
        known = [[value or 0.0 for value in column] for column in (wait, ios)]
        wanted = self._like.weights
        columns = [within(which, column, each) for each in wanted for column in known]
        return estimate(columns, _standardised(list(wanted.values())), _grain(sums))


def _apart(old: Side, new: Side, like: Classes) -> str:
    """Return why no wait can be compared, "" where loads were alike for long enough."""
    if like.weights and like.shared >= LEAST_SHARED:
        return ""
    rates = [
        ratio(_sum(side.sums, "total", "ios"), _sum(side.sums, "total", "seconds"))
        for side in (old, new)
    ]
    if None in rates:
        return "the load is not known"
    told = f"{rates[0] or 0:.1f} requests a second before, {rates[1] or 0:.1f} after"
    if like.shared >= LEAST_SHARED:
        return f"too few intervals have like loads ({told})"
    return f"the loads differ: {told}; {like.shared:.0%} of the intervals have a like one"


def _standardised(weights: Sequence[float]) -> Callable[[Sequence[float]], float | None]:
    """Return the figure of a wait and a count for each class, in turn, with these weights."""

    def mean(sums: Sequence[float]) -> float | None:
        means = [ratio(*sums[2 * at : 2 * at + 2]) for at in range(len(weights))]
        there = [(w, m) for w, m in zip(weights, means, strict=True) if m is not None]
        whole = sum(weight for weight, _ in there)
        return ratio(sum(weight * each for weight, each in there), whole)

    return mean


def _judged(
    *groups: tuple[Compared, ...],
) -> tuple[tuple[Compared, ...], tuple[Compared, ...]]:
    """Return the two groups with what of them, all together, is significant."""
    chances = {
        (group, place): each.change.chance
        for group, several in enumerate(groups)
        for place, each in enumerate(several)
        if each.change is not None and each.change.chance is not None
    }
    found = significant(chances)
    marked = [
        tuple(replace(e, significant=(group, place) in found) for place, e in enumerate(several))
        for group, several in enumerate(groups)
    ]
    return marked[0], marked[1]
