"""
``/proc/partitions``: the numbers and sizes of all block devices in one read.

``major minor blocks name``; the blocks are rounded down to 1 KiB, so sizes come from
sysfs where it has them. Empty and hidden devices are not listed.
"""

from __future__ import annotations

from stackmap.host import Host
from stackmap.model.units import KIB
from stackmap.sources.sysfs import attribute

PATH = "/proc/partitions"


def read(host: Host) -> dict[str, str]:
    """Return major:minor by kernel name, {} if the file cannot be read."""
    return {name: number for name, (number, _) in parse(attribute(host, PATH)).items()}


def parse(text: str) -> dict[str, tuple[str, int]]:
    """
    Return major:minor and the size in bytes by kernel name.

    >>> parse("   8        0 1048576 sda")
    {'sda': ('8:0', 1073741824)}
    """
    lines = (line.split() for line in text.splitlines())
    return {
        words[3]: (f"{words[0]}:{words[1]}", int(words[2]) * KIB)
        for words in lines
        if len(words) == 4 and all(word.isdecimal() and len(word) <= 20 for word in words[:3])
    }
