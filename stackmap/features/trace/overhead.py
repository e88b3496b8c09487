"""What a trace takes of the CPUs while it runs, and when that is too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackmap.host.tracing import LiveTracingHost

CPUS = "/sys/devices/system/cpu/online"
LONGEST = 3600.0  # seconds
TICK = 1.0  # seconds between two looks; a shorter time is judged as if it were as long


class Overhead:
    """
    CPU time that a trace on *host* takes from now on.

    ``taken``: seconds so far. ``peak``: the highest share of all CPU time in any second. ``share``: the mean.
    """

    def __init__(self, host: LiveTracingHost) -> None:
        self._clock = host.clock
        self.cpus = _online_cpus(host)
        self._start = self._since = self._now = host.clock()
        self._before = 0.0
        self.taken = 0.0
        self.peak = 0.0

    @property
    def seconds(self) -> float:
        """How long the trace has run, as of the last look."""
        return self._now - self._start

    @property
    def share(self) -> float:
        """The share of all CPU time, on average."""
        return self.taken / self.cpus / max(self.seconds, 0.001)

    def look(self, taken: float, limit: float = 1.0) -> str:
        """
        Note that *taken* seconds of CPU time were taken until now.

        Return why the trace must end: the last second is above *limit*, or an hour has passed. "" if it may go on.
        """
        self._now, self.taken = self._clock(), taken
        spent = self._now - self._since
        used = (taken - self._before) / self.cpus
        share = used / max(spent, TICK)
        self.peak = max(self.peak, share)
        if spent >= TICK:
            self._since, self._before = self._now, taken
        if share > limit and limit < 1:  # 1: no limit; the share is an estimate
            return (
                f"stopped after {self.seconds:.1f} s: the trace took {used / max(spent, 0.001) * 100:.3g} % of all CPU time, "
                f"more than the limit of {limit * 100:.3g} %"
            )
        if self.seconds >= LONGEST + TICK:
            return f"stopped after {self.seconds:.0f} s: a trace takes at most {LONGEST:g} s"
        return ""


def _online_cpus(host: LiveTracingHost) -> int:
    """Return how many CPUs are online: "0-3,6"."""
    parts = (part.split("-") for part in host.read(CPUS).strip().split(","))
    return sum(int(part[-1]) - int(part[0]) + 1 for part in parts)
