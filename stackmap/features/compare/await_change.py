"""
How await changed between two recordings, compared at similar load.

Await grows with the load and with request sizes. So it is compared within classes of the top's
requests per second, each a quarter wide, and averaged with the same weights on both sides
(direct standardisation): a class weighs as much as in the side that has less of it. Await is not
compared if sizes or the mix of reads and writes differ, or if hardly any class has intervals of both.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from stackmap.features.compare.comparison import (
    ALL_DIRECTIONS,
    READ_WRITE,
    Figure,
    FigureComparison,
    compare_sides,
)
from stackmap.features.compare.estimate import Estimate, estimate
from stackmap.features.compare.recording import TOP, StackRecord, Sum
from stackmap.model.load import plus, ratio
from stackmap.model.reason import Reason

CLASS_WIDTH = 1.25  # the largest ratio of similar rates or sizes
MIN_SHARED = 0.2  # of the intervals
MIN_EACH = 5  # intervals on each side in the classes that both have
MAX_MIX_DIFFERENCE = 0.1  # of writes among the requests


class Classes(NamedTuple):
    """
    The class of each batch, None if it was idle.

    ``weights``: of classes with batches of both; ``shared``: their part of the recordings, 0…1.
    """

    before: tuple[int | None, ...]
    after: tuple[int | None, ...]
    weights: Mapping[int, float]
    shared: float


def classes(before: Sequence[float | None], after: Sequence[float | None]) -> Classes:
    """Return the classes of two series of rates; a rate of 0 or None has no class."""
    bounds = _bounds(sorted(rate for rate in (*before, *after) if rate))
    sides = [
        [sum(bound <= rate for bound in bounds) if rate else None for rate in side]
        for side in (before, after)
    ]
    counts = [Counter(number for number in side if number is not None) for side in sides]
    parts = [{k: n / count.total() for k, n in count.items()} for count in counts]
    both = {k: min(parts[0][k], parts[1][k]) for k in sorted(parts[0].keys() & parts[1].keys())}
    enough = all(sum(count[k] for k in both) >= MIN_EACH for count in counts)
    shared = sum(both.values())
    weights = {k: part / shared for k, part in both.items()} if enough else {}
    return Classes(tuple(sides[0]), tuple(sides[1]), weights, shared)


def _bounds(rates: Sequence[float]) -> list[float]:
    """Return the start of each class: a rate that occurs, so that a steady load is in one class."""
    bounds: list[float] = []
    for rate in rates:
        if not bounds or rate > bounds[-1] * CLASS_WIDTH:
            bounds.append(rate)
    return bounds


def is_similar(times: float) -> bool:
    """Whether a ratio counts as similar."""
    return 1 / CLASS_WIDTH <= times <= CLASS_WIDTH


class AwaitComparison:
    """
    Compares await at similar load, or gives the reason why that is impossible.

    ``differences``: how the loads differ. ``shared``: the part of the two recordings with similar load, 0…1.
    """

    def __init__(
        self, old: StackRecord, new: StackRecord, load: Sequence[FigureComparison]
    ) -> None:
        self._classes = classes(_rates(old), _rates(new))
        self.shared = self._classes.shared
        # A text without separate reads and writes has sizes of both together only.
        sizes = {figure.direction: figure for figure in load if figure.figure.key == "size"}
        differing = {direction: _size_reason(direction, sizes) for direction in ALL_DIRECTIONS}
        mix = _mix_reason(old, new)
        self._reasons = {direction: reason or mix for direction, reason in differing.items()}
        self._rate_reason = _rate_reason(old, new, self._classes)
        split = any(sizes[way].before and sizes[way].after for way in READ_WRITE if way in sizes)
        told = (*map(differing.get, READ_WRITE if split else ("total",)), mix)
        self.differences = tuple(filter(None, told))

    def compare(
        self, figure: Figure, old: StackRecord, new: StackRecord, layer: str, direction: str
    ) -> FigureComparison | None:
        """
        Return one comparison; with a reason, await on each side at the load it had.

        Await of reads and writes together only where a side does not separate them, as old iostat.
        """
        if direction == "total" and all(
            any(side.columns_of(figure.columns(layer, way)) for way in READ_WRITE)
            for side in (old, new)
            if side.columns_of(figure.columns(layer, "total"))
        ):
            return None
        reason = self._reasons[direction] or self._rate_reason
        if reason:
            plain = [figure.measured(side, layer, direction) for side in (old, new)]
            return compare_sides(figure, (layer, direction), plain, reason)
        sides = [
            self._at_similar_load(side, classes_of_side, figure.columns(layer, direction))
            for side, classes_of_side in ((old, self._classes.before), (new, self._classes.after))
        ]
        return compare_sides(figure, (layer, direction), sides)

    def _at_similar_load(
        self, side: StackRecord, classes_of_side: Sequence[int | None], keys: Sequence[Sum]
    ) -> Estimate | None:
        wait, ios = (side.columns.get(key) for key in keys)
        if wait is None or ios is None or None in wait or None in ios:
            return None
        weights = self._classes.weights
        # A batch outside a class counts as 0 in its columns.
        columns = [
            [
                (value or 0.0) if own == wanted else 0.0
                for own, value in zip(classes_of_side, column, strict=True)
            ]
            for wanted in weights
            for column in (wait, ios)
        ]
        return estimate(columns, _standardised(list(weights.values())), side.counting_error)


def _size_reason(direction: str, sizes: Mapping[str, FigureComparison]) -> str:
    """Return the difference of request sizes, "" if they are similar."""
    if not {*READ_WRITE} & sizes.keys():
        direction = "total"
    size = sizes.get(direction)
    if size is None or size.before is None or size.after is None:
        return ""
    before, after = size.before.value, size.after.value
    times = ratio(after, before)
    if times is None or is_similar(times):
        return ""
    name = "requests" if direction == "total" else f"{direction}s"
    both = f"{before / 1024:.1f} KiB before and {after / 1024:.1f} KiB after"
    return Reason("sizes-differ", f"the mean size of {name} was {both}")


def _mix_reason(old: StackRecord, new: StackRecord) -> str:
    """Return the difference of the shares of writes among the top's requests, "" if they are similar."""
    shares = []
    for side in (old, new):
        written = side.at_top("write", "ios")
        shares.append(ratio(written, plus(side.at_top("read", "ios"), written)))
    before, after = shares
    if before is None or after is None or math.isclose(before, after, abs_tol=MAX_MIX_DIFFERENCE):
        return ""
    words = f"{before * 100:.0f} % of the requests were writes before, {after * 100:.0f} % after"
    return Reason("mix-differs", words)


def _rate_reason(old: StackRecord, new: StackRecord, both_classes: Classes) -> str:
    """Return the reason against a comparison by the rates, "" if they were similar for long enough."""
    if both_classes.weights and both_classes.shared >= MIN_SHARED:
        return ""
    rates = [
        ratio(side.at_top("total", "ios"), side.at_top("total", "seconds")) for side in (old, new)
    ]
    if None in rates:
        return Reason("load-unknown", "the load is not known")
    both = f"{rates[0] or 0:.1f} requests per second before, {rates[1] or 0:.1f} after"
    if both_classes.shared >= MIN_SHARED:
        return Reason("few-intervals", f"too few intervals have similar load ({both})")
    share = f"{both_classes.shared * 100:.0f} % of the intervals have similar load"
    return Reason("loads-differ", f"the loads differ: {both}; {share}")


def _standardised(weights: Sequence[float]) -> Callable[[Sequence[float]], float | None]:
    """Return the weighted mean over classes of wait ÷ count; its sums alternate between the two."""

    def mean(sums: Sequence[float]) -> float | None:
        means = [ratio(*sums[2 * at : 2 * at + 2]) for at in range(len(weights))]
        known = [(w, m) for w, m in zip(weights, means, strict=True) if m is not None]
        whole = sum(weight for weight, _ in known)
        return ratio(sum(weight * mean for weight, mean in known), whole)

    return mean


def _rates(side: StackRecord) -> list[float | None]:
    """Return the top's requests per second in each batch."""
    ios = side.columns.get((TOP, "total", "ios"), ())
    seconds = side.columns.get((TOP, "total", "seconds"), ())
    return [ratio(done, length) for done, length in zip(ios, seconds, strict=True)]
