"""
A cache in front of the volume (``--cache``): which of the traced requests it would have answered.

A request hits if each of its blocks was used before, and fewer other blocks than the cache holds were used since
(the reuse distance). This is a cache that keeps the blocks used last. One pass gives the distances, and these give
the hits of a cache of any size.

A trace does not show the use before it. A block's first use is surely a miss if the trace has used more blocks than
the cache holds; otherwise it may be a hit.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stackmap.features.whatif.disks import READ, WRITE, Service
from stackmap.features.whatif.quantities import Band
from stackmap.model.reason import Reason
from stackmap.model.units import KIB

if TYPE_CHECKING:
    from stackmap.features.trace.arrivals import TracedRequest

CHUNK, STEP, MOST_CHUNKS = 64 * KIB, 32 * KIB, 1_000_000  # of lvm.conf(5): cache_pool_…
COPIED_AT_ONCE = 1024 * KIB  # dm-cache-target.c, DEFAULT_MIGRATION_THRESHOLD
MOST_USES = 500_000  # of blocks; more take too long
ASSUMED = 1e-4, 32  # of a cache device that is not given: seconds of a request, requests at once
LEAST = 100  # requests that give a share
SIZES = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)  # of the cache, in the table
NO_OFFSETS = Reason(
    "no-offsets",
    "a cache is projected from the offsets of at least 100 requests: record them with `stackmap record --trace`",
)


class Cache(NamedTuple):
    """
    A cache of ``size`` bytes on a device with the times ``service``, assumed if ``is_assumed``.

    ``writeback``: a write that hits is done when the cache has it; else the volume must have it too.
    """

    size: int
    service: Service
    writeback: bool = False
    is_assumed: bool = True

    @property
    def seconds(self) -> float:
        """The mean time of a request that the cache answers."""
        return sum(self.service.read) / len(self.service.read)

    @property
    def block(self) -> int:
        """Bytes of a block, as LVM chooses them: at most a million blocks."""
        least = -(-self.size // MOST_CHUNKS)
        return max(CHUNK, -(-least // STEP) * STEP)


class SimulatedCache(NamedTuple):
    """
    A cache in a simulation. ``hits``: shares of reads and writes. ``copying``: blocks of ``block`` bytes that are
    copied into it at once for what misses, and writes that hit are written back one by one; 0 for neither.
    """

    service: Service
    hits: tuple[float, float]
    writeback: bool
    block: int
    copying: int


class BlockUse(NamedTuple):
    """
    A request's use of blocks. ``distance``: the most other blocks used since one of its own was; -1 if all are new.

    ``is_first``: whether one of its blocks was not used before; ``before``: blocks that had been used by then.
    """

    operation: str
    distance: int
    is_first: bool
    before: int


class Hits(NamedTuple):
    """
    What a trace says about a cache. ``shares``: of reads and writes that hit. ``curve``: these by bytes of a cache.

    ``requests``: in ``seconds``. ``used``: bytes of all blocks used. ``first``: share of requests that use a block
    for the first time. ``filled``: bytes of blocks per second that miss and may be copied into the cache.
    """

    shares: Mapping[str, Band]
    curve: Mapping[int, Mapping[str, Band]]
    requests: int
    seconds: float
    used: int
    first: float
    filled: float

    def front(self, cache: Cache, end: str) -> SimulatedCache:
        """Return *cache* in a simulation, with the hits at the *end* "low", "likely" or "high" of their range."""
        read, write = (
            getattr(self.shares[direction], end) if direction in self.shares else 0.0
            for direction in (READ, WRITE)
        )
        copying = max(1, COPIED_AT_ONCE // cache.block) if end == "low" else 0
        return SimulatedCache(cache.service, (read, write), cache.writeback, cache.block, copying)


def hits_of(requests: "Sequence[TracedRequest]", cache: Cache) -> Hits | None:
    """Return the hits of *cache* among traced *requests*; None if these are too few."""
    block = cache.block
    uses = list(uses_of(requests, block))
    if len(uses) < LEAST:
        return None
    data = [request for request in requests if request.size]
    seconds = max(1e-6, data[len(uses) - 1].time - data[0].time)
    sizes = dict.fromkeys(max(block, int(cache.size * share)) for share in SIZES)
    capacity = cache.size // block
    missed = sum(use.is_first or use.distance >= capacity for use in uses)
    return Hits(
        shares_of(uses, capacity),
        {size: shares_of(uses, size // block) for size in sizes},
        len(uses),
        seconds,
        block
        * len({number for request in data[: len(uses)] for number in blocks_of(request, block)}),
        sum(use.is_first for use in uses) / len(uses),
        missed * block / seconds,
    )


def blocks_of(request: "TracedRequest", block: int) -> range:
    """Return the numbers of the blocks that *request* uses."""
    return range(request.offset // block, (request.offset + request.size - 1) // block + 1)


def uses_of(requests: "Sequence[TracedRequest]", block: int) -> Iterator[BlockUse]:
    """Yield the uses of blocks of *block* bytes by reads and writes, until there are ``MOST_USES``."""
    last: dict[int, int] = {}
    order: list[int] = []  # the last use of each block, ascending
    now = 0
    for request in requests:
        if not request.size:
            continue
        if now >= MOST_USES:
            return
        farthest, is_first, before = -1, False, 0
        for number in blocks_of(request, block):
            used = last.get(number)
            if used is not None:
                place = bisect_left(order, used)
                farthest = max(farthest, len(order) - 1 - place)
                del order[place]
            elif not is_first:
                is_first, before = True, len(order)
            last[number] = now
            order.append(now)
            now += 1
        yield BlockUse(request.operation, farthest, is_first, before)


def shares_of(uses: Sequence[BlockUse], capacity: int) -> Mapping[str, Band]:
    """
    Return the shares of reads and writes that hit in a cache of *capacity* blocks.

    Low: it was empty at the start. High: at the start it held each block that the trace uses before it fills
    the cache. Likely: the hits in the second half of the trace, which finds the blocks of the first half.
    """
    shares = {}
    for direction in (READ, WRITE):
        of_direction = [
            (place, use) for place, use in enumerate(uses) if use.operation == direction
        ]
        if not of_direction:
            continue
        hits = [(place, not use.is_first) for place, use in of_direction if use.distance < capacity]
        hits = [(place, known) for place, known in hits if known or uses[place].before < capacity]
        low = sum(known for _, known in hits) / len(of_direction)
        late = [place for place, _ in of_direction if place >= len(uses) // 2]
        warm = sum(known for place, known in hits if place >= len(uses) // 2)
        likely = warm / len(late) if late else low
        high = len(hits) / len(of_direction)
        shares[direction] = Band(low, min(max(low, likely), high), high)
    return shares
