"""
An interval: what every device did between two instants, with what must be known to believe it.

It comes from two samples of counters, or from one report of a text; everything
in ``analysis`` takes it and cannot tell which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.model.load import Load
from stackmap.model.machine import UNKNOWN_MACHINE, Machine


@dataclass(frozen=True, slots=True)
class Interval:
    """
    ``loads`` by device name as the source prints it; a device that is absent is unknown.

    ``time``: seconds since the epoch at its end, None where a text has no
    stamp. ``seconds``: how long it was, None for a text that does not say.
    ``stamp``: the text's own time, verbatim, where it has no certain meaning.
    ``since_boot``: averages since boot, not a current rate. ``summary``: no
    interval but the text's own average (or minimum, maximum) of those before
    it, named by ``stamp`` in the text's language. ``notes``: what a
    reader must know of the source (approximate, repaired, in sectors).
    ``events``: devices that came, went, or were dropped, and why. ``machine``:
    where it was taken, as far as a text says. ``count``: how many intervals it
    is as one.
    """

    loads: Mapping[str, Load]
    time: float | None = None
    seconds: float | None = None
    stamp: str = ""
    since_boot: bool = False
    summary: bool = False
    notes: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    machine: Machine = UNKNOWN_MACHINE
    count: int = 1
