"""
An interval: the load of every device between two instants.

It comes from two samples of counters or from one report of a text. ``analysis``
treats both alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.model.device import StatusReading
from stackmap.model.load import Load
from stackmap.model.machine import UNKNOWN_MACHINE, Machine

LONG_RECORDING = "long recording"  # how a note on intervals of several samples begins


@dataclass(frozen=True, slots=True)
class Interval:
    """
    ``loads`` by device name as the source prints it; an absent device is unknown.

    ``time``: its end in seconds since the epoch, ``seconds``: its length; None where a text has
    none. ``stamp``: the text's own time, verbatim, where its meaning is uncertain.
    ``since_boot``: averages since boot, not a current rate. ``summary``: the text's own average,
    minimum or maximum, named by ``stamp`` in the text's language. ``notes``: caveats of the
    source (approximate, repaired). ``events``: devices that came, went or have no figures, and
    why. ``machine``: where it was measured, if known. ``count``: how many intervals it sums up.
    ``corrections``: the counters that were corrected, as "rule: device".
    ``readings``: the newest status of dm targets and md's threads at its begin and at its end, one
    if both are the same reading; they are taken at longer periods than counters.
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
    corrections: tuple[str, ...] = ()
    readings: tuple[StatusReading, ...] = ()
