"""Counters that wrap, devices that are replaced, clocks that jump: each rate is right or absent."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from stackmap import text as statistics
from stackmap.errors import StackmapError
from stackmap.model.load import Load
from tests.fuzz.running import Tally

WRAP = 1 << 32
FIELDS = 11
MILLISECONDS = (3, 7, 9, 10)  # which counters the kernel keeps in 32 bits: they wrap
SECTORS = (2, 6, 13)
GAUGE = 8
# The fields of each flow: requests, merges, sectors, milliseconds.
FLOWS = {
    "read": (0, 1, 2, 3),
    "write": (4, 5, 6, 7),
    "discard": (11, 12, 13, 14),
    "flush": (15, None, None, 16),
}


@dataclass
class Disk:
    """A disk whose true counts are known; ``life`` distinguishes disks of one name."""

    name: str
    life: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * FIELDS)

    def row(self, *, wrap_all: bool) -> str:
        """Return its line; *wrap_all*: a kernel of 32 bits, where every counter wraps."""
        shown = [
            count % WRAP if wrap_all or place in MILLISECONDS else count
            for place, count in enumerate(self.counts)
        ]
        return f"   8       0 {self.name} " + " ".join(map(str, shown))


def true_rates(tally: Tally, chance: random.Random, folder: Path) -> None:  # noqa: ARG001 - like the others
    """One case: copies of /proc/diskstats of known disks, with everything that can happen between two."""
    disks = [Disk(name) for name in ("sda", "sdb", "dm-0")]
    for disk in disks:
        disk.counts = [chance.choice((0, 1000, WRAP - 500, 10**12)) for _ in range(FIELDS)]
        disk.counts[GAUGE] = 0
    wrap_all = chance.random() < 0.3
    clock, lines, taken = 1_763_732_400.0, [], []
    for _ in range(chance.randrange(2, 9)):
        for disk in disks:
            if (
                chance.random() < 0.1
            ):  # removed, and another of that name is there: it counts from 0
                disk.life += 1
                disk.counts = [0] * FIELDS
                continue
            if chance.random() < 0.8:
                disk.counts = [
                    chance.randrange(3) if place == GAUGE else count + chance.randrange(1, 400)
                    for place, count in enumerate(disk.counts)
                ]
        lines.append(f"TS {clock:.9f} 2026-11-21 07:00:00")
        lines += [disk.row(wrap_all=wrap_all) for disk in disks]
        taken.append((clock, {d.name: (d.life, list(d.counts)) for d in disks}))
        clock += chance.choice((1.0, 1.0, 1.0, 0.5, 60.0, 0.0, -3600.0, 86400.0))
    faults = []
    try:
        found = list(statistics.intervals(["\n".join(lines).encode() + b"\n"], "text"))
    except StackmapError:
        found = []
    for interval in found:
        end = interval.time or 0.0
        seconds = interval.seconds or 0.0
        ends = [state for time, state in taken if abs(time - end) < 1e-6]
        begins = [state for time, state in taken if abs(time - (end - seconds)) < 1e-3]
        for name, load in interval.loads.items():
            pairs = [(b[name], e[name]) for b in begins for e in ends]
            if not any(_may_be(load, begin, after, seconds) for begin, after in pairs):
                faults.append(f"{name} at {end}: {load} in {lines}")
    tally.case("counters", faults[:1])


def _may_be(
    load: Load, begin: tuple[int, list[int]], end: tuple[int, list[int]], seconds: float
) -> bool:
    """Whether *load* may be the true one. A new disk with higher counters than the old one looks like the old one."""
    (life, before), (later, after) = begin, end
    if life != later:  # nothing in the text tells, unless a count went back
        return all(
            a >= b
            for place, (a, b) in enumerate(zip(after, before, strict=True))
            if place not in (GAUGE, *MILLISECONDS)
        )
    return is_right(load, before, after, seconds)


def is_right(load: Load, before: list[int], after: list[int], seconds: float) -> bool:
    """Whether *load* is the growth of a device's true counts in *seconds*; None is right."""
    figures = {
        place: value
        for flow, places in FLOWS.items()
        for place, value in zip(places, getattr(load, flow), strict=True)
    }
    figures |= {9: load.busy and load.busy * 1000, 10: load.aqu and load.aqu * 1000}
    return all(
        place < len(after)  # a kernel without this field cannot know
        and abs(value * seconds / (512 if place in SECTORS else 1) - (after[place] - before[place]))
        < 1e-2 + 1e-9 * after[place]
        for place, value in figures.items()
        if value is not None and place is not None
    )
