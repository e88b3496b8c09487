"""
Requests, bytes and mean size as a text prints them: the least precise follows from the other two.

``iostat -m`` prints 0.00 MB/s for one request of 3 KiB per second, beside a mean of 3.14 KiB.
"""

from __future__ import annotations

from math import inf

# Half of the last digit: sysstat prints two decimals, with --dec fewer.
HALVES = {1: 0.5, 10: 0.05}
HALF = 0.005
PRECISE = 2.5  # figures above it with two decimals are within 0.2 %


def refined(
    requests: float, shown: float, mean: float, unit: float, mean_unit: float, terms: int = 1
) -> tuple[float, float]:
    """
    Return requests and bytes per second, for *shown* in *unit* and *mean* in *mean_unit*.

    *terms*: how many printed figures *shown* is the sum of. A figure is replaced only within what
    its rounding left open, so figures in other units than their names say stay as they are.
    """
    size = shown * unit
    half = _half(requests, shown, mean)
    if half == HALF and min(requests, shown, mean) > PRECISE:
        return requests, size
    errors = [half / x if x > 0 else inf for x in (requests, shown / terms, mean)]
    worst = max(errors)
    others = sum(errors) - worst if worst < inf else sum(e for e in errors if e < inf)
    if errors.count(inf) > 1 or others >= worst:
        return requests, size
    if worst == errors[0]:
        found = size / (mean * mean_unit)
        return (found if _fits(found, requests, half, others) else requests), size
    if worst == errors[1]:
        found = requests * mean * mean_unit
        return requests, found if _fits(found, size, half * unit * terms, others) else size
    return requests, size


def _half(*figures: float) -> float:
    """Return half of the last digit that *figures* were printed with."""
    for factor, half in HALVES.items():
        if all(abs(x * factor - round(x * factor)) < 1e-9 for x in figures):
            return half
    return HALF


def _fits(found: float, printed: float, half: float, error: float) -> bool:
    """Whether *found*, with its relative *error*, rounds to *printed*."""
    return abs(found - printed) <= half * 1.01 + found * error
