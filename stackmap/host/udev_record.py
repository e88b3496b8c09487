"""
A file of udev's database, ``/run/udev/data/b8:0``: ``E:`` properties, ``S:`` links.

Not read through pyudev: importing it and ctypes takes as long as a whole command,
and libudev reads this very file, as ``lsblk --sysroot`` does.
"""

from __future__ import annotations


def parse_udev(text: str) -> dict[str, str]:
    """Return the ``E:`` properties, with the links as DEVLINKS."""
    lines = [line for line in text.splitlines() if line[1:2] == ":"]
    properties = dict(line[2:].split("=", 1) for line in lines if line[0] == "E" and "=" in line)
    links = ["/dev/" + line[2:] for line in lines if line[0] == "S"]
    if links:
        properties["DEVLINKS"] = " ".join(links)
    return properties
