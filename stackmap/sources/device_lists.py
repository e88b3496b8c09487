"""
Block devices beside sysfs: ``/proc/partitions``, and the numbers that names imply.

``/proc/partitions`` has the numbers and sizes of all devices in one read, ``major minor blocks name``;
the blocks are rounded down to 1 KiB, so sizes come from sysfs where it has them. Empty and hidden devices
are not listed.

The numbers of SCSI disks and md arrays follow from their names: drivers/scsi/sd.c, ``sd_format_disk_name``
and ``device_add_disk``; drivers/md/md.c, ``md_alloc``.
"""

import re

from stackmap.errors import InputError
from stackmap.host import Host
from stackmap.model.device import MAX_DEVICES
from stackmap.model.units import KIB
from stackmap.sources.sysfs import attribute

PARTITIONS = "/proc/partitions"
HEADING_LINES = 2
MOST_DIGITS = 20  # of a number that the kernel has


def read_numbers(host: Host) -> dict[str, str]:
    """Return major:minor by kernel name, {} if the file cannot be read."""
    rows = _partition_rows(attribute(host, PARTITIONS))
    return {name: f"{major}:{minor}" for major, minor, _, name in rows}


def parse_partitions(text: str) -> dict[str, tuple[str, int]]:
    """
    Return major:minor and the size in bytes by kernel name.

    >>> parse_partitions("   8        0 1048576 sda")
    {'sda': ('8:0', 1073741824)}
    """
    return {
        name: (f"{major}:{minor}", int(blocks) * KIB)
        for major, minor, blocks, name in _partition_rows(text)
    }


def _partition_rows(text: str) -> list[list[str]]:
    """Return the words of each line with three numbers and a name; ``InputError`` for more than ``MAX_DEVICES``."""
    lines = [line.split() for line in text.splitlines()]
    if len(lines) > MAX_DEVICES + HEADING_LINES:
        raise InputError(f"{PARTITIONS}: more than {MAX_DEVICES} devices")
    return [
        words
        for words in lines
        if len(words) == 4
        and "".join(words[:3]).isdecimal()
        and max(map(len, words[:3])) <= MOST_DIGITS
    ]


SCSI_MAJORS = (8, *range(65, 72), *range(128, 136))
MD_MAJOR, LOOP_MAJOR, DRBD_MAJOR = 9, 7, 147
MAX_PARTITION = 15  # of a disk; a later one has a number of its own
_LETTERS = 26
_SCSI_NAME = r"sd([a-z]{1,4})([1-9]\d?)?"
_MD_NAME = r"md(0|[1-9]\d{0,5})"


def name_of(number: str) -> str:
    """
    Return the kernel name of a SCSI disk, its partition, an array or a device of DRBD by major:minor; "" for all else.

    >>> name_of("8:17"), name_of("65:160"), name_of("9:127"), name_of("147:1"), name_of("254:0")
    ('sdb1', 'sdaa', 'md127', 'drbd1', '')
    """
    major, minor = map(int, number.split(":"))
    if major == MD_MAJOR:
        return f"md{minor}"
    if major == DRBD_MAJOR:
        return f"drbd{minor}"
    if major not in SCSI_MAJORS:
        return ""
    index = (minor & 0xFFF00) | SCSI_MAJORS.index(major) << 4 | (minor & 0xF0) >> 4
    partition = minor & 0xF
    letters = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, _LETTERS)
        letters = chr(ord("a") + letter) + letters
    return f"sd{letters}{partition or ''}"


def number_of(name: str) -> str:
    """
    Return major:minor by the kernel name; "" where the name does not tell it.

    >>> number_of("sdb1"), number_of("sdaa"), number_of("md127"), number_of("nvme0n1")
    ('8:17', '65:160', '9:127', '')
    """
    if match := re.fullmatch(_MD_NAME, name):
        return f"{MD_MAJOR}:{match[1]}"
    match = re.fullmatch(_SCSI_NAME, name)
    if match is None or int(match[2] or 0) > MAX_PARTITION:
        return ""
    index = 0
    for letter in match[1]:
        index = index * _LETTERS + ord(letter) - ord("a") + 1
    index -= 1
    major = SCSI_MAJORS[(index & 0xF0) >> 4]
    return f"{major}:{(index & 0xFFF00) | (index & 0xF) << 4 | int(match[2] or 0)}"


_PARTITION = re.compile(
    r"(?:([shv]d[a-z]{1,4}|xvd[a-z]{1,3}|dasd[a-z]+)|((?:nvme\d+n|mmcblk|md|loop|nbd|rbd|zd|bcache|drbd|pmem|sata|sas)\d+|(?:cciss|ida)/c\d+d\d+)p)(\d{1,3})"
)


def disk_of(name: str) -> str:
    """
    Return the disk of a partition by its *name*, "" for all else.

    >>> disk_of("sda1"), disk_of("nvme0n1p2"), disk_of("md0"), disk_of("md127p1")
    ('sda', 'nvme0n1', '', 'md127')
    """
    match = _PARTITION.fullmatch(name)
    return (match[1] or match[2]) if match else ""
