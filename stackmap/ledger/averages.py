"""The average of several intervals, and whether it describes any of them: a text may have different workloads."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from stackmap.model.device import StatusReading
from stackmap.model.interval import IDENTITY_UNKNOWN, Interval
from stackmap.model.load import (
    IDLE,
    NONE,
    UNKNOWN_LOAD,
    ZERO,
    Flow,
    Load,
    PrintedLoads,
    is_shared_idle,
    make_flow,
    make_load,
    ratio,
    sum_or_none,
    sum_tables,
)

ABSENT = "devices missing from a report count as idle there, as with iostat -z"
SEPARATE = "reports with other columns are not averaged together: a device has the figures of those with most columns"
# Loads not yet added up: some 1 MB; more of them leave the caches of a CPU. Rows of a text: each sum makes all loads anew.
MAX_HELD, MAX_ROWS = 1000, 20_000

Known = tuple[bool, ...]  # which figures of a load are known
Part = tuple[Mapping[str, Load], float]  # loads and their weight


class _Sum:
    """The sum of intervals; those of a text have the same columns."""

    def __init__(self) -> None:
        self._total: Mapping[str, Load] | None = None  # the sum of what is no longer held
        self._held: dict[int, Part] = {}  # the loads since then, by identity
        self._size = 0  # of these, in loads
        self._sizes: set[int] = set()  # how many devices an interval had
        self._unknown: dict[str, float] = {}  # the weight before a device of a text was measured
        self.weight = 0.0
        self.count = 0

    def add(self, loads: Mapping[str, Load], weight: float, *, is_text: bool) -> None:
        """Add the *loads* of an interval."""
        self.weight += weight
        # Equal tables of a text share their loads: they are counted, and added up once.
        loads, before = self._held.get(id(loads), (loads, 0.0))
        self._held[id(loads)] = loads, before + weight
        self._sizes.add(len(loads))
        if is_text and not isinstance(loads, PrintedLoads):
            for name in (name for name, load in loads.items() if load is UNKNOWN_LOAD):
                self._unknown[name] = self._unknown.get(name, 0.0) + weight
        self._size += 0 if before else 1 + len(loads)
        most = MAX_ROWS if isinstance(loads, PrintedLoads) else MAX_HELD
        if self._size > most:
            self._total, self._held, self._size = self.loads(is_text=is_text), {}, 0

    def is_filtered(self, loads: Mapping[str, Load]) -> bool:
        """Whether an interval lacked one of the *loads*."""
        return len(self._sizes | {len(loads)}) > 1

    def loads(self, *, is_text: bool) -> Mapping[str, Load]:
        """Return the sums of the devices that every interval has; in a text, of all devices."""
        parts = [*self._held.values()]
        tables = [loads for loads, _ in parts if isinstance(loads, PrintedLoads)]
        weights = [weight for _, weight in parts]
        if all(weight == 1.0 for weight in weights):
            weights = []
        if (
            parts
            and len(tables) == len(parts)
            and not self._unknown
            and all(map(tables[0].is_like, tables))
            and (self._total is None or [*self._total] == [*tables[0]])
        ):
            return sum_tables(tables, weights, self._total)
        if self._total is not None:
            parts.insert(0, (self._total, 1.0))
            weights = weights and [1.0, *weights]
        if len(parts) == 1 and parts[0][1] == 1.0:
            return parts[0][0]
        names = dict.fromkeys(name for loads, _ in parts for name in loads)
        if not is_text:
            shared = set(names).intersection(*(loads for loads, _ in parts))
            names = dict.fromkeys(name for name in names if name in shared)
        sums = {
            name: _weighted([loads.get(name, IDLE) for loads, _ in parts], weights)
            for name in names
        }
        for name in self._unknown:
            known = [part for part in parts if part[0].get(name) is not UNKNOWN_LOAD]
            sums[name] = UNKNOWN_LOAD
            if known:
                of_name = [loads.get(name, IDLE) for loads, _ in known]
                sums[name] = _weighted(of_name, [weight for _, weight in known])
        return sums

    def mean(self, name: str, load: Load) -> Load:
        """Return the average of the device, whose sum is *load*."""
        return _times(load, 1 / ((self.weight - self._unknown.get(name, 0.0)) or self.weight))


class Average:
    """
    A running average of intervals, weighted by their length, in constant memory.

    A text's own averages are used only if it has no rates (the last one, for
    sar prints its minimum and maximum before it), and totals and averages since
    boot only if there is nothing else. Tables of a text with other columns are of another command: those
    with most columns count (of these, with most devices), and others for devices that these lack, however
    many reports each has: only ``iostat -x`` tells the await. A device that an interval of counters lacks is
    unknown in the average. A device that a report of a text lacks counts as
    idle there, because iostat -z omits idle devices, and a note says so; one that was not measured yet does not.
    """

    def __init__(self) -> None:
        self._begin()
        self._last: Interval | None = None
        self._readings: tuple[StatusReading, ...] = ()  # the first and the last one
        self._rank = 0
        self._events: dict[str, None] = {}
        self._known: dict[object, Known] = {}  # what tables with the same columns tell

    def _begin(self) -> None:
        """Discard all intervals so far: a better source of rates came."""
        self._sums: dict[Known, _Sum] = {}  # of a text, by what its tables tell
        self._latest: _Sum | None = None
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
        is_text = interval.seconds is None
        same = self._sum_of(interval.loads)
        same.count += interval.count
        same.add(interval.loads, weight, is_text=is_text)

    def _sum_of(self, loads: Mapping[str, Load]) -> _Sum:
        """Return the sum that *loads* belong to: that of tables with the same columns, else the one of the last table."""
        known: Known = ()
        if isinstance(loads, PrintedLoads):
            known = self._known.get(loads.convert) or loads.known_figures()
            self._known[loads.convert] = known
            if known not in self._sums:
                self._sums[known] = self._sums.pop((), _Sum())
        if known or self._latest is None:
            self._latest = self._sums.setdefault(known, _Sum())
        return self._latest

    def result(self) -> Interval | None:
        """Return the average so far; None if nothing was added."""
        if self._last is None:
            return None
        is_text = self._last.seconds is None
        sums = [(part.loads(is_text=is_text), known, part) for known, part in self._sums.items()]
        sums.sort(key=lambda of: (sum(of[1]), len(of[0])), reverse=True)
        loads: dict[str, Load] = {}
        used = 0
        for summed, _, part in sums:
            new = {name: load for name, load in summed.items() if name not in loads}
            # Those that only add idle devices to a table do not make the average.
            if new and (not loads or not all(load.idle for load in new.values())):
                used += part.count
            loads |= {name: part.mean(name, load) for name, load in new.items()}
        filtered = is_text and any(part.is_filtered(summed) for summed, _, part in sums)
        notes = [ABSENT] * filtered + [SEPARATE] * (len(sums) > 1)
        count = self.count if used in {0, self.count} else f"{used} of {self.count}"
        return Interval(
            loads,
            time=self._last.time,
            seconds=None if self._last.seconds is None else self._weight,
            stamp=self._last.stamp if self.count == 1 else f"average of {count} intervals",
            since_boot=self._last.since_boot,
            summary=self._last.summary,
            notes=(*self._notes, *notes),
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


def _rank(interval: Interval) -> int:
    """Return the quality of *interval* as a source of rates, 1 to 4; 0 while no device was identified."""
    if not interval.loads and IDENTITY_UNKNOWN in interval.events:
        return 0
    if interval.since_boot:
        return 1
    if interval.totals:
        return 2
    return 3 if interval.summary else 4


def average_without_note(intervals: Iterable[Interval]) -> Interval | None:
    """Return the average of *intervals*; None if there are none."""
    running = Average()
    for interval in intervals:
        running.add(interval)
    return running.result()


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
    if is_shared_idle(load):
        return load
    read, write, discard, flush, whole, aqu, busy, _ = load
    return make_load(
        (
            read.scaled(factor),
            write.scaled(factor),
            discard.scaled(factor),
            flush.scaled(factor),
            None if whole is None else whole.scaled(factor),
            None if aqu is None else aqu * factor,
            None if busy is None else busy * factor,
            None,
        )
    )


# One column at a time rather than one load: a day of seconds has millions of loads.


def _weighted(loads: Sequence[Load], weights: Sequence[float]) -> Load:
    """Return the sum of *loads* times their *weights* (none: 1); a figure that one load lacks is unknown."""
    first = loads[0]
    if is_shared_idle(first) and all(load is first for load in loads):
        return first
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
    first = flows[0]
    if first is NONE or (first is ZERO and all(flow is ZERO for flow in flows)):
        return first
    return make_flow([_sum_of_figures(column, weights) for column in zip(*flows, strict=True)])


def _sum_of_figures(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    return None if values[0] is None else sum_or_none(values, weights, 0.0)


# Do the reports of a text have different workloads?

MIXED = "the average mixes different workloads"
FEW = 20  # reports; a text with more is a time series, in which the load varies
ENDS = 3  # reports; in a longer text, a load may begin in the first and end in the last
# The read share differs by this much; size and rate by these factors.
READ_SHARE, SIZE, RATE = 0.3, 4.0, 4.0

Differs = Callable[[float, float], bool]  # of the lowest and the highest value


class _Sums(NamedTuple):
    """Requests, bytes, and bytes read per second of all devices of a report; None if it is idle or does not say."""

    requests: float | None
    bytes: float | None
    read: float | None


def mixed(reports: Sequence[Interval]) -> tuple[str, ...]:
    """Return a note if a few *reports* of a text have clearly different workloads, otherwise ()."""
    rates = [report for report in reports if not report.since_boot and not report.summary]
    if not 1 < len(rates) <= FEW or any(report.seconds for report in rates):
        return ()
    if UNKNOWN_LOAD in rates[-1].loads.values():  # the text ends within it
        rates.pop()
    differences = list(_differences(_whole([*map(_sums, rates)])))
    if not differences:
        return ()
    return (
        f"{MIXED}: {', '.join(differences)}; use --report 1 to --report {len(rates)} for one of them",
    )


def _sums(report: Interval) -> _Sums:
    busy = [load for load in report.loads.values() if not load.idle]
    totals = [load.total for load in busy]
    return _Sums(
        _sum(total.ios for total in totals),
        _sum(total.bytes for total in totals),
        _sum(load.read.bytes for load in busy),
    )


def _whole(reports: Sequence[_Sums]) -> Sequence[_Sums]:
    """Return *reports*, if four or more, without a first or last one that has only a part of the load."""
    if len(reports) <= ENDS:
        return reports
    first = 1 if _less(reports[0], reports[1]) else 0
    last = -1 if _less(reports[-1], reports[-2]) else None
    return reports[first:last]


def _less(end: _Sums, neighbour: _Sums) -> bool:
    fewer = (end.requests or 0.0) < (neighbour.requests or 0.0)
    return fewer and (end.bytes or 0.0) < (neighbour.bytes or 0.0)


def _differences(reports: Sequence[_Sums]) -> Iterator[str]:
    """Yield how read share, request size and rate differ, over all devices of each report."""
    comparisons: tuple[tuple[str, Sequence[float | None], float, Differs], ...] = (
        (
            "reads are {:.0f} to {:.0f} % of the bytes",
            [ratio(report.read, report.bytes) for report in reports],
            100,
            lambda a, b: b - a >= READ_SHARE,
        ),
        (
            "requests of {:.1f} to {:.1f} KiB",
            [ratio(report.bytes, report.requests) for report in reports],
            1 / 1024,
            lambda a, b: b >= SIZE * a,
        ),
        (
            "{:.1f} to {:.1f} requests/s",
            [report.requests for report in reports],
            1,
            lambda a, b: b >= RATE * a,
        ),
    )
    for words, values, unit, differs in comparisons:
        known = [value for value in values if value is not None]
        if len(known) > 1 and differs(min(known), max(known)):
            yield words.format(min(known) * unit, max(known) * unit)


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the known *values*; None for none, as of an idle report."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
