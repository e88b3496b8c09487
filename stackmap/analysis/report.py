"""
What a report of a machine tells: the stacks that matter, what was measured of them, what was found.

``Measuring`` takes the intervals one by one and keeps what a page needs, not
the intervals; ``Report`` is what they come to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from stackmap.analysis.amplification import StackFigures, figures_of, heads, stack_tops
from stackmap.analysis.corrections import corrected
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.analysis.findings.rules import findings
from stackmap.analysis.hourly_profile import Hours
from stackmap.analysis.size_classes import SizeClasses
from stackmap.analysis.time_series import Course, Stretch, start_of
from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.io_limit import IoLimit
from stackmap.model.load import Load
from stackmap.model.topology import Topology

MOST_STACKS = 8  # told in full where nobody named any; the others stand in a table


@dataclass(frozen=True, slots=True)
class Period:
    """
    When was measured, and how long.

    ``start``, ``end``: seconds since the epoch, None where no clock tells;
    ``first``, ``last``: the text's own times. ``seconds``: all intervals
    together, None for a text that does not say. ``count``: how many they are.
    """

    start: float | None = None
    end: float | None = None
    first: str = ""
    last: str = ""
    seconds: float | None = None
    count: int = 0

    @property
    def missing(self) -> float:
        """Seconds between the start and the end that no interval covers; 0 where it cannot be told."""
        if self.start is None or self.end is None or self.seconds is None:
            return 0.0
        return max(0.0, self.end - self.start - self.seconds)


@dataclass(frozen=True)
class Report:
    """
    A machine over a period.

    ``interval``: all of it as one, put right as ``corrections`` says.
    ``stacks``: those told in full, the worst and the most loaded first;
    ``others``: the names of other tops that did something, ``idle``: of those
    that did nothing. ``left_out``: what was not measured or not used, and why.
    """

    topology: Topology
    interval: Interval
    corrections: tuple[str, ...]
    period: Period
    stacks: tuple[StackFigures, ...]
    findings: tuple[Finding, ...]
    course: tuple[Stretch, ...]
    hours: Hours
    sizes: SizeClasses
    others: tuple[Device, ...] = ()
    idle: tuple[Device, ...] = ()
    left_out: tuple[str, ...] = ()

    def findings_of(self, top: str) -> tuple[Finding, ...]:
        """Return the findings on what the stack of *top* has, the worst first."""
        stack = set(self.topology.with_all_below(top))
        return tuple(each for each in self.findings if each.device in stack)


@dataclass
class Measuring:
    """What is kept of the intervals of *topology* as they come."""

    topology: Topology
    named: tuple[str, ...] = ()
    course: Course = field(default_factory=Course)
    hours: Hours = field(default_factory=Hours)
    sizes: SizeClasses = field(default_factory=SizeClasses)
    period: Period = field(default_factory=Period)
    _since_boot: int = 0
    _seen: dict[str, None] = field(default_factory=dict)
    _seen_last: AbstractSet[str] = frozenset()
    _watched: tuple[str, ...] = ()
    _near: tuple[str, ...] = ()  # they, and what their corrections look at

    def add(self, interval: Interval) -> None:
        """Take one more interval in; an average since boot, or a text's own, where there is no other."""
        if interval.summary and self.period.count:
            return
        if interval.since_boot and self.period.count > self._since_boot:
            self._since_boot += 1
            return
        if not interval.since_boot and 0 < self._since_boot == self.period.count:
            self._begin_anew()
        self._since_boot += interval.since_boot
        self.period = _longer(self.period, interval)
        watched = self._right(interval)
        self.course.add(interval, watched)
        self.hours.add(interval, watched)
        self.sizes.add(interval, watched)

    def _begin_anew(self) -> None:
        """Forget averages since boot: there are current rates."""
        self.course, self.hours, self.sizes = Course(), Hours(), SizeClasses()
        self.period = Period()

    def _right(self, interval: Interval) -> Mapping[str, Load]:
        """Return the loads of the watched devices, put right."""
        if interval.loads.keys() != self._seen_last:
            self._seen_last = interval.loads.keys()
            self._watched = self._to_watch(interval.loads)
            below = (e.below for name in self._watched for e in self.topology.below(name))
            near = dict.fromkeys((*self._watched, *below))
            self._near = tuple(name for name in near if name in interval.loads)
            self._seen.update(dict.fromkeys(interval.loads))
        loads = {name: interval.loads[name] for name in self._near}
        alone = replace(interval, loads=loads)
        right = corrected(self.topology, alone, self._watched)[0].loads
        return {name: right[name] for name in self._watched}

    def _to_watch(self, loads: Mapping[str, Load]) -> tuple[str, ...]:
        """Return tops, named devices and arrays, of the stacks that are named: what these may be told from."""
        arrays = (device.name for device in self.topology if device.layout is not None)
        wanted = dict.fromkeys([*heads(self.topology, loads), *self.named, *arrays])
        told = {below for name in self.named for below in self.topology.with_all_below(name)}
        return tuple(name for name in wanted if name in loads and (name in told or not told))

    @property
    def parts(self) -> tuple[Interval, ...]:
        """What was added, as it came; of very much, averages of intervals that follow each other."""
        return tuple(each.interval for each in self.course.stretches)

    def report(self, caps: Iterable[IoLimit] = ()) -> Report | None:
        """Return what was measured so far; None if that is nothing."""
        average = self.course.average()
        if average is None:
            return None
        interval, done = corrected(self.topology, average)
        stretches = tuple(self._corrected(each) for each in self.course.stretches)
        series = tuple(each.interval for each in stretches) if len(stretches) > 1 else ()
        context = Context(self.topology, interval, series, None, done, tuple(caps))
        part = self.topology.select(self.named) if self.named else self.topology
        found = tuple(each for each in findings(context) if each.device in part)
        told, others, idle = self._chosen(interval, found)
        return Report(
            self.topology,
            interval,
            done,
            self.period,
            tuple(figures_of(self.topology, interval.loads, told, interval.seconds)),
            found,
            stretches,
            self.hours,
            self.sizes,
            tuple(self.topology[name] for name in others),
            tuple(self.topology[name] for name in idle),
            tuple(self._left_out(interval)),
        )

    def _corrected(self, stretch: Stretch) -> Stretch:
        return replace(stretch, interval=corrected(self.topology, stretch.interval)[0])

    def _chosen(
        self, interval: Interval, found: tuple[Finding, ...]
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the devices to tell of in full, other tops that did something, and idle ones."""
        tops = [name for name in self.named if name in interval.loads]
        idle: list[str] = []
        others: list[str] = []
        if not self.named:
            every = heads(self.topology, interval.loads)
            idle = [name for name in every if interval.loads[name].idle]
            busy = [name for name in every if not interval.loads[name].idle]
            ordered = sorted(busy, key=lambda name: self._weight(name, interval, found))
            tops, others = ordered[:MOST_STACKS], ordered[MOST_STACKS:]
            tops = tops or idle[:1]  # to say that none did anything
        return stack_tops(self.topology, interval.loads, tops), others, idle

    def _weight(
        self, name: str, interval: Interval, found: tuple[Finding, ...]
    ) -> tuple[int, float]:
        """Return what a top is sorted by: its worst finding, then its requests."""
        stack = set(self.topology.with_all_below(name))
        order = list(Severity)
        worst = min(
            (order.index(each.severity) for each in found if each.device in stack), default=9
        )
        return worst, -(interval.loads[name].total.ios or 0.0)

    def _left_out(self, interval: Interval) -> Iterable[str]:
        if self._since_boot and self.period.count != self._since_boot:
            yield f"{self._since_boot} averages since boot: they are no current rate"
        if self.period.missing > 1.0:
            yield (
                f"{self.period.missing:.0f} seconds between the first instant and the last: nothing "
                "was recorded then, or what was could not be used"
            )
        lacking = [name for name in self._seen if name not in interval.loads]
        if lacking:
            yield (
                f"{', '.join(lacking)}: not there in every interval, so no figure over all of them"
            )
        yield from interval.events


def _longer(period: Period, interval: Interval) -> Period:
    """Return *period* with *interval* at its end."""
    start = start_of(interval) if not period.count else period.start
    seconds = period.seconds if period.count else 0.0
    return Period(
        start,
        interval.time,
        period.first or interval.stamp,
        interval.stamp or period.last,
        None if seconds is None or interval.seconds is None else seconds + interval.seconds,
        period.count + 1,
    )
