"""
A stream of block events from a tracefs instance.

The instance's buffers are bounded: the kernel overwrites the oldest events that were not read in time,
and counts them in ``per_cpu/cpuN/stats``.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from stackmap.features.trace.tracefs import EVENTS, INSTANCE
from stackmap.host.tracing import LiveTracingHost
from stackmap.model.block_event import BlockEvent, Step
from stackmap.sources import block_events
from stackmap.sources.trace_histogram import device_of

SWITCH = f"{INSTANCE}/tracing_on"
CLOCK = "mono"  # one for all CPUs
BUFFERS = 32 * 1024  # KiB, of all CPUs together
MOST_PER_CPU, LEAST_PER_CPU = 4096, 256  # KiB
AT_ONCE = 8 * 1024 * 1024  # bytes of text per reading
LONGEST_FILTER = 3500  # bytes; the kernel takes one page
SETTLED = 0.05  # seconds; events of several CPUs are in order after that

_LOST = re.compile(r"^(?:overrun|dropped events): (\d+)$", re.MULTILINE)


class EventStream:
    """Events of the devices *numbers* ("253:8") from ``start`` to ``stop``."""

    def __init__(self, host: LiveTracingHost, numbers: Collection[str]) -> None:
        self._host = host
        self._filter = " || ".join(f"dev == {device_of(number)}" for number in numbers)
        self._cpus = [
            f"{INSTANCE}/per_cpu/{cpu}/stats" for cpu in host.names_in(f"{INSTANCE}/per_cpu")
        ]
        self._early: list[BlockEvent] = []

    def start(self) -> None:
        """Begin to record; ``SourceError`` where the kernel has no block events."""
        size = max(LEAST_PER_CPU, min(MOST_PER_CPU, BUFFERS // max(1, len(self._cpus))))
        # All events begin and end at one instant: each takes a while to enable.
        self._host.write(SWITCH, "0")
        self._host.write(f"{INSTANCE}/trace_clock", CLOCK)
        self._host.write(f"{INSTANCE}/buffer_size_kb", str(size))
        known = self._host.names_in(f"{EVENTS}/block")
        for event in (f"block_{step}" for step in Step if f"block_{step}" in known):
            # A longer filter would be refused: then the events of other devices are read too.
            if len(self._filter) < LONGEST_FILTER:
                self._host.write(f"{EVENTS}/block/{event}/filter", self._filter)
            self._host.write(f"{EVENTS}/block/{event}/enable", "1")
        self._host.write(SWITCH, "1")

    def read(self) -> list[BlockEvent]:
        """Return the events since the previous call by time; those of the last moment come with the next call."""
        early = len(self._early)
        found = self._drained()
        if len(found) == early:  # nothing new: no older one will come
            return found
        last = found[-1].time - SETTLED
        self._early = [event for event in found if event.time > last]
        return [event for event in found if event.time <= last]

    def stop(self) -> list[BlockEvent]:
        """Stop recording; return the rest."""
        self._host.write(SWITCH, "0")
        found: list[BlockEvent] = []
        while more := self._drained():
            found += more
        return sorted(found, key=lambda event: event.time)

    def lost(self) -> int:
        """Return how many events the kernel had no room for."""
        return sum(
            int(number) for path in self._cpus for number in _LOST.findall(self._host.read(path))
        )

    def _drained(self) -> list[BlockEvent]:
        text = self._host.drain(f"{INSTANCE}/trace_pipe", AT_ONCE)
        # Not splitlines(): the name of a process may contain a form feed.
        found = self._early + list(block_events.parse(text.split("\n")))
        self._early = []
        return sorted(found, key=lambda event: event.time)
