"""What a line of a pasted text tells: a device, a key and a value; how texts refer to devices."""

import re
from typing import NamedTuple

from stackmap.sources.lvm_names import unmangle

DEV = "/dev/"
KERNEL_NAME = re.compile(
    r"(?:[shv]d[a-z]{1,4}\d{0,3}|xvd[a-z]{1,3}\d{0,3}|nvme\d+(?:c\d+)?n\d+(?:p\d+)?|mmcblk\d+(?:p\d+|boot\d|rpmb)?|dm-\d+|md\d+(?:p\d+)?"
    r"|md_\w+|loop\d+(?:p\d+)?|sr\d+|zram\d+|nbd\d+(?:p\d+)?|rbd\d+(?:p\d+)?|ram\d+|bcache\d+(?:p\d+)?|drbd\d+(?:p\d+)?|pmem\d\S*|fd\d"
    r"|dasd[a-z]+\d*|cciss[!/]c\d+d\d+(?:p\d+)?|zd\d+(?:p\d+)?|fio[a-z]\d*|emcpower[a-z]+\d*|vx\S+|(?:sata|sas)\d+(?:p\d+)?|ida[!/]c\d+d\d+(?:p\d+)?)"
)
NUMBER = re.compile(r"\d{1,7}:\d{1,7}")
MAPPER, ALIAS = "mapper/", "md/"


class Fact(NamedTuple):
    """
    What a text tells of the device *ref*.

    ``ref``: a kernel name, a number ("8:0"), ``mapper/NAME``, ``md/NAME`` or another path in /dev. ``key``: "is" (``value``:
    another ref of the same device), "on" (a ref of the device below it), "size" (bytes, after "~" if rounded), "mount" ("POINT,
    type and options", by tabs), "swap", "udev:PROPERTY", or a file in its directory of sysfs. Without a ref, ``key`` is an answer's path.
    """

    ref: str
    key: str
    value: str


def is_kernel_name(name: str) -> bool:
    """Whether *name* has the form of the kernel's names."""
    return KERNEL_NAME.fullmatch(name) is not None


def kind_of(ref: str) -> str:
    """Return the kind of *ref*: a device has one kernel name, one number, one name of device-mapper, one alias of md."""
    if NUMBER.fullmatch(ref):
        return "number"
    if ref.startswith(MAPPER):
        return "mapper"
    if ref.startswith(ALIAS):
        return "alias"
    return "kernel" if is_kernel_name(ref) else "other"


def mapper(name: str) -> str:
    """Return the ref of a device by device-mapper's *name*."""
    return MAPPER + unmangle(name)


def volume(group: str, name: str) -> str:
    """
    Return the ref of an LV.

    >>> volume("vg-md", "[home-dirs_rimage_0]")
    'mapper/vg--md-home--dirs_rimage_0'
    """
    parts = (part.strip("[]").replace("-", "--") for part in (group, name))
    return MAPPER + "-".join(parts)


BY_ID = "disk/by-id/"
BY_PARTUUID, PARTUUID = "disk/by-partuuid/", "partuuid"  # the links, and the key of what ends them
BY_RES = "drbd/by-res/"  # links to DRBD's devices, by resource and volume
DRBD_STATE = "drbd/state"
_BUS = re.compile(r"(?:ata|scsi|wwn|nvme|usb|virtio|google)-\S+")
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ITS_NAME = "its name"  # where an edge is known from
PART = re.compile(r"(.*)-part(\d{1,3})")  # a partition, as udev and kpartx name it


def linked_ref(name: str) -> str:
    """
    Return the ref of the device with the link *name* in by-id or by-partuuid, "" for another name.

    >>> linked_ref("ata-ST4000_Z302-part1"), linked_ref("dm-name-vg-lv"), linked_ref("raidz1-0")
    ('disk/by-id/ata-ST4000_Z302-part1', 'mapper/vg-lv', '')
    >>> linked_ref("6d1b1ba2-7a0c-4b67-9d0d-5a5a0e9f1c11")
    'disk/by-partuuid/6d1b1ba2-7a0c-4b67-9d0d-5a5a0e9f1c11'
    """
    if name.startswith("dm-name-"):
        return mapper(name.removeprefix("dm-name-"))
    if _GUID.fullmatch(name):
        return BY_PARTUUID + name
    return BY_ID + name if _BUS.fullmatch(name) else ""


def disk_and_part(link: str) -> tuple[str, str]:
    """Return the link of the disk that *link* is on, and the number of the partition, "" for the disk itself."""
    match = PART.fullmatch(link)
    return (match[1], match[2]) if match else (link, "")


def of_path(path: str) -> str:
    """
    Return the ref of the device at *path*, which may lack /dev.

    >>> of_path("/dev/sda1"), of_path("/dev/vg/home-dirs"), of_path("/dev/mapper/vg-lv"), of_path("/dev/md/0")
    ('sda1', 'mapper/vg-home--dirs', 'mapper/vg-lv', 'md/0')
    """
    name = unmangle(path.strip().removeprefix(DEV)).replace("!", "/")
    group, slash, lv = name.partition("/")
    if (
        is_kernel_name(name)
        or not slash
        or group in ("mapper", "md", "disk", "block", "zvol", "longhorn")
        or "/" in lv
    ):
        return name
    return volume(group, lv)
