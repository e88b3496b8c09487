"""
Where the boundaries lie that requests to a device should keep to.

A disk has them every physical sector (4 KiB at least: those that say 512 may
hide larger ones), an array every chunk, one with parity every stripe as well.
A device that passes requests on has those of what is below, moved by where it
starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.model.device import Device
from stackmap.model.raid import RAID_LEVELS
from stackmap.model.targets import passes
from stackmap.model.topology import Topology

SECTOR = 4096  # bytes


@dataclass(frozen=True, slots=True)
class Grain:
    """Boundaries every *size* bytes, the first at *phase*: of the *what* of device *whose*."""

    size: int
    phase: int
    what: str
    whose: str

    def past(self, position: int) -> int:
        """Return how many bytes *position* is past a boundary."""
        return (position - self.phase) % self.size

    def moved(self, start: int) -> Grain:
        """Return the boundaries as a device sees them that begins at *start*."""
        return Grain(self.size, (self.phase - start) % self.size, self.what, self.whose)


def grain(topology: Topology, name: str, *, stripes: bool = False) -> Grain | None:
    """
    Return the boundaries of *name*; with *stripes* those of the nearest full stripe below.

    None where they are not known: where a start is not, or several devices lie below.
    """
    device = topology[name]
    own = _stripe(device) if stripes else _chunk(device)
    if own is not None:
        return own
    edges = [edge for edge in topology.below(name) if edge.role == "data"]
    if not topology.below(name):
        return None if stripes else _sector(device)
    if len(edges) != 1 or edges[0].start is None or not passes(device):
        return None
    below = grain(topology, edges[0].below, stripes=stripes)
    return None if below is None else below.moved(edges[0].start)


def _chunk(device: Device) -> Grain | None:
    layout = device.layout
    if layout is None or not layout.chunk or not RAID_LEVELS[layout.level].stripes:
        return None
    return Grain(layout.chunk, 0, "chunks", device.name)


def _stripe(device: Device) -> Grain | None:
    layout = device.layout
    if layout is None or not layout.parity or layout.stripe is None:
        return None
    return Grain(layout.stripe, 0, "full stripes", device.name)


def _sector(device: Device) -> Grain:
    said = device.queue.get("physical_block_size", "")
    return Grain(
        max(SECTOR, int(said) if said.isdecimal() else 0), 0, "physical sectors", device.name
    )
