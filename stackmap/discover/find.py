"""
Which devices a NAME means, and the topology that the names in a text show.

A NAME is tried in turn as a kernel name, label or device number, a path in
/dev, an array's name, an LV, a VG, and a mount point or other user; the first
kind that matches counts. LVs of one name in two VGs both match. A pattern
("vg*", "dm-[0-9]") means all devices with a name that it matches.

Where no machine can be asked, LVM's names tell the purpose of sub-LVs (``vg-lv_rimage_0``), and a
partition is named after its disk. Names do not show the placement of LVs, the members of an array, or
the level of a RAID volume.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stackmap.errors import NameNotFound
from stackmap.model.device import Device, Kind
from stackmap.model.dm_targets import POOL
from stackmap.model.topology import NO_TOPOLOGY, Edge, Machine, Topology
from stackmap.sources import dm
from stackmap.sources.device_lists import LOOP_MAJOR, MD_MAJOR, SCSI_MAJORS, disk_of, name_of
from stackmap.sources.dm import MappedDevice
from stackmap.sources.lvm_names import PREFIX, parse, split_name, unmangle
from stackmap.sources.sysfs import Block

NAME_PATTERN = r"[*?]|\[.+\]"
DEV = "/dev/"
MAPPER = "mapper/"


def find(topology: Topology, name: str) -> list[str]:
    """Return the kernel names of the devices that *name* means, [] if there is none."""
    by_kind: dict[int, list[str]] = {}
    for device in topology if name else ():
        kind = next((kind for kind, fits in enumerate(_meanings(device, name)) if fits), None)
        if kind is not None:
            by_kind.setdefault(kind, []).append(device.name)
    return [_carrier(topology, n) for n in by_kind[min(by_kind)]] if by_kind else []


def _carrier(topology: Topology, name: str) -> str:
    """Return the device that carries the I/O of *name*: below the idle alias of a thin pool, the pool itself."""
    edges = topology.below(name)
    if topology[name].kind is Kind.THIN_POOL and len(edges) == 1:
        below = topology[edges[0].below]
        return below.name if below.target == POOL else name
    return name


def _matching(topology: Topology, name: str) -> list[str]:
    """Return the devices that *name* means; if none, those that it matches as a pattern."""
    exact = find(topology, name)
    if exact or not re.search(NAME_PATTERN, name):
        return exact
    from fnmatch import fnmatchcase  # only a pattern pays for it

    pattern = name.removeprefix(DEV)
    matching = [
        device
        for device in topology
        if any(fnmatchcase(spelling, pattern) for spelling in (*_names(device), *_paths(device)))
    ]
    # LVM's sub-LVs are called like their volume.
    visible = [device.name for device in matching if device.kind is not Kind.MEMBER]
    return visible or [device.name for device in matching]


def find_one_name(topology: Topology, name: str) -> list[str]:
    """Return the devices that the exact *name* means; ``NameNotFound`` if none, and for a pattern."""
    exact = find(topology, name)
    if not exact and re.search(NAME_PATTERN, name):
        raise NameNotFound(f"'{name}' is a pattern; give the exact name of one volume")
    return exact or find_all(topology, [name])


def find_all(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return the devices that any of *names* means, each once; ``NameNotFound`` if none has any."""
    names = list(names)
    devices = find_existing(topology, names)
    if names and not devices:
        raise NameNotFound(not_found(topology, names))
    return devices


def not_found(topology: Topology, names: Sequence[str]) -> str:
    """Return the message that none of *names* is found, with the most similar name there is."""
    message = "no device named " + " or ".join(f"'{name}'" for name in names)
    similar = next(filter(None, (_similar(topology, name) for name in names)), "")
    advice = f"did you mean '{similar}'?" if similar else "run `stackmap tree` to list names"
    return f"{message}; {advice}"


def _similar(topology: Topology, name: str) -> str:
    """Return the known name that is most like *name*, in any case; "" if none is."""
    from difflib import get_close_matches  # 2 ms that only an unknown name costs

    known = {spelling.lower(): spelling for device in topology for spelling in _names(device)}
    similar = get_close_matches(name.lower(), known, 1)
    return known[similar[0]] if similar else ""


def _names(device: Device) -> Iterator[str]:
    """Yield the names that people use for *device*: its titles, VG and mount points."""
    group, _, volume = device.label.partition("/")
    names = (device.name, device.label, group, volume, device.facts.get("alias", ""))
    yield from filter(None, (*names, *(use.name for use in device.uses)))


def find_existing(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return the devices that any of *names* means, each once; [] if there is none any more."""
    return list(dict.fromkeys(device for name in names for device in _matching(topology, name)))


def unmatched(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return the *names* that no device has."""
    return [name for name in names if not _matching(topology, name)]


def _meanings(device: Device, name: str) -> Iterator[bool]:
    """Yield whether *name* means *device*, for one kind of name after the other."""
    path = name.removeprefix(DEV)
    group, slash, volume = device.label.partition("/")
    yield name in (device.name, device.label, device.number)
    yield path != name and path in _paths(device)
    yield ("-" in name or path != name) and _label_at(path) == device.label != ""
    yield device.facts.get("alias") in (name, name.removeprefix("md/"))
    yield volume == name
    # Members are LVM's own devices: a VG means the others.
    yield slash != "" and group == path and device.kind is not Kind.MEMBER
    yield any(use.name == (name.rstrip("/") or "/") for use in device.uses)


def _paths(device: Device) -> Iterator[str]:
    """Yield where *device* is found in /dev."""
    yield device.name
    if device.label:
        yield device.label
        yield MAPPER + device.label
    if alias := device.facts.get("alias"):
        yield f"md/{alias}"


def _label_at(path: str) -> str:
    """
    Return the label of the LV at *path* in /dev/mapper, where hyphens in its names are doubled.

    >>> _label_at("mapper/vg--md-home--dirs")
    'vg-md/home-dirs'
    """
    group, *rest = split_name(unmangle(path.removeprefix(MAPPER)))
    return f"{group}/{'-'.join(rest)}"


KERNEL_NAME = r"(?:dm-|dev\d+-)\d+|[a-z]+\d*|(?:nvme|mmcblk)\w+|(?:cciss|ida)/c\d+d\d+(?:p\d+)?"
NUMBERED = r"dev(\d{1,9})-(\d{1,9})"  # sar without -p
ARRAY = r"md(?:\d+|_\w+|/.+)"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
CRYPT = rf"luks-{UUID}|dm_crypt-\d+"  # as installers name them
# A disk in /dev/disk/by-id, as iostat -j ID prints it: a WWN, or a model and a serial number.
BY_ID = (
    r"(?:(?:(?:wwn-)?0x|scsi-3|(?:nvme-)?eui\.)[0-9a-f]{15,}"
    r"|(?:ata|scsi|nvme|usb|mmc)-[\w+.\-]+_[A-Z0-9]{8,}"
    r"|[\w+.\-]+_(?=\w*\d)(?=\w*[A-Z])[A-Z0-9]{8,})(?:-part\d+)?"
)
# Names with a hyphen that are not those of LVs: caches of Open CAS, partitions of multipath devices, UUIDs.
NOT_LVS = rf"cas\d+-\d+(?:p\d+)?|mpath[a-z]+-part\d+|{UUID}|{CRYPT}|{BY_ID}"
LV_CHARACTERS = r"[\w+.\-]+"  # those that LVM allows

# Linux admin-guide/devices.txt; device-mapper's number is the highest free one when it is loaded.
SCSI_MINORS = 16  # per disk
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
        disk, numbered = disk_of(name), re.fullmatch(NUMBERED, name)
        if name in volumes:
            members = [volumes[member] for member in below.get(name, ())]
            inferred = dm.infer_target(volumes[name], members)
            devices.append(
                Device(name, inferred.kind, "", label=volumes[name].label, target=inferred.target)
            )
            edges += [Edge(name, m.name, dm.role(m, inferred.target)) for m in members]
        elif disk in names:
            devices.append(Device(name, Kind.PARTITION, "", merges=True))
            edges.append(Edge(name, disk, dm.default_role("")))
        elif numbered:
            device = _numbered(name, int(numbered[1]), int(numbered[2]))
            # Of a disk that the text has by number and by name, only one has the name.
            devices.append(device._replace(label="") if device.label in names else device)
        else:
            devices.append(_other(name))
    return Topology(devices, edges, machine=machine, unknown=[NO_TOPOLOGY])


def is_hidden(name: str) -> bool:
    """Whether *name* is a device that LVM made for its own use."""
    volume = _volume(name)
    return volume is not None and volume.lv is not None and volume.lv.is_hidden


def _volume(name: str) -> MappedDevice | None:
    """Return the LV with this *name*; None if it is not the name of an LV."""
    if re.fullmatch(f"{KERNEL_NAME}|{NOT_LVS}", name) or not re.fullmatch(LV_CHARACTERS, name):
        return None
    lv = parse(unmangle(name), PREFIX)
    if lv is None:
        return None
    block = Block(name, "", frozenset(), "")
    return MappedDevice(block, name, "", suspended=False, read_only=False, lv=lv)


def _owner(volume: MappedDevice, by_lv_name: Mapping[tuple[str, str, str], str]) -> str:
    """Return the name of the LV that a sub-LV belongs to, "" if the text does not have it."""
    lv = volume.lv
    if lv is None or not lv.is_hidden:
        return ""
    base = lv.lv if lv.layer else lv.lv.rpartition(f"_{lv.ending}")[0]
    layers = ("tpool", "") if lv.ending in ("tdata", "tmeta") else ("",)
    return next((by_lv_name[lv.vg, base, x] for x in layers if (lv.vg, base, x) in by_lv_name), "")


def _numbered(name: str, major: int, minor: int) -> Device:
    """Return the device that sar names by number; its major number tells the kind, and of a SCSI disk the name."""
    if major in SCSI_MAJORS and minor % SCSI_MINORS:
        kind = Kind.PARTITION
    else:
        kind = {MD_MAJOR: Kind.ARRAY}.get(major, Kind.DM if major in DM_MAJORS else Kind.DISK)
    number = f"{major}:{minor}"
    return Device(
        name,
        kind,
        number,
        label=name_of(number),
        merges=kind in (Kind.DISK, Kind.PARTITION),
        far_side="loop" if major == LOOP_MAJOR else "",
    )


def _other(name: str) -> Device:
    if re.fullmatch(ARRAY, name):
        return Device(name, Kind.ARRAY, "")
    if re.fullmatch(CRYPT, name):
        return Device(name, Kind.CRYPT, "", target="crypt")
    if re.fullmatch(BY_ID, name):
        return Device(name, Kind.DISK, "", merges=True)
    if name.startswith("dm-") or not re.fullmatch(KERNEL_NAME, name):
        return Device(name, Kind.DM, "")
    return Device(name, Kind.DISK, "", merges=True)
