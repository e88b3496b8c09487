"""
Caps on I/O: control groups' ``io.max``, libvirt's ``<iotune>``, and what disks of Amazon count of their own.

``io.max`` has one line per device, ``254:3 rbps=max wbps=1048576 riops=max wiops=200``;
version 1 has one file per cap, ``254:3 200``. Both act on bios sent to that device, before any
layer below. libvirt's caps act in QEMU, before the host's kernel sees the I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.cgroup_io import CappedUse, CgroupCounters, IoLimit
from stackmap.model.interval import Interval
from stackmap.model.load import plus, ratio
from stackmap.model.topology import Topology
from stackmap.sources import cgroup, ebs, guests, pressure
from stackmap.sources.sysfs import attribute

# A device's number or path, and its caps.
DeviceCaps = tuple[str, tuple[tuple[str, float], ...]]

MAX_DEPTH = 6  # levels of groups
MAX_GROUPS = 500
# The files of a control group with caps, and what each key in them caps; a file of version 1 has no keys.
FILES: Mapping[str, Mapping[str, str]] = {
    "io.max": {
        "riops": "read_ios",
        "wiops": "write_ios",
        "rbps": "read_bytes",
        "wbps": "write_bytes",
    },
    "blkio.throttle.read_iops_device": {"": "read_ios"},
    "blkio.throttle.write_iops_device": {"": "write_ios"},
    "blkio.throttle.read_bps_device": {"": "read_bytes"},
    "blkio.throttle.write_bps_device": {"": "write_bytes"},
}


def read(host: Host, topology: Topology) -> Iterator[IoLimit]:
    """Yield the caps on devices of *topology*."""
    numbers = {device.number: name for name, device in topology.devices.items()}
    for group in islice(cgroup.groups(host, MAX_DEPTH), MAX_GROUPS):
        for name, kinds in FILES.items():
            if name not in group.files:  # the root group has none
                continue
            path = f"{group.path}/{name}"
            owner = f"control group {group.name.lstrip('/') or '/'}"
            for number, caps in parse(attribute(host, path), kinds):
                if number in numbers:
                    yield IoLimit(numbers[number], owner, path, caps)
    yield from _domains(host, topology)


class _Counted(NamedTuple):
    """The counters of a control group on one device, and the seconds in which its tasks waited for I/O."""

    counters: CgroupCounters
    stalled: float | None


class CapMeter:
    """
    The caps in force, and what the control groups with a cap did in each interval since they were read.

    *recorded*: *host* is a capture, so the pages of Amazon's disks are there to read, and no disk is opened.
    """

    def __init__(self, host: Host, topology: Topology, *, recorded: bool = False) -> None:
        self._host = host
        self._disks = ebs.of_amazon(topology) if recorded else ()
        self._first = self._last = ebs.read(host, self._disks)
        self._seconds = self._answered = 0.0  # since the first answer: now, and at the last answer
        self._caps = tuple(read(host, topology))
        self._numbers = {name: device.number for name, device in topology.devices.items()}
        self._uses: dict[IoLimit, list[CappedUse]] = {cap: [] for cap in self._caps}
        self._before = self._counted()

    @property
    def limits(self) -> tuple[IoLimit, ...]:
        """The caps, each with the I/O of its owner so far."""
        caps = (cap._replace(uses=tuple(self._uses[cap])) for cap in self._caps)
        return (*caps, *self._exceeded())

    def _exceeded(self) -> Iterator[IoLimit]:
        """Yield the disks that answered again, with the time over their limits in between."""
        for name, last in self._last.items():
            first = self._first.get(name)
            if first is None or not self._answered:
                continue
            over = tuple(
                (limit, now - then)
                for limit, now in last.times.items()
                if now is not None and (then := first.times[limit]) is not None and now >= then
            )
            if over:
                yield IoLimit(name, "Amazon", ebs.SOURCE, (), (), over, self._answered)

    def over(self, intervals: Iterable[Interval]) -> Iterator[Interval]:
        """Yield *intervals*, which are measured meanwhile, and count in each."""
        for interval in intervals:
            self.count(interval.seconds)
            yield interval

    def count(self, seconds: float | None) -> None:
        """Count what the groups did since the last call, in *seconds*; read the disks' pages again."""
        self._seconds += seconds or 0.0
        if (pages := ebs.read(self._host, self._disks)) != self._last:
            self._last, self._answered = pages, self._seconds
        before, self._before = self._before, self._counted()
        for cap, now in self._before.items():
            then = before.get(cap)
            if then is None or not seconds:
                continue
            grown = [b - a for a, b in zip(then.counters, now.counters, strict=True)]
            if min(grown) >= 0:
                done = dict(zip(COUNTED, (amount / seconds for amount in grown), strict=True))
                stalled = plus(now.stalled, None if then.stalled is None else -then.stalled)
                self._uses[cap].append(CappedUse(done, ratio(stalled, seconds)))

    def _counted(self) -> dict[IoLimit, _Counted]:
        counted = {}
        for cap in self._caps:
            path = cap.source.rpartition("/")[0]
            with suppress(SourceError):  # a VM has no such files
                counters = cgroup.counters_at(self._host, path)
                # No line: no I/O yet.
                own = counters.get(self._numbers.get(cap.device, ""), CgroupCounters())
                counted[cap] = _Counted(own, pressure.read_group(self._host, path))
        return counted


# What a control group's counters are, by kind of cap and in their order.
COUNTED = ("read_ios", "read_bytes", "write_ios", "write_bytes")


def parse(text: str, kinds: Mapping[str, str]) -> Iterator[DeviceCaps]:
    """
    Yield device number and caps of each line with caps; *kinds*: what each key caps.

    >>> list(parse("254:3 rbps=max wiops=200", FILES["io.max"]))
    [('254:3', (('write_ios', 200.0),))]
    """
    for number, values in cgroup.numbers_by_device(text).items():
        caps = tuple((kinds[key], float(value)) for key, value in values.items() if key in kinds)
        if caps:
            yield number, caps


def _domains(host: Host, topology: Topology) -> Iterator[IoLimit]:
    by_path = {f"/dev/{device.title}": name for name, device in topology.devices.items()}
    for domain in guests.domains(host, (guests.RUNNING,)):
        for path, caps in domain.caps.items():
            if path in by_path:
                yield IoLimit(by_path[path], f"VM {domain.name}", domain.source, caps)
