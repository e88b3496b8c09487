"""Words and figures that a terminal shows in colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

STANDS_OUT = 2.0  # times the median of its column
MIN_ROWS = 3  # with a figure, for a median that means something


class Toned(str):
    """A text with a ``tone``: the severity in whose colour it is shown; else like any text."""

    __slots__ = ("tone",)
    tone: str

    def __new__(cls, text: str, tone: str) -> Self:
        """Return *text* in *tone*."""
        toned = super().__new__(cls, text)
        toned.tone = tone
        return toned


def worst(values: Sequence[float | None]) -> int | None:
    """
    Return the place of the highest value if it stands out from the others, else None.

    >>> worst([3.1, 70.0, 3.0, None]), worst([3.1, 3.0, 3.2]), worst([70.0, 3.0])
    (1, None, None)
    """
    known = sorted(value for value in values if value is not None)
    if len(known) < MIN_ROWS or known[-1] < STANDS_OUT * known[len(known) // 2]:
        return None
    return values.index(known[-1])
