"""The input of the rules: a topology, an interval of load on it, and the baseline."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from stackmap.model.device import Device, Kind, Role, Stalled, StatusReading, TargetStatus
from stackmap.model.interval import Interval, with_loads_of
from stackmap.model.load import UNKNOWN_LOAD, Load
from stackmap.model.topology import Topology, computed_once

# What may be a disk without a device below; others only have none because the input does not show it.
OWN_DISKS = frozenset(
    {Kind.DISK, Kind.PARTITION, Kind.MULTIPATH, Kind.LOOP, Kind.ZRAM, Kind.BCACHE}
)

if TYPE_CHECKING:  # check needs no load, and so does not import what calculates with loads
    from stackmap.ledger.amplification import StackFigures
    from stackmap.ledger.device_state import StatusChange
    from stackmap.ledger.ledger import Ledger
    from stackmap.ledger.parity import Parity
    from stackmap.model.cgroup_io import IoLimit
    from stackmap.model.health import Exceeded, Health, Life
    from stackmap.model.reason import StateChange


@dataclass(frozen=True)
class Context:
    """
    A topology and the corrected loads on it.

    ``interval``: the whole measurement; empty where only the setup is checked.
    ``series``: its parts, () if there is only one. ``baseline``: an interval
    of the same machine when it was healthy. ``corrections``: what was
    corrected, as "rule: device". ``limits``: I/O limits in force.
    ``mounted``: mount options by the kernel name of the device, ``health``: what disks say of themselves, if asked.
    ``exceeded``: time over the limits of a cloud's disks, if they say so.
    ``judged``: the devices whose findings are wanted, and all that can affect them; None: all. The others are only
    compared with these.
    ``lives``: what may still be written to disks, if known. ``lv_attributes``: LVM's lv_attr by label, if asked.
    ``capture``: its path, "" on this machine;
    ``recorded_keys``: device-mapper's names of the devices whose key is in it.
    """

    topology: Topology
    interval: Interval = field(default_factory=lambda: Interval({}))
    series: tuple[Interval, ...] = ()
    baseline: Interval | None = None
    corrections: tuple[str, ...] = ()
    limits: tuple[IoLimit, ...] = ()
    mounted: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    capture: str = ""
    health: Mapping[str, Health] = field(default_factory=dict)
    exceeded: Mapping[str, Exceeded] = field(default_factory=dict)
    lives: Mapping[str, Life] = field(default_factory=dict)
    lv_attributes: Mapping[str, str] = field(default_factory=dict)
    recorded_keys: tuple[str, ...] = ()
    judged: AbstractSet[str] | None = None

    @property
    def loads(self) -> Mapping[str, Load]:
        """The load of each device."""
        return self.interval.loads

    def load(self, name: str) -> Load:
        """Return the load of *name*; all unknown if it has no counters."""
        return self.loads.get(name, UNKNOWN_LOAD)

    @computed_once
    def typical_load(self, name: str, requests: float) -> Load:
        """
        Return the load of *name* in the interval with the median await; of two, that with the shorter.

        One slow or one fast interval does not hide what the others show. Those with fewer than
        *requests* show nothing.
        """
        known = [
            (ms, load)
            for part in self.series
            if (load := part.loads.get(name)) is not None
            and (ms := (total := load.total).await_ms) is not None
            and (part.seconds is None or (total.ios or 0.0) * part.seconds >= requests)
        ]
        if not known:
            return self.load(name)
        return sorted(known, key=lambda pair: pair[0])[(len(known) - 1) // 2][1]

    def enough(self, rate: float | None, minimum: float) -> bool:
        """
        Whether at least *minimum* events were counted at *rate* per second.

        If a text does not state its interval's length, one per second is
        enough: published reports rarely cover less than some seconds.
        """
        if rate is None:
            return False
        seconds = self.interval.seconds
        return rate * seconds >= minimum if seconds else rate >= 1

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """The judged devices, top down."""
        return self._judged(self.topology)

    @cached_property
    def measured(self) -> tuple[Device, ...]:
        """The judged devices with counters, top down."""
        return tuple(device for device in self.devices if device.name in self.loads)

    @cached_property
    def disks(self) -> tuple[Device, ...]:
        """The disks among the judged devices."""
        return self._judged(self.all_disks)

    @cached_property
    def all_disks(self) -> tuple[Device, ...]:
        """
        The measured disks, and devices that are the only user of a disk without counters, judged or not.

        Without a topology, volumes and arrays are used only if there are no disks.
        """
        lowest = [d for d in self.topology if d.name in self.loads and self._is_lowest(d.name)]
        return tuple(d for d in lowest if self.is_disk(d)) or tuple(lowest)

    def _judged(self, devices: Iterable[Device]) -> tuple[Device, ...]:
        judged = self.judged
        return tuple(device for device in devices if judged is None or device.name in judged)

    def is_disk(self, device: Device) -> bool:
        """Whether *device* is known to be a disk or to stand for one; False where that is not known."""
        below = self.topology.below(device.name)
        return bool(below) or device.kind in OWN_DISKS

    def _is_lowest(self, name: str) -> bool:
        """Whether nothing below *name* has counters, and all I/O of the disk there is its own."""
        edges = self.topology.below(name)
        while edges:
            name = edges[0].below
            shared = len(edges) > 1 or len(self.topology.above(name)) > 1
            if shared or name in self.loads:
                return False
            edges = self.topology.below(name)
        return True

    def stacks(self, part: Container[str] | None = None) -> Iterator[StackFigures]:
        """
        Yield the figures of each stack with load, and of devices that several stacks share, one at a time.

        *part*: only stacks with one of these devices; None: all.
        """
        from stackmap.ledger.amplification import one_by_one

        below = self.topology.with_all_below
        tops = self.ledger.busy_tops
        if part is not None:
            tops = [top for top in tops if top in part or any(name in part for name in below(top))]
        return one_by_one(self.ledger, tops)

    @cached_property
    def tops(self) -> frozenset[str]:
        """The highest of the judged devices with counters."""
        tops = frozenset(self.ledger.tops)
        return tops if self.judged is None else tops & self.judged

    @cached_property
    def parity_arrays(self) -> tuple[tuple[Device, Parity], ...]:
        """Each array with parity that no other such array uses, and what parity cost it."""
        from stackmap.ledger.parity import has_parity, parity_of

        return tuple(
            (raid, cost)
            for raid in self.measured
            if has_parity(raid)
            and not any(
                has_parity(self.topology[name])
                for name in self.topology.with_all_above(raid.name)[1:]
            )
            and (cost := parity_of(self.ledger, raid)) is not None
        )

    @cached_property
    def ledger(self) -> Ledger:
        """All traffic of the interval."""
        from stackmap.ledger.ledger import Ledger

        return Ledger(self.topology, self.loads, self.interval.seconds, self.lives)

    @cached_property
    def peers(self) -> tuple[tuple[Device, tuple[str, ...]], ...]:
        """
        Each array with its groups of peers: one device per member, the lowest layer first, then its members.

        A group that several arrays share is listed once.
        """
        from stackmap.ledger.layers import layers

        groups: dict[tuple[str, ...], Device] = {}
        for raid in self.topology:
            members = set(self.below(raid.name, Role.DATA))
            # A text may tell the members of an array of md and not its level.
            several = raid.layout.members > 1 if raid.layout else raid.kind is Kind.ARRAY
            if not several or len(members) < 2:
                continue
            for layer in reversed(layers(self.topology, raid.name)[1:]):
                known = self.loads.keys() >= set(layer.devices)
                if len(layer.devices) == len(members) and known:
                    groups.setdefault(layer.devices, raid)
            # A member that is a disk is in another layer than one that is a mapping of a disk.
            direct = tuple(dict.fromkeys(self.below(raid.name, Role.DATA)))
            if members <= self.loads.keys() and members not in map(set, groups):
                groups[direct] = raid
        return tuple((raid, names) for names, raid in groups.items())

    def peers_of(self, name: str) -> tuple[str, ...]:
        """Return the peers of *name* in the array that uses it, and itself; only itself without any."""
        return next((names for _, names in self.peers if name in names), (name,))

    def is_light(self, name: str, rate: float, queue: float) -> bool:
        """Whether each disk below *name* has less than *rate* per second and *queue* in flight."""
        below = set(self.topology.with_all_below(name))
        loads = [self.load(disk.name) for disk in self.disks if disk.name in below]
        return bool(loads) and all(
            (load.total.ios or 0.0) < rate and (load.aqu or 0.0) < queue for load in loads
        )

    @cached_property
    def readings(self) -> list[StatusReading]:
        """The readings of dm targets and md's threads, the earliest first."""
        from stackmap.ledger.device_state import readings_of

        return readings_of(self.series or (self.interval,))

    @cached_property
    def stalled(self) -> Stalled | None:
        """The shares of time in which tasks waited for I/O; None if unknown."""
        from stackmap.ledger.device_state import stalled_share

        return stalled_share(self.readings)

    @cached_property
    def changes(self) -> Mapping[str, StatusChange]:
        """What each dm target counted between its readings."""
        from stackmap.ledger.device_state import status_changes

        return status_changes(self.readings)

    @cached_property
    def state_changes(self) -> Mapping[str, tuple[StateChange, ...]]:
        """The changes of each device's state during the measurement, the earliest first."""
        from stackmap.ledger.device_state import state_changes

        return state_changes(self.topology, self.interval.events)

    def status(self, device: Device) -> TargetStatus:
        """Return the newest status of *device*."""
        return self._read_again(device) or device.status

    def counts(self, device: Device) -> Mapping[str, int]:
        """Return the newest counts of *device*."""
        newest = self._read_again(device)
        return device.counts if newest is None else newest.counts

    def _read_again(self, device: Device) -> TargetStatus | None:
        """Return the status of *device* at the end of the measurement; None if there is none with counts."""
        change = self.changes.get(device.name)
        return None if change is None or not change.last.counts else change.last

    def below(self, name: str, role: Role) -> list[str]:
        """Return the devices that *name* uses in *role*."""
        return self.topology.used_by(name, role)


def measured_context(
    topology: Topology,
    intervals: Sequence[Interval],
    baseline: Interval | None = None,
    limits: tuple[IoLimit, ...] = (),
    stack: AbstractSet[str] | None = None,
) -> Context:
    """
    Return the average of *intervals*, and the intervals as its series; both are corrected here.

    *stack*: the devices that are judged, see ``Context``: the series has no others. None: all.
    Devices have the states that they had at the end, see ``with_newest_states``.
    Totals and averages since boot count only if there is nothing else. *intervals* must not be empty.
    """
    from stackmap.ledger.averages import average
    from stackmap.ledger.corrections import corrected
    from stackmap.ledger.device_state import with_newest_states

    current = [interval for interval in intervals if not interval.since_boot] or intervals
    current = [interval for interval in current if not interval.totals] or current
    whole = corrected(topology, next(average(current)))
    if stack is not None:
        current = [with_loads_of(interval, stack) for interval in current]
    series = (
        tuple(corrected(topology, interval, stack) for interval in current)
        if len(current) > 1
        else ()
    )
    topology = with_newest_states(topology, whole.events)
    return Context(topology, whole, series, baseline, whole.corrections, limits, judged=stack)
