"""A cap that somebody put on a device: how much of which kind of I/O a second, and where it is set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IoLimit:
    """
    *who* may do no more than this on *device*, by its kernel name.

    ``caps``: requests or bytes a second by what they count: "read_ios",
    "write_ios", "total_ios", "read_bytes", "write_bytes", "total_bytes".
    ``source``: the file that says so.
    """

    device: str
    owner: str
    source: str
    caps: tuple[tuple[str, float], ...]
