"""What was measured of a volume, its members and its disks over an interval: what the projection starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackmap.analysis.attribution import OTHERS, shares, together
from stackmap.analysis.flushes import flushes_sent
from stackmap.analysis.layers import carriers
from stackmap.analysis.share import Portion, flow_of
from stackmap.analysis.whatif.bitmap import Bitmap, bitmap_of
from stackmap.model.device import Device, Kind, Role
from stackmap.model.load import Flow, Load, ratio, sum_flows
from stackmap.model.raid import PAGE, RAID_LEVELS, Layout
from stackmap.model.topology import Topology

# A page of the bitmap is written with PREFLUSH and FUA, which dm splits: an empty flush, then the page
# (KERNEL 1.2). Both are counted at the rmeta device; md's own, on its members, is one.
WRITES_OF_A_PAGE = {"lvm": 2, "md": 1}


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests that carry data, one way, and their bytes; both a second."""

    requests: float
    bytes: float

    @property
    def size(self) -> float:
        """Mean bytes a request, 0 where there is none."""
        return ratio(self.bytes, self.requests) or 0.0

    def __add__(self, other: Stream) -> Stream:
        return Stream(self.requests + other.requests, self.bytes + other.bytes)

    def scaled(self, factor: float) -> Stream:
        """Return both times *factor*."""
        return Stream(self.requests * factor, self.bytes * factor)


NONE = Stream(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Stand:
    """
    Where a volume stands: what the projection must know of the machine.

    ``members``, ``metadata`` and ``disks`` by kernel name. ``size``: bytes of
    the volume. ``region``: bytes that a bit of the present bitmap stands for,
    None where there is none or nothing tells. ``cuts``: the size at which the
    present layout cuts requests before they are counted, None where it does
    not. ``flushes_counted``: whether its disks have a write cache, so that an
    empty flush is a request there. ``lvm``: who makes its layouts. ``trouble``:
    what else its members are at work for, "" if nothing.
    """

    device: Device
    present: Layout | None
    members: tuple[str, ...]
    metadata: tuple[str, ...]
    disks: tuple[str, ...]
    size: int | None
    region: int | None
    flushes_counted: bool
    lvm: bool
    trouble: str = ""

    @property
    def writes_of_a_page(self) -> int:
        """Requests that one write of the bitmap's page is, at a member."""
        return WRITES_OF_A_PAGE["lvm" if self.lvm else "md"]

    @property
    def bitmap(self) -> Bitmap | None:
        """The bitmap there is; None where there is none, or nothing tells how large its regions are."""
        if self.present is None or not self.region:
            return None
        return bitmap_of(self.present, self.region, self.size)

    @property
    def cuts(self) -> int | None:
        """Bytes at which requests are cut before they are counted (KERNEL 1.2, 1.3)."""
        layout = self.present
        if layout is None or not layout.chunk or (layout.parity and not self.lvm):
            return None
        return layout.chunk


@dataclass(frozen=True, slots=True)
class Measured:
    """
    The figures of one interval, a second; None where the counters do not say.

    ``read`` and ``write``: the volume's requests that carry data. ``flushes``:
    those that only flush. ``members_read`` and ``members_write``: what its
    data members took, flushes included. ``disks_read`` and ``disks_write``:
    what its disks completed of that, after merging. ``metadata``: what its
    bitmap was written, wherever that is, and ``metadata_wait`` the milliseconds that a
    request of these took. ``in_flight``: the volume's writes under way, on average.
    """

    read: Stream
    write: Stream
    flushes: float
    members_read: Stream | None
    members_write: Stream | None
    disks_read: Stream | None
    disks_write: Stream | None
    metadata: Stream | None
    metadata_wait: float | None = None
    in_flight: float | None = None
    seconds: float | None = None

    @property
    def requests(self) -> float:
        """All that the volume was sent, flushes too."""
        return self.read.requests + self.write.requests + self.flushes


def stand(topology: Topology, name: str) -> Stand:
    """Return where the volume *name* stands; or the first below it that has a layout of its own."""
    device = next(filter(_spreads, map(topology.__getitem__, topology.stack(name))), topology[name])
    edges = topology.below(device.name)
    members = tuple(dict.fromkeys(e.below for e in edges if e.role is Role.DATA))
    metadata = tuple(dict.fromkeys(e.below for e in edges if e.role is Role.METADATA))
    data = carriers(topology, device.name)
    disks = tuple(n for n in topology.stack(device.name) if n in data and not topology.below(n))
    caches = [topology[disk].queue.get("write_cache", "") for disk in disks]
    return Stand(
        device=device,
        present=device.layout if _spreads(device) else None,
        members=members,
        metadata=metadata,
        disks=disks,
        size=device.size,
        region=int(device.facts["region"]) if device.facts.get("region", "").isdigit() else None,
        flushes_counted="write through" not in caches,
        lvm=device.kind is not Kind.ARRAY,
        trouble="" if device.state in (None, "active") else device.state,
    )


def _spreads(device: Device) -> bool:
    """Whether *device* is an array or a volume with a layout over several members."""
    layout = device.layout
    return layout is not None and layout.level in RAID_LEVELS and layout.level != "linear"


def measured(
    topology: Topology, loads: Mapping[str, Load], place: Stand, seconds: float | None
) -> Measured | None:
    """Return what *loads*, corrected, say of the volume; None where its own requests are not among them."""
    own = loads.get(place.device.name, Load())
    read, written = own.read, own.write
    if None in (read.ios, read.bytes, written.ios, written.bytes):
        return None
    extra = _flushes(place, own, loads)
    empty = extra if place.lvm else 0.0  # md counts none of its own (KERNEL 1.6)
    owned = shares(topology, loads, place.device.name)
    disks = together(topology, [owned[name] for name in place.disks])
    metadata = _sent(loads, place.metadata, "write")
    flushes, members_write = extra, _sent(loads, place.members, "write")
    if place.device.facts.get("consistency") == "bitmap" and place.bitmap and members_write:
        flushes, metadata = _apart(place, place.bitmap, loads, extra)
        members_write = members_write + metadata.scaled(-1)
    return Measured(
        read=Stream(read.ios or 0.0, read.bytes or 0.0),
        write=Stream(max(0.0, (written.ios or 0.0) - empty), written.bytes or 0.0),
        flushes=flushes,
        members_read=_sent(loads, place.members, "read"),
        members_write=members_write,
        disks_read=_done(disks.read, _all(loads, place.disks, "read"), 0.0),
        disks_write=_done(
            disks.write,
            _all(loads, place.disks, "write"),
            metadata.requests if metadata else 0.0,
        ),
        metadata=metadata,
        metadata_wait=_all(loads, place.metadata, "write").await_ms,
        in_flight=None if written.wait is None else written.wait / 1000,
        seconds=seconds,
    )


def _flushes(place: Stand, own: Load, loads: Mapping[str, Load]) -> float:
    members = [loads.get(name, Load()).write for name in place.members]
    if place.present is None:
        return 0.0  # one device gets what the volume got: nothing tells them apart
    return flushes_sent(place.present, own.write, members, counted=place.lvm)


def _apart(
    place: Stand, bitmap: Bitmap, loads: Mapping[str, Load], extra: float
) -> tuple[float, Stream]:
    """
    Return the flushes, and what md's own bitmap was written, of *extra* writes at each member.

    A write of a page asks its disk for two flushes, a flush for one; so of f
    that the disks did, f - extra were of pages. Where they do not tell, all is
    the bitmap's. On parity levels, *extra* has a page as the part that is no data.
    """
    part = 1 - bitmap.page_bytes / PAGE if place.present and place.present.parity else 1.0
    most = extra / part if part else 0.0
    done = _all(loads, place.disks, "flush").ios
    pages = most if done is None else (done / max(1, len(place.disks)) - extra) / (2 - part)
    pages = min(most, max(0.0, pages))
    written = pages * len(place.members)
    return max(0.0, extra - pages * part), Stream(written, written * bitmap.page_bytes)


def _sent(loads: Mapping[str, Load], names: tuple[str, ...], direction: str) -> Stream | None:
    """Return what arrived at the devices *names* together, before merging."""
    total = _all(loads, names, direction)
    if not names or total.arrivals is None or total.bytes is None:
        return None
    return Stream(total.arrivals, total.bytes)


def _all(loads: Mapping[str, Load], names: Iterable[str], direction: str) -> Flow:
    return sum_flows(flow_of(loads.get(name, Load()), direction) for name in names)


def _done(part: Portion, own: Flow, metadata: float) -> Stream | None:
    """
    Return what the disks, which did *own*, completed of the volume's data, *part* of what arrived.

    Requests that ask for a flush never merge, so those of its *metadata* are
    taken out whole; what is left is divided by arrivals where others share the disks.
    """
    if part.arrivals is None or part.bytes is None or own.ios is None or own.arrivals is None:
        return None
    ours = ratio(part.arrivals, own.arrivals - metadata) or 0.0
    ours = 1.0 if ours > 1 - OTHERS else ours
    return Stream(max(0.0, own.ios - metadata) * ours, part.bytes)
