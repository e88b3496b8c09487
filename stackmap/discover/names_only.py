"""
A topology from the names in a text, where no machine can be asked.

LVM names its sub-LVs by purpose (``vg-lv_rimage_0``), and a partition is named after its disk.
Names do not show the placement of LVs, the members of an array, or the level of a RAID volume.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stackmap.model.device import Device, Kind
from stackmap.model.machine import Machine
from stackmap.model.topology import NO_TOPOLOGY, Edge, Topology
from stackmap.sources import dm, lvm_names
from stackmap.sources.dm import MappedDevice
from stackmap.sources.sysfs import Block

KERNEL_NAME = re.compile(
    r"(?:dm-|dev\d+-)\d+|[a-z]+\d*|(?:nvme|mmcblk)\w+|(?:cciss|ida)/c\d+d\d+(?:p\d+)?"
)
PARTITION = re.compile(
    r"([hsv]d[a-z]+|(?:cciss|ida)/c\d+d\d+(?=p)|xvd[a-z]+|nvme\d+n\d+(?=p)|mmcblk\d+(?=p))p?\d+"
)
NUMBERED = re.compile(r"dev(\d{1,9})-(\d{1,9})")  # sar without -p
ARRAY = re.compile(r"md(?:\d+|_\w+|/.+)")

# Linux admin-guide/devices.txt; device-mapper's number is the highest free one when it is loaded.
SCSI_MAJORS = frozenset({8, *range(65, 72), *range(128, 136)})
SCSI_MINORS = 16  # per disk
MD_MAJOR = 9
DM_MAJORS = frozenset({252, 253, 254})


def topology_from_names(printed: Iterable[str], machine: Machine) -> Topology:
    """Return the stacks that the names *printed* in a text of *machine* show."""
    names = dict.fromkeys(printed)
    volumes = {name: volume for name in names if (volume := _volume(name)) is not None}
    by_lv_name = {(v.lv.vg, v.lv.lv, v.lv.layer): name for name, v in volumes.items() if v.lv}
    below: dict[str, list[str]] = {}
    for name, volume in volumes.items():
        above = _owner(volume, by_lv_name)
        if above:
            below.setdefault(above, []).append(name)
    devices, edges = [], []
    for name in names:
        partition, numbered = PARTITION.fullmatch(name), NUMBERED.fullmatch(name)
        if name in volumes:
            members = [volumes[member] for member in below.get(name, ())]
            inferred = dm.infer_target(volumes[name], members)
            devices.append(
                Device(name, inferred.kind, "", label=volumes[name].label, target=inferred.target)
            )
            edges += [Edge(name, m.name, dm.role(m, inferred.target)) for m in members]
        elif partition and partition[1] in names:
            devices.append(Device(name, Kind.PARTITION, "", merges=True))
            edges.append(Edge(name, partition[1], dm.default_role("")))
        elif numbered:
            devices.append(_numbered(name, int(numbered[1]), int(numbered[2])))
        else:
            devices.append(_other(name))
    return Topology(devices, edges, machine=machine, unknown=[NO_TOPOLOGY])


def is_hidden(name: str) -> bool:
    """Whether *name* is a device that LVM made for its own use."""
    volume = _volume(name)
    return volume is not None and volume.lv is not None and volume.lv.is_hidden


def _volume(name: str) -> MappedDevice | None:
    """Return the LV with this *name*; None if it is not the name of an LV."""
    if KERNEL_NAME.fullmatch(name):
        return None
    lv = lvm_names.parse(lvm_names.unmangle(name), lvm_names.PREFIX)
    block = Block(name, "", frozenset(), "")
    return (
        None
        if lv is None
        else MappedDevice(block, name, "", suspended=False, read_only=False, lv=lv)
    )


def _owner(volume: MappedDevice, by_lv_name: Mapping[tuple[str, str, str], str]) -> str:
    """Return the name of the LV that a sub-LV belongs to, "" if the text does not have it."""
    lv = volume.lv
    if lv is None or not lv.is_hidden:
        return ""
    base = lv.lv if lv.layer else lv.lv.rpartition(f"_{lv.ending}")[0]
    layers = ("tpool", "") if lv.ending in ("tdata", "tmeta") else ("",)
    return next((by_lv_name[lv.vg, base, x] for x in layers if (lv.vg, base, x) in by_lv_name), "")


def _numbered(name: str, major: int, minor: int) -> Device:
    """Return the device that sar names by number; its major number tells the kind."""
    if major in SCSI_MAJORS and minor % SCSI_MINORS:
        kind = Kind.PARTITION
    else:
        kind = {MD_MAJOR: Kind.ARRAY}.get(major, Kind.DM if major in DM_MAJORS else Kind.DISK)
    number = f"{major}:{minor}"
    return Device(name, kind, number, merges=kind in (Kind.DISK, Kind.PARTITION))


def _other(name: str) -> Device:
    if ARRAY.fullmatch(name):
        return Device(name, Kind.ARRAY, "")
    if name.startswith("dm-") or not KERNEL_NAME.fullmatch(name):
        return Device(name, Kind.DM, "")
    return Device(name, Kind.DISK, "", merges=True)
