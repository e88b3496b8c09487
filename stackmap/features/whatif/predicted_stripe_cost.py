"""
The cost of parity: pages that md reads and writes per page of data, by how much of a row arrives together.

What an update of a row reads and writes is in ``rows.py``, for counts and for time.

A *run* is what arrives at once, in chunks. Random runs find no row in the cache. Sequential
runs find what the run before left there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import floor, lcm
from typing import NamedTuple

from stackmap.features.whatif.quantities import solved
from stackmap.features.whatif.rows import Geometry, row_update
from stackmap.model.raid import PAGE, Layout

MAX_CHUNKS = 64.0  # longer runs are full stripes, except for their ends


class Cost(NamedTuple):
    """Pages read, pages written, and row updates, each per page of data."""

    reads: float
    writes: float
    updates: float

    def mixed(self, other: Cost, share: float) -> Cost:
        """Return the cost if *share* of the pages cost as *other*."""
        own = 1 - share
        return Cost(
            own * self.reads + share * other.reads,
            own * self.writes + share * other.writes,
            own * self.updates + share * other.updates,
        )


def cold_reads(data: int, parity: int, written: float) -> float:
    """Return the pages read by an update of *written* pages with an empty cache; linear between whole pages."""
    whole = floor(written)
    if whole >= data:
        return 0.0
    reads = row_update(data, parity, whole)[0] if whole else 0
    part = written - whole
    return reads if not part else reads + part * (cold_reads(data, parity, whole + 1) - reads)


def scattered(data: int, parity: int, run: float) -> Cost:
    """Return the cost of random runs of *run* chunks, with nothing in the cache."""
    # Each in stripes of its own, and the next one starts a chunk further on in its stripe.
    return _between(run, lambda n: _counted(data, parity, n, n + data + (1 - n) % data))


def sequential(data: int, parity: int, run: float) -> Cost:
    """Return the cost of sequential runs of *run* chunks, with everything before in the cache."""
    return _between(run, lambda n: _counted(data, parity, n, n))


def run_of(data: int, parity: int, updates: float) -> float:
    """Return the random run, in chunks and at least 1, that takes *updates* row updates per page."""
    if updates >= scattered(data, parity, 1.0).updates or data == 1:
        return 1.0
    return solved(lambda run: -scattered(data, parity, run).updates, -updates, 1.0, MAX_CHUNKS)


def _between(run: float, cost: Callable[[int], Cost]) -> Cost:
    """Return the cost of a fractional *run* as a mix of the next shorter and the next longer one."""
    run = min(max(run, 1.0), MAX_CHUNKS)
    shorter = floor(run)
    share = (run - shorter) * (shorter + 1) / run  # of the pages, in the longer ones
    return cost(shorter).mixed(cost(shorter + 1), share) if share else cost(shorter)


@cache
def _counted(data: int, parity: int, chunks: int, step: int) -> Cost:
    """Count what runs of *chunks* cost, one every *step* chunks, until one starts where the first did in its stripe."""
    runs = lcm(data, step) // step
    layout = Layout("raid5", data + parity, data, parity, 1, PAGE)
    geometry = Geometry(layout, runs * step * PAGE)
    reads = writes = updates = 0
    for place in range(runs):
        for rows, written in geometry.rows(place * step * PAGE, chunks * PAGE):
            reads += len(geometry.reads_for(rows, written))
            writes += len(geometry.writes_of(rows, written))
            updates += 1
    pages = runs * chunks
    return Cost(reads / pages, writes / pages, updates / pages)
