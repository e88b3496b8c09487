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

from stackmap.analysis.compare.await_change import Waits
from stackmap.analysis.compare.estimate import significant
from stackmap.analysis.compare.figures import AWAIT, LOAD, RATIOS, Figure
from stackmap.analysis.compare.measure import plainly
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.compare.sums import LAST, TOP, sums_of
from stackmap.analysis.compare.values import Compared, Comparison, Side, StackComparison
from stackmap.analysis.compare.warnings import warnings_of
from stackmap.analysis.layers import spreading


def compare(before: Recording, after: Recording, pairs: Iterable[tuple[str, str]]) -> Comparison:
    """Return what became of each of *pairs*, a top before and the same one after, by kernel names."""
    stacks = (_stack(before, after, *pair) for pair in pairs)
    return Comparison(before, after, tuple(stacks))


def _stack(before: Recording, after: Recording, top: str, top_after: str) -> StackComparison:
    old, new = _side(before, top), _side(after, top_after)
    load = tuple(_all_of(LOAD, old, new, plainly))
    ratios = tuple(_all_of(RATIOS, old, new, plainly))
    waiting = Waits(old, new, load)
    waits = tuple(_all_of([AWAIT], old, new, waiting.compared))
    ratios, waits = _judged(ratios, waits)
    told = warnings_of(before, after, (old, new), waiting.unlike)
    return StackComparison(old, new, load, ratios, waits, waiting.shared, told)


def _side(recording: Recording, top: str) -> Side:
    raids = tuple(spreading(recording.topology, top))
    return Side(recording.topology[top], sums_of(recording, top), recording.each, raids)


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
