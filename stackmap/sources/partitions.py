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
MOST_DIGITS = 20  # of a number that the kernel has


def read(host: Host) -> dict[str, str]:
    """Return major:minor by kernel name, {} if the file cannot be read."""
    rows = _rows(attribute(host, PATH))
    return {name: f"{major}:{minor}" for major, minor, _, name in rows}


def parse(text: str) -> dict[str, tuple[str, int]]:
    """
    Return major:minor and the size in bytes by kernel name.

    >>> parse("   8        0 1048576 sda")
    {'sda': ('8:0', 1073741824)}
    """
    return {
        name: (f"{major}:{minor}", int(blocks) * KIB) for major, minor, blocks, name in _rows(text)
    }


def _rows(text: str) -> list[list[str]]:
    """Return the words of each line with three numbers and a name."""
    lines = [line.split() for line in text.splitlines()]
    return [
        words
        for words in lines
        if len(words) == 4
        and "".join(words[:3]).isdecimal()
        and max(map(len, words[:3])) <= MOST_DIGITS
    ]
