"""The average of several intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import mul
from typing import cast

from stackmap.ledger.workload_mix import FEW, mixed
from stackmap.model.device import StatusReading
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, NONE, ZERO, Flow, Load, PrintedLoads, sum_in_order, sum_tables

ABSENT = "devices missing from a report count as idle there, as with iostat -z"
MAX_HELD = 1000  # loads not yet added up: some 1 MB; more of them leave the caches of a CPU

Part = tuple[Mapping[str, Load], float]  # loads and their weight


class Average:
    """
    A running average of intervals, weighted by their length, in constant memory.

    A text's own averages are used only if it has no rates (the last one, for
    sar prints its minimum and maximum before it), and averages since boot only
    if there is nothing else. A device that an interval of counters lacks is
    unknown in the average. A device that a report of a text lacks counts as
    idle there, because iostat -z omits idle devices, and a note says so.
    """

    def __init__(self) -> None:
        self._begin()
        self._last: Interval | None = None
        self._readings: tuple[StatusReading, ...] = ()  # the first and the last one
        self._rank = 0
        self._events: dict[str, None] = {}

    def _begin(self) -> None:
        """Discard all intervals so far: a better source of rates came."""
        self._total: Mapping[str, Load] | None = None  # the sum of what is no longer held
        self._held: dict[int, Part] = {}  # the loads since then, by identity
        self._size = 0  # of these, in loads
        self._sizes: set[int] = set()  # how many devices an interval had
        self._weight = 0.0
        self._notes: dict[str, None] = {}
        self.count = 0

    def add(self, interval: Interval) -> None:
        """Add one interval."""
        self._events.update(dict.fromkeys(interval.events))
        rank = _rank(interval)
        if rank < self._rank:
            return
        if rank > self._rank or interval.summary:
            self._begin()
        self._rank, self._last = rank, interval
        readings = (*self._readings, *interval.readings)
        self._readings = (
            readings[:1] if readings[:1] == readings[-1:] else (readings[0], readings[-1])
        )
        weight = interval.seconds or float(interval.count)
        self._weight += weight
        self.count += interval.count
        if interval.notes:
            self._notes.update(dict.fromkeys(interval.notes))
        # Equal tables of a text share their loads: they are counted, and added up once.
        loads, before = self._held.get(id(interval.loads), (interval.loads, 0.0))
        self._held[id(loads)] = loads, before + weight
        self._sizes.add(len(loads))
        self._size += 0 if before else 1 + len(loads)
        if self._size > MAX_HELD:
            self._total, self._held, self._size = self._sum(), {}, 0

    def result(self) -> Interval | None:
        """Return the average so far; None if nothing was added."""
        if self._last is None:
            return None
        loads = self._sum()
        filtered = self._is_text() and len(self._sizes | {len(loads)}) > 1
        return Interval(
            {name: _times(load, 1 / self._weight) for name, load in loads.items()},
            time=self._last.time,
            seconds=None if self._last.seconds is None else self._weight,
            stamp=self._last.stamp if self.count == 1 else f"average of {self.count} intervals",
            since_boot=self._last.since_boot,
            summary=self._last.summary,
            notes=(*self._notes, *([ABSENT] if filtered else [])),
            events=tuple(self._events),
            machine=self._last.machine,
            count=self.count,
            readings=self._readings,
        )

    def closing(self) -> Iterator[Interval]:
        """Yield the average at the end of a report, marked as a summary, if it is one of several."""
        whole = self.result()
        if whole is not None and self.count > 1:
            yield replace(whole, summary=True)

    def _sum(self) -> Mapping[str, Load]:
        """Return the sums of the devices that every interval has; in a text, of all devices."""
        parts = [*self._held.values()]
        tables = [
            loads for loads, weight in parts if weight == 1 and isinstance(loads, PrintedLoads)
        ]
        if (
            parts
            and len(tables) == len(parts)
            and all(map(tables[0].is_like, tables))
            and (self._total is None or [*self._total] == [*tables[0]])
        ):
            return sum_tables(tables, self._total)
        if self._total is not None:
            parts.insert(0, (self._total, 1.0))
        if len(parts) == 1 and parts[0][1] == 1.0:
            return parts[0][0]
        names = dict.fromkeys(name for loads, _ in parts for name in loads)
        if not self._is_text():
            shared = set(names).intersection(*(loads for loads, _ in parts))
            names = dict.fromkeys(name for name in names if name in shared)
        weights = [weight for _, weight in parts]
        if all(weight == 1.0 for weight in weights):
            weights = []
        return {
            name: _weighted([loads.get(name, IDLE) for loads, _ in parts], weights)
            for name in names
        }

    def _is_text(self) -> bool:
        return self._last is not None and self._last.seconds is None


def _rank(interval: Interval) -> int:
    """Return the quality of *interval* as a source of rates, 1 to 3."""
    if interval.since_boot:
        return 1
    return 2 if interval.summary else 3


def average(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the average of *intervals*, with a note if it mixes workloads; nothing if there are none."""
    running = Average()
    first: list[Interval] = []
    for interval in intervals:
        running.add(interval)
        if len(first) <= FEW:
            first.append(interval)
    result = running.result()
    if result is not None:
        yield replace(result, notes=(*result.notes, *mixed(first)))


def _times(load: Load, factor: float) -> Load:
    if load is IDLE:
        return load
    scaled = load.scaled(factor)
    return Load(
        scaled.read,
        scaled.write,
        load.discard.scaled(factor),
        load.flush.scaled(factor),
        whole=scaled.whole,
        aqu=None if load.aqu is None else load.aqu * factor,
        busy=None if load.busy is None else load.busy * factor,
    )


# One column at a time rather than one load: a day of seconds has millions of loads.


def _weighted(loads: Sequence[Load], weights: Sequence[float]) -> Load:
    """Return the sum of *loads* times their *weights* (none: 1); a figure that one load lacks is unknown."""
    if all(load is IDLE for load in loads):
        return IDLE
    reads, writes, discards, flushes, wholes, aqu, busy, _ = zip(*loads, strict=True)
    whole = None
    if any(wholes):
        known = [ZERO if load is IDLE else load.whole or NONE for load in loads]
        whole = _sum_of_flows(known, weights)
    return Load(
        _sum_of_flows(reads, weights),
        _sum_of_flows(writes, weights),
        _sum_of_flows(discards, weights),
        _sum_of_flows(flushes, weights),
        whole=None if whole == NONE else whole,
        aqu=_sum_of_figures(aqu, weights),
        busy=_sum_of_figures(busy, weights),
    )


def _sum_of_flows(flows: Sequence[Flow], weights: Sequence[float]) -> Flow:
    if flows[0] is NONE:
        return NONE
    return Flow(*[_sum_of_figures(column, weights) for column in zip(*flows, strict=True)])


def _sum_of_figures(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    if None in values:
        return None
    known = cast("Sequence[float]", values)
    return sum_in_order(map(mul, known, weights) if weights else known)
