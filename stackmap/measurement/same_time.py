"""Reports of a text that have the same time: copies, and tables of different devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackmap.measurement.source import Note
from stackmap.model.interval import Interval
from stackmap.model.load import PrintedLoads, joined_loads

DAYS = 31  # of a log without dates, which has each time once per day


def printed_end(interval: Interval) -> float | None:
    """Return the end of *interval* as the text printed it, in seconds; None if it printed none."""
    return interval.time if interval.clock is None else interval.clock


class Copies:
    """Tells intervals that a text has twice, as after ``sar -d`` and ``sar -dp``; notes the first one."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._noted = False
        self._figures: dict[float, int] = {}  # a hash by the end of the interval

    def has(self, interval: Interval) -> bool:
        """Whether an earlier interval had the same end and the same figures, under any names."""
        time = printed_end(interval)
        if time is None or not isinstance(interval.loads, PrintedLoads):
            return False
        figures = hash((interval.machine.host, *interval.loads.printed))
        is_copy = self._figures.get(time) == figures
        self._figures[time] = figures
        if is_copy and not self._noted:
            self._noted = True
            self._note(f"the text has the report of {interval.stamp} twice: the first one is used")
        return is_copy


def one_per_time(reports: Iterable[Interval]) -> Iterator[Interval]:
    """
    Yield *reports*; those of one time with different devices are one.

    A log may be searched for each device: all times of md0, then the same times of sda.
    """
    kept: list[Interval] = []
    places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)  # by host and time
    for report in reports:
        same_time = places[report.machine.host, report.stamp]
        may_fit = same_time[:DAYS] if report.stamp and report.loads and not report.summary else ()
        fitting = (n for n in may_fit if kept[n].loads.keys().isdisjoint(report.loads))
        place = next(fitting, None)
        if place is None:
            same_time.append(len(kept))
            kept.append(report)
        else:
            notes = dict.fromkeys((*kept[place].notes, *report.notes))
            events = dict.fromkeys((*kept[place].events, *report.events))
            loads = joined_loads(kept[place].loads, report.loads)
            kept[place] = replace(
                kept[place], loads=loads, notes=tuple(notes), events=tuple(events)
            )
    yield from kept
