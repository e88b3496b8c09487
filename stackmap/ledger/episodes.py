"""
Episodes: when a stack was slow, by how much, and what changed first.

The unusual runs of all devices of a stack that overlap are one episode. Its top is the device at the top of the
stack that waited longest beyond its usual await.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from math import isnan, log
from statistics import median
from typing import NamedTuple

from stackmap.ledger.load_columns import Columns
from stackmap.ledger.time_series import Clock, IntervalSeries, Span
from stackmap.ledger.unusual import REQUESTS, Figures, Run, known_awaits, risen, unusual
from stackmap.ledger.unusual_spans import LEAST
from stackmap.model.topology import NO_TOPOLOGY, Topology, computed_once

SHARED = 0.5  # of the shorter of two runs, that both are one episode
CHANGED, TURNED = log(1.5), 0.25  # the least change of rate and size, and of the share of writes
SPREADS = 2.5
PARTS = 512  # of a series, by which runs are compared
LEAD = 4  # the first of so many parts of an episode tells what changed first


class Change(StrEnum):
    """What changed first: the load, the size of requests, the share of writes; or none of them."""

    LOAD = "load"
    SIZE = "size"
    DIRECTION = "direction"
    SLOWER = "slower"


class Pair(NamedTuple):
    """A figure outside of all episodes and in one; None if unknown."""

    usual: float | None
    during: float | None

    @property
    def ratio(self) -> float | None:
        """How many times the usual figure."""
        return None if not self.usual or self.during is None else self.during / self.usual


@dataclass(frozen=True)
class Episode:
    """
    Intervals ``first`` to ``last`` of ``series`` in which a stack left its usual range.

    ``devices``: from ``top`` to the disks, those that left it; ``lowest``: those with none of them below. ``awaits``:
    milliseconds at ``top``. ``excess``: waited beyond the usual, in requests in flight times intervals. ``stuck``:
    requests were in flight and none completed.
    """

    series: IntervalSeries = field(repr=False)
    first: int
    last: int
    top: str
    devices: tuple[str, ...]
    lowest: tuple[str, ...]
    awaits: Pair
    excess: float
    stuck: bool

    @property
    def span(self) -> Span:
        """Its first and last interval."""
        return self.first, self.last

    # Of thousands of episodes, only the worst ones are asked for what follows.

    @cached_property
    def changed(self) -> Change:
        """What changed first at the top, else at the lowest devices."""
        clock = self.series.clock()
        told = (
            change
            for name in dict.fromkeys((self.top, *self.lowest))
            if (change := _change(self.series.devices[name], *self.span, clock))
            is not Change.SLOWER
        )
        return next(told, Change.SLOWER)

    @property
    def rates(self) -> Mapping[str, Pair]:
        """Requests per second at the top, by direction ("read", "write" or "total")."""
        return self._pairs[0]

    @property
    def sizes(self) -> Mapping[str, Pair]:
        """Mean bytes per request at the top, by direction."""
        return self._pairs[1]

    @cached_property
    def _pairs(self) -> tuple[Mapping[str, Pair], Mapping[str, Pair]]:
        return _pairs(self.series.devices[self.top], *self.span)


class _OfDevice(NamedTuple):
    device: str
    run: Run


def episodes(topology: Topology, series: IntervalSeries) -> list[Episode]:
    """Return the episodes, worst first; none without a baseline of ``LEAST`` intervals."""
    if series.count < LEAST:
        return []
    clock = series.clock()
    figures = {
        name: _figures(columns, series.count)
        for name, columns in series.devices.items()
        if name in topology
    }

    @cache
    def awaits_of(name: str) -> Sequence[float | None]:
        return known_awaits(figures[name], clock.pace)

    runs = [_OfDevice(name, run) for name in figures for run in unusual(figures[name], clock)]
    unordered = [
        _episode(topology, series, group, figures, awaits_of)
        for stack in _by_stack(topology, runs)
        for group in _groups(stack, series.count)
    ]
    return sorted(unordered, key=lambda episode: -episode.excess)


def outside(count: int, taken: Iterable[Span]) -> list[Span]:
    """Return the spans of *count* intervals that are in none of *taken*."""
    spans, begin = [], 0
    for first, last in sorted(taken):
        if first > begin:
            spans.append((begin, first - 1))
        begin = max(begin, last + 1)
    return [*spans, *([(begin, count - 1)] if begin < count else [])]


# The figures of one device


def _sum(columns: Columns, figure: str) -> list[float]:
    """Return the sum of reads and writes per interval, NaN where unknown; [] if it is never known."""
    whole = columns.figure("whole", figure)
    if len(whole):
        return [*whole]
    read, write = columns.figure("read", figure), columns.figure("write", figure)
    return [a + b for a, b in zip(read, write, strict=False)]


def _figures(columns: Columns, count: int) -> Figures:
    rates, waits = _sum(columns, "ios"), _sum(columns, "wait")
    queues = columns.figure("", "aqu")
    awaits = [w / r if r else None for w, r in zip(waits, rates, strict=False)]
    known = (
        [None if x is None or isnan(x) else x for x in values] for values in (awaits, rates, queues)
    )
    return Figures(*(_full(values, columns.first, count) for values in known))


def _full(values: Sequence[float | None], first: int, count: int) -> list[float | None]:
    """Return *values* of all intervals: the device came with the interval *first*."""
    return [*[None] * first, *values, *[None] * (count - first - len(values))]


# Runs of several devices


def _by_stack(topology: Topology, runs: Iterable[_OfDevice]) -> Iterator[list[_OfDevice]]:
    """Yield the runs of devices that share a stack; without a topology, of all devices."""
    stacks: dict[frozenset[str], list[_OfDevice]] = {}
    of_device: dict[str, frozenset[str]] = {}
    for run in runs:
        if NO_TOPOLOGY in topology.unknown:
            of_device[run.device] = frozenset()
        elif run.device not in of_device:
            of_device |= dict.fromkeys(connected := topology.connected([run.device]), connected)
        stacks.setdefault(of_device[run.device], []).append(run)
    yield from stacks.values()


def _groups(runs: Iterable[_OfDevice], count: int) -> Iterator[list[_OfDevice]]:
    """Yield the runs that overlap, the worst first in each; *count*: the intervals of the series."""
    ordered = sorted(runs, key=lambda rise: -rise.run.excess)
    # Thousands of runs are compared only with those in the same parts of the series.
    size = max(1, count // PARTS)
    rest: defaultdict[int, set[int]] = defaultdict(set)
    for place, rise in enumerate(ordered):
        for part in _parts(rise.run, size):
            rest[part].add(place)
    for place, rise in enumerate(ordered):
        here = _parts(rise.run, size)
        if place not in rest[here[0]]:
            continue  # it is in an earlier group
        near = sorted({other for part in here for other in rest[part]})
        group = [n for n in near if _shared(rise.run, ordered[n].run) >= SHARED]
        for n in group:
            for part in _parts(ordered[n].run, size):
                rest[part].discard(n)
        yield [ordered[n] for n in group]


def _parts(run: Run, size: int) -> range:
    """Return the parts of a series, *size* intervals each, that have some of *run*."""
    return range(run.first // size, run.last // size + 1)


def _shared(one: Run, other: Run) -> float:
    """Return the share of the shorter run that both have."""
    both = min(one.last, other.last) + 1 - max(one.first, other.first)
    return both / (min(one.last - one.first, other.last - other.first) + 1)


def _episode(
    topology: Topology,
    series: IntervalSeries,
    group: Sequence[_OfDevice],
    figures: Container[str],
    awaits_of: Callable[[str], Sequence[float | None]],
) -> Episode:
    first = min(rise.run.first for rise in group)
    last = max(rise.run.last for rise in group)
    own = {rise.device for rise in group}
    # Devices above and below that rose as well, too little to tell by themselves.
    stack = {
        name
        for one in own
        for name in (*topology.with_all_above(one), *topology.with_all_below(one))
    }
    risen_too = (
        name for name in stack - own if name in figures and risen(awaits_of(name), (first, last))
    )
    hot = own.union(risen_too)
    places = _places(topology)
    devices = tuple(sorted(hot & places.keys(), key=places.__getitem__))
    highest = {n for n in devices if hot.isdisjoint(topology.with_all_above(n)[1:])}
    worst = next(
        (rise for rise in group if rise.device in highest and not rise.run.stuck), group[0]
    )
    lowest = (name for name in devices if hot.isdisjoint(topology.with_all_below(name)[1:]))
    return Episode(
        series,
        first,
        last,
        worst.device,
        devices,
        tuple(lowest),
        Pair(worst.run.usual, worst.run.during),
        worst.run.excess,
        any(rise.run.stuck for rise in group),
    )


@computed_once
def _places(topology: Topology) -> Mapping[str, int]:
    """Return the place of each device, top down: thousands of episodes need some of them."""
    return {device.name: place for place, device in enumerate(topology)}


def _pairs(columns: Columns, first: int, last: int) -> tuple[dict[str, Pair], dict[str, Pair]]:
    """Return rates and sizes by direction, outside of the span and in it."""
    flows = {
        flow: ([*columns.figure(flow, "ios")], [*columns.figure(flow, "bytes")])
        for flow in ("read", "write")
    }
    if not all(rates for rates, _ in flows.values()):
        flows = {"total": (_sum(columns, "ios"), _bytes(columns))}
    first, last = max(0, first - columns.first), last - columns.first
    rates = {flow: _pair(values, first, last) for flow, (values, _) in flows.items()}
    sizes = {
        flow: _pair(_ratios(moved, requests), first, last)
        for flow, (requests, moved) in flows.items()
    }
    return rates, sizes


def _bytes(columns: Columns) -> list[float]:
    """Return the bytes of reads and writes together: of their own columns where they are in a text of sums."""
    moved = _sum(columns, "bytes")
    if any(not isnan(x) for x in moved):
        return moved
    read, write = columns.figure("read", "bytes"), columns.figure("write", "bytes")
    return [a + b for a, b in zip(read, write, strict=False)]


def _ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    return [a / b if b else float("nan") for a, b in zip(above, below, strict=False)]


def _pair(values: Sequence[float], first: int, last: int) -> Pair:
    """Return the median outside of a span, and the mean in it."""
    inside = [x for x in values[first : last + 1] if not isnan(x)]
    return Pair(
        _median([*values[:first], *values[last + 1 :]]),
        sum(inside) / len(inside) if inside else None,
    )


def _median(values: Iterable[float]) -> float | None:
    known = [x for x in values if not isnan(x)]
    return median(known) if known else None


# What changed first


def _change(columns: Columns, first: int, last: int, clock: Clock) -> Change:
    """Return the figure farthest outside its usual range when the span began; few requests have no mix or size."""
    first, last = max(0, first - columns.first), last - columns.first
    lead = min(last, first + max(1, (last + 1 - first) // LEAD))
    rates = _sum(columns, "ios")
    usual, during = _pair(rates, first, last)
    if usual == 0 and during:
        return Change.LOAD  # it is usually idle
    least = REQUESTS / clock.pace if clock.pace else 0.0
    requests, moved = (
        [
            value if rate >= least else float("nan")
            for value, rate in zip(values, rates, strict=True)
        ]
        for values in (rates, _bytes(columns))
    )
    writes = [*columns.figure("write", "ios")]
    written = _ratios(writes, requests)
    if not writes:  # a text of sums may tell the bytes of each direction
        written = _ratios([*columns.figure("write", "bytes")], moved)
    far = {
        Change.LOAD: _distance(_logs(rates), first, last, lead, CHANGED, falls=False),
        Change.SIZE: _distance(_logs(_ratios(moved, requests)), first, last, lead, CHANGED),
        Change.DIRECTION: _distance(written, first, last, lead, TURNED),
    }
    farthest = max(far, key=lambda change: far[change])
    return farthest if far[farthest] >= 1 else Change.SLOWER


def _logs(values: Iterable[float]) -> list[float]:
    return [log(x) if x > 0 else float("nan") for x in values]


def _distance(
    values: Sequence[float], first: int, last: int, lead: int, least: float, *, falls: bool = True
) -> float:
    """Return how far *values* are from usual in the lead of a span, in multiples of what counts as a change."""
    rest = [*values[:first], *values[last + 1 :]]
    usual, during = _median(rest), _median(values[first : lead + 1])
    if usual is None or during is None:
        return 0.0
    spread = 1.4826 * (_median(abs(x - usual) for x in rest) or 0.0)
    change = abs(during - usual) if falls else during - usual
    return change / max(least, SPREADS * spread)
