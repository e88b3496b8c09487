"""
Users of devices: mounts, swap, virtual machines, containers, storage daemons, or the signature on them.

``file_uses`` and ``writers`` are the users of files, for a device that is a file's loop device.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from posixpath import dirname

from stackmap.discover.scan import Discovered, Scan
from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import KUBERNETES, Device, Kind, Use
from stackmap.sources import cgroup, guests, mountinfo, sysfs
from stackmap.sources.cgroup import Group, owner
from stackmap.sources.sysfs import ROOT, attribute, link, list_names

# Directories with a PID file per virtual machine, named after it or its number.
PID_FILES = ("/run/libvirt/qemu", "/run/qemu-server")

CEPH = "/var/lib/ceph"
UNNUMBERED = Use("ceph", "[Ceph OSD]", "LV name")
Uses = Iterator[tuple[str, Use]]  # devices or files, with a user of each
OSD_VOLUMES = ("osd-block-", "osd-db-", "osd-wal-")


def domain_disks(scan: Scan) -> Uses:
    """Yield the disks of libvirt's domains."""
    for domain in guests.domains(scan.host):
        for path in domain.disks:
            if device := scan.device_at(path):
                yield device, Use("vm", domain.name, domain.source)


def proxmox_guests(scan: Scan) -> Uses:
    """Yield the disks of Proxmox guests by LV name, which needs no root."""
    for device, mapped in scan.mapped.items():
        number = guests.guest_number(mapped.lv.lv) if mapped.lv else ""
        if number:
            name, source = guests.guest_name(scan.host, number)
            yield device, Use("vm", name or number, source or "LV name")


def open_files(scan: Scan) -> Uses:
    """Yield the devices that a virtual machine's process has open; needs root."""
    for folder in PID_FILES:
        for entry in list_names(scan.host, folder):
            if entry.endswith(".pid"):
                pid = attribute(scan.host, f"{folder}/{entry}")
                files = f"/proc/{pid}/fd"
                for number in list_names(scan.host, files) if pid.isdecimal() else ():
                    if device := scan.device_at(link(scan.host, f"{files}/{number}")):
                        guest = entry.removesuffix(".pid")
                        if guest.isdecimal():  # Proxmox names its files by number
                            guest = guests.guest_name(scan.host, guest)[0] or guest
                        yield device, Use("vm", guest, files)


def ceph(scan: Scan) -> Uses:
    """Yield the devices of Ceph's OSDs: with their numbers as root, else by LV name."""
    numbered = set()
    for path, number in _osd_links(scan):
        device = scan.device_at(link(scan.host, path))
        if device:
            numbered.add(device)
            yield device, Use("ceph", f"osd.{number}", path)
    rest = [
        (device, mapped.label)
        for device, mapped in scan.mapped.items()
        if mapped.lv and device not in numbered and mapped.lv.lv.startswith(OSD_VOLUMES)
    ]
    tags: Mapping[str, Mapping[str, str]] = {}
    if rest:
        from stackmap.sources import lvm_report  # 3 ms, needed only with Ceph's LVs

        tags = lvm_report.read_tags(scan.host)
    for device, label in rest:
        number = tags.get(label, {}).get("ceph.osd_id", "")
        yield device, Use("ceph", f"osd.{number}", "LV tag") if number else UNNUMBERED


def _osd_links(scan: Scan) -> Iterator[tuple[str, str]]:
    """Yield the links to the devices of OSDs, with the OSD's number: ceph-volume's and cephadm's."""
    folders = [(f"{CEPH}/osd", "ceph-")]
    folders += [(f"{CEPH}/{name}", "osd.") for name in list_names(scan.host, CEPH) if "-" in name]
    for folder, start in folders:
        for entry in list_names(scan.host, folder):
            number = entry.removeprefix(start)
            if entry.startswith(start) and number.isdecimal():
                for part in ("block", "block.db", "block.wal"):
                    yield f"{folder}/{entry}/{part}", number


SHARE = 0.01  # of the requests that control groups sent to a device
# A volume of a pod, or a part of one, by the UID of the pod; kubelet's logs have a folder NAMESPACE_POD_UID for each.
# Distributions have kubelet's folder in other places than /var/lib.
POD_VOLUME = re.compile(
    r"/.*/kubelet/pods/([0-9a-f-]{32,36})/(?:volumes/[^/]+/([^/]+)(?:/mount)?|volume-subpaths/([^/]+)/[^/]+/\d+)"
)
# A volume that kubelet mounts once for all pods: CSI's older form and the drivers in Kubernetes name it, newer ones only have a hash.
STAGED = re.compile(
    r"/.*/kubelet/plugins/kubernetes\.io/(?:csi/pv/([^/]+)/globalmount|(?!csi/)[^/]+/mounts/(?:.*/)?([^/]+))"
)
PODS = "/var/log/pods"
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


def device_uses(scan: Scan, discovered: Iterable[Discovered]) -> Mapping[str, tuple[Use, ...]]:
    """Return the users of each device that has any, by its name; of two equal ones, the first."""
    known: defaultdict[str, dict[tuple[str, str], Use]] = defaultdict(dict)

    def add(uses: Uses) -> None:
        for name, use in uses:
            known[name].setdefault((use.kind, use.name), use)

    add(chain.from_iterable(finder(scan) for finder in FINDERS))
    stood_on = {edge.below for entry in discovered for edge in entry.edges}
    tops = [entry.device for entry in discovered if entry.device.name not in stood_on]
    # Every process uses the file system on "/".
    special = {top.name for top in tops if ("mount", "/") not in known.get(top.name, ())}
    add(cgroup_uses(scan, special))
    add(signatures(scan, [device for device in tops if device.name not in known]))
    return {name: tuple(these.values()) for name, these in known.items()}


def file_systems(scan: Scan, files: Mapping[str, str]) -> Mapping[str, str]:
    """Return the device whose mounted file system has each of *files*, by the same keys, where that is known."""
    mounted = {mount.point: mount for mount in mountinfo.read(scan.host)} if files else {}
    devices = {}
    for key, path in files.items():
        mount = next((mounted[folder] for folder in _folders(path) if folder in mounted), None)
        device = next(filter(None, _devices(scan, mount)), None) if mount else None
        if device:
            devices[key] = device
    return devices


def _folders(path: str) -> Iterator[str]:
    """Yield the folder of *path*, the one above, and so on."""
    while (folder := dirname(path)) != path:
        yield folder
        path = folder


def _devices(scan: Scan, mount: mountinfo.Mount) -> list[str | None]:
    """Return the device of *mount*; those that it names where its number is of no device, None for unknown ones."""
    name = scan.names.get(mount.number)
    return [name] if name else [scan.device_at(path) for path in mount.sources]


def mounts(scan: Scan) -> Uses:
    """Yield the devices of mounted file systems."""
    mounted = mountinfo.read(scan.host)
    kinds = {mount.kind for mount in mounted}
    siblings = _siblings(scan, BTRFS, _btrfs_devices) if "btrfs" in kinds else {}
    if mountinfo.BCACHEFS in kinds:
        siblings |= _siblings(scan, BCACHEFS, _bcachefs_devices)
    of_pods: set[str] = set()
    staged: dict[str, str] = {}
    for mount in mounted:
        members = (siblings.get(device, (device,)) for device in _devices(scan, mount) if device)
        pod, volume = _pod(scan, mount.point), STAGED.fullmatch(mount.point)
        for name in dict.fromkeys(chain.from_iterable(members)):
            yield name, Use("mount", mount.point, mountinfo.PATH)
            if pod:
                of_pods.add(name)
                yield name, Use("container", pod, PODS)
            elif volume:
                staged[name] = volume[1] or volume[2]
    for name, staged_volume in staged.items():
        if name not in of_pods:
            yield name, Use("container", f"{KUBERNETES}{staged_volume}", mountinfo.PATH)


def _pod(scan: Scan, point: str) -> str:
    """Return "kubernetes NAMESPACE/POD VOLUME" of a mount point; without kubelet's logs the pod's UID, "" for others."""
    match = POD_VOLUME.fullmatch(point)
    if match is None:
        return ""
    uid, volume, part = match.groups()
    names = (name.split("_") for name in list_names(scan.host, PODS) if name.endswith(f"_{uid}"))
    pod = next(("/".join(parts[:2]) for parts in names if len(parts) == 3), uid)
    return f"{KUBERNETES}{pod} {volume or part}"


def swapped(scan: Scan) -> Uses:
    """Yield the swap devices."""
    for path in mountinfo.swaps(scan.host):
        if name := scan.device_at(path):
            yield name, Use("swap", "[SWAP]", mountinfo.SWAPS)


def cgroup_uses(scan: Scan, devices: Collection[str]) -> Uses:
    """
    Yield the containers and services that use *devices*: by the I/O of their control groups, and by their mounts.

    A service with less than ``SHARE`` of the requests only probed the device, as udev and udisks2 do.
    A container's mounts appear only in the ``mountinfo`` of its processes, which needs root; a
    group's I/O is public.
    """
    sent: defaultdict[str, dict[Use, int]] = defaultdict(lambda: defaultdict(int))
    for group in cgroup.groups(scan.host) if devices else ():
        whose = owner(group.name)
        if whose is None:
            continue
        how, who = whose
        if how != "service":
            for name, source in _mounted(scan, group):
                if name in devices:
                    yield name, Use(how, who, source)
        for number, charge in cgroup.counters_of(scan.host, group).items():
            name = scan.names.get(number, "")
            if name in devices and (charge.reads or charge.writes):
                sent[name][Use(how, who, group.source)] += charge.reads + charge.writes
    for name, uses in sent.items():
        least = SHARE * sum(uses.values())
        yield from ((name, use) for use, requests in uses.items() if requests >= least)


def signatures(scan: Scan, idle: Iterable[Device]) -> Uses:
    """Yield the users of *idle* devices: nothing is above them and they are not mounted."""
    for device in idle:
        if device.kind in CHECKED_KINDS:
            properties = sysfs.udev_properties(scan.host, device.number or device.name)
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
    siblings = {}
    for uuid in sysfs.list_names(scan.host, folder):
        names = tuple(map(sysfs.kernel_name, devices(scan, f"{folder}/{uuid}")))
        siblings.update(dict.fromkeys(names, names))
    return siblings


def _btrfs_devices(scan: Scan, place: str) -> Iterable[str]:
    return sysfs.list_names(scan.host, f"{place}/devices")


def _bcachefs_devices(scan: Scan, place: str) -> Iterable[str]:
    members = [name for name in sysfs.list_names(scan.host, place) if name.startswith("dev-")]
    links = (sysfs.link(scan.host, f"{place}/{member}/block") for member in members)
    return (link.rpartition("/")[2] for link in links if link)


FINDERS: tuple[Callable[[Scan], Uses], ...] = (
    mounts,
    swapped,
    domain_disks,
    proxmox_guests,
    open_files,
    ceph,
)


WRITING = 0o3  # O_WRONLY or O_RDWR, of a descriptor's flags


def file_uses(host: Host) -> Uses:
    """Yield the path and the user of each file that *host* uses as a disk."""
    for name in list_names(host, ROOT):
        if name.startswith("loop"):
            source = f"{ROOT}/{name}/loop/backing_file"
            if path := attribute(host, source):
                yield path, Use("loop", name, source)
    for path in mountinfo.swaps(host, "file"):
        yield path, Use("swap", "[SWAP]", mountinfo.SWAPS)
    for domain in guests.domains(host):  # the images and their backing files
        for path in domain.images:
            yield path, Use("vm", domain.name, domain.source)


def guest_number(path: str) -> str:
    """
    Return the number of the Proxmox guest that the image at *path* is named after, "" for none.

    >>> guest_number("/var/lib/vz/images/100/vm-100-disk-0.qcow2")
    '100'
    """
    return guests.guest_number(path.rpartition("/")[2].partition(".")[0])


def writers(host: Host, name: str) -> Uses:
    """
    Yield the descriptors open for writing of any file called *name*, as /proc paths, with their users.

    Only the last part of a path is compared, because a process may have another
    root. Processes that may not be inspected are skipped; see ``sees_all_processes``.
    """
    for pid in list_names(host, "/proc"):
        if pid.isdecimal():
            for number in list_names(host, f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{number}"
                called = link(host, path).rpartition("/")[2]  # "" if it was closed meanwhile
                if called and called == name and _writes(host, pid, number):
                    who = attribute(host, f"/proc/{pid}/comm") or "a process"
                    yield path, Use("open", f"{who} ({pid})", path)


def sees_all_processes(host: Host) -> bool:
    """Whether the open files of every process can be inspected; only root can inspect PID 1."""
    try:
        host.names_in("/proc/1/fd")
    except SourceError:
        return False
    return True


def _writes(host: Host, pid: str, number: str) -> bool:
    lines = attribute(host, f"/proc/{pid}/fdinfo/{number}").splitlines()
    flags = next((line.split()[1] for line in lines if line.startswith("flags:")), "0")
    return bool(int(flags, 8) & WRITING)
