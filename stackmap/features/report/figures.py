"""
The content of a report on a machine: its main stacks, their figures, the findings.

``Measuring`` takes intervals one by one and keeps only what a page needs; ``Report`` is the result.

An interval belongs to the hour of day in which it began: in UTC if the time is known, else as the text prints it. The
counters have no sizes of single requests, only counts and total bytes. So a class of sizes, powers of two, holds the
requests of the intervals whose *mean* size is in it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from math import isnan, nan

from stackmap.document.interval import LAST_INSTANT
from stackmap.ledger.amplification import StackFigures, figures_of, with_shared
from stackmap.ledger.corrections import corrected, corrected_loads
from stackmap.ledger.episodes import Episode
from stackmap.ledger.layers import counted_tops
from stackmap.ledger.time_series import RATES, IntervalSeries, Key, Stretch, TimeSeries, start_of
from stackmap.model.cgroup_io import IoLimit
from stackmap.model.device import Device
from stackmap.model.health import NO_LIVES, Life
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load
from stackmap.model.topology import Topology
from stackmap.model.units import SECTOR
from stackmap.rules.context import Context
from stackmap.rules.decision import Judged, judge_over_time
from stackmap.rules.rule import Finding, Severity
from stackmap.rules.table import findings
from stackmap.rules.unjudged import unjudged

SHORT = 3600.0  # seconds; a shorter measurement may miss the busiest hour
MAX_VALUES = 2_000_000  # intervals times devices in which episodes are looked for
MAX_STACKS = 8  # with all details, unless stacks are named; the others are in a table
# sysstat's formats: 07:10:01, 07:10:01 PM, 11/21/2026 07:10:01.
CLOCK = re.compile(r"\b([01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?: ([AP])M)?")
# The rates of which an hour has sums, and their places: a million of them as keys would take 300 MB.
SUMMED = {key: n for n, key in enumerate(product(("read", "write", "total"), RATES))}


@dataclass(frozen=True, slots=True)
class Period:
    """
    The time covered by the intervals.

    ``start``, ``end``: seconds since the epoch, None if unknown. ``first``,
    ``last``: the text's own times. ``seconds``: the sum of the intervals, None
    if a text does not have it. ``count``: the number of intervals.
    """

    start: float | None = None
    end: float | None = None
    first: str = ""
    last: str = ""
    seconds: float | None = None
    count: int = 0

    @property
    def is_short(self) -> bool:
        """Whether it is too short to represent other hours."""
        return self.seconds is not None and self.seconds < SHORT

    @property
    def missing(self) -> float:
        """Seconds between start and end that no interval covers; 0 if unknown."""
        if self.start is None or self.end is None or self.seconds is None:
            return 0.0
        return max(0.0, self.end - self.start - self.seconds)


@dataclass(slots=True)
class Hour:
    """
    The load in one hour of the day, over all dates.

    ``seconds``: time measured; for texts without a length, the number of
    reports. ``sums``: rates of a device times seconds, so ``sums / seconds`` is the mean; NaN if
    never known. ``most``: its highest rate of requests. ``idle``: the devices that were idle once.
    """

    seconds: float = 0.0
    sums: dict[str, array[float]] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)

    def add(self, watched: Mapping[str, Load], weight: float) -> None:
        """Add the loads of one interval, which counts *weight* times."""
        self.seconds += weight
        for name, load in watched.items():
            if load is IDLE:
                if name in self.idle:
                    continue
                self.idle.add(name)
            read, write, total = load.read, load.write, load.total
            rates = read.ios, read.bytes, write.ios, write.bytes, total.ios, total.bytes
            sums = self.sums.get(name)
            if sums is None:
                sums = self.sums[name] = array("d", [nan]) * len(SUMMED)
            for place, rate in enumerate(rates):
                if rate is not None:
                    before = sums[place]
                    sums[place] = rate * weight if isnan(before) else before + rate * weight
            if total.ios is not None and total.ios > self.most.get(name, -1.0):
                self.most[name] = total.ios

    def mean(self, key: Key) -> float | None:
        """Return the mean rate; None if never known."""
        device, direction, figure = key
        if device not in self.sums or not self.seconds:
            return None
        total = self.sums[device][SUMMED[direction, figure]]
        return None if isnan(total) else total / self.seconds


class Hours:
    """The load ``by_hour`` of day; ``utc``: whether hours are UTC or a text's own."""

    def __init__(self) -> None:
        self.by_hour: dict[int, Hour] = {}
        self.utc = True

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: its loads to keep, corrected."""
        hour = self._hour_of(interval)
        if hour is not None:
            self.by_hour.setdefault(hour, Hour()).add(watched, interval.seconds or 1.0)

    def _hour_of(self, interval: Interval) -> int | None:
        start = start_of(interval)
        # The times of a capture without a clock count from 0.
        if start is not None and 86400 < start < LAST_INSTANT:
            return datetime.fromtimestamp(start, UTC).hour
        clock = CLOCK.search(interval.stamp)
        if clock is None:
            return None
        self.utc = False
        hour = int(clock[1])
        return hour % 12 + (12 if clock[2] == "P" else 0) if clock[2] else hour


DeviceDirection = tuple[str, str]  # device, direction


class SizeClasses:
    """``requests``: counts by device and direction, then by the lower bound of the class in bytes."""

    def __init__(self) -> None:
        self.requests: dict[DeviceDirection, dict[int, float]] = {}

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: its loads to keep, corrected."""
        seconds = interval.seconds or 1.0
        for name, load in watched.items():
            if load is IDLE:
                continue
            for direction, flow in load.flows:
                if flow.ios and flow.bytes is not None:
                    classes = self.requests.setdefault((name, direction), {})
                    least = size_class(flow.bytes / flow.ios)
                    classes[least] = classes.get(least, 0.0) + flow.ios * seconds

    def of(self, device: str, direction: str) -> dict[int, float]:
        """Return the requests of *device* by class, {} where there were none."""
        return self.requests.get((device, direction), {})


def span(classes: Iterable[int]) -> list[int]:
    """
    Return *classes* with all classes between them and one more at each end.

    >>> span([8192, 0]), span([4096, 16384])
    ([0, 4096, 8192, 16384], [2048, 4096, 8192, 16384, 32768])
    """
    present = set(classes)
    powers = sorted(present - {0})
    if not powers:
        return sorted(present)
    least, most = max(SECTOR, powers[0] // 2), powers[-1] * 2
    between = [1 << power for power in range(least.bit_length() - 1, most.bit_length())]
    return [0] * (0 in present) + between


def size_class(size: float) -> int:
    """
    Return the largest power of two up to *size* bytes; 0 below a sector.

    >>> size_class(8192), size_class(8191), size_class(0)
    (8192, 4096, 0)
    """
    return 1 << (int(size).bit_length() - 1) if size >= SECTOR else 0


@dataclass
class Collected:
    """What a report keeps of intervals; ``intervals``: each of them, None where they are too many."""

    series: TimeSeries = field(default_factory=TimeSeries)
    hours: Hours = field(default_factory=Hours)
    sizes: SizeClasses = field(default_factory=SizeClasses)
    period: Period = field(default_factory=Period)
    intervals: IntervalSeries | None = field(default_factory=IntervalSeries)

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: its loads to keep, corrected."""
        start = start_of(interval) if not self.period.count else self.period.start
        seconds = self.period.seconds if self.period.count else 0.0
        self.period = Period(
            start,
            interval.time,
            self.period.first or interval.stamp,
            interval.stamp or self.period.last,
            None if seconds is None or interval.seconds is None else seconds + interval.seconds,
            self.period.count + 1,
        )
        self.series.add(interval, watched)
        self.hours.add(interval, watched)
        self.sizes.add(interval, watched)
        if self.intervals is not None:
            self.intervals.add(interval)
            if self.intervals.count * len(interval.loads) > MAX_VALUES:
                self.intervals = None


@dataclass(frozen=True)
class Report:
    """
    A machine over a period.

    ``interval``: the corrected average of what was ``kept``. ``stacks``: those
    with all details, the worst and busiest first. ``others``: other busy tops;
    ``idle``: tops without load. ``left_out``: what was not used, and why.
    ``judged``: the findings, the episodes and what could not be judged, as in ``explain``.
    """

    topology: Topology
    interval: Interval
    kept: Collected
    stacks: tuple[StackFigures, ...]
    judged: Judged
    course: tuple[Stretch, ...]
    others: tuple[Device, ...] = ()
    idle: tuple[Device, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def episodes(self) -> Sequence[Episode]:
        """The worst episodes, the worst first."""
        return [judged.episode for judged in self.judged.times.worst] if self.judged.times else []

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What lasts, then what holds in episodes only; each the worst first."""
        by_rule: dict[tuple[str, str], Finding] = {}
        for finding in (*self.judged.findings, *self.judged.in_episodes):
            by_rule.setdefault((finding.rule.id, finding.device), finding)
        return [*by_rule.values()]

    def findings_of(self, top: str) -> tuple[Finding, ...]:
        """Return the findings on devices of the stack of *top*, the worst first."""
        places_of = self._places_of_findings
        stack = set(self.topology.with_all_below(top))
        places = sorted(place for name in stack for place in places_of.get(name, ()))
        return tuple(self.findings[place] for place in places)

    @cached_property
    def _places_of_findings(self) -> Mapping[str, Sequence[int]]:
        """The places of the findings of each device: of 30,000 stacks each would look at all findings."""
        places: dict[str, list[int]] = {}
        for place, finding in enumerate(self.findings):
            places.setdefault(finding.device, []).append(place)
        return places


@dataclass
class Measuring:
    """Collects what a report on *topology* needs. ``named``: the devices asked for, () for all."""

    topology: Topology
    named: tuple[str, ...] = ()
    _current: Collected = field(default_factory=Collected)
    _since_boot: Collected = field(default_factory=Collected)
    _seen: dict[str, None] = field(default_factory=dict)
    _seen_last: AbstractSet[str] = frozenset()
    _watched: tuple[str, ...] = ()
    _needed: tuple[str, ...] = ()  # the watched devices and those their corrections need

    @property
    def kept(self) -> Collected:
        """The current rates; averages since boot only if there are no others."""
        return self._current if self._current.period.count else self._since_boot

    def add(self, interval: Interval) -> None:
        """Add one interval; a text's own average is used only if there is no other."""
        if interval.summary and self.kept.period.count:
            return
        kept = self._since_boot if interval.since_boot else self._current
        kept.add(interval, self._corrected_loads(interval))

    def _corrected_loads(self, interval: Interval) -> Mapping[str, Load]:
        """Return the corrected loads of the watched devices; the interval's own if they are the same."""
        if interval.loads.keys() != self._seen_last:
            self._seen_last = interval.loads.keys()
            self._watched = self._to_watch(interval.loads)
            below = (e.below for name in self._watched for e in self.topology.below(name))
            needed = dict.fromkeys((*self._watched, *below))
            self._needed = tuple(name for name in needed if name in interval.loads)
            self._seen.update(dict.fromkeys(interval.loads))
        loads = {name: interval.loads[name] for name in self._needed}
        right, _ = corrected_loads(self.topology, interval, loads, self._watched)
        if right is loads and len(self._watched) == len(interval.loads):
            return interval.loads
        return {name: right[name] for name in self._watched}

    def _to_watch(self, loads: Mapping[str, Load]) -> tuple[str, ...]:
        """Return the tops, named devices and arrays whose extremes a report may show."""
        arrays = (device.name for device in self.topology if device.layout is not None)
        wanted = dict.fromkeys([*counted_tops(self.topology, loads), *self.named, *arrays])
        stacks = {below for name in self.named for below in self.topology.with_all_below(name)}
        return tuple(name for name in wanted if name in loads and (name in stacks or not stacks))

    @property
    def parts(self) -> tuple[Interval, ...]:
        """The intervals that were added; where there are many, averages of consecutive ones."""
        return tuple(stretch.interval for stretch in self.kept.series.stretches)

    def report(
        self, caps: Iterable[IoLimit] = (), lives: Mapping[str, Life] = NO_LIVES
    ) -> Report | None:
        """Return the report of the intervals so far; None without any. *lives*: what may still be written to disks."""
        kept = self.kept
        average = kept.series.average()
        if average is None:
            return None
        interval = corrected(self.topology, average)
        stretches = tuple(
            replace(stretch, interval=corrected(self.topology, stretch.interval))
            for stretch in kept.series.stretches
        )
        series = tuple(stretch.interval for stretch in stretches) if len(stretches) > 1 else ()
        corrections = interval.corrections
        context = Context(
            self.topology, interval, series, None, corrections, tuple(caps), lives=lives
        )
        part = self.topology.select(self.named) if self.named else self.topology
        if kept.intervals is None:
            reported = findings(context, part)
            judged = Judged(context, reported, unjudged(context, reported, part.devices))
        else:
            judged = judge_over_time(self.topology, kept.intervals, tuple(caps), part=part)
        detailed, others, idle = self._chosen(interval, (*judged.findings, *judged.in_episodes))
        return Report(
            self.topology,
            interval,
            kept,
            tuple(with_shared(figures_of(context.ledger, detailed))),
            judged,
            stretches,
            tuple(self.topology[name] for name in others),
            tuple(self.topology[name] for name in idle),
            tuple(self._left_out(interval)),
        )

    def _chosen(
        self, interval: Interval, judged: tuple[Finding, ...]
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the tops to show with all details, other busy tops, and idle ones."""
        if self.named:
            return [name for name in self.named if name in interval.loads], [], []
        every = counted_tops(self.topology, interval.loads)
        idle = [name for name in every if interval.loads[name].idle]
        busy = [name for name in every if not interval.loads[name].idle]
        severities, weights = list(Severity), {}
        worst_of: dict[str, int] = {}
        for finding in judged:
            severity = severities.index(finding.severity)
            worst_of[finding.device] = min(severity, worst_of.get(finding.device, severity))
        for name in busy:
            stack = self.topology.with_all_below(name)
            worst = min(worst_of.get(device, len(severities)) for device in stack)
            weights[name] = worst, -(interval.loads[name].total.ios or 0.0)
        busy.sort(key=weights.__getitem__)
        # One that is idle shows that all are.
        return busy[:MAX_STACKS] or idle[:1], busy[MAX_STACKS:], idle

    def _left_out(self, interval: Interval) -> Iterable[str]:
        old, missing = self._since_boot, self.kept.period.missing
        if old is not self.kept and old.period.count:
            yield f"{old.period.count} averages since boot: they are not current rates"
        if missing > 1.0:
            yield (
                f"{missing:.0f} seconds between start and end: nothing was recorded, "
                "or it could not be used"
            )
        lacking = [name for name in self._seen if name not in interval.loads]
        if lacking:
            yield (f"{', '.join(lacking)}: missing from some intervals, so there is no average")
        yield from interval.events
