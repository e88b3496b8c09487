"""
A measurement over time, in memory that hardly grows with its length.

``TimeSeries`` is what a chart shows: a day of one-second intervals is 86,400, so equally many are averaged into
one stretch, and when there are too many stretches, every two become one. The minimum and maximum of the
single intervals are kept beside each average.

``IntervalSeries`` is what an incident needs: the figures of each device in every interval, and any part as
intervals. A year of sar has 52,560, of minutes 525,600. Up to ``HELD`` of them are kept as they are, of many
devices fewer. Of more, each figure is kept in an array, and parts of more than ``EXAMINED``, of many devices of
fewer, are stretches.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise, product
from math import inf, isnan, nan
from statistics import median
from typing import NamedTuple

from stackmap.ledger.averages import Average, average, average_without_note
from stackmap.ledger.load_columns import Columns
from stackmap.model.interval import Interval
from stackmap.model.load import UNKNOWN_LOAD, Flow, Load, PrintedLoads, plus, ratio

ALIKE = 0.1  # share by which two intervals of one length may differ
MAX_LOADS = 40_000  # held at once, some 40 MB
MOST_LOADS = 60_000  # so that there are ``MIN_STRETCHES``
MIN_STRETCHES, MAX_STRETCHES = 24, 480  # enough to see a trend; no more than a chart shows
MAX_CHANGED = 64  # intervals whose extremes are found together
RATES = ("ios", "bytes")  # figures of a flow that can be summed over time
FIGURES = (*RATES, "await_ms")

Key = tuple[str, str, str]  # device, direction, figure
# Figures whose extremes are kept, and their place in arrays: a million of them as keys would take 300 MB.
EXTREMES = {key: n for n, key in enumerate(product(("read", "write", "total"), FIGURES))}
Ends = tuple["array[float]", "array[float]"]  # the least and the most; inf and -inf if never known
Column = list[float | None]


@dataclass(frozen=True, slots=True)
class Stretch:
    """
    Consecutive intervals as one.

    ``interval``: their average. ``count``: their number. ``start``: when the
    first began, seconds since the epoch, None if unknown. ``watched``: the corrected
    loads of a single interval. ``extremes`` of several, for the watched devices.
    """

    interval: Interval
    count: int = 1
    start: float | None = None
    watched: Mapping[str, Load] = field(default_factory=dict)
    extremes: Mapping[str, Ends] = field(default_factory=dict)

    def mean(self, device: str, direction: str, figure: str) -> float | None:
        """Return the mean of one of ``FIGURES`` in a direction of ``Load.flows``; None if unknown."""
        load = self.interval.load(device)
        value: float | None = getattr(load.flow(direction), figure)
        return value

    def ends(self, key: Key) -> tuple[float, float] | None:
        """Return the minimum and maximum of any interval; None if never known."""
        device, direction, figure = key
        if self.count == 1:
            load = self.watched.get(device, UNKNOWN_LOAD)
            value = getattr(load.flow(direction), figure)
            return None if value is None else (value, value)
        if device not in self.extremes:
            return None
        low, high = (ends[EXTREMES[direction, figure]] for ends in self.extremes[device])
        return (low, high) if low <= high else None


class TimeSeries:
    """The intervals that were added, as stretches. *limit*: of stretches, by default one by the number of devices."""

    def __init__(self, limit: int | None = None) -> None:
        self.full: list[Stretch] = []
        self._limit = limit
        self._per_stretch = 1
        self._before: Mapping[str, Load] = {}  # the watched loads that came last
        self._begin()

    def _begin(self) -> None:
        # The first interval since the last stretch, and the newest.
        self._ends: tuple[Interval, ...] = ()
        self._count = 0
        self._extremes: dict[str, Ends] = {}
        self._running = Average()  # from the second on: one alone is its own average
        self._newest: Mapping[str, Load] = {}  # of the watched devices
        self._changed: dict[str, list[Load]] = {}  # whose extremes are not known yet

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: the corrected loads of which the extremes are kept."""
        if self._count:
            for added in (*self._ends, interval) if self._count == 1 else (interval,):
                self._running.add(added)
        self._ends = (*self._ends[:1], interval)
        self._count += 1
        # A device that stays idle has the same load, whose extremes are known.
        for name, load in watched.items():
            if self._newest.get(name) is not load:
                self._changed.setdefault(name, []).append(load)
        self._newest = watched
        if self._before is not watched and isinstance(self._before, PrintedLoads):
            self._before.forget()
        self._before = watched
        if self._count % MAX_CHANGED == 0:
            self._find_extremes()
        if self._count < self._per_stretch:
            return
        self.full.append(self._current())
        self._begin()
        if len(self.full) >= (self._limit or _limit(len(interval.loads))):
            pairs = zip(self.full[::2], self.full[1::2], strict=True)
            self.full = [_joined(*pair) for pair in pairs]
            self._per_stretch *= 2

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """All stretches so far; the last may be shorter than the others."""
        return (*self.full, *([self._current()] if self._ends else []))

    def average(self) -> Interval | None:
        """Return the average of all intervals; None if there are none."""
        if self._per_stretch == 1:  # each is an interval that the user can ask for
            return next(average(stretch.interval for stretch in self.stretches), None)
        return average_without_note(stretch.interval for stretch in self.stretches)

    def _current(self) -> Stretch:
        """Return the intervals since the last stretch: their average, or the interval itself if there is one."""
        first, last = self._ends[0], self._ends[-1]
        if self._count == 1:
            return Stretch(last, 1, start_of(first), self._newest)
        self._find_extremes()
        average_of_all = self._running.result() or last
        extremes = dict(self._extremes)
        return Stretch(average_of_all, self._count, start_of(first), extremes=extremes)

    def _find_extremes(self) -> None:
        """Extend the extremes by the loads that changed since they were found."""
        _widen(self._extremes, {name: _ends_of(loads) for name, loads in self._changed.items()})
        self._changed = {}


def _limit(devices: int) -> int:
    """Return the maximal number of stretches, an even one, so that each has another to join."""
    usual, most = (loads // max(1, devices) for loads in (MAX_LOADS, MOST_LOADS))
    return max(2, min(MAX_STRETCHES, max(usual, min(MIN_STRETCHES, most)))) // 2 * 2


def start_of(interval: Interval) -> float | None:
    """Return when *interval* began, seconds since the epoch; None if unknown."""
    if interval.time is None or interval.seconds is None:
        return interval.time
    return interval.time - interval.seconds


def _joined(first: Stretch, second: Stretch) -> Stretch:
    interval = average_without_note([first.interval, second.interval]) or second.interval
    extremes = {**first.extremes}
    _widen(extremes, second.extremes)
    singles = [stretch.watched for stretch in (first, second)]
    names = dict.fromkeys(name for watched in singles for name in watched)
    _widen(
        extremes,
        {name: _ends_of([w[name] for w in singles if name in w]) for name in names},
    )
    return Stretch(interval, first.count + second.count, first.start, extremes=extremes)


def _widen(extremes: dict[str, Ends], more: Mapping[str, Ends]) -> None:
    """Extend the *extremes* of devices to include *more*."""
    for name, (low, high) in more.items():
        held = extremes.get(name)
        if held is None:
            extremes[name] = low, high
        else:
            extremes[name] = (
                array("d", map(min, held[0], low)),
                array("d", map(max, held[1], high)),
            )


def _ends_of(loads: Sequence[Load]) -> Ends:
    """Return the least and the most of *loads*."""
    columns = [column for _, columns in columns_of(loads) for column in columns]
    known = [[x for x in column if x is not None] for column in columns]
    low = array("d", [min(column, default=inf) for column in known])
    return low, array("d", [max(column, default=-inf) for column in known])


def columns_of(loads: Sequence[Load]) -> Iterator[tuple[str, tuple[Column, ...]]]:
    """Yield the directions of ``Load.flows``, each with the columns of ``FIGURES`` of *loads*."""
    read, write = _columns([load.read for load in loads]), _columns([load.write for load in loads])
    if any(load.whole is not None for load in loads):
        total = _columns([load.total for load in loads])
    else:
        total = tuple([*map(plus, *pair)] for pair in zip(read, write, strict=True))
    for direction, (requests, moved, waited) in (
        ("read", read),
        ("write", write),
        ("total", total),
    ):
        yield direction, (requests, moved, [*map(ratio, waited, requests)])


def _columns(flows: Sequence[Flow]) -> tuple[Column, ...]:
    return (
        [flow.ios for flow in flows],
        [flow.bytes for flow in flows],
        [flow.wait for flow in flows],
    )


def extremes_of(stretches: Iterable[Stretch], key: Key) -> tuple[float, float] | None:
    """Return the minimum and maximum over *stretches*; None if never known."""
    known = [ends for stretch in stretches if (ends := stretch.ends(key)) is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else None


# Every interval

Span = tuple[int, int]  # the first and the last interval
HELD = 7200  # intervals, as many as explain holds of a recording
HELD_LOADS = 200_000  # in these: each takes 50 us and 1 KB in the rules
EXAMINED, EXAMINED_LOADS = 1800, HELD_LOADS
CHUNK = 4096  # reports of a text that are turned into columns together
MAX_NEWEST = 100_000  # loads of all devices that are kept before they are turned into columns


class Clock(NamedTuple):
    """
    ``ends``: when the intervals end, in seconds, never decreasing; () if unknown. ``pace``: their usual length, 0.0 if unknown.

    ``printed``: the ends as the source has them, which go back where a clock was set back.
    """

    ends: Sequence[float] = ()
    pace: float = 0.0
    printed: Sequence[float] = ()

    def gap(self, before: int, after: int) -> bool:
        """Whether more time is missing between two intervals than a run may bridge."""
        if not self.ends or not self.pace:
            return False
        elapsed, steps = self.ends[after] - self.ends[before], after - before + 3
        return not (0 <= elapsed <= steps * self.pace or 0 <= elapsed <= steps * self.length(after))

    def length(self, place: int) -> float:
        """
        Return how long an interval is: since the one before, if that is no longer than usual or the next or last one was as long.

        >>> clock = Clock((60, 120, 420, 720, 780, 1500, 1560), 60)
        >>> [clock.length(place) for place in range(7)]
        [60, 60, 300, 300, 60, 60, 60]
        """
        steps = [b - a for a, b in pairwise(self.ends[max(0, place - 2) : place + 2])]
        own = min(place, 2) - 1  # the place of its step among them
        if own < 0 or not steps[own:] or steps[own] <= 0:
            return self.pace
        others = [step for number, step in enumerate(steps) if number != own]
        alike = any(abs(step - steps[own]) <= ALIKE * steps[own] for step in others)
        return steps[own] if steps[own] <= self.pace or alike else self.pace


class IntervalSeries:
    """
    The intervals that were added, in order; a text's own averages are left out once there are others.

    *whole*: ``intervals`` will be asked for; otherwise only what the columns have is kept.
    """

    def __init__(self, intervals: Iterable[Interval] = (), *, whole: bool = True) -> None:
        self.count = 0
        self._whole = whole
        self._held: list[Interval] | None = [] if whole else None
        self._held_loads = 0
        self._stretches = TimeSeries()
        self._devices: dict[str, Columns] = {}
        self._padded = 0  # intervals that every device has
        self._newest = 0  # loads that are not in columns yet
        # The newest loads, all with the same rows and columns.
        self._tables: list[PrintedLoads] = []
        self._ends = array("d")
        self._lengths = array("d")
        self.stamps: list[str] = []
        self._last: Interval | None = None
        for interval in intervals:
            self.add(interval)

    def add(self, interval: Interval) -> None:
        """Add the next interval."""
        loads = interval.loads
        if self._tables and not (
            isinstance(loads, PrintedLoads)
            and len(self._tables) < CHUNK
            and self._tables[0].is_like(loads)
        ):
            self._flush()
        if isinstance(loads, PrintedLoads) and len({*loads.names}) == len(loads):
            self._tables.append(loads)
        else:
            for name, load in loads.items():
                self._columns_of(name, self.count).add(load)
            self._newest += len(loads)
            if self._newest >= MAX_NEWEST:
                for columns in self._devices.values():
                    columns.flush()
                self._newest = 0
        end = interval.clock if interval.time is None else interval.time
        self._ends.append(nan if end is None else end)
        self._lengths.append(nan if interval.seconds is None else interval.seconds)
        self.stamps.append(interval.stamp)
        self._last = interval
        self.count += 1
        if self._held is not None:
            self._held.append(interval)
            self._held_loads += len(loads)
            if self.count > HELD or self._held_loads > HELD_LOADS:
                for held in self._held:
                    self._stretches.add(held, {})
                self._held = None
        elif self._whole:
            self._stretches.add(interval, {})

    def _columns_of(self, name: str, place: int) -> Columns:
        """Return the columns of a device up to the interval *place*."""
        columns = self._devices.get(name)
        if columns is None:
            columns = self._devices[name] = Columns(place)
        columns.pad(place)
        return columns

    def _flush(self) -> None:
        """Put the newest loads of a text into the columns, without a ``Load`` for each."""
        if not self._tables:
            return
        first, count = self._tables[0], len(self._tables)
        columns = first.convert([*chain.from_iterable(table.printed for table in self._tables)])
        for row, name in enumerate(first.names):
            own = [column and column[row :: len(first)] for column in columns]
            self._columns_of(name, self.count - count).extend(own, count)
        self._tables = []

    @property
    def is_utc(self) -> bool:
        """Whether the times are seconds since the epoch, not those that a text printed."""
        return self._last is not None and self._last.time is not None

    @property
    def devices(self) -> Mapping[str, Columns]:
        """The columns of each device."""
        self._flush()
        if self._padded != self.count:
            self._padded = self.count
            for columns in self._devices.values():
                columns.pad(self.count)
        return self._devices

    def clock(self) -> Clock:
        """Return when the intervals end; without times only how long they are."""
        lengths = [x for x in self._lengths if not isnan(x)]
        pace = median(lengths) if lengths else 0.0
        if any(map(isnan, self._ends)):
            return Clock((), pace)
        steps = [b - a for a, b in zip(self._ends, self._ends[1:], strict=False) if b > a]
        ends = [*accumulate(self._ends, max)]  # clocks are set back
        return Clock(ends, pace or (median(steps) if steps else 0.0), self._ends)

    def intervals(self, spans: Iterable[Span]) -> list[Interval]:
        """Return the intervals of *spans*; of very many, averages of some."""
        wanted = [place for first, last in spans for place in range(first, last + 1)]
        if self._held is not None:
            return [self._held[place] for place in wanted]
        most = max(1, min(EXAMINED, EXAMINED_LOADS // max(1, len(self._devices))))
        if len(wanted) <= most:
            return [*map(self._interval, wanted)]
        kept = set(wanted)
        whole, begin = [], 0
        for stretch in self._stretches.stretches:
            if kept.issuperset(range(begin, begin + stretch.count)):
                whole.append(stretch.interval)
            begin += stretch.count
        return whole or [*map(self._interval, wanted[:: len(wanted) // most + 1])]

    def _interval(self, place: int) -> Interval:
        loads = {
            name: load
            for name, columns in self.devices.items()
            if (load := columns.load(place)) is not None
        }
        length = self._lengths[place]
        assert self._last is not None  # noqa: S101 - there is an interval at this place
        return replace(
            self._last,
            loads=loads,
            stamp=self.stamps[place],
            seconds=None if isnan(length) else length,
            time=None if self._last.time is None else self._ends[place],
            events=(),
            readings=(),
        )
