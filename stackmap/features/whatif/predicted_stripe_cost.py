"""
The cost of parity: pages that md reads and writes per page of data, by how much of a row arrives together.

md works in rows of a page per member. In a row of d data pages and p parity pages, an update
of k pages writes k + p. It reads the smaller of two sets that its cache lacks: the pages to write and
parity (read-modify-write), or the data pages that are not written (reconstruct-write, which wins a tie). A full
row reads nothing (stackmap-kernel(7), "RAID write paths").

A *run* is what arrives at once, in chunks. Random runs find no row in the cache. Sequential
runs find what the run before left there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, lcm
from typing import NamedTuple

from stackmap.features.whatif.quantities import solved
from stackmap.features.whatif.rows import row_update

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
    return _between(run, lambda chunks: _scattered(data, parity, chunks))


def sequential(data: int, parity: int, run: float) -> Cost:
    """Return the cost of sequential runs of *run* chunks, with everything before in the cache."""
    return _between(run, lambda chunks: _sequential(data, parity, chunks))


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


def _scattered(data: int, parity: int, chunks: int) -> Cost:
    """Average over the chunk of a stripe at which the run starts."""
    parts = [part for start in range(data) for part in _parts(data, start, chunks)]
    pages = chunks * data
    return Cost(
        sum(cold_reads(data, parity, part) for part in parts) / pages,
        sum(part + parity for part in parts) / pages,
        len(parts) / pages,
    )


def _parts(data: int, start: int, chunks: int) -> list[int]:
    """
    Return the chunks per stripe of a run that starts at chunk *start* of a stripe.

    >>> _parts(3, 2, 5)
    [1, 3, 1]
    """
    first = min(data - start, chunks)
    full, last = divmod(chunks - first, data)
    return [first, *[data] * full, *([last] if last else [])]


def _sequential(data: int, parity: int, chunks: int) -> Cost:
    """Average over the stripes until a run starts at the start of a stripe again."""
    span = lcm(data, chunks)
    reads = writes = updates = 0
    for stripe in range(0, span, data):
        starts = [at for at in range(stripe, stripe + data) if at == stripe or at % chunks == 0]
        ends = [*starts[1:], stripe + data]
        cached: set[int] = set()
        for start, end in zip(starts, ends, strict=True):
            new = set(range(start - stripe, end - stripe))
            reads += _reads(data, parity, new, cached)
            writes += len(new) + parity
            updates += 1
    return Cost(reads / span, writes / span, updates / span)


def _reads(data: int, parity: int, new: set[int], cached: set[int]) -> int:
    """Return the pages read to write *new*, and add to *cached* the pages of the row that md then knows."""
    others = set(range(data)) - new
    # The first update leaves parity in the cache; what is written again is known too.
    known = len(new & cached) + (parity if cached else 0)
    reads, rebuilds = row_update(data, parity, len(new), len(others & cached), known=known)
    cached |= new | (others if rebuilds else set())
    return reads
