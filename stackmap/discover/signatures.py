"""What is written on a device that nothing stands on: udev's record of its first blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind, Use
from stackmap.sources import udev

# LVs are left out: there may be thousands, and who uses them is told by names.
CHECKED_KINDS = frozenset({Kind.DISK, Kind.PARTITION, Kind.ARRAY, Kind.MULTIPATH, Kind.CRYPT})

# How and by whom a device with this type is used, though nothing of the kernel's stands on it.
USERS = {
    "LVM2_member": ("pv", "[LVM PV]"),
    "zfs_member": ("zfs", "[ZFS {label}]"),
    "ceph_bluestore": ("ceph", "[Ceph OSD]"),
    "linux_raid_member": ("md", "[md member]"),
    "crypto_LUKS": ("luks", "[LUKS, closed]"),
    "drbd": ("drbd", "[DRBD]"),
    "bcache": ("bcache", "[bcache]"),
    "VMFS_volume_member": ("vmfs", "[VMFS]"),
}


def signatures(seen: Scan, idle: Iterable[Device]) -> Iterator[tuple[str, Use]]:
    """Yield who uses the *idle*: devices that nothing stands on and that nothing has mounted."""
    for device in idle:
        if device.kind in CHECKED_KINDS:
            said = udev.properties(seen.host, device.number)
            how, who = USERS.get(said.get("ID_FS_TYPE", ""), ("", ""))
            if how:
                who = who.format(label=said.get("ID_FS_LABEL", "pool"))
                yield device.name, Use(how, who, "udev")
