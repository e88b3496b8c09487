"""A cap on a device's I/O, set by a control group or by libvirt."""

from __future__ import annotations

from typing import NamedTuple


class IoLimit(NamedTuple):
    """
    The most that *owner* may do on *device* (a kernel name).

    ``caps``: pairs of what is capped ("read_ios", "write_ios", "total_ios",
    "read_bytes", "write_bytes", "total_bytes") and the limit per second.
    ``source``: the file that sets it.
    """

    device: str
    owner: str
    source: str
    caps: tuple[tuple[str, float], ...]
