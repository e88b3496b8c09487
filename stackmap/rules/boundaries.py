"""
Where requests to a device should start and end, to be cheap below it.

A disk has a boundary every physical sector (4 KiB at least: disks that report
512 bytes may hide larger ones), an array every chunk, and an array with parity
every stripe. A device that passes requests on has the boundaries of the device
below, shifted by its start.
"""

from __future__ import annotations

from typing import NamedTuple

from stackmap.model.device import Device, Role
from stackmap.model.dm_targets import is_passthrough
from stackmap.model.raid import RAID_LEVELS
from stackmap.model.topology import Topology

SMALLEST_PHYSICAL_SECTOR = 4096  # bytes


class Boundaries(NamedTuple):
    """
    Boundaries every *size* bytes, the first at *offset*: the *unit* ("chunks") of *device*.

    ``sectors``: they are a disk's physical sectors, ``assumed`` if it reports smaller ones or none.
    """

    size: int
    offset: int
    unit: str
    device: str
    sectors: bool = False
    assumed: bool = False

    def past(self, position: int) -> int:
        """Return how many bytes *position* is past a boundary."""
        return (position - self.offset) % self.size

    def shifted(self, start: int) -> Boundaries:
        """Return these boundaries as positions on a device that starts at *start*."""
        return self._replace(offset=(self.offset - start) % self.size)


def boundaries(topology: Topology, name: str, *, stripes: bool = False) -> Boundaries | None:
    """
    Return the boundaries of *name*; with *stripes*, those of the nearest full stripe below.

    None if they are unknown: a start is unknown, or several devices lie below.
    """
    device = topology[name]
    layout = device.layout
    if stripes and layout is not None and layout.parity and layout.stripe is not None:
        return Boundaries(layout.stripe, 0, "full stripes", name)
    if not stripes and layout is not None and layout.chunk and RAID_LEVELS[layout.level].stripes:
        return Boundaries(layout.chunk, 0, "chunks", name)
    if not topology.below(name):
        return None if stripes else _sectors(device)
    edges = [edge for edge in topology.below(name) if edge.role == Role.DATA]
    if len(edges) != 1 or edges[0].start is None or not is_passthrough(device):
        return None
    below = boundaries(topology, edges[0].below, stripes=stripes)
    return None if below is None else below.shifted(edges[0].start)


def _sectors(disk: Device) -> Boundaries:
    """Return the physical sectors of *disk*; assumed ones where those it reports may hide larger ones."""
    physical = disk.queue.physical_block_size or 0
    if physical >= SMALLEST_PHYSICAL_SECTOR:
        return Boundaries(physical, 0, "physical sectors", disk.name, sectors=True)
    reported = f", it reports {physical} bytes" if physical else ""
    unit = f"physical sectors are assumed{reported}"
    return Boundaries(SMALLEST_PHYSICAL_SECTOR, 0, unit, disk.name, sectors=True, assumed=True)
