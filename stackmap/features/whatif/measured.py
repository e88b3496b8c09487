"""
The measured load of a volume, its members and its disks over intervals: where a projection starts.

Sub-LVs and the members of an array serve one volume, so all their load is the volume's. A disk or crypt
mapping below a linear or striped volume may serve others too. Then the volume's part is what its own counters
say, and flushes cannot be separated from writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.features.whatif.quantities import Stream
from stackmap.features.whatif.volume_context import Bitmap, VolumeContext
from stackmap.ledger.amounts import Traffic
from stackmap.ledger.averages import FEW, Average, mixed
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.member_writes import flushes_sent, has_bitmap, max_bitmap_writes
from stackmap.ledger.parity import SKEW
from stackmap.ledger.sent import TOLERANCE, is_idle
from stackmap.model.interval import LONG_RECORDING, Interval
from stackmap.model.load import IDLE, Flow, Load, ratio
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology

# A page of the bitmap is written with PREFLUSH and FUA. At the rmeta sub-LV dm splits that into an empty flush
# and the page, from about Linux 7.0 it does not; on md's own members it counts once (stackmap-kernel(7), "Bitmap").
SPLIT, WHOLE = 2, 1  # requests per page
WHOLE_SINCE = (7, 0)
ON_ONE_DEVICE = "on one device they cannot be separated from writes"
ON_COPIES = "where every member is a copy, they cannot be separated from writes"
UNSEEN = "the input has no figures for its members"
SAME_SIZE = 1 / 200  # of the mean size; texts round it
SEVERAL = 3  # intervals


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
    ``per_page``: requests per write of a page of LVM's bitmap, see ``page_requests``.
    ``most_page_writes``: where the bitmap is not counted, the disks' writes at each member: it has no more.
    ``busy``: the share of time in which any request is in flight; ``in_flight``: the mean of its two ends.
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
    per_page: int = SPLIT
    seconds: float | None = None
    flushes_reason: str = ""
    alike: bool = False
    most_page_writes: float | None = None
    busy: float | None = None
    in_flight: int | None = None

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

    def grown(self, factor: float) -> "Measured":
        """Return *factor* times as much load of the volume."""
        if factor == 1:
            return self
        flushes = None if self.flushes is None else self.flushes * factor
        return self._replace(
            read=self.read.scaled(factor), write=self.write.scaled(factor), flushes=flushes
        )

    def behind_a_cache(self, missed: float) -> "Measured":
        """Return the load with the share *missed* of its reads."""
        return self._replace(read=self.read.scaled(missed))

    @property
    def requests(self) -> float:
        """All requests of the volume, flushes too."""
        return self.read.requests + self.write.requests + self.known_flushes


def page_requests(ledger: Ledger, context: VolumeContext) -> int:
    """
    Return the requests at a member per write of a bitmap page.

    Where dm splits them, the mean write at the rmeta sub-LVs is half a page. Without writes there, the kernel's
    release decides.
    """
    if not context.lvm:
        return WHOLE
    written = _arrived(ledger, context.metadata, "write")
    if written is not None and written.requests and context.bitmap is not None:
        mean = written.bytes / written.requests
        return WHOLE if mean > (1 / SPLIT + 1) / 2 * context.bitmap.page_bytes else SPLIT
    return WHOLE if ledger.topology.machine.release >= WHOLE_SINCE else SPLIT


def measured(ledger: Ledger, context: VolumeContext) -> Measured | None:
    """Return the measured figures of the volume; None if its reads and writes are unknown."""
    load = ledger.load(context.device.name)
    read, write = load.read, load.write
    if None in (read.ios, read.bytes, write.ios, write.bytes):
        return None
    per_page = page_requests(ledger, context)
    ours = ledger.share(context.device.name, context.disks)
    reads, writes = (ledger.flow(context.disks, direction) for direction in ("read", "write"))
    disk_flushes = ledger.flow(context.disks, "flush").ios
    below = members_of(ledger, context, disk_flushes)
    metadata = below.metadata.requests if below.metadata else 0.0
    extra = (below.extra or 0.0) if context.counts_flushes else 0.0
    # Flushes would be among the writes.
    no_writes = context.counts_flushes and not _requests_of(write)
    return Measured(
        read=Stream(_requests_of(read), read.bytes or 0.0),
        write=Stream(max(0.0, _requests_of(write) - extra), write.bytes or 0.0),
        flushes=0.0 if no_writes else below.flushes,
        members_read=below.read,
        members_write=below.write,
        disks_read=_completed(ours.read, reads),
        disks_write=_completed(ours.write, writes, metadata),
        metadata=below.metadata,
        depth=_in_flight(load, load.write.wait),
        queue=_in_flight(load, load.total.wait),
        fua_writes=_known_fua_writes(context, below, disk_flushes, per_page)
        if _share(ours.write, writes, metadata) == 1
        else None,
        seconds=ledger.seconds,
        flushes_reason="" if no_writes else below.flushes_reason,
        per_page=per_page,
        most_page_writes=None
        if below.metadata
        else _most_page_writes(writes.ios, context, per_page),
        busy=load.busy,
        in_flight=None if load.in_flight_at_ends is None else load.in_flight_at_ends // 2,
    )


def _most_page_writes(
    requests: float | None, context: VolumeContext, per_page: int
) -> float | None:
    """Return the page writes at each member if the disks' *requests* were all the bitmap's."""
    if requests is None or not context.bitmap_devices:
        return None
    return requests / context.bitmap_devices / (per_page if context.flushes_counted else 1)


def fua_writes(
    layout: Layout, disk_flushes: float | None, sent: float, pages: float, per_page: int = SPLIT
) -> float | None:
    """
    Return the writes per second with FUA that a volume of *layout* received; None without flush counters.

    A disk with a write cache and without FUA, as most SCSI and SATA disks, flushes once
    more after each such write (block/blk-flush.c). *disk_flushes*: those the disks did, *sent*: those
    sent to the members, *pages*: writes of bitmap pages on all members; per second. A page of
    LVM's bitmap costs two flushes, or three of *per_page* 2: the empty flush has FUA (two), and the page (one).
    """
    if disk_flushes is None:
        return None
    known = sent + (per_page + 1) * pages
    if disk_flushes <= known * (1 + SKEW):
        return 0.0
    return (disk_flushes - known) / (1 + layout.parity if layout.parity else layout.copies)


def _known_fua_writes(
    context: VolumeContext, below: "MemberLoad", disk_flushes: float | None, per_page: int
) -> float | None:
    """Return the writes with FUA; None where bitmap or flushes are not known."""
    pages, extra = below.metadata, below.extra
    if context.present is None or pages is None or extra is None or not context.metadata:
        return None
    sent = extra * len(context.members)
    return fua_writes(context.present, disk_flushes, sent, pages.requests / per_page, per_page)


def _requests_of(flow: Flow) -> float:
    """Return the requests before merging, which a disk or partition does itself."""
    return (flow.ios if flow.arrivals is None else flow.arrivals) or 0.0


def _in_flight(load: Load, wait: float | None) -> float:
    """Return the requests in flight while any is, by their *wait* per second, ms; 1 if not known."""
    return 1.0 if not load.busy or wait is None else max(1.0, wait / 1000 / load.busy)


def _completed(part: Traffic, flow: Flow, metadata: float = 0.0) -> Stream | None:
    """
    Return the volume's data requests that the disks completed.

    *part*: the volume's part of their load *flow*, as in the layers' figures. Writes of the bitmap
    never merge, for they flush. So *metadata* of them are subtracted whole, and the
    volume's share of arrivals divides the rest.
    """
    if not metadata and part.ios is not None and part.bytes is not None:
        return Stream(part.ios, part.bytes)
    share = _share(part, flow, metadata)
    if share is None or part.bytes is None or flow.ios is None:
        return None
    return Stream(max(0.0, flow.ios - metadata) * share, part.bytes)


def _share(part: Traffic, flow: Flow, metadata: float) -> float | None:
    """Return the volume's share of the disks' arrivals without metadata; 1 if only it used them."""
    if part.arrivals is None or flow.arrivals is None:
        return None
    ours = ratio(part.arrivals, flow.arrivals - metadata) or 0.0
    return 1.0 if ours > 1 - TOLERANCE else ours


class MemberLoad(NamedTuple):
    """
    The load of the data members that is the volume's, per second; None where not known.

    ``write`` includes flushes, but not the bitmap. ``extra``: writes per member
    without data: flushes, and pages of md's bitmap. ``flushes``: None where
    ``flushes_reason`` says why. ``metadata``: writes of the bitmap, on any device.
    """

    read: Stream | None
    write: Stream | None
    extra: float | None
    flushes: float | None
    flushes_reason: str
    metadata: Stream | None


def members_of(ledger: Ledger, context: VolumeContext, disk_flushes: float | None) -> MemberLoad:
    """Return the load of the volume's members; *disk_flushes*: those its disks counted."""
    metadata = _arrived(ledger, context.metadata, "write")
    users = users_of(ledger.topology, ledger.loads, context.others)
    if users:
        part = ledger.share(context.device.name, context.members)
        why = f"{users} its members too"
        return MemberLoad(stream_of(part.read), stream_of(part.write), None, None, why, metadata)
    read, write = (_arrived(ledger, context.members, direction) for direction in ("read", "write"))
    layout = context.present
    if layout is None:
        return MemberLoad(read, write, None, None, ON_ONE_DEVICE, metadata)
    # md's own writes hold no flushes, so on its copies all further requests are flushes.
    if context.counts_flushes and not layout.parity and layout.copies >= layout.members:
        return MemberLoad(read, write, None, None, ON_COPIES, metadata)
    if write is None:
        return MemberLoad(read, write, None, None, UNSEEN, metadata)
    written = [ledger.load(name).write for name in context.members]
    written_above = ledger.load(context.device.name).write
    # Below 0 where the last writes had not reached the members when these were read.
    extra = max(0.0, flushes_sent(layout, written_above, written, counted=context.counts_flushes))
    bitmap = context.bitmap
    if not has_bitmap(context.device) or not bitmap:
        return MemberLoad(read, write, extra, extra, "", metadata)
    most = max_bitmap_writes(ledger.topology, ledger.loads, context.device)
    flushes, metadata = _flushes_and_bitmap(context, bitmap, disk_flushes, extra, most)
    return MemberLoad(read, write + metadata.scaled(-1), extra, flushes, "", metadata)


def users_of(topology: Topology, loads: Mapping[str, Load], names: Iterable[str]) -> str:
    """
    Return the devices of *names* that had load, as in "w and 2 more used"; "" if all were idle.

    If only devices without counters remain, "may have used".
    """
    known: list[str] = []
    unknown: list[str] = []
    for name in names:
        load = loads.get(name)
        if load is not None and load is not IDLE and ((total := load.total).ios or total.bytes):
            known.append(name)
        elif not is_idle(load):
            unknown.append(name)
    users = known or unknown
    if not users:
        return ""
    more = f" and {len(users) - 1} more" if len(users) > 1 else ""
    return f"{topology[users[0]].title}{more} {'used' if known else 'may have used'}"


def stream_of(sent: Flow | Traffic) -> Stream | None:
    """Return the requests that arrived, before merging."""
    if sent.arrivals is None or sent.bytes is None:
        return None
    return Stream(sent.arrivals, sent.bytes)


def _arrived(ledger: Ledger, names: tuple[str, ...], direction: str) -> Stream | None:
    return stream_of(ledger.flow(names, direction)) if names else None


def _flushes_and_bitmap(
    context: VolumeContext, bitmap: Bitmap, disk_flushes: float | None, extra: float, most: float
) -> tuple[float, Stream]:
    """
    Return the flushes and the bitmap's writes among *extra* writes per member of an md array.

    On mirrors, bytes beyond the copies are the bitmap's: *most* has that many pages. On parity levels
    *extra* holds only the part of a page without data; a page costs its disk two flushes, a flush
    one, so of f flushes per disk, f - extra belong to pages. If disks count no flushes, all is the
    bitmap's.
    """
    parity = context.present is not None and context.present.parity > 0
    part = 1 - bitmap.page_bytes / PAGE if parity else 1.0
    most = min(most, max(0.0, extra / part) if part else 0.0)
    pages = most
    if parity and disk_flushes is not None:
        pages = (disk_flushes / max(1, len(context.disks)) - extra) / (2 - part)
    pages = min(most, max(0.0, pages))
    written = pages * len(context.members)
    return max(0.0, extra - pages * part), Stream(written, written * bitmap.page_bytes)


class Window(NamedTuple):
    """
    The measured load as a whole and in parts; ``counts``: intervals that each part averages.

    ``average``: corrected. ``whole``: None if the input does not separate reads and writes.
    """

    ledger: Ledger
    average: Interval
    intervals: int
    whole: Measured | None
    parts: Sequence[Measured]
    counts: Sequence[int]
    notes: tuple[str, ...]


def window_of(topology: Topology, intervals: Iterable[Interval], context: VolumeContext) -> Window:
    """Return the load of the volume in uncorrected *intervals*; ``InputError`` if there are none."""
    average = Average()
    parts: list[Measured] = []
    counts: list[int] = []
    first: list[Interval] = []
    near = topology.connected([context.device.name])
    for interval in intervals:
        average.add(interval)
        if len(first) <= FEW:
            first.append(interval)
        right = corrected(topology, interval, near)
        part = measured(Ledger(topology, right.loads, right.seconds), context)
        if part is not None:  # one interval may tell less than all together
            parts.append(part)
            counts.append(interval.count)
    uncorrected = average.result()
    if uncorrected is None:
        raise InputError(f"{context.device.title}: no interval to project")
    result = corrected(topology, uncorrected)
    ledger = Ledger(topology, result.loads, result.seconds)
    whole = measured(ledger, context)
    if whole is not None:
        # A mix of sizes differs from one interval to the next.
        sizes = [part.write.size for part in parts if part.write.requests]
        alike = len(sizes) >= SEVERAL and max(sizes) <= min(sizes) * (1 + SAME_SIZE)
        whole = whole._replace(alike=alike)
    notes = (*mixed(first), *(note for note in result.notes if note.startswith(LONG_RECORDING)))
    return Window(ledger, result, sum(counts) or uncorrected.count, whole, parts, counts, notes)
