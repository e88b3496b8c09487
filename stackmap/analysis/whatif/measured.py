"""What was measured of a volume, its members and its disks over an interval: what the projection starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.analysis.attribution import OTHERS, shares, together
from stackmap.analysis.share import Portion
from stackmap.analysis.whatif.fua import fua_writes
from stackmap.analysis.whatif.members import Members, members_of, sum_of
from stackmap.analysis.whatif.quantities import Stream
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Measured:
    """
    The figures of one interval, a second; None where the counters do not say.

    ``read`` and ``write``: the volume's requests that carry data. ``flushes``:
    those that only flush, None where ``flushes_reason`` says why nothing tells how many; they are
    among ``write`` then, but for md's. ``members_read`` and ``members_write``: what its
    data members took, flushes included. ``disks_read`` and ``disks_write``:
    what its disks completed of that, after merging. ``metadata``: what its
    bitmap was written, wherever that is, and ``metadata_wait`` the milliseconds that a
    request of these took. ``depth``: how many of the volume's writes are under way at once, where
    any request is, and ``queue``: of all its requests. ``fua_writes``: writes that ask for FUA.
    """

    read: Stream
    write: Stream
    flushes: float | None
    members_read: Stream | None
    members_write: Stream | None
    disks_read: Stream | None
    disks_write: Stream | None
    metadata: Stream | None
    metadata_wait: float | None = None
    depth: float = 1.0
    queue: float = 1.0
    fua_writes: float | None = None
    seconds: float | None = None
    flushes_reason: str = ""

    @property
    def known_flushes(self) -> float:
        """The flushes that are told from writes."""
        return self.flushes or 0.0

    @property
    def max_depth(self) -> float:
        """How many are under way at most, where as many come at once and are done one by one."""
        return 2 * self.depth - 1

    def writes_sharing_a_page(self, layout: Layout | None) -> float:
        """Return how many writes share one of the bitmap's page on *layout*."""
        # Parity collects what is under way; else each writer waits for the page by itself (raid1-10.c).
        return self.depth if layout is not None and layout.parity else 1.0

    def page_write_seconds(self, context: VolumeContext) -> float:
        """Return the seconds that one write of the bitmap's page takes."""
        return context.writes_of_a_page * (self.metadata_wait or 0.0) / 1000

    @property
    def requests(self) -> float:
        """All that the volume was sent, flushes too."""
        return self.read.requests + self.write.requests + self.known_flushes


def measured(
    topology: Topology, loads: Mapping[str, Load], context: VolumeContext, seconds: float | None
) -> Measured | None:
    """Return what *loads*, corrected, say of the volume; None where its own requests are not among them."""
    own = loads.get(context.device.name, Load())
    read, written = own.read, own.write
    if None in (read.ios, read.bytes, written.ios, written.bytes):
        return None
    owned = shares(topology, loads, context.device.name)
    below = members_of(topology, loads, context, owned)
    ours = together(topology, [owned[name] for name in context.disks])
    reads, writes = (sum_of(loads, context.disks, way) for way in ("read", "write"))
    marked = below.metadata.requests if below.metadata else 0.0
    empty = (below.extra or 0.0) if context.counts_flushes else 0.0
    none = context.counts_flushes and not _sent(written)  # what there was would be among the writes
    return Measured(
        read=Stream(_sent(read), read.bytes or 0.0),
        write=Stream(max(0.0, _sent(written) - empty), written.bytes or 0.0),
        flushes=0.0 if none else below.flushes,
        members_read=below.read,
        members_write=below.write,
        disks_read=_done(ours.read, reads, 0.0),
        disks_write=_done(ours.write, writes, marked),
        metadata=below.metadata,
        metadata_wait=sum_of(loads, context.metadata, "write").await_ms,
        depth=_at_once(own, own.write.wait),
        queue=_at_once(own, own.total.wait),
        fua_writes=_fua_writes(context, loads, below, _share(ours.write, writes, marked)),
        seconds=seconds,
        flushes_reason="" if none else below.flushes_reason,
    )


def _sent(own: Flow) -> float:
    """Return the requests that were sent: before merging, which a disk or partition does itself."""
    return (own.ios if own.arrivals is None else own.arrivals) or 0.0


def _at_once(own: Load, wait: float | None) -> float:
    """Return how many that *wait* together, milliseconds, are under way where any is; 1 where nothing tells."""
    return 1.0 if not own.busy or wait is None else max(1.0, wait / 1000 / own.busy)


def _fua_writes(
    context: VolumeContext, loads: Mapping[str, Load], below: Members, ours: float | None
) -> float | None:
    """Return the writes that ask for FUA; None where the disks' flushes are not all *ours*."""
    pages, extra = below.metadata, below.extra
    if (
        context.present is None
        or pages is None
        or extra is None
        or not context.metadata
        or ours != 1
    ):
        return None
    done = sum_of(loads, context.disks, "flush").ios
    return fua_writes(
        context.present,
        done,
        extra * len(context.members),
        pages.requests / context.writes_of_a_page,
    )


def _done(part: Portion, own: Flow, metadata: float) -> Stream | None:
    """
    Return what the disks, which did *own*, completed of the volume's data, *part* of what arrived.

    Disk by disk, as a layer's figures have it. But requests that ask for a
    flush never merge, so those of its *metadata*, if any, are taken out whole,
    and what is left is divided by arrivals where others share the disks.
    """
    if not metadata and part.ios is not None and part.bytes is not None:
        return Stream(part.ios, part.bytes)
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
