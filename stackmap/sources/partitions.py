"""
``/proc/partitions``: the numbers of all block devices in one read.

``major minor blocks name``; the blocks are rounded to 1 KiB, so sizes come from
sysfs. Devices without a medium are not listed.
"""

from __future__ import annotations

from stackmap.host import Host
from stackmap.sources.sysfs import attribute

PATH = "/proc/partitions"


def read(host: Host) -> dict[str, str]:
    """Return major:minor by kernel name, {} if the file cannot be read."""
    return parse(attribute(host, PATH))


def parse(text: str) -> dict[str, str]:
    """
    Return major:minor by kernel name.

    >>> parse("   8        0 1048576 sda")
    {'sda': '8:0'}
    """
    lines = (line.split() for line in text.splitlines())
    return {
        words[3]: f"{words[0]}:{words[1]}"
        for words in lines
        if len(words) == 4 and words[0].isdecimal()
    }
