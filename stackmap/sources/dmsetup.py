"""
``dmsetup table`` and ``dmsetup status``: what device-mapper was told to do, and how it fares.

A line is ``name: start length target words…``, in 512-byte sectors; a device
may have several, and one with no table has none. Both need root. The words
belong to the target: ``dm_targets`` reads them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from stackmap.sources.dm_commands import STATUS, TABLE
from stackmap.sources.dm_targets.segment import SECTOR, Segment
from stackmap.sources.lvm_names import unmangle

if TYPE_CHECKING:
    from stackmap.host import Host

_LINE = re.compile(r"(.*?): (\d+) (\d+) (\S+)(.*)")

Segments = dict[str, tuple[Segment, ...]]


def read_tables(host: Host) -> Segments:
    """Return the live tables."""
    return parse(host.run(*TABLE))


def read_statuses(host: Host) -> Segments:
    """Return the status lines, without the metadata commit that status causes by default."""
    return parse(host.run(*STATUS))


def parse(text: str) -> Segments:
    """Return the segments of each device, by its name without mangling."""
    segments: defaultdict[str, list[Segment]] = defaultdict(list)
    for line in text.splitlines():
        if match := _LINE.fullmatch(line):
            name, start, length, target, words = match.groups()
            segments[unmangle(name)].append(
                Segment(int(start) * SECTOR, int(length) * SECTOR, target, tuple(words.split()))
            )
    return {name: tuple(found) for name, found in segments.items()}
