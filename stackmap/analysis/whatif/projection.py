"""What a projection is: a volume's load as it was measured, and what it would be on another layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackmap.analysis.whatif.pattern import Pattern
from stackmap.analysis.whatif.quantities import Band, Levels, Stream
from stackmap.model.device import Device
from stackmap.model.raid import Layout

# What a volume on one device is laid out as, which has no layout of its own.
SINGLE_DEVICE = Layout("linear", members=1, data=1, parity=0, copies=1, chunk=None)


@dataclass(frozen=True, slots=True)
class Added:
    """What the bitmap adds: requests and bytes a second."""

    requests: Band
    bytes: Band


@dataclass(frozen=True, slots=True)
class DeviceLoad:
    """
    What some devices together take, a second; requests as a band, None where it is not known.

    ``count``: how many devices. ``read``, ``write``: without ``metadata``,
    which is what the bitmap adds; None where there is none, or nothing tells.
    """

    count: int
    read: Band | None
    write: Band | None
    read_bytes: float | None
    write_bytes: float | None
    metadata: Added | None = None

    @property
    def data(self) -> Band | None:
        """Requests, without metadata's."""
        return None if self.read is None or self.write is None else self.read + self.write

    @property
    def data_bytes(self) -> float | None:
        """Bytes both ways, without metadata's."""
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    @property
    def requests(self) -> Band | None:
        """All requests, metadata's too where they are known."""
        if self.data is None or self.metadata is None:
            return self.data
        return self.data + self.metadata.requests

    @property
    def bytes(self) -> float | None:
        """All bytes, metadata's too where they are known."""
        if self.data_bytes is None or self.metadata is None:
            return self.data_bytes
        return self.data_bytes + self.metadata.bytes.likely


@dataclass(frozen=True, slots=True)
class LayoutLoad:
    """A layout with what its members and disks take; ``usable``: bytes it holds on members as large as now, if known."""

    layout: Layout | None
    members: DeviceLoad
    disks: DeviceLoad
    usable: int | None


@dataclass(frozen=True, slots=True)
class Need:
    """
    ``members``: how many of ``member_bytes`` the layout needs to hold what the volume holds.

    Those are as large as now, and larger only where each has to be: where it is a copy of all.
    """

    member_bytes: int
    members: int


@dataclass(frozen=True, slots=True)
class Region:
    """What a bitmap with a bit for so many bytes would add at the disks; ``bytes`` None: without one."""

    bytes: int | None
    requests: float
    share: float  # of all the disks' requests


@dataclass(frozen=True, slots=True)
class Projection:
    """
    A volume now, and on another layout, averaged over ``seconds`` of ``intervals`` intervals.

    ``read``, ``write``: what it was sent; ``flushes``: None where nothing tells them
    from writes. ``levels``: of volume,
    members and disks, now and projected, over the window. ``regions``: what
    other bitmaps would add, the present one's region first; () where it has
    none. ``unmodelled``: what the figures leave out, in sentences.
    """

    device: Device
    seconds: float | None
    intervals: int
    read: Stream
    write: Stream
    flushes: float | None
    pattern: Pattern
    now: LayoutLoad
    projected: LayoutLoad
    need: Need | None
    levels: Mapping[str, Levels]
    regions: tuple[Region, ...] = ()
    unmodelled: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()
    events: tuple[str, ...] = field(default=())

    @property
    def idle(self) -> bool:
        """Whether the volume did nothing."""
        return not (self.read.requests or self.write.requests or self.flushes)

    @property
    def needs_larger(self) -> bool:
        """Whether its members, as many as they are, hold what is held now only if they are larger."""
        now, then, need = self.now.usable, self.projected.usable, self.need
        if need is None or now is None or then is None:
            return False
        return need.members == self.projected.members.count and then < now

    @property
    def is_check(self) -> bool:
        """Whether the layout is the present one: then the projection is a check of the model."""
        now, then = self.now.layout, self.projected.layout
        return now == then or (now is None and then == SINGLE_DEVICE)
