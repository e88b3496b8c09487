"""
The average of several intervals.

A text of hours has many equal rows, idle ones above all. Its reader returns
equal loads as the same object, so each is counted and added up only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import cast

from stackmap.ledger.workload_mix import FEW, mixed
from stackmap.model.device import StatusReading
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, NONE, Flow, Load, sum_in_order
from stackmap.model.load_table import LoadTable, sum_of_tables

ABSENT = "devices missing from a report count as idle there, as with iostat -z"
MAX_HELD = 500  # loads not yet added up: some 0.5 MB; more of them leave the caches of a CPU

Part = tuple[Mapping[str, Load], float]  # loads and their weight


@dataclass(slots=True)
class Held:
    """Loads that several intervals share as one object, and the total seconds of these intervals."""

    loads: Mapping[str, Load]
    weight: float = 0.0


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
        self._sums: list[Part] = []  # of the tables, and of other loads
        self._held: dict[int, Held] = {}  # by the identity of the loads
        self._size = 0
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
        held = self._held.get(id(interval.loads))
        if held is None:
            held = self._held[id(interval.loads)] = Held(interval.loads)
            self._size += 1 + len(interval.loads)
        held.weight += weight
        if self._size > MAX_HELD:
            self._sums, self._held, self._size = self._parts(), {}, 0

    def result(self) -> Interval | None:
        """Return the average so far; None if nothing was added."""
        if self._last is None:
            return None
        return Interval(
            {name: _times(load, 1 / self._weight) for name, load in self._summed().items()},
            time=self._last.time,
            seconds=None if self._last.seconds is None else self._weight,
            stamp=self._last.stamp if self.count == 1 else f"average of {self.count} intervals",
            since_boot=self._last.since_boot,
            summary=self._last.summary,
            notes=(*self._notes, *([ABSENT] if self._filtered() else [])),
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

    def _summed(self) -> Mapping[str, Load]:
        """Return the sums of the devices that every interval has; in a text, of all devices."""
        return self._sum_of(self._parts())

    def _parts(self) -> list[Part]:
        """Return one sum of the tables so far if they can be added up, and one of other loads."""
        parts = [*self._sums, *((held.loads, held.weight) for held in self._held.values())]
        tables = [(loads, weight) for loads, weight in parts if isinstance(loads, LoadTable)]
        joined = sum_of_tables(tables) if tables else None
        if joined is None:
            return [(self._sum_of(parts), 1.0)]
        others = [part for part in parts if not isinstance(part[0], LoadTable)]
        return [*([(self._sum_of(others), 1.0)] if others else []), (joined, 1.0)]

    def _sum_of(self, parts: Sequence[Part]) -> Mapping[str, Load]:
        if len(parts) == 1 and parts[0][1] == 1.0:
            return parts[0][0]
        every = [loads.keys() for loads, _ in parts]
        if not every:
            return {}
        union = dict.fromkeys(name for names in every for name in names)
        if self._is_text():
            return {name: _sum_of(name, parts) for name in union}
        shared = frozenset(every[0]).intersection(*every[1:])
        return {name: _sum_of(name, parts) for name in union if name in shared}

    def _is_text(self) -> bool:
        return self._last is not None and self._last.seconds is None

    def _filtered(self) -> bool:
        """Whether a report of a text lacks a device that another report has."""
        if not self._is_text():
            return False
        sizes = {len(held.loads) for held in self._held.values()} | {len(self._summed())}
        return len(sizes) > 1


def _sum_of(name: str, parts: Sequence[Part]) -> Load:
    found = [loads.get(name, IDLE) for loads, _ in parts]
    if found.count(IDLE) == len(found):
        return IDLE
    weights: dict[int, tuple[Load, float]] = {}
    for load, (_, weight) in zip(found, parts, strict=True):
        weights[id(load)] = load, weights.get(id(load), (load, 0.0))[1] + weight
    return _weighted([*weights.values()])


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


def _weighted(parts: Sequence[tuple[Load, float]]) -> Load:
    """Return the sum of loads times their weights; a figure that one load lacks is unknown."""
    loads, weights = zip(*parts, strict=True)
    wholes = [load.whole for load in loads if load.whole is not None]
    return Load(
        _sum_of_flows([load.read for load in loads], weights),
        _sum_of_flows([load.write for load in loads], weights),
        _sum_of_flows([load.discard for load in loads], weights),
        _sum_of_flows([load.flush for load in loads], weights),
        whole=_sum_of_flows(wholes, weights) if len(wholes) == len(loads) else None,
        aqu=_sum_of_figures([load.aqu for load in loads], weights),
        busy=_sum_of_figures([load.busy for load in loads], weights),
    )


# One figure at a time rather than one load: a day of seconds has millions of loads.


def _sum_of_flows(flows: Sequence[Flow], weights: Sequence[float]) -> Flow:
    if flows[0] is NONE:
        return NONE
    return Flow(*[_sum_of_figures(column, weights) for column in zip(*flows, strict=True)])


def _sum_of_figures(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    if None in values:
        return None
    return sum_in_order(map(mul, cast("Sequence[float]", values), weights))
