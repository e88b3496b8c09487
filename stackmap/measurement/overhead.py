"""What a trace takes of the CPUs while it runs, and when that is too much."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from stackmap.sources import diskstats

if TYPE_CHECKING:
    from stackmap.host.tracing import LiveTracingHost

SETTLED = 1.0  # seconds; a shorter time is judged as if it were as long


class Spent(NamedTuple):
    """``hits`` of probes, or requests without probes; ``taken``: seconds of CPU time; ``missed``: hits that the kernel skipped."""

    hits: int
    taken: float
    missed: int


def arrivals(host: LiveTracingHost, names: Collection[str]) -> int:
    """Return how many requests arrived at the devices *names*, all without one, by the kernel's counters."""
    counters = diskstats.parse(host.read(diskstats.PATH).splitlines())
    return sum(
        each.reads + each.read_merges + each.writes + each.write_merges
        for name, each in counters.items()
        if name in names or not names
    )


class Overhead:
    """
    CPU time that a trace took, from an instant on.

    ``taken``: seconds so far. ``peak``: the highest share of all CPU time in any second. ``share``: the mean.
    """

    def __init__(self, cpus: int, now: float) -> None:
        self._cpus = cpus
        self._start = self._since = now
        self._before = 0.0
        self._now = now
        self.taken = 0.0
        self.peak = 0.0

    @property
    def seconds(self) -> float:
        """How long the trace has run, as of the last look."""
        return self._now - self._start

    @property
    def share(self) -> float:
        """The share of all CPU time, on average."""
        return self.taken / self._cpus / max(self.seconds, 0.001)

    def look(self, now: float, taken: float, limit: float = 1.0) -> str:
        """
        Note that *taken* seconds of CPU time were taken until *now*.

        Return why the trace must end, "" if the last second is within *limit*.
        """
        self._now, self.taken = now, taken
        spent = now - self._since
        used = (taken - self._before) / self._cpus
        share = used / max(spent, SETTLED)
        self.peak = max(self.peak, share)
        if spent >= SETTLED:
            self._since, self._before = now, taken
        if share <= limit or limit >= 1:  # no limit; the share is an estimate
            return ""
        return (
            f"stopped after {self.seconds:.1f} s: the trace took {used / max(spent, 0.001) * 100:.3g} % of all CPU time, "
            f"more than the limit of {limit * 100:.3g} %"
        )
