"""I/O that kernel probes counted for one owner on one device."""

from __future__ import annotations

from operator import add
from typing import NamedTuple


class ControlGroup(NamedTuple):
    """A control group: its ``path``, "" for the root, and its ``owner``: "service mariadb", "" without one."""

    path: str = ""
    owner: str = ""


class Sum(NamedTuple):
    """Requests and bytes in one direction; ``took``: µs of the ``timed`` requests, which completed in the trace."""

    requests: int = 0
    bytes: int = 0
    timed: int = 0
    took: int = 0

    def plus(self, more: Sum) -> Sum:
        """Return the sum with *more*."""
        return Sum(*map(add, self, more))

    @property
    def size(self) -> float | None:
        """Mean bytes per request; None without requests."""
        return self.bytes / self.requests if self.requests else None

    @property
    def milliseconds(self) -> float | None:
        """Mean latency; None if no request completed."""
        return self.took / self.timed / 1000 if self.timed else None


class OwnerIo(NamedTuple):
    """
    The I/O of a control group or a thread in one direction at the device *number*.

    ``owner``: the group's number or the thread's. ``name``: the thread's, "" for a group.
    """

    number: str
    is_group: bool
    owner: int
    name: str
    direction: str
    io: Sum
