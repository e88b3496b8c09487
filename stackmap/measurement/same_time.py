"""Reports of a text that have the same time: copies, and tables of different devices."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from math import inf

from stackmap.measurement.source import Note
from stackmap.model.interval import Interval
from stackmap.model.load import UNKNOWN_LOAD, Load, PrintedLoads, joined_loads

NUMBERED = re.compile(r"dev\d+-\d+")  # as `sar -d` calls a device
NO_RATE = "no figures at {}: its first report is since boot"
DAYS = 31  # of a log without dates, which has each time once per day


def printed_end(interval: Interval) -> float | None:
    """Return the end of *interval* as the text printed it, in seconds; None if it printed none."""
    return interval.time if interval.clock is None else interval.clock


class Copies:
    """Tells intervals that a text has twice, as after ``sar -d`` and ``sar -dp``; notes the first one."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._noted = False
        self._seen: dict[
            float, tuple[int, Sequence[str]]
        ] = {}  # a hash and the names, by the end of the interval

    def has(self, interval: Interval) -> bool:
        """Whether an earlier interval had the same end and the same figures, under the same names or others."""
        time = printed_end(interval)
        if time is None or not isinstance(interval.loads, PrintedLoads):
            return False
        figures, names = (
            hash((interval.machine.host, *interval.loads.printed)),
            interval.loads.names,
        )
        before, theirs = self._seen.get(time, (None, ()))
        # The disks of a mirror may have the same row: one row is a copy under another name only if that is a number.
        may_be_renamed = len(names) > 1 or any(map(NUMBERED.fullmatch, (*names, *theirs)))
        is_copy = before == figures and (may_be_renamed or names == theirs)
        self._seen[time] = figures, names
        if is_copy and not self._noted:
            self._noted = True
            self._note(f"the text has the report of {interval.stamp} twice: the first one is used")
        return is_copy


class _Time:
    """The reports of one time, which ends at *end* on the clock of the text: the first one, and those joined to it."""

    def __init__(self, first: Interval, end: float | None) -> None:
        self.end = end
        self.reports = [first]
        self._names = {*first.loads}
        self._unknown: dict[str, Load] = {}

    def has_room_for(self, report: Interval) -> bool:
        """Whether the devices of *report* are others, and its day is the same or may be: days without a date are guessed."""
        first = self.reports[0]
        same_day = (
            report.date == first.date or printed_end(report) == printed_end(first) is not None
        )
        return same_day and self._names.isdisjoint(report.loads)

    def join(self, report: Interval) -> None:
        """Add the devices of *report*."""
        self.reports.append(report)
        self._names.update(report.loads)

    def lacks(self, names: Collection[str]) -> None:
        """Take devices whose run begins at this time: nothing is known of them, and they were not idle."""
        self._names.update(names)
        self._unknown |= dict.fromkeys(names, UNKNOWN_LOAD)

    def interval(self) -> Interval:
        """Return the reports as one."""
        first, *others = self.reports
        if not others and not self._unknown:
            return first
        parts = [report.loads for report in self.reports]
        events = dict.fromkeys(event for report in self.reports for event in report.events)
        return replace(
            first,
            loads=joined_loads([*parts, self._unknown] if self._unknown else parts),
            notes=tuple(dict.fromkeys(note for report in self.reports for note in report.notes)),
            events=(*events, *(f"{name}: {NO_RATE.format(first.stamp)}" for name in self._unknown)),
        )


def one_per_time(reports: Iterable[Interval]) -> Iterator[Interval]:
    """
    Yield *reports*; those of one time with different devices are one.

    A log may be searched for each device: all times of md0, then the same times of sda. If so, they
    are in the order of time. Averages since boot and totals are not joined with rates.
    """
    times: list[_Time] = []
    places: defaultdict[tuple[object, ...], list[_Time]] = defaultdict(list)
    joined = False
    date, ahead = "", 0.0  # of the last report; the days that a date was guessed too late
    for report in reports:
        if report.date != date:
            date, ahead = report.date, 0.0
        end = printed_end(report)
        key = (report.machine.host, report.stamp, report.since_boot, report.totals)
        same_time = places[key]
        may_fit = same_time[:DAYS] if report.stamp and report.loads and not report.summary else ()
        place = next((time for time in may_fit if time.has_room_for(report)), None)
        if place is None:
            same_time.append(_Time(report, None if end is None else end - ahead))
            times.append(same_time[-1])
        else:
            joined = True
            place.join(report)
            ahead = (end or 0.0) - (place.end or 0.0)
    for time in times:
        first = time.reports[0]
        if first.since_boot and first.stamp:
            rates = places[first.machine.host, first.stamp, False, ""][:DAYS]
            other = next((time for time in rates if time.has_room_for(first)), None)
            if other is not None and other.reports[0].loads:
                other.lacks(first.loads)
    yield from (time.interval() for time in (_by_time(times) if joined else times))


def _by_time(times: Sequence[_Time]) -> Sequence[_Time]:
    """Return *times* in their order, a summary after what precedes it; as they are if one of a report is unknown."""
    if any(time.end is None and not time.reports[0].summary for time in times):
        return times
    latest = accumulate((-inf if time.end is None else time.end for time in times), max)
    ends = [
        last if time.end is None else time.end for time, last in zip(times, latest, strict=True)
    ]
    return [times[n] for n in sorted(range(len(times)), key=ends.__getitem__)]
