"""How long requests waited, on both sides, at like load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stackmap.analysis.compare.comparison import FigureComparison, StackRecord
from stackmap.analysis.compare.estimate import Estimate, estimate
from stackmap.analysis.compare.figures import AWAIT, Figure
from stackmap.analysis.compare.load_matching import (
    MIN_SHARED,
    Classes,
    classes,
    in_class,
    mix_difference,
    size_difference,
)
from stackmap.analysis.compare.measure import counting_error, figure_comparison, measured, total_of
from stackmap.analysis.compare.sums import TOP, Sums
from stackmap.model.load import plus, ratio


class AwaitComparison:
    """
    Compares waits at like load, or says why that cannot be.

    ``size_difference``: in what the loads are others. ``shared``: how much of the two
    recordings had like loads, 0…1.
    """

    def __init__(
        self, old: StackRecord, new: StackRecord, load: Sequence[FigureComparison]
    ) -> None:
        self._like = like = classes(_rates(old.sums), _rates(new.sums))
        sizes = {direction: self._unlike(direction, load) for direction in AWAIT.directions}
        mixed = mix_difference(_mix(old), _mix(new))
        self._reasons = {direction: size or mixed for direction, size in sizes.items()}
        self._not_comparable = _not_comparable(old, new, like)
        self.shared = like.shared
        self.size_difference = tuple(filter(None, (*sizes.values(), mixed)))

    def figure_comparison(
        self, figure: Figure, old: StackRecord, new: StackRecord, layer: str, direction: str
    ) -> FigureComparison | None:
        """Return one; with a reason, the two as they were, at the load each had."""
        reason = self._reasons[direction] or self._not_comparable
        if reason:
            plain = [measured(figure, side.sums, layer, direction) for side in (old, new)]
            return figure_comparison(figure, (layer, direction), plain, reason)
        sides = [
            self._at_like_load(figure, side.sums, which, layer, direction)
            for side, which in ((old, self._like.before), (new, self._like.after))
        ]
        return figure_comparison(figure, (layer, direction), sides)

    @staticmethod
    def _unlike(direction: str, load: Sequence[FigureComparison]) -> str:
        # A text may not tell reads from writes; then both together are looked at.
        sizes = {each.direction: each for each in load if each.figure.key == "size"}
        way = direction if {"read", "write"} & sizes.keys() else "total"
        each = sizes.get(way)
        if each is None or each.before is None or each.after is None:
            return ""
        name = "requests" if way == "total" else f"{way}s"
        return size_difference(name, each.before.value, each.after.value)

    def _at_like_load(
        self, figure: Figure, sums: Sums, which: Sequence[int | None], layer: str, direction: str
    ) -> Estimate | None:
        wait, ios = (sums.columns.get(key) for key in figure.columns(layer, direction))
        if wait is None or ios is None or None in wait or None in ios:
            return None
        known = [[value or 0.0 for value in column] for column in (wait, ios)]
        wanted = self._like.weights
        columns = [in_class(which, column, each) for each in wanted for column in known]
        return estimate(columns, _standardised(list(wanted.values())), counting_error(sums))


def _not_comparable(old: StackRecord, new: StackRecord, like: Classes) -> str:
    """Return why no wait can be compared, "" where loads were alike for long enough."""
    if like.weights and like.shared >= MIN_SHARED:
        return ""
    rates = [
        ratio(total_of(side.sums, "total", "ios"), total_of(side.sums, "total", "seconds"))
        for side in (old, new)
    ]
    if None in rates:
        return "the load is not known"
    words = f"{rates[0] or 0:.1f} requests a second before, {rates[1] or 0:.1f} after"
    if like.shared >= MIN_SHARED:
        return f"too few intervals have like loads ({words})"
    return f"the loads differ: {words}; {like.shared:.0%} of the intervals have a like one"


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


def _mix(side: StackRecord) -> float | None:
    """Return the share of writes among the requests."""
    both = plus(total_of(side.sums, "read", "ios"), total_of(side.sums, "write", "ios"))
    return ratio(total_of(side.sums, "write", "ios"), both)
