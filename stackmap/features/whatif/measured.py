"""The measured load of a volume, its members and its disks over an interval: where a projection starts."""

from __future__ import annotations

from typing import NamedTuple

from stackmap.features.whatif.members import Members, members_of
from stackmap.features.whatif.quantities import Stream
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.ledger.amounts import Traffic
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import SKEW
from stackmap.ledger.sent import TOLERANCE
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.raid import Layout

DISK_FLUSHES_PER_PAGE = 3


class Measured(NamedTuple):
    """
    The figures of one interval, per second; None where the counters do not tell.

    ``read``, ``write``: the volume's requests with data. ``flushes``: empty ones,
    None where ``flushes_reason`` says why; they are then part of ``write``, except
    for md. ``members_read``, ``members_write``: requests at the data members, with
    flushes. ``disks_read``, ``disks_write``: what the disks completed of these, after
    merging. ``metadata``: writes of the bitmap.
    ``depth``: writes in flight while any request is, ``queue``: all requests.
    ``fua_writes``: writes with FUA. ``alike``: whether the writes of all intervals have one mean size.
    ``most_page_writes``: where the bitmap is not counted, the disks' writes at each member: it has no more.
    """

    read: Stream
    write: Stream
    flushes: float | None = None
    members_read: Stream | None = None
    members_write: Stream | None = None
    disks_read: Stream | None = None
    disks_write: Stream | None = None
    metadata: Stream | None = None
    depth: float = 1.0
    queue: float = 1.0
    fua_writes: float | None = None
    seconds: float | None = None
    flushes_reason: str = ""
    alike: bool = False
    most_page_writes: float | None = None

    @property
    def known_flushes(self) -> float:
        """Empty flushes per second, 0 if they cannot be separated from writes."""
        return self.flushes or 0.0

    @property
    def max_depth(self) -> float:
        """Writes in flight at most, if they arrive together and complete one by one."""
        return 2 * self.depth - 1

    @property
    def plugged(self) -> bool:
        """Whether all writes between two flushes are in flight at once, as writeback of a file submits them."""
        flushes = self.known_flushes
        return 0 < flushes < self.write.requests <= flushes * self.max_depth

    @property
    def bursts(self) -> float:
        """The instants per second at which writes arrive, at least."""
        writes = self.write.requests
        return min(writes, max(writes / self.max_depth, self.known_flushes))

    @property
    def requests(self) -> float:
        """All requests of the volume, flushes too."""
        return self.read.requests + self.write.requests + self.known_flushes


def measured(ledger: Ledger, context: VolumeContext) -> Measured | None:
    """Return the measured figures of the volume; None if its reads and writes are unknown."""
    own = ledger.load(context.device.name)
    read, write = own.read, own.write
    if None in (read.ios, read.bytes, write.ios, write.bytes):
        return None
    ours = ledger.share(context.device.name, context.disks)
    reads, writes = (ledger.flow(context.disks, way) for way in ("read", "write"))
    disk_flushes = ledger.flow(context.disks, "flush").ios
    below = members_of(ledger, context, disk_flushes)
    metadata = below.metadata.requests if below.metadata else 0.0
    write_share = _share(ours.write, writes, metadata)
    extra = (below.extra or 0.0) if context.counts_flushes else 0.0
    no_writes = context.counts_flushes and not _sent(write)  # flushes would be among the writes
    return Measured(
        read=Stream(_sent(read), read.bytes or 0.0),
        write=Stream(max(0.0, _sent(write) - extra), write.bytes or 0.0),
        flushes=0.0 if no_writes else below.flushes,
        members_read=below.read,
        members_write=below.write,
        disks_read=_completed(ours.read, reads, 0.0, _share(ours.read, reads, 0.0)),
        disks_write=_completed(ours.write, writes, metadata, write_share),
        metadata=below.metadata,
        depth=_in_flight(own, own.write.wait),
        queue=_in_flight(own, own.total.wait),
        fua_writes=_fua_of(context, below, disk_flushes) if write_share == 1 else None,
        seconds=ledger.seconds,
        flushes_reason="" if no_writes else below.flushes_reason,
        most_page_writes=None if below.metadata else _pages_of(writes.ios, context),
    )


def _pages_of(requests: float | None, context: VolumeContext) -> float | None:
    """Return the page writes at each member if the disks' *requests* were all the bitmap's."""
    devices = len(context.metadata) or len(context.members)
    if requests is None or not devices:
        return None
    return requests / devices / (context.requests_per_page if context.flushes_counted else 1)


def fua_writes(
    layout: Layout, disk_flushes: float | None, sent: float, pages: float
) -> float | None:
    """
    Return the writes per second with FUA that a volume of *layout* received; None without flush counters.

    A disk with a write cache and without FUA, as most SCSI and SATA disks, flushes once
    more after each such write (block/blk-flush.c). *disk_flushes*: those the disks did, *sent*: those
    sent to the members, *pages*: writes of bitmap pages on all members; per second. A page of
    LVM's bitmap costs three flushes: dm splits it into an empty flush with FUA (two) and the page (one).
    """
    if disk_flushes is None:
        return None
    known = sent + DISK_FLUSHES_PER_PAGE * pages
    if disk_flushes <= known * (1 + SKEW):
        return 0.0
    return (disk_flushes - known) / (1 + layout.parity if layout.parity else layout.copies)


def _fua_of(context: VolumeContext, below: Members, disk_flushes: float | None) -> float | None:
    """Return the writes with FUA; None where bitmap or flushes are not known."""
    pages, extra = below.metadata, below.extra
    if context.present is None or pages is None or extra is None or not context.metadata:
        return None
    sent = extra * len(context.members)
    return fua_writes(
        context.present, disk_flushes, sent, pages.requests / context.requests_per_page
    )


def _sent(own: Flow) -> float:
    """Return the requests before merging, which a disk or partition does itself."""
    return (own.ios if own.arrivals is None else own.arrivals) or 0.0


def _in_flight(own: Load, wait: float | None) -> float:
    """Return the requests in flight while any is, by their *wait* per second, ms; 1 if not known."""
    return 1.0 if not own.busy or wait is None else max(1.0, wait / 1000 / own.busy)


def _completed(part: Traffic, own: Flow, metadata: float, share: float | None) -> Stream | None:
    """
    Return the volume's data requests that the disks completed.

    *part*: the volume's part of their load *own*, as in the layers' figures. Writes of the bitmap
    never merge, for they flush. So *metadata* of them are subtracted whole, and the
    volume's *share* of arrivals divides the rest.
    """
    if not metadata and part.ios is not None and part.bytes is not None:
        return Stream(part.ios, part.bytes)
    if share is None or part.bytes is None or own.ios is None:
        return None
    return Stream(max(0.0, own.ios - metadata) * share, part.bytes)


def _share(part: Traffic, own: Flow, metadata: float) -> float | None:
    """Return the volume's share of the disks' arrivals without metadata; 1 if only it used them."""
    if part.arrivals is None or own.arrivals is None:
        return None
    ours = ratio(part.arrivals, own.arrivals - metadata) or 0.0
    return 1.0 if ours > 1 - TOLERANCE else ours
