"""
What parity costs: the pages md reads and writes for a page of data, by how much of a row comes together.

md works in rows of a page a member. Of a row with d data pages and p of
parity, an update of k pages writes k + p, and reads the fewer of two sorts of
page that its cache lacks: those it will write and parity, or those it will not
write (KERNEL 2.2; the second wins a tie). A row that is full reads nothing.

A *run* is what arrives at once, in chunks. Runs at random starts find no row
in the cache; those that follow each other find what the one before left there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, lcm

MOST_CHUNKS = 64  # a run of more is full stripes but for its ends, which are a row in so many


@dataclass(frozen=True, slots=True)
class Cost:
    """Pages read and written for a page of data, and the row updates that takes."""

    reads: float
    writes: float
    updates: float

    def mixed(self, other: Cost, share: float) -> Cost:
        """Return the cost where *share* of the pages cost as *other*."""
        here = 1 - share
        return Cost(
            here * self.reads + share * other.reads,
            here * self.writes + share * other.writes,
            here * self.updates + share * other.updates,
        )


def cold_reads(data: int, parity: int, written: float) -> float:
    """Return the pages that an update of *written* pages reads with nothing cached; between whole ones, linear."""
    whole = floor(written)
    if whole >= data:
        return 0.0
    here = min(whole + parity, data - whole) if whole else 0
    part = written - whole
    return here if not part else here + part * (cold_reads(data, parity, whole + 1) - here)


def scattered(data: int, parity: int, run: float) -> Cost:
    """Return the cost of runs of *run* chunks, each at a random chunk, with nothing cached."""
    return _between(run, lambda chunks: _scattered(data, parity, chunks))


def sequential(data: int, parity: int, run: float) -> Cost:
    """Return the cost of runs of *run* chunks one after another, with all before in the cache."""
    return _between(run, lambda chunks: _sequential(data, parity, chunks))


def run_of(data: int, parity: int, updates: float) -> float:
    """Return the run, in chunks, that at random starts takes *updates* row updates a page; at least 1."""
    low, high = 1.0, float(MOST_CHUNKS)
    if updates >= scattered(data, parity, low).updates or data == 1:
        return low
    if updates <= scattered(data, parity, high).updates:
        return high
    for _ in range(40):
        middle = (low + high) / 2
        if scattered(data, parity, middle).updates > updates:
            low = middle
        else:
            high = middle
    return high


def _between(run: float, cost: Callable[[int], Cost]) -> Cost:
    """Return the cost of a *run* that is no whole number of chunks: some are longer, some shorter."""
    run = min(max(run, 1.0), MOST_CHUNKS)
    shorter = floor(run)
    share = (run - shorter) * (shorter + 1) / run  # of the pages, in the longer ones
    return cost(shorter).mixed(cost(shorter + 1), share) if share else cost(shorter)


def _scattered(data: int, parity: int, chunks: int) -> Cost:
    """Average over where in a stripe the run begins."""
    parts = [part for start in range(data) for part in _parts(data, start, chunks)]
    pages = chunks * data
    return Cost(
        sum(cold_reads(data, parity, part) for part in parts) / pages,
        sum(part + parity for part in parts) / pages,
        len(parts) / pages,
    )


def _parts(data: int, start: int, chunks: int) -> list[int]:
    """
    Return how many chunks of each stripe a run covers that begins at chunk *start* of one.

    >>> _parts(3, 2, 5)
    [1, 3, 1]
    """
    first = min(data - start, chunks)
    full, last = divmod(chunks - first, data)
    return [first, *[data] * full, *([last] if last else [])]


def _sequential(data: int, parity: int, chunks: int) -> Cost:
    """Average over the stripes until a run and a stripe begin together again."""
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
    """Return the pages read to write *new*; *cached* becomes what is then known of the row."""
    others = set(range(data)) - new - cached
    modify = len(new - cached) + (0 if cached else parity)  # parity stays with the first update
    cached |= new
    if len(others) <= modify:
        cached |= others
        return len(others)
    return modify
