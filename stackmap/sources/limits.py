"""
Caps on I/O: control groups' ``io.max``, ``io.cost`` and ``io.latency``, libvirt's ``<iotune>``, and what disks count.

``io.max`` has one line per device, ``254:3 rbps=max wbps=1048576 riops=max wiops=200``;
version 1 has one file per cap, ``254:3 200``. Both act on bios sent to that device, before any
layer below. libvirt's caps act in QEMU, before the host's kernel sees the I/O.

``io.cost`` (blk-iocost) gives each disk a budget of time by a model of it. ``io.stat`` of the root group has the speed
at which the model runs and the microseconds that all groups used, ``cost.vrate=50.00 cost.usage=1055357``; a budget
that is used up holds bios back before the disk's queue. With ``io.latency`` (blk-iolatency) a group whose requests are
late limits the requests in flight of the others. The kernel shows that only with its parameter
``blk_cgroup.blkcg_debug_stats``: ``depth=2`` in ``io.stat`` of a limited group, ``depth=max`` of others.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.cgroup_io import COST, DEPTH, CappedUse, CgroupCounters, IoLimit
from stackmap.model.health import Exceeded, Health
from stackmap.model.interval import Interval
from stackmap.model.load import plus, ratio
from stackmap.model.topology import Topology
from stackmap.sources import cgroup, ebs, guests, health, pressure
from stackmap.sources.sysfs import attribute

COST_SETTINGS, LATENCY_TARGETS = "io.cost.qos", "io.latency"
_COST = re.compile(
    r"^(\S+) .*\bcost\.vrate=([0-9]{1,9}\.[0-9]{2}) cost\.usage=([0-9]{1,20})", re.MULTILINE
)
_DEPTH = re.compile(r"^(\S+) .*\bdepth=([0-9]{1,9})\b", re.MULTILINE)
MICRO = 1e-6
LOOK = 10.0  # seconds between two looks for new answers of disks, which record asks each minute or less often

Page = Exceeded | Health

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
    groups = [*islice(cgroup.groups(host, MAX_DEPTH), MAX_GROUPS)]
    for group in groups:
        for name, kinds in FILES.items():
            if name not in group.files:  # the root group has none
                continue
            path = f"{group.path}/{name}"
            owner = f"control group {group.name.lstrip('/') or '/'}"
            for number, caps in parse(attribute(host, path), kinds):
                if number in numbers:
                    yield IoLimit(numbers[number], owner, path, caps)
        if COST_SETTINGS in group.files:  # in the root group
            path = f"{group.path}/{COST_SETTINGS}"
            settings = cgroup.numbers_by_device(attribute(host, path))
            for number, values in settings.items():
                if values.get("enable") and number in numbers:
                    yield IoLimit(numbers[number], "all control groups", path, ((COST, 1.0),))
    yield from _latency(host, groups, numbers)
    yield from _domains(host, topology)


def _latency(
    host: Host, groups: Iterable[cgroup.Group], numbers: Mapping[str, str]
) -> Iterator[IoLimit]:
    """Yield the groups whose requests in flight are limited now, for another group that has a target."""
    targets = [f"{g.path}/{LATENCY_TARGETS}" for g in groups if LATENCY_TARGETS in g.files]
    source = next((path for path in targets if attribute(host, path)), "")
    for group in groups if source else ():
        for number, depth in _DEPTH.findall(attribute(host, f"{group.path}/{cgroup.IO_STAT}")):
            if number in numbers:
                owner = f"control group {group.name.lstrip('/') or '/'}"
                yield IoLimit(numbers[number], owner, source, ((DEPTH, float(depth)),))


class _Counted(NamedTuple):
    """What the owner of a cap did so far, by kind of cap, the seconds in which its tasks waited for I/O, and the speed of a model."""

    done: Mapping[str, float]
    stalled: float | None
    speed: float | None = None


class _DiskTimes:
    """
    The seconds that disks count in which they were held back, since the first answer of each.

    *read*: the last answers, by disk.
    """

    def __init__(self, owner: str, source: str, read: Callable[[], Mapping[str, Page]]) -> None:
        self._owner, self._source, self._read = owner, source, read
        self._last: Mapping[str, Page] = {}
        self._first: dict[str, tuple[float, Page]] = {}
        self._answered = 0.0
        self._looked = -LOOK
        self.count(0.0)

    def count(self, seconds: float) -> None:
        """Look for new answers after *seconds* of the measurement, if the last look was long enough before."""
        if seconds - self._looked >= LOOK:
            self.look(seconds)

    def look(self, seconds: float) -> None:
        """Take new answers as given after *seconds* of the measurement."""
        self._looked = seconds
        if (pages := self._read()) != self._last:
            self._last, self._answered = pages, seconds
            for name, page in pages.items():
                self._first.setdefault(name, (seconds, page))

    @property
    def limits(self) -> Iterator[IoLimit]:
        """The disks that answered again, with the seconds in between."""
        for name, last in self._last.items():
            began, first = self._first[name]
            over = tuple(
                (limit, now - then)
                for limit, now in last.times.items()
                if now is not None and (then := first.times[limit]) is not None and now >= then
            )
            if over and self._answered > began:
                watched = self._answered - began
                yield IoLimit(name, self._owner, self._source, (), (), over, watched)


class CapMeter:
    """
    The caps in force, and what the control groups with a cap did in each interval since they were read.

    *recorded*: *host* is a capture, so the pages of Amazon's disks are there to read, and no disk is opened.
    """

    def __init__(self, host: Host, topology: Topology, *, recorded: bool = False) -> None:
        self._host = host
        self._disks: tuple[_DiskTimes, ...] = ()
        if recorded:
            amazons, nvme = ebs.of_amazon(topology), health.of_nvme(topology)
            self._disks = (
                _DiskTimes("Amazon", ebs.SOURCE, partial(ebs.read, host, amazons)),
                _DiskTimes("the disk", health.SOURCE, partial(health.recorded, host, nvme)),
            )
        self._seconds = 0.0
        self._caps = tuple(read(host, topology))
        self._numbers = {name: device.number for name, device in topology.devices.items()}
        self._uses: dict[IoLimit, list[CappedUse]] = {cap: [] for cap in self._caps}
        self._before = self._counted()

    @property
    def limits(self) -> tuple[IoLimit, ...]:
        """The caps, each with the I/O of its owner so far."""
        caps = (cap._replace(uses=tuple(self._uses[cap])) for cap in self._caps)
        return (*caps, *(limit for disks in self._disks for limit in disks.limits))

    def over(self, intervals: Iterable[Interval]) -> Iterator[Interval]:
        """Yield *intervals*, which are measured meanwhile, and count in each."""
        for interval in intervals:
            self.count(interval.seconds)
            yield interval
        for disks in self._disks:  # record asks them once more at its end
            disks.look(self._seconds)

    def count(self, seconds: float | None) -> None:
        """Count what the groups did since the last call, in *seconds*; read the disks' pages again."""
        self._seconds += seconds or 0.0
        for disks in self._disks:
            disks.count(self._seconds)
        before, self._before = self._before, self._counted()
        for cap, now in self._before.items():
            then = before.get(cap)
            if then is None or not seconds:
                continue
            grown = {kind: count - then.done[kind] for kind, count in now.done.items()}
            if min(grown.values()) >= 0:
                done = {kind: amount / seconds for kind, amount in grown.items()}
                stalled = plus(now.stalled, None if then.stalled is None else -then.stalled)
                self._uses[cap].append(CappedUse(done, ratio(stalled, seconds), now.speed))

    def _counted(self) -> dict[IoLimit, _Counted]:
        counted = {}
        for cap in self._caps:
            with suppress(SourceError):  # a VM has no such files
                if (so_far := self._so_far(cap)) is not None:
                    counted[cap] = so_far
        return counted

    def _so_far(self, cap: IoLimit) -> _Counted | None:
        path, number = cap.source.rpartition("/")[0], self._numbers.get(cap.device, "")
        ((kind, _), *_) = cap.caps
        if kind == DEPTH:
            return None
        stalled = pressure.read_group(self._host, path)
        if kind == COST:
            lines = _COST.findall(self._host.read(f"{path}/{cgroup.IO_STAT}"))
            own = ((speed, used) for of, speed, used in lines if of == number)
            speed, used = next(own, ("", ""))
            return (
                _Counted({COST: int(used) * MICRO}, stalled, float(speed) / 100) if used else None
            )
        # No line: no I/O yet.
        counters = cgroup.counters_at(self._host, path).get(number, CgroupCounters())
        return _Counted(dict(zip(COUNTED, counters, strict=True)), stalled)


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
