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
    ``held``: the most of a length that the user gives, if all are held in memory; None: no limit.
    """

    intervals: int
    of_long: int
    held: int | None = None

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

    def refusal(self, seconds: float, step: float) -> str:
        """
        Return why a recording of *seconds* cannot have intervals of *step*, as the user wants; "" if it can.

        >>> Resolution(1800, 720, 7200).refusal(86400.0, 1.0)
        '86400 intervals of 1 s are too many at once, at most 7200: use --every 12, or --since and --until'
        """
        count = round(seconds / step, 6)
        if self.held is None or count <= self.held:
            return ""
        return (
            f"{count:.0f} intervals of {step:g} s are too many at once, at most {self.held}: "
            f"use --every {ceil(count / self.held) * step:g}, or --since and --until"
        )


def note_on(step: float, pace: float, *, too_long: bool) -> str:
    """Return a note that intervals have *step* seconds, samples *pace*; *too_long*: for using each sample."""
    each = f"{round(pace, 1):g}"
    part = "--since and --until with " if too_long else ""
    return (
        f"{LONG_RECORDING}: intervals of {round(step, 1):g} s, from samples of {each} s; shorter "
        f"peaks are averaged; use {part}--every {each} for each sample"
    )


MINUTES_OF_A_DAY = Resolution(3600, 1440)
