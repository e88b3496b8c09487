"""
The kernel's counters of a device, and an interval: the load of every device between two instants.

An interval comes from two samples of counters or from one report of a text. The ledger treats both alike.

``in_flight`` is a gauge, not a counter: it is never subtracted. Requests in
flight at the ends of an interval bound how far the counts of two layers differ.
"""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from stackmap.model.device import StatusReading
from stackmap.model.load import NONE, UNKNOWN_LOAD, ZERO, Flow, Load
from stackmap.model.topology import UNKNOWN_MACHINE, Machine

# The kernel keeps milliseconds in 32 bits: they wrap after 49.7 days of waiting.
MILLISECONDS_WRAP = 1 << 32


class Counters(NamedTuple):
    """
    Totals since the device appeared: requests, merges, bytes, milliseconds.

    None where the kernel has no such field (discards before 4.18, flushes before
    5.5). ``busy_ms``: time with a request in flight; ``weighted_ms``: the same
    times the number in flight. ``in_flight``: requests in flight now. ``timed``: False for a
    partition before Linux 2.6.25, which has only requests and bytes; the rest is 0 and unknown.
    """

    reads: int
    read_merges: int
    read_bytes: int
    read_ms: int
    writes: int
    write_merges: int
    write_bytes: int
    write_ms: int
    busy_ms: int
    weighted_ms: int
    discards: int | None = None
    discard_merges: int | None = None
    discard_bytes: int | None = None
    discard_ms: int | None = None
    flushes: int | None = None
    flush_ms: int | None = None
    in_flight: int = 0
    timed: bool = True

    def went_back_from(self, earlier: "Counters") -> bool:
        """Whether a count decreased: the device was replaced or a counter wrapped."""
        return (
            self.reads < earlier.reads
            or self.writes < earlier.writes
            or self.read_bytes < earlier.read_bytes
            or self.write_bytes < earlier.write_bytes
            or self.read_merges < earlier.read_merges
            or self.write_merges < earlier.write_merges
            or (self.discards or 0) < (earlier.discards or 0)
            or (self.discard_merges or 0) < (earlier.discard_merges or 0)
            or (self.discard_bytes or 0) < (earlier.discard_bytes or 0)
            or (self.flushes or 0) < (earlier.flushes or 0)
        )

    def load_since(self, earlier: "Counters", seconds: float) -> Load:
        """Return the load per second since *earlier*, a sample of the same device (see ``went_back_from``)."""
        per_second = 1 / seconds
        read = Flow(
            (self.reads - earlier.reads) * per_second,
            (self.read_merges - earlier.read_merges) * per_second,
            (self.read_bytes - earlier.read_bytes) * per_second,
            _milliseconds_between(self.read_ms, earlier.read_ms) * per_second,
        )
        write = Flow(
            (self.writes - earlier.writes) * per_second,
            (self.write_merges - earlier.write_merges) * per_second,
            (self.write_bytes - earlier.write_bytes) * per_second,
            _milliseconds_between(self.write_ms, earlier.write_ms) * per_second,
        )
        if not self.timed:
            return Load(Flow(read.ios, bytes=read.bytes), Flow(write.ios, bytes=write.bytes))
        return Load(
            read,
            write,
            discard=self._discards_since(earlier, per_second),
            flush=self._flushes_since(earlier, per_second),
            aqu=_milliseconds_between(self.weighted_ms, earlier.weighted_ms) * per_second / 1000,
            busy=_milliseconds_between(self.busy_ms, earlier.busy_ms) * per_second / 1000,
            in_flight_at_ends=earlier.in_flight + self.in_flight,
        )

    def _discards_since(self, earlier: "Counters", per_second: float) -> Flow:
        now, before = self[10:14], earlier[10:14]  # from ``discards`` on: mypy knows literal places
        if None in now or None in before:
            return NONE
        if now == before:  # of most devices
            return ZERO
        return Flow(
            ((self.discards or 0) - (earlier.discards or 0)) * per_second,
            ((self.discard_merges or 0) - (earlier.discard_merges or 0)) * per_second,
            ((self.discard_bytes or 0) - (earlier.discard_bytes or 0)) * per_second,
            _milliseconds_between(self.discard_ms or 0, earlier.discard_ms or 0) * per_second,
        )

    def _flushes_since(self, earlier: "Counters", per_second: float) -> Flow:
        now, before = self[14:16], earlier[14:16]  # ``flushes`` and ``flush_ms``
        if None in now or None in before:
            return NONE
        if now == before:
            return NO_FLUSHES
        return Flow(
            ios=((self.flushes or 0) - (earlier.flushes or 0)) * per_second,
            wait=_milliseconds_between(self.flush_ms or 0, earlier.flush_ms or 0) * per_second,
        )


NO_FLUSHES = Flow(ios=0.0, wait=0.0)


def _milliseconds_between(later: int, earlier: int) -> int:
    """Return the milliseconds from *earlier* to *later*, allowing for one 32-bit wrap."""
    return later - earlier if later >= earlier else later - earlier + MILLISECONDS_WRAP


NOT_RATES = re.compile(r"totals(?: since boot)?, not rates")  # how a note on totals begins
# The event of an interval in which no device has figures.
IDENTITY_UNKNOWN = "devices came, went or changed; no figures until it is known which"
LONG_RECORDING = "long recording"  # how a note on intervals of several samples begins


@dataclass(frozen=True, slots=True)
class Interval:
    """
    ``loads`` by device name as the source prints it; an absent device is unknown.

    ``time``: its end in seconds since the epoch, ``seconds``: its length; None where a text has
    none. ``stamp``: the text's own time, verbatim, where its meaning is uncertain; ``clock``: the
    same in seconds, as if it were UTC. ``date``: that of the text's run, verbatim, "" if it has none.
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
    clock: float | None = field(default=None, compare=False)
    date: str = field(default="", compare=False)

    def load(self, device: str) -> Load:
        """Return the load of *device*; one without figures if it has none here."""
        return self.loads.get(device, UNKNOWN_LOAD)

    @property
    def totals(self) -> str:
        """What its figures are if they are no rates, for the text does not tell their time; "" if they are rates."""
        match = next(filter(None, map(NOT_RATES.match, self.notes)), None)
        return match[0] if match else ""


def with_loads_of(interval: Interval, devices: Container[str]) -> Interval:
    """Return *interval* with the loads of *devices* alone."""
    loads = interval.loads
    return replace(interval, loads={name: loads[name] for name in loads if name in devices})
