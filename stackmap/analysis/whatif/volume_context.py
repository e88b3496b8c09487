"""Where a volume stands: its layout, its members and disks, and what of the machine a projection must know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stackmap.analysis.layers import carriers, spreads
from stackmap.analysis.whatif.bitmap import Bitmap, bitmap_of
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

# A page of the bitmap is written with PREFLUSH and FUA, which dm splits: an empty flush, then the page
# (KERNEL 1.2). Both are counted at the rmeta device; md's own, on its members, is one.
WRITES_OF_A_PAGE_LVM, WRITES_OF_A_PAGE_MD = 2, 1
Manager = Literal["lvm", "md"]
MANAGERS: dict[Kind, Manager] = {
    Kind.ARRAY: "md",
    Kind.VOLUME: "lvm",
    Kind.MEMBER: "lvm",
    Kind.THIN: "lvm",
    Kind.THIN_POOL: "lvm",
    Kind.CACHE: "lvm",
    Kind.SNAPSHOT: "lvm",
}


@dataclass(frozen=True, slots=True)
class VolumeContext:
    """
    Where a volume stands: what the projection must know of the machine.

    ``members``, ``metadata`` and ``disks`` by kernel name; ``others``: what else sends to the
    members. ``size``: bytes of
    the volume. ``region``: bytes that a bit of the present bitmap stands for,
    None where there is none or nothing tells. ``cuts``: the size at which the
    present layout cuts requests before they are counted, None where it does
    not. ``flushes_counted``: whether its disks have a write cache, so that an
    empty flush is a request there. ``manager``: who makes its layouts, None where
    that is not known: a disk may be given to either. ``background_state``:
    what else its members are at work for, "" if nothing. ``spread_above``: what
    stands on it and spreads over several devices, by title.
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

    @property
    def lvm(self) -> bool:
        """Whether it is projected as LVM would make it, as what may be either's is; ``unmodelled`` says that."""
        return self.manager != "md"

    @property
    def counts_flushes(self) -> bool:
        """Whether an empty flush is one of its own writes: not of md's (KERNEL 1.6)."""
        return self.manager != "md"

    @property
    def writes_of_a_page(self) -> int:
        """Requests that one write of the bitmap's page is, at a member."""
        return WRITES_OF_A_PAGE_LVM if self.lvm else WRITES_OF_A_PAGE_MD

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


def volume_context(topology: Topology, name: str) -> VolumeContext:
    """Return where the volume *name* stands; or the first below it that has a layout of its own."""
    device = next(
        filter(spreads, map(topology.__getitem__, topology.with_all_below(name))), topology[name]
    )
    edges = topology.below(device.name)
    members = tuple(dict.fromkeys(e.below for e in edges if e.role is Role.DATA))
    above = (topology[n] for n in topology.with_all_above(device.name) if n != device.name)
    beside = (edge.above for name in members for edge in topology.above(name))
    metadata = tuple(dict.fromkeys(e.below for e in edges if e.role is Role.METADATA))
    data = carriers(topology, device.name)
    disks = tuple(
        n for n in topology.with_all_below(device.name) if n in data and not topology.below(n)
    )
    caches = [topology[disk].queue.get("write_cache", "") for disk in disks]
    return VolumeContext(
        device=device,
        present=device.layout if spreads(device) else None,
        members=members,
        metadata=metadata,
        disks=disks,
        size=device.size,
        region=int(device.facts["region"]) if device.facts.get("region", "").isdigit() else None,
        flushes_counted="write through" not in caches,
        manager=MANAGERS.get(device.kind),
        others=tuple(dict.fromkeys(name for name in beside if name != device.name)),
        background_state="" if device.state in (None, "active") else device.state,
        spread_above=tuple(d.title for d in above if spreads(d)),
    )
