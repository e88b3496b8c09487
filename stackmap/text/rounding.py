"""
Requests, bytes and mean size as a text prints them: the least precise follows from the other two.

``iostat -m`` prints 0.00 MB/s for one request of 3 KiB per second, beside a mean of 3.14 KiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count as count_up
from itertools import repeat
from math import inf, isfinite
from typing import Any

Figures = Sequence[Any]  # of floats

# Half of the last digit: sysstat prints two decimals, with --dec fewer.
HALVES = {1: 0.5, 10: 0.05}
HALF = 0.005
# What rounding leaves of a figure with one decimal, times ten: less than one, or more than the other.
CENTS, NO_CENTS = 1e-8, 1 - 1e-8
PRECISE = 2.5  # figures above it with two decimals are within 0.2 %


def refined_columns(
    requests: Figures, shown: Figures, mean: Figures, unit: float, mean_unit: float
) -> tuple[Figures, Figures]:
    """Return requests and bytes of all rows (``refined``); in most, the figures are precise or agree as printed."""
    if None in requests or None in shown or None in mean:  # a row was cut
        pairs = map(_refined_if_whole, requests, shown, mean, repeat(unit), repeat(mean_unit))
        sent, moved = zip(*pairs, strict=True)
        return sent, moved
    if not (any(requests) or any(shown) or any(mean)):
        return requests, shown
    sizes = [size * unit for size in shown]
    rough = [
        place
        for place, count, size, each in zip(count_up(), requests, shown, mean, strict=False)
        if not (
            count > PRECISE
            and size > PRECISE
            and each > PRECISE
            and (
                CENTS < count * 10.0 % 1.0 < NO_CENTS
                or CENTS < size * 10.0 % 1.0 < NO_CENTS
                or CENTS < each * 10.0 % 1.0 < NO_CENTS
            )
        )
    ]
    if not rough:
        return requests, sizes
    counts = [*requests]
    for place in rough:
        count, each = counts[place], mean[place]
        if not (count > 0 and abs(sizes[place] / count / mean_unit - each) <= HALF):
            counts[place], sizes[place] = refined(count, shown[place], each, unit, mean_unit)
    return counts, sizes


def _refined_if_whole(
    requests: float | None, shown: float | None, mean: float | None, unit: float, mean_unit: float
) -> tuple[float | None, float | None]:
    if requests is not None and shown is not None and mean is not None:
        return refined(requests, shown, mean, unit, mean_unit)
    if shown is not None:
        return requests, shown * unit
    return requests, None if requests is None or mean is None else requests * mean * mean_unit


def refined(
    requests: float, shown: float, mean: float, unit: float, mean_unit: float, terms: int = 1
) -> tuple[float, float]:
    """
    Return requests and bytes per second, for *shown* in *unit* and *mean* in *mean_unit*.

    *terms*: how many printed figures *shown* is the sum of. Figures that agree stay, and so do
    figures in other units than their names say: one is replaced only within its rounding.
    """
    size = shown * unit
    half = _half(requests, shown, mean)
    if half == HALF and min(requests, shown, mean) > PRECISE:
        return requests, size
    if requests > 0 and abs(size / requests / mean_unit - mean) <= half:
        return requests, size
    errors = [half / x if x > 0 else inf for x in (requests, shown / terms, mean)]
    worst = max(errors)
    others = sum(errors) - worst if worst < inf else sum(e for e in errors if e < inf)
    # Beside a precise mean, either of two rough figures may move: the mean is then right.
    rough = others >= worst and errors[2] > worst / 10
    if errors.count(inf) > 1 or others >= 1 or rough:
        return requests, size
    each = mean * mean_unit
    # The worst follows from the others. Where its rounding does not allow that, the next worst moves too.
    if worst == errors[0]:
        requests = _within(requests, half, size / each, others)
        return requests, _within(size, half * unit * terms, requests * each, 0.0)
    if worst == errors[1]:
        size = _within(size, half * unit * terms, requests * each, others)
        return _within(requests, half, size / each, 0.0), size
    return requests, size


def is_precise(requests: float, shown: float, mean: float) -> bool:
    """Whether all three surely have two decimals and are large enough to be precise."""
    return min(requests, shown, mean) > PRECISE and _has_cents(requests)


def _has_cents(figure: float) -> bool:
    """Whether *figure* was surely printed with two decimals."""
    return CENTS < figure * 10.0 % 1.0 < NO_CENTS


def _half(*figures: float) -> float:
    """Return half of the last digit that *figures* were printed with."""
    if any(map(_has_cents, figures)):
        return HALF
    for factor, half in HALVES.items():
        scaled = [x * factor for x in figures]
        if all(isfinite(x) and abs(x - round(x)) < 1e-9 for x in scaled):
            return half
    return HALF


def _within(printed: float, half: float, found: float, error: float) -> float:
    """Return *found*, limited to what rounds to *printed*; *printed* if they differ by more than the relative *error*."""
    if abs(found - printed) > half * 1.01 + found * error:
        return printed
    return max(printed - half * 0.9999, min(found, printed + half * 0.9999))
