"""Content of unused devices: udev's record of the signature on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind, Use
from stackmap.sources import udev

# Without LVs: there may be thousands, and their users show in names.
CHECKED_KINDS = frozenset({Kind.DISK, Kind.PARTITION, Kind.ARRAY, Kind.MULTIPATH, Kind.CRYPT})

# Kind and name of the user, by udev's ID_FS_TYPE, of a device with nothing above it.
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


def signatures(scan: Scan, idle: Iterable[Device]) -> Iterator[tuple[str, Use]]:
    """Yield the users of *idle* devices: nothing is above them and they are not mounted."""
    for device in idle:
        if device.kind in CHECKED_KINDS:
            properties = udev.properties(scan.host, device.number)
            how, who = USERS.get(properties.get("ID_FS_TYPE", ""), ("", ""))
            if how:
                who = who.format(label=properties.get("ID_FS_LABEL", "pool"))
                yield device.name, Use(how, who, "udev")
