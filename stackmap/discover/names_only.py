"""
A topology by name alone: what the names in a text tell where no machine can be asked.

LVM names what it makes for its own use after what that is for
(``vg-lv_rimage_0``), and a partition is named after its disk. Nothing tells
where LVs lie, what an array is made of, or which level a RAID volume has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stackmap.model.device import Device, Kind
from stackmap.model.machine import Machine
from stackmap.model.topology import Edge, Topology
from stackmap.sources import dm, lvm_names
from stackmap.sources.dm import MappedDevice
from stackmap.sources.sysfs import Block

NO_TOPOLOGY = "no topology for this text; devices are shown by their own names"

KERNEL_NAME = re.compile(r"(?:dm-|dev\d+-)\d+|[a-z]+\d*|(?:nvme|mmcblk)\w+")
PARTITION = re.compile(r"([sv]d[a-z]+|xvd[a-z]+|nvme\d+n\d+(?=p)|mmcblk\d+(?=p))p?\d+")
ARRAY = re.compile(r"md(?:\d+|_\w+|/.+)")


def topology_from_names(printed: Iterable[str], machine: Machine) -> Topology:
    """Return what the names *printed*, of a text of *machine*, tell of its stacks."""
    names = dict.fromkeys(printed)
    volumes = {name: volume for name in names if (volume := _volume(name)) is not None}
    bearers = {(v.lv.vg, v.lv.lv, v.lv.layer): name for name, v in volumes.items() if v.lv}
    below: dict[str, list[str]] = {}
    for name, volume in volumes.items():
        above = _owner(volume, bearers)
        if above:
            below.setdefault(above, []).append(name)
    devices, edges = [], []
    for name in names:
        partition = PARTITION.fullmatch(name)
        if name in volumes:
            members = [volumes[member] for member in below.get(name, ())]
            told = dm.infer_target(volumes[name], members)
            devices.append(
                Device(name, told.kind, "", label=volumes[name].label, target=told.target)
            )
            edges += [Edge(name, m.name, dm.role(m, told.target)) for m in members]
        elif partition and partition[1] in names:
            devices.append(Device(name, Kind.PARTITION, "", merges=True))
            edges.append(Edge(name, partition[1], dm.default_role("")))
        else:
            devices.append(_other(name))
    return Topology(devices, edges, machine=machine, unknown=[NO_TOPOLOGY])


def is_hidden(name: str) -> bool:
    """Whether LVM made the device of that name for its own use."""
    volume = _volume(name)
    return volume is not None and volume.lv is not None and volume.lv.hidden


def _volume(name: str) -> MappedDevice | None:
    """Return the LV that bears *name*; None if no LV is named so."""
    if KERNEL_NAME.fullmatch(name):
        return None
    lv = lvm_names.parse(lvm_names.unmangle(name), lvm_names.PREFIX)
    block = Block(name, "", frozenset(), "")
    return (
        None
        if lv is None
        else MappedDevice(block, name, "", suspended=False, read_only=False, lv=lv)
    )


def _owner(volume: MappedDevice, bearers: Mapping[tuple[str, str, str], str]) -> str:
    """Return the name of the LV that a hidden one was made for, "" if it is not in the text."""
    lv = volume.lv
    if lv is None or not lv.hidden:
        return ""
    base = lv.lv if lv.layer else lv.lv.rpartition(f"_{lv.ending}")[0]
    layers = ("tpool", "") if lv.ending in ("tdata", "tmeta") else ("",)
    return next((bearers[lv.vg, base, x] for x in layers if (lv.vg, base, x) in bearers), "")


def _other(name: str) -> Device:
    if ARRAY.fullmatch(name):
        return Device(name, Kind.ARRAY, "")
    if name.startswith("dm-") or not KERNEL_NAME.fullmatch(name):
        return Device(name, Kind.DM, "")
    return Device(name, Kind.DISK, "", merges=True)
