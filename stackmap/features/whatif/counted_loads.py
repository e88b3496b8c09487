"""
Requests as the counters of a volume allow them: how many come at once, of which sizes, and where.

Counters have rates and means: of sizes, of requests in flight, and of the time in which any is. A volume that is idle
in between has no loop of a constant depth. What they leave open is more than one ``Load``, see ``traced_loads.py``.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from math import log2
from operator import attrgetter
from random import Random
from typing import NamedTuple

from stackmap.features.whatif.disks import FLUSH, READ, WRITE
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.pattern import SIZE_TOLERANCE
from stackmap.features.whatif.simulation import SEED, Arrival
from stackmap.features.whatif.traced_loads import DEPTHS, USUAL_GAP, Intervals, Load
from stackmap.model.raid import PAGE
from stackmap.model.units import SECTOR

REQUESTS = 3000  # of one run
MANY = (*DEPTHS, 192, 256, 384, 512, 768, 1024)  # requests at once
ONE = 1  # the thread that sends all of a burst
FEW_CACHED = 32  # requests at once: programs usually keep fewer, the page cache more


class Burst(NamedTuple):
    """
    ``size`` requests that arrive at once, at random instants or ``even`` ones. ``cached``: as the page cache writes,
    under one plug and in the order of their places.
    """

    size: int
    even: bool = False
    cached: bool = False


BURSTS = tuple(map(Burst, (1, 2, 4, 8, 16)))


def bursts_of(queue: float | None) -> Sequence[Burst]:
    """Return the bursts by which the mean *queue* may come, None: unknown; the likely one first."""
    if queue is None:
        return BURSTS
    sizes = [1, *(size for size in MANY if size > 1 and queue / 2 <= size <= 2 * queue)]
    bursts = [Burst(size, even) for size in sizes for even in (False, True)]
    return bursts + [Burst(size, cached=True) for size in sizes if size >= FEW_CACHED]


def load_of_counters(
    measured: Measured, parts: Intervals, share: float, span: int, burst: Burst | None = None
) -> Load:
    """
    Return requests as *measured*: a *share* of the writes is sequential, the others are over *span* bytes.

    A *burst* arrives at each instant of *parts*; None: no instants, for a loop.
    """
    # Not the seed of the simulation: what arrives must not depend on how long it takes.
    draw = Random(SEED + 1)  # noqa: S311 - no secret
    rates = {
        READ: measured.read.requests,
        WRITE: measured.write.requests,
        FLUSH: measured.known_flushes,
    }
    sizes = {READ: Sizes.of(measured.read.size), WRITE: Sizes.of(measured.write.size)}
    possible = {name: rate for name, rate in rates.items() if rate > 0}
    operations = draw.choices([*possible], [*possible.values()], k=REQUESTS) if possible else []
    arrivals: list[Arrival] = []
    following = {READ: 0, WRITE: 0}
    for operation in operations:
        offset = size = 0
        if operation in sizes:
            size = sizes[operation].drawn(draw)
            if operation == WRITE and draw.random() < share:
                offset = following[operation]
            else:
                step = max(PAGE, 1 << (size - 1).bit_length() if size & (size - 1) else size)
                offset = draw.randrange(max(1, span // step)) * step
            following[operation] = (offset + size) % max(size, span - size)
        arrivals.append(Arrival(0.0, operation, offset, size))
    load = Load("open", arrivals, sequential=share, plugged=burst is not None and burst.cached)
    if burst is None:
        return load
    times = _instants(parts, burst, draw)
    together = [arrivals[at : at + burst.size] for at in range(0, len(arrivals), burst.size)]
    return load._replace(
        arrivals=[request for some in together for request in _together(next(times), some, burst)]
    )


def _together(time: float, requests: list[Arrival], burst: Burst) -> Iterator[Arrival]:
    """Yield *requests* as they arrive together at *time*."""
    if not burst.cached:
        thread = ONE if burst.size > 1 else 0
        gaps = enumerate(requests)  # the disks may begin with the first one
        return (request._replace(delay=time + n * USUAL_GAP, thread=thread) for n, request in gaps)
    writes = sorted((r for r in requests if r.operation == WRITE), key=attrgetter("offset"))
    others = (request._replace(delay=time) for request in requests if request.operation != WRITE)
    plugged = (
        request._replace(delay=time, more=request is not writes[-1], cached=True, thread=ONE)
        for request in writes
    )
    return chain(plugged, others)


class Sizes(NamedTuple):
    """Bytes of requests: a share ``larger`` is of ``large``, the others of ``small``."""

    small: int
    large: int
    larger: float

    @classmethod
    def of(cls, mean: float) -> "Sizes":
        """
        Return the sizes that a *mean* of bytes probably is of: one of whole pages, or two powers of two.

        A page that is written in part costs reads that one of whole pages never does.
        """
        whole = max(1, round(mean / PAGE)) * PAGE
        if mean < PAGE or abs(mean / whole - 1) <= SIZE_TOLERANCE:
            whole = max(SECTOR, round(mean / SECTOR) * SECTOR) if mean < PAGE else whole
            return cls(whole, whole, 0.0)
        small = 1 << int(log2(mean))
        return cls(small, 2 * small, mean / small - 1)

    def drawn(self, draw: Random) -> int:
        """Return the bytes of one request."""
        return self.large if self.larger and draw.random() < self.larger else self.small


def _instants(parts: Intervals, burst: Burst, draw: Random) -> Iterator[float]:
    """Yield the instants of bursts at the rates of *parts*; in a share of each if they are long."""
    share = min(1.0, REQUESTS / max(1.0, sum(seconds * rate for seconds, rate in parts)))
    gap = repeat(1.0) if burst.even else iter(partial(draw.expovariate, 1.0), None)  # in mean gaps
    time, left = 0.0, next(gap)
    while True:
        for seconds, rate in parts:
            end, often = time + seconds * share, rate / burst.size
            while left <= (end - time) * often:
                time += left / often
                yield time
                left = next(gap)
            left -= (end - time) * often
            time = end
