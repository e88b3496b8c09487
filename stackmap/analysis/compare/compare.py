"""
What became of a volume: its stack in two recordings, figure by figure.

    compare(before, after, [("dm-8", "dm-17")]) → Comparison

Every figure is a ratio of sums over all intervals, with the range it lies in
(``bootstrap``) and the chance that the change is none (``estimate``); which of
them are significant is judged of all figures of a stack together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from stackmap.analysis.compare.await_change import AwaitComparison
from stackmap.analysis.compare.comparison import (
    Comparison,
    FigureComparison,
    StackComparison,
    StackRecord,
)
from stackmap.analysis.compare.estimate import significant
from stackmap.analysis.compare.figures import AWAIT, LOAD, RATIOS, Figure
from stackmap.analysis.compare.measure import compare_figure
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.compare.sums import LAST, TOP, sums_of
from stackmap.analysis.compare.warnings import warnings_of
from stackmap.analysis.layers import spreading


def compare(before: Recording, after: Recording, pairs: Iterable[tuple[str, str]]) -> Comparison:
    """Return what became of each of *pairs*, a top before and the same one after, by kernel names."""
    stacks = (_stack(before, after, *pair) for pair in pairs)
    return Comparison(before, after, tuple(stacks))


def _stack(before: Recording, after: Recording, top: str, top_after: str) -> StackComparison:
    old, new = _side(before, top), _side(after, top_after)
    load = tuple(_all_of(LOAD, old, new, compare_figure))
    ratios = tuple(_all_of(RATIOS, old, new, compare_figure))
    waiting = AwaitComparison(old, new, load)
    waits = tuple(_all_of([AWAIT], old, new, waiting.figure_comparison))
    ratios, waits = _judged(ratios, waits)
    words = warnings_of(before, after, (old, new), waiting.size_difference)
    return StackComparison(old, new, load, ratios, waits, waiting.shared, words)


def _side(recording: Recording, top: str) -> StackRecord:
    raids = tuple(spreading(recording.topology, top))
    return StackRecord(recording.topology[top], sums_of(recording, top), recording.each, raids)


Comparing = Callable[[Figure, StackRecord, StackRecord, str, str], "FigureComparison | None"]


def _all_of(
    figures: Iterable[Figure], old: StackRecord, new: StackRecord, comparing: Comparing
) -> Iterable[FigureComparison]:
    """Yield each figure of each layer that one of the two has, where it was ever anything."""
    layers = [*old.sums.layers, *(n for n in new.sums.layers if n not in old.sums.layers)]
    layers.sort(key=lambda layer: (layer != TOP, layer == LAST))
    for layer in layers:
        for figure in figures:
            for direction in figure.directions if figure.is_of(layer) else ():
                found = comparing(figure, old, new, layer, direction)
                if found is not None:
                    yield found


def _judged(
    *groups: tuple[FigureComparison, ...],
) -> tuple[tuple[FigureComparison, ...], tuple[FigureComparison, ...]]:
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
