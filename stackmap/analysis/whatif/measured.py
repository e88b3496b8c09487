"""What was measured of a volume, its members and its disks over an interval: what the projection starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackmap.analysis.attribution import OTHERS, shares, together
from stackmap.analysis.flushes import flushes_sent
from stackmap.analysis.share import Portion, flow_of
from stackmap.analysis.whatif.bitmap import Bitmap
from stackmap.analysis.whatif.forced import forced
from stackmap.analysis.whatif.stand import Stand
from stackmap.model.load import Flow, Load, ratio, sum_flows
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology


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
class Measured:
    """
    The figures of one interval, a second; None where the counters do not say.

    ``read`` and ``write``: the volume's requests that carry data. ``flushes``:
    those that only flush. ``members_read`` and ``members_write``: what its
    data members took, flushes included. ``disks_read`` and ``disks_write``:
    what its disks completed of that, after merging. ``metadata``: what its
    bitmap was written, wherever that is, and ``metadata_wait`` the milliseconds that a
    request of these took. ``depth``: how many of the volume's writes are under way at once, where
    any request is, and ``queue``: of all its requests. ``forced``: writes that ask for FUA.
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
    depth: float = 1.0
    queue: float = 1.0
    forced: float | None = None
    seconds: float | None = None

    @property
    def deepest(self) -> float:
        """How many are under way at most, where as many come at once and are done one by one."""
        return 2 * self.depth - 1

    def sharing(self, layout: Layout | None) -> float:
        """Return how many writes share one of the bitmap's page on *layout*."""
        # Parity collects what is under way; else each writer waits for the page by itself (raid1-10.c).
        return self.depth if layout is not None and layout.parity else 1.0

    def pause(self, place: Stand) -> float:
        """Return the seconds that one write of the bitmap's page takes."""
        return place.writes_of_a_page * (self.metadata_wait or 0.0) / 1000

    @property
    def requests(self) -> float:
        """All that the volume was sent, flushes too."""
        return self.read.requests + self.write.requests + self.flushes


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
        depth=_at_once(own, own.write.wait),
        queue=_at_once(own, own.total.wait),
        forced=_forced(place, loads, extra, metadata, disks.write),
        seconds=seconds,
    )


def _at_once(own: Load, wait: float | None) -> float:
    """Return how many that *wait* together, milliseconds, are under way where any is; 1 where nothing tells."""
    return 1.0 if not own.busy or wait is None else max(1.0, wait / 1000 / own.busy)


def _forced(
    place: Stand,
    loads: Mapping[str, Load],
    flushes: float,
    metadata: Stream | None,
    writes: Portion,
) -> float | None:
    """Return the writes that ask for FUA; None where others' flushes may be among those of the disks."""
    if place.present is None or metadata is None or not place.metadata:
        return None
    if _share(writes, _all(loads, place.disks, "write"), metadata.requests) != 1.0:
        return None
    done = _all(loads, place.disks, "flush").ios
    pages = metadata.requests / place.writes_of_a_page
    return forced(place.present, done, flushes * len(place.members), pages)


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
    ours = _share(part, own, metadata)
    if ours is None or part.bytes is None or own.ios is None:
        return None
    return Stream(max(0.0, own.ios - metadata) * ours, part.bytes)


def _share(part: Portion, own: Flow, metadata: float) -> float | None:
    """Return the share of what the disks were sent, metadata apart, that is the volume's; 1 if nobody else's."""
    if part.arrivals is None or own.arrivals is None:
        return None
    ours = ratio(part.arrivals, own.arrivals - metadata) or 0.0
    return 1.0 if ours > 1 - OTHERS else ours
