"""
The numbers that go with the names of SCSI disks and md arrays, for trees that lack them.

drivers/scsi/sd.c: ``sd_format_disk_name`` and ``device_add_disk``; drivers/md/md.c: ``md_alloc``.
"""

from __future__ import annotations

import re

SCSI_MAJORS = (8, *range(65, 72), *range(128, 136))
MD_MAJOR = 9
PARTITIONS = 15  # of a disk; a later one has a number of its own
_LETTERS = 26
_SCSI = re.compile(r"sd([a-z]{1,4})([1-9]\d?)?")
_MD = re.compile(r"md(0|[1-9]\d{0,5})")


def name_of(number: str) -> str:
    """
    Return the kernel name of a SCSI disk, its partition or an array by major:minor; "" for all else.

    >>> name_of("8:17"), name_of("65:160"), name_of("9:127"), name_of("254:0")
    ('sdb1', 'sdaa', 'md127', '')
    """
    major, minor = map(int, number.split(":"))
    if major == MD_MAJOR:
        return f"md{minor}"
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
    if match := _MD.fullmatch(name):
        return f"{MD_MAJOR}:{match[1]}"
    match = _SCSI.fullmatch(name)
    if match is None or int(match[2] or 0) > PARTITIONS:
        return ""
    index = 0
    for letter in match[1]:
        index = index * _LETTERS + ord(letter) - ord("a") + 1
    index -= 1
    major = SCSI_MAJORS[(index & 0xF0) >> 4]
    return f"{major}:{(index & 0xFFF00) | (index & 0xF) << 4 | int(match[2] or 0)}"
