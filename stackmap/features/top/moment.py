"""
The figures of one interval as the screen needs them: what is not shown is not computed.

With the load of every device over the last two minutes, in a few bytes each: what sparklines show.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.blame import Blame, blame
from stackmap.ledger.corrections import corrected
from stackmap.ledger.layers import counted_tops, summed_devices
from stackmap.ledger.ledger import Ledger
from stackmap.model.cgroup_io import CgroupLoad, ProcessIo
from stackmap.model.device import Role, Stalled, Use
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load, ratio, sum_flows
from stackmap.model.topology import Topology, computed_once
from stackmap.rules.rule import Finding


class Event(NamedTuple):
    """Something that happened in the interval that ended at ``time``."""

    time: float | None
    text: str


class GroupLoad(NamedTuple):
    """
    The I/O per second that a control group and the groups inside it sent to ``device``.

    ``group``: its path. ``kind`` and ``name``: those of its owner.
    """

    group: str
    kind: str
    name: str
    device: str
    ios: float
    bytes: float

    @property
    def who(self) -> tuple[str, str, str]:
        """The owner and the device."""
        return self.kind, self.name, self.device

    def plus(self, inner: CgroupLoad) -> GroupLoad:
        """Return the sum with the load of a group inside."""
        return self._replace(ios=self.ios + inner.ios, bytes=self.bytes + inner.bytes)


SPAN = 120.0  # seconds
COLUMNS = 24
METRICS = ("iops", "bytes", "await")
DIRECTIONS = {"read": (0,), "write": (1,), "total": (0, 1)}
UNKNOWN = float("nan")
NOTHING = bytes(4 * 2 * len(METRICS))


@dataclass(slots=True)
class _Column:
    """
    Requests, bytes and milliseconds of the devices that did something, read and then written.

    Over ``seconds``; of the devices ``names``, which had counters, the others were idle.
    """

    number: int
    names: AbstractSet[str]
    seconds: float = 0.0
    sums: dict[str, array[float]] = field(default_factory=dict)

    def add(self, interval: Interval, seconds: float) -> None:
        self.seconds += seconds
        known = self.sums
        for name, load in interval.loads.items():
            if load is IDLE:
                continue
            if (sums := known.get(name)) is None:
                sums = known[name] = array("f", NOTHING)
            read, write = load.read, load.write
            amounts = (read.ios, read.bytes, read.wait, write.ios, write.bytes, write.wait)
            for place, amount in enumerate(amounts):
                sums[place] += UNKNOWN if amount is None else amount * seconds

    def value(self, name: str, metric: str, direction: str) -> float | None:
        """Return the mean rate or await; None if unknown, and without requests for an await."""
        sums = self.sums.get(name)
        if sums is None:
            return 0.0 if name in self.names and metric != "await" else None
        parts = [sums[len(METRICS) * place :] for place in DIRECTIONS[direction]]
        amount = sum(part[METRICS.index(metric)] for part in parts)
        whole = sum(part[0] for part in parts) if metric == "await" else self.seconds
        value = ratio(amount, whole)
        return None if value is None or value != value else value  # noqa: PLR0124 - NaN is unknown


class RecentLoad:
    """
    ``COLUMNS`` columns, the newest last; each is ``SPAN / COLUMNS`` seconds, or one longer interval.

    Devices are known by kernel name: ``forget`` those that were replaced.
    """

    def __init__(self) -> None:
        self._columns: deque[_Column] = deque(maxlen=COLUMNS)
        self._names: frozenset[str] = frozenset()

    def add(self, interval: Interval) -> None:
        """Take the next interval."""
        seconds = interval.seconds or 1.0
        number = int((interval.time or 0.0) / max(SPAN / COLUMNS, seconds))
        if self._names != interval.loads.keys():
            self._names = frozenset(interval.loads)
        if not self._columns or self._columns[-1].number != number:
            self._columns.append(_Column(number, self._names))
        self._columns[-1].add(interval, seconds)

    def was_busy(self, name: str) -> bool:
        """Whether the device *name* did anything."""
        return any(name in column.sums for column in self._columns)

    def forget(self, names: AbstractSet[str]) -> None:
        """Drop the figures of *names*."""
        for column in self._columns:
            column.names = column.names - names
            for name in names:
                column.sums.pop(name, None)

    def values(self, name: str, metric: str, direction: str) -> tuple[float | None, ...]:
        """Return the value of each column of the device *name*, the newest last."""
        return tuple([column.value(name, metric, direction) for column in self._columns])


UNFOLDED = 40  # stacks; more of them are folded at first


class Scope:
    """
    The devices to show. They change only with the topology or with the devices that have counters.

    *chosen*: the devices that NAMEs mean; () for all. ``tops``: the stacks, in tree order.
    ``folded``: whether only their first rows are shown at first.
    ``part``: the stacks that hold them. ``users`` by the device that they use.
    """

    def __init__(
        self, topology: Topology, loads: Mapping[str, Load], chosen: Sequence[str]
    ) -> None:
        self.topology, self.chosen = topology, tuple(chosen)
        self.names = frozenset(loads)
        self.part = part = topology.select(chosen) if chosen else topology
        self.tops = list(chosen) or counted_tops(topology, loads)
        self.folded = len(self.tops) > UNFOLDED
        tops, self.disks = summed_devices(part, loads)
        self.summed_tops, self.summed_disks = frozenset(tops), frozenset(self.disks)
        self._suspects = frozenset(
            device.name
            for device in topology
            if device.queue.iostats is False
            or any(edge.role is Role.PATH for edge in topology.below(device.name))
        )
        self.users: list[tuple[str, Use]] = [
            (device.name, use) for device in part for use in device.uses
        ]

    def corrected(self, measured: Interval) -> Interval:
        """Return *measured* with its counters corrected; all rules pass over other idle devices."""
        busy = {name for name, load in measured.loads.items() if load is not IDLE}
        return corrected(self.topology, measured, busy | self._suspects)

    def fits(self, topology: Topology, loads: Mapping[str, Load]) -> bool:
        """Whether it is still that of *topology* and of the devices in *loads*."""
        return topology is self.topology and loads.keys() == self.names


class Moment:
    """
    One corrected *interval*, and what is kept from earlier ones.

    ``recent``: for sparklines. ``findings``: those to show, the worst first. ``verdict``: the sentence
    where none is grave. ``groups``: the largest first; None if they were not read. ``events``: the newest last.
    ``processes``: those with most I/O; none where they were not read. ``past``: the last intervals, for headroom.
    ``stalled``: shares of the last intervals in which tasks waited for I/O; None if unknown.
    """

    def __init__(self, scope: Scope, interval: Interval, *, recent: RecentLoad) -> None:
        self.scope, self.topology = scope, scope.topology
        self.interval, self.recent = interval, recent
        self.ledger = Ledger(self.topology, interval.loads, interval.seconds)
        self.findings: Sequence[Finding] = ()
        self.verdict = ""
        self.stalled: Stalled | None = None
        self.groups: Sequence[GroupLoad] | None = None
        self.processes: Sequence[ProcessIo] = ()
        self.events: Sequence[Event] = ()
        self.past: Sequence[Interval] = ()

    def load(self, name: str) -> Load:
        """Return the corrected load of a device."""
        return self.ledger.load(name)

    @computed_once
    def stack(self, top: str) -> StackFigures:
        """Return the figures of the stack of *top*: those of ``iostat --per-layer``."""
        return StackFigures(self.ledger, self.topology[top])

    @computed_once
    def blame(self, disk: str) -> Blame:
        """Return the load of each top and device on *disk*."""
        return blame(self.ledger, disk, idle=False)

    @cached_property
    def totals(self) -> tuple[tuple[float | None, float | None], tuple[float | None, float | None]]:
        """Requests and bytes per second at the tops, then at the disks."""
        busy = [(name, load) for name, load in self.interval.loads.items() if load is not IDLE]
        tops, disks = (
            sum_flows(load.total for name, load in busy if name in names)
            for names in (self.scope.summed_tops, self.scope.summed_disks)
        )
        return (tops.ios, tops.bytes), (disks.ios, disks.bytes)
