r"""
Events of the block tracepoints, as a tracefs instance prints them (``trace_pipe``, ``trace``).

A line has the thread, the CPU, four flags, the time and the event:
``fio-812 [001] ..... 97.204511: block_bio_queue: 253,8 WS 2048 + 8 [fio]``. The kernel changes fields
between versions (6.12 adds a priority to requests): only the fields up to the size are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stackmap.model.block_event import BlockEvent, Step

# A thread's name has at most 15 bytes and may contain anything, so no name can imitate a whole line.
_LINE = re.compile(
    r"\s*(?P<command>.{1,16}?)-(?P<pid>\d+)\s+\[\d+\]\s+\S+\s+(?P<time>\d+\.\d+): block_(?P<step>\w+): "
    r"(?P<major>\d+),(?P<minor>\d+) (?P<flags>[A-Z]*) (?:\d* ?\([^)]*\) )?(?P<sector>\d+) \+ (?P<sectors>\d+)"
    r"(?: <- \((?P<above_major>\d+),(?P<above_minor>\d+)\) (?P<above_sector>\d+))?"
)
_SUBMITTER = re.compile(r" \[(?P<command>.*)\]$")
_STEPS = {str(step): step for step in Step}
NO_SECTOR = 2**64 - 1  # of an empty flush, (sector_t) -1


def parse(lines: Iterable[str]) -> Iterator[BlockEvent]:
    """Yield the events in *lines*, in their order; other lines are ignored."""
    for line in lines:
        match = _LINE.match(line)
        step = _STEPS.get(match["step"]) if match else None
        if match is None or step is None:
            continue
        above = match["above_sector"]
        said = _SUBMITTER.search(line, match.end()) if step is Step.QUEUE else None
        sector = int(match["sector"])
        yield BlockEvent(
            float(match["time"]),
            step,
            said["command"] if said else match["command"],
            int(match["pid"]),
            f"{match['major']}:{match['minor']}",
            match["flags"],
            0 if sector == NO_SECTOR else sector,
            int(match["sectors"]),
            (f"{match['above_major']}:{match['above_minor']}", int(above)) if above else None,
        )
