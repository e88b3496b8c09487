"""
The change of a volume's stack between two recordings, figure by figure.

    compare(before, after, [("dm-8", "dm-17")]) → Comparison

Each figure is a ratio of sums over all intervals, with its range (``bootstrap``) and the probability
that a change is chance (``estimate``). Significance is judged over all figures of a stack together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stackmap.features.compare.await_change import AwaitComparison
from stackmap.features.compare.comparison import (
    Comparison,
    FigureComparison,
    StackComparison,
    StackRecord,
    compare_figure,
)
from stackmap.features.compare.estimate import significant
from stackmap.features.compare.figures import AWAIT, LOAD, RATIOS, Figure
from stackmap.features.compare.recording import Recording
from stackmap.features.compare.sums import LAST, TOP, sums_of
from stackmap.features.compare.warnings import warnings_of
from stackmap.ledger.layers import spreading

FigureComparer = Callable[[Figure, StackRecord, StackRecord, str, str], "FigureComparison | None"]


def compare(before: Recording, after: Recording, pairs: Iterable[tuple[str, str]]) -> Comparison:
    """Return the comparison of each of *pairs*: kernel names of a top before and after."""
    stacks = (_stack(before, after, *pair) for pair in pairs)
    return Comparison(before, after, tuple(stacks))


def _stack(before: Recording, after: Recording, top: str, top_after: str) -> StackComparison:
    old, new = _side(before, top), _side(after, top_after)
    load = tuple(_all_of(LOAD, old, new, compare_figure))
    ratios = tuple(_all_of(RATIOS, old, new, compare_figure))
    waiting = AwaitComparison(old, new, load)
    waits = tuple(_all_of([AWAIT], old, new, waiting.compare))
    judged = _judged((*ratios, *waits))
    warnings = warnings_of(before, after, (old, new), waiting.differences)
    count = len(ratios)
    return StackComparison(old, new, load, judged[:count], judged[count:], waiting.shared, warnings)


def _side(recording: Recording, top: str) -> StackRecord:
    raids = tuple(spreading(recording.topology, top))
    return StackRecord(
        recording.topology[top], sums_of(recording, top), recording.batch_size, raids
    )


def _all_of(
    figures: Iterable[Figure], old: StackRecord, new: StackRecord, comparer: FigureComparer
) -> Iterable[FigureComparison]:
    """Yield each figure of each layer that was above 0 on either side."""
    layers = [*old.sums.layers, *(n for n in new.sums.layers if n not in old.sums.layers)]
    layers.sort(key=lambda layer: (layer != TOP, layer == LAST))
    for layer in layers:
        for figure in figures:
            for direction in figure.directions if figure.is_of(layer) else ():
                found = comparer(figure, old, new, layer, direction)
                if found is not None:
                    yield found


def _judged(figures: tuple[FigureComparison, ...]) -> tuple[FigureComparison, ...]:
    """Return *figures* with the significant ones marked, judged together."""
    chances = {
        place: each.change.chance
        for place, each in enumerate(figures)
        if each.change is not None and each.change.chance is not None
    }
    found = significant(chances)
    return tuple(each._replace(significant=place in found) for place, each in enumerate(figures))
