"""Users of devices: mounts, swap, virtual machines, containers, daemons, or the signature on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain

from stackmap.discover.consumers import ceph, domains, open_files, proxmox_guests
from stackmap.discover.discovered import Discovered
from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind, Use
from stackmap.sources import cgroup, mountinfo, sysfs
from stackmap.sources.cgroup import Group, owner

BTRFS = "/sys/fs/btrfs"
BCACHEFS = "/sys/fs/bcachefs"

# Without LVs: there may be thousands, and their users show in names.
CHECKED_KINDS = frozenset({Kind.DISK, Kind.PARTITION, Kind.ARRAY, Kind.MULTIPATH, Kind.CRYPT})

# Kind and name of the user, by udev's ID_FS_TYPE, of a device with nothing above it.
SIGNATURE_USERS = {
    "LVM2_member": ("pv", "[LVM PV]"),
    "zfs_member": ("zfs", "[ZFS {label}]"),
    "ceph_bluestore": ("ceph", "[Ceph OSD]"),
    "linux_raid_member": ("md", "[md member]"),
    "crypto_LUKS": ("luks", "[LUKS, closed]"),
    "drbd": ("drbd", "[DRBD]"),
    "bcache": ("bcache", "[bcache]"),
    "VMFS_volume_member": ("vmfs", "[VMFS]"),
}

DeviceUses = Iterator[tuple[str, Use]]


def device_uses(scan: Scan, found: Iterable[Discovered]) -> Mapping[str, tuple[Use, ...]]:
    """Return the users of each device that has any, by its name; of two equal ones, the first."""
    known: defaultdict[str, dict[tuple[str, str], Use]] = defaultdict(dict)

    def add(uses: Iterable[tuple[str, Use]]) -> None:
        for name, use in uses:
            known[name].setdefault((use.kind, use.name), use)

    add(chain.from_iterable(finder(scan) for finder in FINDERS))
    stood_on = {edge.below for each in found for edge in each.edges}
    tops = [each.device for each in found if each.device.name not in stood_on]
    # Every process uses the file system on "/".
    special = {top.name for top in tops if ("mount", "/") not in known.get(top.name, ())}
    add(cgroup_uses(scan, special))
    add(signatures(scan, [device for device in tops if device.name not in known]))
    return {name: tuple(these.values()) for name, these in known.items()}


def mounts(scan: Scan) -> DeviceUses:
    """Yield the devices of mounted file systems."""
    mounted = mountinfo.read(scan.host)
    kinds = {mount.kind for mount in mounted}
    siblings = _siblings(scan, BTRFS, _btrfs_devices) if "btrfs" in kinds else {}
    if mountinfo.BCACHEFS in kinds:
        siblings |= _siblings(scan, BCACHEFS, _bcachefs_devices)
    for mount in mounted:
        number = scan.names.get(mount.number)
        devices = [number] if number else [scan.device_at(path) for path in mount.sources]
        members = (siblings.get(device, (device,)) for device in devices if device)
        for name in dict.fromkeys(chain.from_iterable(members)):
            yield name, Use("mount", mount.point, mountinfo.PATH)


def swapped(scan: Scan) -> DeviceUses:
    """Yield the swap devices."""
    for path in mountinfo.swap_devices(scan.host):
        if name := scan.device_at(path):
            yield name, Use("swap", "[SWAP]", mountinfo.SWAPS)


def cgroup_uses(scan: Scan, devices: Collection[str]) -> DeviceUses:
    """
    Yield the containers and services that use *devices*: by the I/O of their control groups, and by their mounts.

    A container's mounts appear only in the ``mountinfo`` of its processes, which needs root; a
    group's I/O is public.
    """
    for group in cgroup.groups(scan.host) if devices else ():
        found = owner(group.name)
        if found is None:
            continue
        how, who = found
        if how != "service":
            for name, source in _mounted(scan, group):
                if name in devices:
                    yield name, Use(how, who, source)
        for number, charge in cgroup.counters_of(scan.host, group).items():
            name = scan.names.get(number, "")
            if name in devices and (charge.reads or charge.writes):
                yield name, Use(how, who, group.source)


def signatures(scan: Scan, idle: Iterable[Device]) -> DeviceUses:
    """Yield the users of *idle* devices: nothing is above them and they are not mounted."""
    for device in idle:
        if device.kind in CHECKED_KINDS:
            properties = sysfs.udev_properties(scan.host, device.number)
            how, who = SIGNATURE_USERS.get(properties.get("ID_FS_TYPE", ""), ("", ""))
            if how:
                who = who.format(label=properties.get("ID_FS_LABEL", "pool"))
                yield device.name, Use(how, who, "udev")


def _mounted(scan: Scan, group: Group) -> Iterator[tuple[str, str]]:
    """Yield the devices that a process of *group* has mounted, and the file that says so."""
    pid = sysfs.attribute(scan.host, f"{group.path}/cgroup.procs").partition("\n")[0]
    if not pid.isdecimal():
        return
    path = f"/proc/{pid}/mountinfo"
    for mount in mountinfo.parse(sysfs.attribute(scan.host, path)):
        # btrfs has a device number of its own, so the source counts.
        name = scan.names.get(mount.number) or scan.device_at(mount.source)
        if name:
            yield name, path


def _siblings(
    scan: Scan, folder: str, devices: Callable[[Scan, str], Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Return all devices of the same file system, for each device of the file systems in *folder*."""
    found = {}
    for uuid in sysfs.list_names(scan.host, folder):
        names = tuple(map(sysfs.kernel_name, devices(scan, f"{folder}/{uuid}")))
        found.update(dict.fromkeys(names, names))
    return found


def _btrfs_devices(scan: Scan, place: str) -> Iterable[str]:
    return sysfs.list_names(scan.host, f"{place}/devices")


def _bcachefs_devices(scan: Scan, place: str) -> Iterable[str]:
    members = [name for name in sysfs.list_names(scan.host, place) if name.startswith("dev-")]
    links = (sysfs.link(scan.host, f"{place}/{member}/block") for member in members)
    return (link.rpartition("/")[2] for link in links if link)


FINDERS: tuple[Callable[[Scan], DeviceUses], ...] = (
    mounts,
    swapped,
    domains,
    proxmox_guests,
    open_files,
    ceph,
)
