"""
``dmsetup table`` and ``dmsetup status``: the mapping of each device, and its state.

A line is ``name: start length target words…`` in 512-byte sectors. A device may have several
lines, or none without a table. Both need root. ``dm_targets`` reads the words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.units import SECTOR
from stackmap.sources.dm_commands import STATUS, TABLE
from stackmap.sources.dm_targets.segment import Segment
from stackmap.sources.lvm_names import unmangle

NO_DEVICES = "No devices found"
_LINE = re.compile(r"(.*?): (\d{1,19}) (\d{1,19}) (\S+)(.*)", re.ASCII)

Segments = Mapping[str, tuple[Segment, ...]]


def read_tables(host: Host) -> Segments:
    """Return the live tables; ``SourceError`` if the text is the message of a failed command."""
    text = host.run(*TABLE)
    if found := parse(text):
        return found
    # A device without a table is "name:".
    others = [
        line for line in text.splitlines() if line.strip() and not line.rstrip().endswith(":")
    ]
    if others and others[0] != NO_DEVICES:
        raise SourceError(f"dmsetup table: {others[0][:80]}")
    return found


def read_statuses(host: Host) -> Segments:
    """Return the status lines, without a metadata commit."""
    return parse(host.run(*STATUS))


@lru_cache(maxsize=2)  # after most uevents, the tables and the states are the same
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
