"""
``dmsetup table`` and ``dmsetup status``: the mapping of each device, and its state.

A line is ``name: start length target words…`` in 512-byte sectors. A device may have several
lines, or none without a table. Both need root. ``dm_targets`` reads the words.
"""

from __future__ import annotations

import re
from collections import defaultdict

from stackmap.host import Host
from stackmap.model.units import SECTOR
from stackmap.sources.dm_commands import STATUS, TABLE
from stackmap.sources.dm_targets.segment import Segment
from stackmap.sources.lvm_names import unmangle

_LINE = re.compile(r"(.*?): (\d+) (\d+) (\S+)(.*)")

Segments = dict[str, tuple[Segment, ...]]


def read_tables(host: Host) -> Segments:
    """Return the live tables."""
    return parse(host.run(*TABLE))


def read_statuses(host: Host) -> Segments:
    """Return the status lines, without a metadata commit."""
    return parse(host.run(*STATUS))


def parse(text: str) -> Segments:
    """Return the segments of each device, by its unmangled name."""
    segments: defaultdict[str, list[Segment]] = defaultdict(list)
    for line in text.splitlines():
        if match := _LINE.fullmatch(line):
            name, start, length, target, words = match.groups()
            segments[unmangle(name)].append(
                Segment(int(start) * SECTOR, int(length) * SECTOR, target, tuple(words.split()))
            )
    return {name: tuple(found) for name, found in segments.items()}
