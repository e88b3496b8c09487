"""
The state of a device: missing members, background work, and its target's own counters.

While such work runs (resync, check, reshape, merge), the I/O of the devices below is not the
workload's alone, and ratios to the workload mean nothing. That state is read with the topology; the
counts of dm targets and the CPU time of md's threads change from one reading to the next.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from stackmap.ledger.layers import carries_data
from stackmap.model.device import (
    Counts,
    Device,
    RaidThread,
    Role,
    Stalled,
    StatusReading,
    TargetStatus,
)
from stackmap.model.health import ERROR_COUNTS
from stackmap.model.load import plus
from stackmap.model.raid import DEGRADED, DELAYED, LOST
from stackmap.model.reason import Reason, StateChange
from stackmap.model.topology import Topology

if TYPE_CHECKING:  # a tree has no interval, and starts without dataclasses
    from stackmap.model.interval import Interval

FAILED = ("failed", "faulty", "missing")
REBUILDING = ("recover", "recovery")

# The I/O below, by the kernel's name of the work (md's sync_action, dm-raid's status).
WORK = {
    "resync": "it reads all members and writes what differs",
    "recover": "it writes a new member from the others",
    "recovery": "it writes a new member from the others",
    "check": "it reads all members",
    "repair": "it reads all members and writes what differs",
    "reshape": "it reads the old layout and writes the new one",
    "merging": "it writes the snapshot's changes back",
    # DRBD's connection states, and ZFS's scans.
    "SyncSource": "it reads what the peer lacks and sends it",
    "SyncTarget": "it writes what the peer sends",
    "VerifyS": "it reads all data and compares it with the peer's",
    "VerifyT": "it reads all data and compares it with the peer's",
    "scrub": "the pool reads all of its data",
    "resilver": "the pool reads its data and writes what a disk lacks",
}


def background(topology: Topology, top: str) -> Mapping[str, str]:
    """Return the devices of the stack whose I/O includes such work, each with the reason in words."""
    reached: dict[str, str] = {}
    for name in topology.with_all_below(top):
        device = topology[name]
        reason = reached.get(name, "")
        if not reason and (work := work_of(device)):
            words = f"{device.title} runs background work ({device.state}): {WORK[work]}"
            reason = Reason(work, words)
        if reason:
            for edge in topology.below(name):
                reached.setdefault(edge.below, reason)
    return reached


def is_working(device: Device) -> bool:
    """Whether *device* does background work."""
    return bool(work_of(device))


def work_of(device: Device) -> str:
    """Return the kernel's name of the work that *device* does, "" for none."""
    if device.state == "needs check":  # of a thin pool or cache: by an administrator
        return ""
    words = (device.state or "").replace(",", " ").split()
    if DELAYED in words:  # it has no I/O yet
        return ""
    return next((word for word in words if word in WORK), "")


def is_degraded(device: Device) -> bool:
    """Whether *device* lacks a member, be its data there or lost."""
    state = device.state or ""
    return DEGRADED in state or is_lost_array(device)


def is_lost_array(device: Device) -> bool:
    """Whether *device* is an array that has lost data with its members."""
    return device.layout is not None and (device.state or "").startswith(LOST)


def state_changes(
    topology: Topology, events: Iterable[str]
) -> Mapping[str, tuple[StateChange, ...]]:
    """Return the changes of state among *events*, by the device of *topology* that is still the same."""
    changes: dict[str, tuple[StateChange, ...]] = {}
    for event in events:
        if not isinstance(event, StateChange) or event.device not in topology:
            continue
        if event.identity == topology[event.device].identity:
            changes[event.device] = (*changes.get(event.device, ()), event)
    return changes


def with_newest_states(topology: Topology, events: Iterable[str]) -> Topology:
    """
    Return *topology* with the states after *events*.

    Background work that ended keeps its state: the counters of the measurement include it.
    """
    newest = {
        name: topology[name]._replace(state=changes[-1].now)
        for name, changes in state_changes(topology, events).items()
    }
    newest = {n: d for n, d in newest.items() if is_working(d) or not is_working(topology[n])}
    if not newest:
        return topology
    devices = [newest.get(name, device) for name, device in topology.devices.items()]
    return Topology(devices, topology.edges, machine=topology.machine, unknown=topology.unknown)


def members_behind(topology: Topology, array: Device) -> int:
    """Return how many members a rebuilding *array* lacks until that ends; 0 where it does not rebuild one."""
    if array.layout is None or work_of(array) not in REBUILDING:
        return 0
    below = (topology[edge.below] for edge in topology.below(array.name) if carries_data(edge))
    return array.layout.members - sum(member.state in (None, "active") for member in below)


def missing_members(topology: Topology, array: Device) -> int:
    """Return how many data members a degraded *array* lacks, at least 1; 0 where it is not degraded."""
    if array.layout is None or not is_degraded(array):
        return 0
    below = (topology[edge.below] for edge in topology.below(array.name) if carries_data(edge))
    working = [
        member for member in below if not any(word in (member.state or "") for word in FAILED)
    ]
    return max(1, array.layout.members - len(working))


def write_mostly(topology: Topology, device: Device) -> set[str]:
    """Return the data members of *device* that are read last: md names them, dm counts."""
    words = device.facts.get("write mostly", "").split()
    if not words:
        return set()
    data = topology.used_by(device.name, Role.DATA)
    numbered = {str(number): name for number, name in enumerate(data)}
    return {numbered.get(word, word) for word in words}.intersection(data)


# Counts that only go up while a table is loaded; the others are amounts that go up and down.
COUNTERS = frozenset(
    (
        "read_hits",
        "read_misses",
        "write_hits",
        "write_misses",
        "demotions",
        "promotions",
        *ERROR_COUNTS,
    )
)


class StatusChange(NamedTuple):
    """
    One target between its first and its last reading.

    ``seconds`` and ``grown`` (each count's increase) leave out what happened between two readings
    of which the later has smaller counters: the table was loaded anew. ``last``: the newest status.
    """

    last: TargetStatus
    seconds: float
    grown: Mapping[str, int] = MappingProxyType({})

    def rate(self, name: str) -> float | None:
        """Return the increase of count *name* per second; None if unknown."""
        grown = self.grown.get(name)
        return None if grown is None or self.seconds <= 0 else grown / self.seconds

    def seconds_to_full(self, name: str) -> float | None:
        """Return when ``<name>used`` reaches ``<name>total`` at this rate; None if it does not grow."""
        rate, counts = self.rate(f"{name}used"), self.last.counts
        if not rate or rate < 0:
            return None
        return max(0, counts[f"{name}total"] - counts[f"{name}used"]) / rate


def readings_of(intervals: "Iterable[Interval]") -> list[StatusReading]:
    """Return the readings at the ends of *intervals*, each once, in the order of time."""
    by_time = {reading.time: reading for interval in intervals for reading in interval.readings}
    return [by_time[time] for time in sorted(by_time)]


def status_changes(readings: Iterable[StatusReading]) -> dict[str, StatusChange]:
    """Return the change of each target in *readings*, by kernel name, as long as it is the same device."""
    changes: dict[str, StatusChange] = {}
    ends: dict[str, tuple[float, TargetStatus]] = {}
    for reading in readings:
        for name, status in reading.targets.items():
            time, before = ends.get(name, (reading.time, status))
            if before.identity != status.identity:
                changes.pop(name)
                time, before = reading.time, status
            change = changes.get(name, StatusChange(status, 0.0))
            ends[name] = reading.time, status
            changes[name] = _extended(change, before.counts, status, reading.time - time)
    return changes


def _extended(
    change: StatusChange, before: Counts, status: TargetStatus, seconds: float
) -> StatusChange:
    """Return *change* up to *status*, *seconds* after the counts *before*."""
    now = status.counts
    fits = before.keys() == now.keys() and all(
        now[name] >= before[name] for name in COUNTERS & now.keys()
    )
    if not fits or seconds <= 0 or not now:
        return StatusChange(status, change.seconds, change.grown)
    grown = {name: change.grown.get(name, 0) + now[name] - before[name] for name in now}
    return StatusChange(status, change.seconds + seconds, grown)


def stalled_share(readings: Sequence[StatusReading]) -> Stalled | None:
    """Return the shares of time between the first and the last reading in which tasks waited for I/O; None if unknown."""
    known = [(reading.time, reading.stalled) for reading in readings if reading.stalled]
    if len(known) < 2:
        return None
    (begin, first), (end, last) = known[0], known[-1]
    if end <= begin or last.some < first.some:  # started again
        return None
    full = plus(last.full, None if first.full is None else -first.full)
    shares = (
        None if stalled is None else min(1.0, stalled / (end - begin))
        for stalled in (last.some - first.some, full)
    )
    some, all_ = shares
    return Stalled(some or 0.0, all_)


def thread_usage(readings: Sequence[StatusReading]) -> dict[RaidThread, float]:
    """Return the share of one CPU that each thread used between the first and the last reading."""
    if len(readings) < 2:
        return {}
    first, last = readings[0], readings[-1]
    seconds = last.time - first.time
    return {
        thread: used / seconds
        for thread, after in last.threads.items()
        if thread in first.threads and (used := after - first.threads[thread]) >= 0
    }
