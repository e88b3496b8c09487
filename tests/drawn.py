"""Topologies and loads drawn by hand, as small as the law they serve."""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.ledger.amplification import StackFigures, figures_of
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Role
from stackmap.model.load import Flow, Load
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Machine, Topology

DISKS = ("sda", "sdb", "sdc", "sdd")


def disk(name: str, **more: object) -> Device:
    return Device(name, Kind.DISK, f"8:{16 * (ord(name[-1]) - 97)}", merges=True, **more)


def passing(name: str, kind: Kind = Kind.VOLUME, target: str = "linear", **more: object) -> Device:
    return Device(name, kind, "", target=target, **more)


def raid_volume(
    name: str, level: str, number: int, members: int = 4, **more: object
) -> tuple[list[Device], list[Edge]]:
    """A RAID LV *name* over the first disks, its sub-LVs ``name_rimage_0`` and ``name_rmeta_0``…"""
    top = Device(
        name, Kind.VOLUME, f"254:{number}", target="raid", layout=layout(level, members, 65536),
        state="active", **more,
    )  # fmt: skip
    devices, edges = [top], []
    for place in range(members):
        data, meta = f"{name}_rimage_{place}", f"{name}_rmeta_{place}"
        devices += [passing(data, Kind.MEMBER), passing(meta, Kind.MEMBER)]
        edges += [
            Edge(name, data, Role.DATA),
            Edge(name, meta, Role.METADATA),
            Edge(data, f"sd{chr(97 + place)}", Role.DATA),
            Edge(meta, f"sd{chr(97 + place)}", Role.DATA),
        ]
    return devices, edges


def topology(*parts: tuple[list[Device], list[Edge]], kernel: str = "6.1.0") -> Topology:
    """The parts, on the four disks."""
    devices = [d for devices, _ in parts for d in devices]
    edges = [e for _, edges in parts for e in edges]
    return Topology([*map(disk, DISKS), *devices], edges, machine=Machine(kernel=kernel))


def moved(read: Flow | None = None, write: Flow | None = None, **more: object) -> Load:
    """A load of a device that did what is given and nothing else."""
    nothing = Flow(0.0, 0.0, 0.0, 0.0)
    return Load(read or nothing, write or nothing, nothing, nothing, **more)


def did(ios: float, size: float, merges: float = 0.0, wait: float = 0.0) -> Flow:
    """*ios* requests completed, *merges* more merged into them; *size* bytes an arrival."""
    return Flow(ios, merges, (ios + merges) * size, wait)


def stack_figures(
    tree: Topology, loads: Mapping[str, Load], top: str, seconds: float | None = None
) -> StackFigures:
    """The figures of the stack of *top*."""
    return figures_of(Ledger(tree, loads, seconds), [top])[0]
