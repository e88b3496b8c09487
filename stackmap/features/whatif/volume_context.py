"""What a projection must know of a volume: its layout, its members and disks, who manages it, its space."""

from collections.abc import Iterable
from math import ceil, inf
from typing import Literal, NamedTuple

from stackmap.errors import LayoutError
from stackmap.ledger.layers import carriers, spreads
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import target_of
from stackmap.model.raid import PAGE, RAID_LEVELS, Layout
from stackmap.model.topology import Topology

Manager = Literal["lvm", "md"]
LVM_KINDS = Kind.VOLUME, Kind.MEMBER, Kind.THIN, Kind.THIN_POOL, Kind.CACHE, Kind.SNAPSHOT
MANAGERS: dict[Kind, Manager] = {Kind.ARRAY: "md", **dict.fromkeys(LVM_KINDS, "lvm")}
# The layout of a volume that has none of its own.
SINGLE_DEVICE = Layout("linear", members=1, data=1, parity=0, copies=1, chunk=None)
FLAGS_SINCE = (6, 12)  # kernel releases
PLUGS_SINCE, PLUGGED = (6, 5), 32  # drivers/md/raid1-10.c, MAX_PLUG_BIO
# Before, time with slow requests was counted short (block/blk-core.c, update_io_ticks; stackmap-kernel(7), "Counters").
BUSY_SINCE = (5, 7)
HEAD = 256  # bytes before the bits (bitmap_super_t)
BLOCK = 512  # the last page is written up to a logical block


class Bitmap(NamedTuple):
    """
    The bitmap of one layout. ``region``: bytes of a member per bit; ``covers``: bytes of the
    volume per bit; ``regions``: their number, None if the volume's size is not known.
    """

    region: int
    covers: float
    regions: float | None

    @property
    def pages(self) -> int:
        """The number of its pages."""
        return ceil((HEAD + (self.regions or 0) / 8) / PAGE)

    @property
    def page_bytes(self) -> float:
        """Bytes per write of a page, at one member; a single page is only as long as its bits."""
        length = HEAD + ceil((self.regions or 0) / 8)
        return PAGE if length > PAGE else ceil(length / BLOCK) * BLOCK


def bitmap_of(layout: Layout, region: int, size: int | None) -> Bitmap | None:
    """Return the bitmap of *layout*; None without redundancy, for nothing can get out of sync."""
    if not layout.survivable_failures:
        return None
    # Parity levels count in sectors of a member, the others in the volume's (resync_max_sectors).
    covers = float(region * (layout.data if layout.parity else 1))
    return Bitmap(region, covers, None if size is None else max(1.0, size / covers))


class VolumeContext(NamedTuple):
    """
    A volume and its surroundings.

    ``members``, ``metadata``, ``disks``: kernel names below it; ``others``: what
    else uses the members. ``size``: bytes. ``region``: bytes per bit of the present
    bitmap, None if there is none or it is not known. ``flushes_counted``: its
    disks have a write cache, so they count empty flushes as requests. ``manager``:
    None if not known, as for a disk. ``background_state``: "resync" and the like, else
    "". ``spread_above``: titles of devices above that spread over several devices. ``keeps_flags``: copies of a
    direct write are direct writes too, so writeback throttling does not hold them back ("md/raid1,raid10: don't
    ignore IO flags", in 6.15 and in stable 6.12; not in 6.1).
    ``plugged``: writes to copies under a plug, until it is pulled. ``counts_busy``: the kernel counts all the time in
    which a request is in flight.
    """

    device: Device
    present: Layout | None
    members: tuple[str, ...]
    metadata: tuple[str, ...]
    disks: tuple[str, ...]
    size: int | None
    region: int | None
    flushes_counted: bool
    manager: Manager | None
    others: tuple[str, ...] = ()
    background_state: str = ""
    spread_above: tuple[str, ...] = ()
    writers_below: tuple[str, ...] = ()
    keeps_flags: bool = False
    plugged: float = inf
    counts_busy: bool = False

    @property
    def lvm(self) -> bool:
        """Whether the projection uses LVM's defaults, as it does if the manager is not known."""
        return self.manager != "md"

    @property
    def counts_flushes(self) -> bool:
        """Whether its writes include empty flushes; md counts none (stackmap-kernel(7), "Counters")."""
        return self.manager != "md"

    @property
    def bitmap(self) -> Bitmap | None:
        """The present bitmap; None if there is none, or its region size is not known."""
        if self.present is None or not self.region:
            return None
        return bitmap_of(self.present, self.region, self.size)

    @property
    def bitmap_devices(self) -> int:
        """How many devices have the bitmap: the metadata devices, or the members where these have it; 0 if none is known."""
        return len(self.metadata) or len(self.members)

    @property
    def member_bytes(self) -> int | None:
        """Bytes of each data member; None if the volume's size is not known."""
        holds = 1 if self.present is None else self.present.data_members
        return None if self.size is None or not holds else ceil(self.size / holds)

    @property
    def split_size(self) -> int | None:
        """
        Bytes at which the present layout splits requests before it counts them, None if it does not.

        dm does. For parity levels md does not, or from about Linux 7.1 at full stripes, as its queue says
        (stackmap-kernel(7), "Merging and splitting").
        """
        layout = self.present
        if layout is None or not layout.chunk:
            return None
        return (
            (self.device.queue.boundary or None) if layout.parity and not self.lvm else layout.chunk
        )


def volume_context(topology: Topology, name: str) -> VolumeContext:
    """Return the context of the first device from *name* down that has a layout; else of *name*."""
    device = next(
        filter(spreads, map(topology.__getitem__, topology.with_all_below(name))), topology[name]
    )
    edges = topology.below(device.name)
    members = tuple(dict.fromkeys(e.below for e in edges if e.role is Role.DATA))
    above = (topology[n] for n in topology.with_all_above(device.name) if n != device.name)
    users = (edge.above for name in members for edge in topology.above(name))
    data = carriers(topology, device.name)
    below = (topology[n] for name in members for n in topology.with_all_below(name))
    disks = tuple(
        n for n in topology.with_all_below(device.name) if n in data and not topology.below(n)
    )
    kernel = topology.machine.release
    caches = [topology[disk].queue.write_cache for disk in disks]
    return VolumeContext(
        device=device,
        present=device.layout if spreads(device) else None,
        members=members,
        metadata=tuple(dict.fromkeys(e.below for e in edges if e.role is Role.METADATA)),
        disks=disks,
        size=device.size,
        region=int(device.facts["region"]) if device.facts.get("region", "").isdigit() else None,
        flushes_counted="write through" not in caches,
        manager=MANAGERS.get(device.kind),
        others=tuple(dict.fromkeys(name for name in users if name != device.name)),
        keeps_flags=kernel >= FLAGS_SINCE,
        plugged=PLUGGED if kernel >= PLUGS_SINCE else inf,
        counts_busy=kernel >= BUSY_SINCE,
        background_state="" if device.state in (None, "active") else device.state,
        spread_above=tuple(d.title for d in above if spreads(d)),
        writers_below=tuple(dict.fromkeys(d.target for d in below if target_of(d).extra)),
    )


def pvs_of(topology: Topology, context: VolumeContext) -> tuple[str, ...]:
    """Return LVM's PVs below the data members; () for another manager."""
    if context.manager != "lvm":
        return ()
    below = (
        [edge.below for edge in topology.below(name)]
        if topology[name].kind is Kind.MEMBER
        else [name]
        for name in context.members
    )
    return tuple(dict.fromkeys(pv for pvs in below for pv in pvs))


def require_whole_volume(topology: Topology, context: VolumeContext) -> None:
    """Refuse a member or a path: its load follows from the layout of the device above."""
    if context.present is not None:
        return
    device = context.device
    for edge in topology.above(device.name):
        above = topology[edge.above]
        part = "path" if edge.role is Role.PATH else ""
        if not part and (above.kind is Kind.ARRAY or device.kind is Kind.MEMBER):
            part = "member"
        if part:
            raise LayoutError(
                f"{device.title} is a {part} of {above.title}, which has the layout: name {above.title}"
            )


class MembersNeeded(NamedTuple):
    """
    The ``members`` of ``member_bytes`` each that hold what the volume holds now.

    Members keep their present size, except where each is a copy of all the data and must be larger.
    """

    member_bytes: int
    members: int


class SpaceBeside(NamedTuple):
    """
    Space for the new layout beside the present one, by the sizes of the PVs.

    ``member_bytes``: needed on each of ``members`` PVs. ``free``: bytes that each PV of the volume has at most
    beyond the LVs seen on it, in no order.
    """

    member_bytes: int
    members: int
    free: tuple[int, ...]

    @property
    def suffices(self) -> bool:
        """Whether enough of these PVs may have room."""
        return sum(free >= self.member_bytes for free in self.free) >= self.members


def space_beside(
    topology: Topology, layout: Layout, size: int | None, pvs: Iterable[str]
) -> SpaceBeside | None:
    """Return the room on *pvs* for *size* bytes in *layout*; None if a size is not known."""
    if not size:
        return None
    free = []
    for pv in pvs:
        whole = topology[pv].size
        if whole is None:
            return None
        users = {edge.above for edge in topology.above(pv)}
        # What a device that spans several PVs has on this one is not known, so it counts as nothing.
        used = (topology[n].size for n in users if {e.below for e in topology.below(n)} == {pv})
        free.append(max(0, whole - sum(filter(None, used))))
    return (
        SpaceBeside(ceil(size / layout.data_members), layout.members, tuple(free)) if free else None
    )


def usable_bytes(layout: Layout, member_bytes: int | None) -> int | None:
    """Return the capacity of *layout* on members of *member_bytes*."""
    return None if member_bytes is None else int(layout.data_members * member_bytes)


def members_needed(
    layout: Layout, size: int | None, member_bytes: int | None
) -> MembersNeeded | None:
    """Return the members of *member_bytes* that hold *size* in *layout*; None if not known."""
    if not size or not member_bytes:
        return None
    if RAID_LEVELS[layout.level].copies is None:  # more members would add copies, not capacity
        return MembersNeeded(max(member_bytes, size), layout.members)
    return MembersNeeded(member_bytes, ceil(size * layout.copies / member_bytes) + layout.parity)
