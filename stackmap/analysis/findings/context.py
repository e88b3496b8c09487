"""What the rules may look at: a machine, an interval of it, and what came before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from stackmap.analysis.amplification import StackFigures, figures_of, heads, stack_tops
from stackmap.analysis.findings.finding import Evidence
from stackmap.analysis.layers import layers
from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.limit import Limit
from stackmap.model.load import Load
from stackmap.model.topology import Topology

ABSENT = Load()


@dataclass(frozen=True)
class Context:
    """
    A topology, and the loads on it as ``corrections`` left them.

    ``interval``: all that is judged, as one. ``series``: its parts, () where
    there is only one. ``baseline``: another interval of the same machine, when
    it was well. ``corrections``: what was put right. ``limits``: caps in force.
    """

    topology: Topology
    interval: Interval
    series: tuple[Interval, ...] = ()
    baseline: Interval | None = None
    corrections: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = field(default=())

    @property
    def loads(self) -> Mapping[str, Load]:
        """What each device did."""
        return self.interval.loads

    def load(self, name: str) -> Load:
        """Return what *name* did; all unknown if it is not among the counters."""
        return self.loads.get(name, ABSENT)

    def counted(self, rate: float | None) -> float | None:
        """Return how many *rate* a second were in this interval; None where its length is not known."""
        return None if rate is None or not self.interval.seconds else rate * self.interval.seconds

    def enough(self, rate: float | None, least: float) -> bool:
        """
        Whether at least *least* were counted at *rate* a second.

        A text may not say how long its interval was; then any current rate
        counts, as reports of less than some seconds are rarely published.
        """
        if rate is None:
            return False
        counted = self.counted(rate)
        return rate >= 1 if counted is None else counted >= least

    @cached_property
    def measured(self) -> tuple[Device, ...]:
        """The devices that there are counters of, top down."""
        return tuple(device for device in self.topology if device.name in self.loads)

    @cached_property
    def disks(self) -> tuple[Device, ...]:
        """Those of them with nothing below."""
        return tuple(d for d in self.measured if not self.topology.below(d.name))

    @cached_property
    def stacks(self) -> tuple[StackFigures, ...]:
        """The figures of each stack that did something, and of what several stacks share."""
        tops = (t for t in heads(self.topology, self.loads) if not self.loads[t].idle)
        named = stack_tops(self.topology, self.loads, tops)
        return tuple(figures_of(self.topology, self.loads, named, self.interval.seconds))

    @cached_property
    def siblings(self) -> tuple[tuple[Device, tuple[str, ...]], ...]:
        """
        Each array or RAID volume with devices below it that should do alike, the lowest first.

        One to a member, at each layer; what two arrays share is given once.
        """
        found: dict[tuple[str, ...], Device] = {}
        for raid in self.topology:
            if raid.layout is not None and raid.layout.members > 1:
                for names in self._alike(raid):
                    found.setdefault(names, raid)
        return tuple((raid, names) for names, raid in found.items())

    def _alike(self, raid: Device) -> Iterator[tuple[str, ...]]:
        below = layers(self.topology, raid.name)[1:]
        members = {edge.below for edge in self.topology.below(raid.name) if edge.role == "data"}
        for layer in reversed(below):
            if len(layer.devices) == len(members) > 1 and self.loads.keys() >= set(layer.devices):
                yield layer.devices

    def evidence(self, device: str, **figures: tuple[float | None, str]) -> dict[str, Evidence]:
        """Return *figures*, each a value and its unit, as evidence of *device*; unknown ones not."""
        return {
            name: Evidence(value, unit, device)
            for name, (value, unit) in figures.items()
            if value is not None
        }
