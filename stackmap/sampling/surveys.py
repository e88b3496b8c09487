"""Surveys of a machine: of everything, or only of what had uevents."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stackmap.host import Host
from stackmap.model.topology import Topology
from stackmap.sources.polled_state import Polled, PolledDevices, polled_devices
from stackmap.sources.uevent import NO_CHANGES, UeventDelta

WHOLE_AFTER = 60.0  # seconds after which a survey reads everything again

Rediscover = Callable[[Host], Topology]
# Discovers again, given the names of the devices that had uevents since everything was read.
Update = Callable[[Host, frozenset[str]], Topology]


class Survey(NamedTuple):
    """A topology, its devices whose state is polled, and their state at that time."""

    topology: Topology
    to_poll: PolledDevices
    polled: Polled


def surveyed(host: Host, topology: Topology) -> Survey:
    """Return *topology* with the state to poll."""
    to_poll = polled_devices(host, topology)
    return Survey(topology, to_poll, to_poll.poll(host))


class Surveys:
    """
    Surveys by *rediscover*, or by *update* where uevents tell what changed since everything was read.

    What changes without a uevent is found at the first survey after ``WHOLE_AFTER``.
    """

    def __init__(self, rediscover: Rediscover, update: Update | None) -> None:
        self._rediscover, self._update = rediscover, update
        self._whole_at: float | None = None
        self._names: frozenset[str] = frozenset()

    def take(self, host: Host, time: float, changes: UeventDelta = NO_CHANGES) -> Survey:
        """Survey *host* at *time*; *changes*: the uevents since the previous survey."""
        if self._whole_at is None:
            self._whole_at = time
        late = time - self._whole_at >= WHOLE_AFTER
        if self._update is None or changes.unknown or late:
            self._whole_at, self._names = time, frozenset()
            return surveyed(host, self._rediscover(host))
        self._names |= changes.names
        return surveyed(host, self._update(host, self._names))
