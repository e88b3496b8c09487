"""What a trace counted: distributions by device and direction, and rows of parity arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from stackmap.model.device import Device

READ, WRITE, BOTH = "read", "write", "both"

# Device as "major:minor", and direction; BOTH where a source does not tell them apart.
Key = tuple[str, str]
# Requests by bucket: the lowest value, and the first above it.
Counts = Mapping[tuple[int, int], int]
# Row updates by data pages written and whether the row was reconstructed.
Rows = Mapping[tuple[int, bool], int]


@dataclass(frozen=True, slots=True)
class Trace:
    """
    What was counted in ``seconds``; a device or direction that is absent was not counted.

    ``latency``: in nanoseconds. ``queued``, ``served``: its parts at a disk, until the dispatch to the driver and
    after it. ``sizes``: of requests on arrival, in bytes. ``dispatched``: sizes after merging in a disk's queue.
    ``sequential``: requests that began where the previous one of the device ended, ``rows``: row updates by
    parity array; None if they were not traced. ``member_bytes``: data and parity that md wrote, by member.
    ``overhead``: share of all CPU time. ``peak``: the highest share in any second.
    ``added``: CPU time per request at each device, and in addition at a disk, in seconds.
    ``missed``: probe hits that the kernel skipped. ``dropped``: hits without room in a map.
    ``notes``: what is missing, and why. ``slices``: for each part of the time, the latencies that changed in it,
    counted from the start of the trace.
    """

    seconds: float
    latency: Mapping[Key, Counts] = field(default_factory=dict)
    queued: Mapping[Key, Counts] = field(default_factory=dict)
    served: Mapping[Key, Counts] = field(default_factory=dict)
    sizes: Mapping[Key, Counts] = field(default_factory=dict)
    dispatched: Mapping[Key, Counts] = field(default_factory=dict)
    sequential: Mapping[Key, int] | None = None
    rows: Mapping[str, Rows] | None = None
    member_bytes: Mapping[str, int] = field(default_factory=dict)
    overhead: float | None = None
    peak: float | None = None
    added: tuple[float, float] | None = None
    missed: int = 0
    dropped: int = 0
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    slices: tuple[Mapping[Key, Counts], ...] = ()


class Proof(NamedTuple):
    """Bytes that diskstats and device-mapper counted on ``device`` in the same time."""

    device: Device
    counted: int
    true: int

    @property
    def ratio(self) -> float | None:
        """2.0 where the counters are doubled; None if nothing moved."""
        return self.counted / self.true if self.true else None
