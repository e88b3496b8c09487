"""
The tree that ``lsblk`` prints, in ASCII or in line drawing: which device lies below which.

A sosreport has it where it lacks ``slaves/``. A name stands two characters right of that of the
device below it; names are for people, so the column MAJ:MIN counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# What stands before a name: "|-", "│ └─", "  `-".
_LINE = re.compile(r"([|`\-\s│├└─]*)(\S.*?)\s+(\d{1,7}:\d{1,7})\s")
INDENT = 2


class Listed(NamedTuple):
    """A device: its ``name``, of device-mapper or the kernel, and the numbers of those ``below`` it."""

    name: str
    below: tuple[str, ...]


def parse(text: str) -> dict[str, Listed]:
    r"""
    Return the devices by number.

    >>> parse("sda       8:0    0  1G  0 disk\n`-sda1    8:1    0  1G  0 part /")["8:1"]
    Listed(name='sda1', below=('8:0',))
    """
    found: dict[str, Listed] = {}
    way: list[str] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            depth, name, number = len(match[1]) // INDENT, match[2], match[3]
            del way[depth:]
            below = way[-1:] if len(way) == depth else []
            known = found.get(number, Listed(name, ()))
            found[number] = Listed(name, tuple(dict.fromkeys([*known.below, *below])))
            way.append(number)
    return found
