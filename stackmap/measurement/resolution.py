"""How long the intervals of a long recording are."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from stackmap.model.interval import LONG_RECORDING

LONG = 3600  # samples; a recording of more is a long one


class Resolution(NamedTuple):
    """
    The most intervals that are examined of a recording.

    ``of_long``: if it has more than ``LONG`` samples, each of which costs time though it is left out.
    """

    intervals: int
    of_long: int

    def step(self, seconds: float, pace: float | None) -> float | None:
        """
        Return the seconds of an interval of a recording of *seconds*, a multiple of *pace*; None for each sample.

        >>> whole = Resolution(3600, 1440)
        >>> whole.step(86400.0, 1.0), whole.step(3600.0, 1.0), Resolution(1800, 720).step(3600.0, 1.0)
        (60.0, None, 2.0)
        """
        if not pace:
            return None
        samples = round(seconds / pace, 6)
        most = self.of_long if samples > LONG else self.intervals
        return None if samples <= most else ceil(round(samples / most, 6)) * pace


def note_on(step: float, pace: float) -> str:
    """Return a note that intervals have *step* seconds, samples *pace*."""
    each = f"{round(pace, 1):g}"
    return (
        f"{LONG_RECORDING}: intervals of {round(step, 1):g} s, from samples of {each} s; shorter "
        f"peaks are averaged; use --every {each} for each sample"
    )


MINUTES_OF_A_DAY = Resolution(3600, 1440)
