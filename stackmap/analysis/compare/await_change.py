"""How long requests waited, on both sides, at like load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stackmap.analysis.compare.estimate import Estimate, estimate
from stackmap.analysis.compare.figures import AWAIT, Figure
from stackmap.analysis.compare.load_matching import (
    LEAST_SHARED,
    Classes,
    classes,
    unlike,
    unmixed,
    within,
)
from stackmap.analysis.compare.measure import compared, grain, measured, total_of
from stackmap.analysis.compare.sums import TOP, Sums
from stackmap.analysis.compare.values import Compared, Side
from stackmap.model.load import plus, ratio


class Waits:
    """
    Compares waits at like load, or says why that cannot be.

    ``unlike``: in what the loads are others. ``shared``: how much of the two
    recordings had like loads, 0…1.
    """

    def __init__(self, old: Side, new: Side, load: Sequence[Compared]) -> None:
        self._like = like = classes(_rates(old.sums), _rates(new.sums))
        sizes = {direction: self._unlike(direction, load) for direction in AWAIT.directions}
        mixed = unmixed(_mix(old), _mix(new))
        self._reasons = {direction: size or mixed for direction, size in sizes.items()}
        self._apart = _apart(old, new, like)
        self.shared = like.shared
        self.unlike = tuple(filter(None, (*sizes.values(), mixed)))

    def compared(
        self, figure: Figure, old: Side, new: Side, layer: str, direction: str
    ) -> Compared | None:
        """Return one; with a reason, the two as they were, at the load each had."""
        reason = self._reasons[direction] or self._apart
        if reason:
            plain = [measured(figure, side.sums, layer, direction) for side in (old, new)]
            return compared(figure, (layer, direction), plain, reason)
        sides = [
            self._at_like_load(figure, side.sums, which, layer, direction)
            for side, which in ((old, self._like.before), (new, self._like.after))
        ]
        return compared(figure, (layer, direction), sides)

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
        return estimate(columns, _standardised(list(wanted.values())), grain(sums))


def _apart(old: Side, new: Side, like: Classes) -> str:
    """Return why no wait can be compared, "" where loads were alike for long enough."""
    if like.weights and like.shared >= LEAST_SHARED:
        return ""
    rates = [
        ratio(total_of(side.sums, "total", "ios"), total_of(side.sums, "total", "seconds"))
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


def _rates(sums: Sums) -> list[float | None]:
    """Return the top's requests a second, batch by batch."""
    ios = sums.columns.get((TOP, "total", "ios"), ())
    seconds = sums.columns.get((TOP, "total", "seconds"), ())
    return [ratio(done, length) for done, length in zip(ios, seconds, strict=True)]


def _mix(side: Side) -> float | None:
    """Return the share of writes among the requests."""
    both = plus(total_of(side.sums, "read", "ios"), total_of(side.sums, "write", "ios"))
    return ratio(total_of(side.sums, "write", "ios"), both)
