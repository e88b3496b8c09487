"""
A file of udev's database, ``/run/udev/data/b8:0``: ``E:`` properties, ``S:`` links, the rest udev's own business.

Not by pyudev: it and ctypes take as long to import as all the rest of a command,
and libudev reads this very file, as ``lsblk --sysroot`` does.
"""

from __future__ import annotations


def parse_udev(text: str) -> dict[str, str]:
    """Return the ``E:`` properties of a file of udev's database, and its links as DEVLINKS."""
    lines = [line for line in text.splitlines() if line[1:2] == ":"]
    properties = dict(line[2:].split("=", 1) for line in lines if line[0] == "E" and "=" in line)
    links = ["/dev/" + line[2:] for line in lines if line[0] == "S"]
    if links:
        properties["DEVLINKS"] = " ".join(links)
    return properties
