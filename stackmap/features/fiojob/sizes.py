"""
Request sizes, as far as counters show them.

An interval has a number of requests and their bytes, so only a mean size. But both numbers are
exact. If in every interval the bytes are that many requests of one size, or a whole number of
requests of each of two sizes, and chance is unlikely, these are the sizes. Otherwise each
interval counts with its mean, and sizes within an interval stay mixed.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from stackmap.model.units import SECTOR

PAGE = 4096
# Usual sizes: powers of two, and 1.5 times these.
USUAL = tuple(sorted({size << by for by in range(14) for size in (SECTOR, 3 * SECTOR)}))
POWERS = tuple(PAGE << by for by in range(11))
MEAN_TOLERANCE = 0.005  # of the mean size of pieces
CHANCE = 1e-5  # probability that intervals fit two sizes by chance
MAX_STRAYS = 0.1  # of the requests may be in intervals with foreign ones, such as a probe by udev
MIN_SHARE = 0.04  # of the requests; rarer sizes join their neighbours
WHOLE_TOLERANCE = 0.02  # of a request: how far counts may be off whole numbers

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}
_SPLIT = re.compile(r"([0-9]{1,9})([kKmM]?)/([0-9]{1,3}(?:\.[0-9]+)?)")

Row = tuple[float, float]  # requests, bytes


class SizeSource(StrEnum):
    """
    Where sizes come from.

    ``ONE`` or ``TWO`` true sizes, put together from ``PIECES``, ``MEANS`` of intervals, or ``GIVEN`` by the user.
    """

    ONE = "one"
    TWO = "two"
    PIECES = "pieces"
    MEANS = "means"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Sizes:
    """``requests``: their number by size in bytes."""

    requests: Mapping[int, float]
    source: SizeSource

    @property
    def mean(self) -> float:
        """Mean bytes per request."""
        return sum(s * n for s, n in self.requests.items()) / sum(self.requests.values())

    def percents(self) -> dict[int, int]:
        """
        Return the share of each size in whole per cent, 100 in total.

        >>> Sizes({4096: 2, 8192: 1}, SizeSource.TWO).percents()
        {4096: 67, 8192: 33}
        """
        whole = sum(self.requests.values())
        exact = {size: 100 * n / whole for size, n in sorted(self.requests.items())}
        percents = {size: math.floor(part) for size, part in exact.items()}
        rest = sorted(exact, key=lambda size: percents[size] - exact[size])
        for size in rest[: 100 - sum(percents.values())]:
            percents[size] += 1
        return {size: percent for size, percent in percents.items() if percent}


def parse_sizes(text: str) -> Sizes:
    """
    Return the sizes in *text*, which has the syntax of fio's bssplit; ``ValueError`` on errors.

    >>> parse_sizes("4k/70:64k/30").requests
    {4096: 70.0, 65536: 30.0}
    """
    requests: dict[int, float] = {}
    for part in text.split(":"):
        match = _SPLIT.fullmatch(part)
        if match is None:
            raise ValueError(f"{part}: not a size with its share, as in 4k/70")
        size = int(match[1]) * _UNITS[match[2].lower()]
        if not size or size % SECTOR or size in requests:
            raise ValueError(f"{part}: sizes must be multiples of 512 bytes, each given once")
        requests[size] = float(match[3])
    if abs(sum(requests.values()) - 100) > 0.5 or min(requests.values()) <= 0:
        raise ValueError(f"{text}: shares must be above 0 and sum up to 100")
    return Sizes(requests, SizeSource.GIVEN)


def sizes_of(rows: Sequence[Row], boundary: int | None = None) -> Sizes | None:
    """
    Return the request sizes of *rows*, one per interval; None without requests.

    *boundary*: bytes at whose multiples an array cuts requests before it counts them.
    """
    busy = [(n, size) for n, size in rows if n > 0 and size > 0]
    if not busy:
        return None
    if boundary and (whole := _put_together(busy, boundary)):
        return whole
    if all(abs(n - round(n)) < WHOLE_TOLERANCE and abs(size - round(size)) < 1 for n, size in busy):
        counted = Counter((round(n), round(size)) for n, size in busy)
        return _one(counted) or _two(counted) or _means(busy)
    return _means(busy)


def _put_together(rows: Sequence[Row], boundary: int) -> Sizes | None:
    """
    Return the only power of two whose pieces are as large on average as those counted; None if none or several are.

    The requests begin at any multiple of what their size and the boundary have in common, so one of *size* has
    ``1 + (size - common) / boundary`` pieces on average.
    """
    pieces, total = (math.fsum(column) for column in zip(*rows, strict=True))
    means = {
        size: size / (1 + (size - math.gcd(size, boundary)) / boundary)
        for size in POWERS
        if boundary % size
    }
    fitting = [
        size
        for size, mean in means.items()
        if math.isclose(total / pieces, mean, rel_tol=MEAN_TOLERANCE)
    ]
    return Sizes({fitting[0]: total / fitting[0]}, SizeSource.PIECES) if len(fitting) == 1 else None


def _one(rows: Mapping[tuple[int, int], int]) -> Sizes | None:
    """Return the size of all requests, except strays; None if there is none."""
    by_mean: Counter[float] = Counter()
    for (n, size), times in rows.items():
        by_mean[size / n] += n * times
    mean, requests = by_mean.most_common(1)[0]
    if mean % SECTOR or requests < by_mean.total() * (1 - MAX_STRAYS):
        return None
    return Sizes({int(mean): float(by_mean.total())}, SizeSource.ONE)


def _two(rows: Mapping[tuple[int, int], int]) -> Sizes | None:
    """Return the two sizes that fit all rows except strays, the most different ones first; None if none do."""
    for small, large in sorted(combinations(USUAL, 2), key=lambda pair: pair[0] - pair[1]):
        fitting = _fitting(rows, small, large)
        if not fitting:
            continue
        grain = math.gcd(*(size for _, size in fitting))
        unlikely = len(fitting) * math.log((large - small) / grain)
        many = sum(m for m, _ in fitting.values())
        few = sum(n for _, n in fitting.values()) - many
        if unlikely > -math.log(CHANCE) and few and many:
            return Sizes({small: float(few), large: float(many)}, SizeSource.TWO)
    return None


def _fitting(
    rows: Mapping[tuple[int, int], int], small: int, large: int
) -> dict[tuple[int, int], tuple[int, int]] | None:
    """Return by row the requests of the large size, and all requests; None if too many rows do not fit."""
    room = MAX_STRAYS * sum(n * times for (n, _), times in rows.items())
    fitting = {}
    for (n, size), times in rows.items():
        many, rest = divmod(size - small * n, large - small)
        if rest or not 0 <= many <= n:
            room -= n * times
            if room < 0:
                return None
        else:
            fitting[n, size] = many * times, n * times
    return fitting


def _means(rows: Iterable[Row]) -> Sizes:
    """Return the means of intervals, each divided between two whole sizes so that bytes are kept."""
    requests: defaultdict[int, float] = defaultdict(float)
    for n, size in rows:
        mean = size / n
        grain = PAGE if mean >= PAGE else SECTOR
        low = max(grain, math.floor(mean / grain) * grain)
        above = max(0.0, (mean - low) / grain)
        requests[low] += n * (1 - above)
        requests[low + grain] += n * above
    return Sizes(_gathered({size: n for size, n in requests.items() if n}), SizeSource.MEANS)


def _gathered(requests: Mapping[int, float]) -> dict[int, float]:
    """Return *requests* with rare sizes joined to the next larger one, at their mean."""
    least = MIN_SHARE * sum(requests.values())
    gathered: dict[int, float] = {}
    group: list[tuple[int, float]] = []
    for size, n in sorted(requests.items()):
        group.append((size, n))
        if sum(n for _, n in group) >= least:
            gathered |= _as_one(group)
            group = []
    if group:
        last = max(gathered, default=0)
        gathered |= _as_one([*group, (last, gathered.pop(last))] if last else group)
    return gathered


def _as_one(group: Sequence[tuple[int, float]]) -> dict[int, float]:
    many = sum(n for _, n in group)
    mean = sum(size * n for size, n in group) / many
    grain = PAGE if mean >= PAGE else SECTOR
    return {max(grain, round(mean / grain) * grain): many}
