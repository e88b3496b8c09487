"""I/O that kernel probes counted for one owner on one device."""

from __future__ import annotations

from typing import NamedTuple


class ControlGroup(NamedTuple):
    """A control group: its ``path``, "" for the root, and its ``owner``: "service mariadb", "" without one."""

    path: str = ""
    owner: str = ""


class OwnerIo(NamedTuple):
    """
    Requests and ``bytes`` of a control group or a thread, ``owner``, in one direction at the device *number*.

    ``owner``: the group's number or the thread's. ``name``: the thread's, "" for a group. ``took``: µs of the
    ``timed`` requests, which completed in the trace.
    """

    number: str
    is_group: bool
    owner: int
    name: str
    direction: str
    requests: int
    bytes: int
    timed: int = 0
    took: int = 0
