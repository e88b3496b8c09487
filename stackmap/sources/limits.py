"""
Caps on I/O: control groups' ``io.max`` and libvirt's ``<iotune>``.

``io.max`` has one line per device, ``254:3 rbps=max wbps=1048576 riops=max wiops=200``;
version 1 has one file per cap, ``254:3 200``. Both act on bios sent to that device, before any
layer below. libvirt's caps act in QEMU, before the host's kernel sees the I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.cgroup_io import CappedUse, CgroupCounters, IoLimit
from stackmap.model.interval import Interval
from stackmap.model.load import plus, ratio
from stackmap.model.topology import Topology
from stackmap.sources import cgroup, guests, pressure
from stackmap.sources.sysfs import attribute, list_names

# A device's number or path, and its caps.
DeviceCaps = tuple[str, tuple[tuple[str, float], ...]]

MAX_DEPTH = 6  # levels of groups
MAX_GROUPS = 500
KINDS = {"riops": "read_ios", "wiops": "write_ios", "rbps": "read_bytes", "wbps": "write_bytes"}
IOTUNE = {
    f"{direction}_{unit}_sec": f"{direction}_{ours}"
    for direction in ("read", "write", "total")
    for unit, ours in (("iops", "ios"), ("bytes", "bytes"))
}


def read(host: Host, topology: Topology) -> Iterator[IoLimit]:
    """Yield the caps on devices of *topology*."""
    numbers = {device.number: name for name, device in topology.devices.items()}
    for group in islice(cgroup.groups(host, MAX_DEPTH), MAX_GROUPS):
        for name, parsed in FILES.items():
            if name not in group.files:  # the root group has none
                continue
            path = f"{group.path}/{name}"
            owner = f"control group {group.name.lstrip('/') or '/'}"
            for number, caps in parsed(attribute(host, path)):
                if number in numbers:
                    yield IoLimit(numbers[number], owner, path, caps)
    yield from _domains(host, topology)


class _Counted(NamedTuple):
    """The counters of a control group on one device, and the seconds in which its tasks waited for I/O."""

    counters: CgroupCounters
    stalled: float | None


class CapMeter:
    """The caps in force, and what the control groups with a cap did in each interval since they were read."""

    def __init__(self, host: Host, topology: Topology) -> None:
        self._host = host
        self._caps = tuple(read(host, topology))
        self._numbers = {name: device.number for name, device in topology.devices.items()}
        self._uses: dict[IoLimit, list[CappedUse]] = {cap: [] for cap in self._caps}
        self._before = self._counted()

    @property
    def limits(self) -> tuple[IoLimit, ...]:
        """The caps, each with the I/O of its owner so far."""
        return tuple(cap._replace(uses=tuple(self._uses[cap])) for cap in self._caps)

    def over(self, intervals: Iterable[Interval]) -> Iterator[Interval]:
        """Yield *intervals*, which are measured meanwhile, and count in each."""
        for interval in intervals:
            self.count(interval.seconds)
            yield interval

    def count(self, seconds: float | None) -> None:
        """Count what the groups did since the last call, in *seconds*."""
        before, self._before = self._before, self._counted()
        for cap, now in self._before.items():
            then = before.get(cap)
            if then is None or not seconds:
                continue
            grown = [b - a for a, b in zip(then.counters, now.counters, strict=True)]
            if min(grown) >= 0:
                done = dict(zip(COUNTED, (each / seconds for each in grown), strict=True))
                stalled = plus(now.stalled, None if then.stalled is None else -then.stalled)
                self._uses[cap].append(CappedUse(done, ratio(stalled, seconds)))

    def _counted(self) -> dict[IoLimit, _Counted]:
        found = {}
        for cap in self._caps:
            path = cap.source.rpartition("/")[0]
            counters = _counters(self._host, path, self._numbers.get(cap.device, ""))
            if counters is not None and not cap.source.endswith(".xml"):
                found[cap] = _Counted(counters, pressure.read_group(self._host, path))
        return found


# What a control group's counters are, by kind of cap and in their order.
COUNTED = ("read_ios", "read_bytes", "write_ios", "write_bytes")


def _counters(host: Host, path: str, number: str) -> CgroupCounters | None:
    """Return the counters of the group at *path* with its subgroups; None if unknown. No line is no I/O yet."""
    try:
        if path.startswith(f"{cgroup.ROOT}/blkio"):
            texts = (host.read(f"{path}/{name}") for name in (cgroup.REQUESTS, cgroup.BYTES))
            return cgroup.parse_v1(*texts).get(number, CgroupCounters())
        return cgroup.parse(host.read(f"{path}/{cgroup.IO_STAT}")).get(number, CgroupCounters())
    except SourceError:
        return None


def parse(text: str) -> Iterator[DeviceCaps]:
    """
    Yield device number and caps of each line with caps.

    >>> list(parse("254:3 rbps=max wiops=200"))
    [('254:3', (('write_ios', 200.0),))]
    """
    for line in text.splitlines():
        number, *words = line.split()
        pairs = (word.partition("=") for word in words)
        caps = tuple(
            (KINDS[key], float(value))
            for key, _, value in pairs
            if key in KINDS and value.isdecimal()
        )
        if caps:
            yield number, caps


def parse_v1(cap: str, text: str) -> Iterator[DeviceCaps]:
    """
    Yield the same from a file of version 1, which holds only *cap*.

    >>> list(parse_v1("write_ios", "254:3 200"))
    [('254:3', (('write_ios', 200.0),))]
    """
    for line in text.splitlines():
        number, _, value = line.partition(" ")
        if value.isdecimal():
            yield number, ((cap, float(value)),)


def parse_domain(text: str) -> Iterator[DeviceCaps]:
    """Yield path and caps of each disk with an ``<iotune>`` in a domain's XML; nothing if it is not XML."""
    try:
        root = guests.xml(text)
    except ValueError:
        return
    for disk in root.iter("disk"):
        source, tune = disk.find("source"), disk.find("iotune")
        if source is None or tune is None:
            continue
        caps = tuple(
            (IOTUNE[each.tag], float(each.text or 0))
            for each in tune
            if each.tag in IOTUNE and (each.text or "").isdecimal() and each.text != "0"
        )
        if caps and (path := source.get("dev")):
            yield path, caps


def _domains(host: Host, topology: Topology) -> Iterator[IoLimit]:
    by_path = {f"/dev/{device.title}": name for name, device in topology.devices.items()}
    for name in list_names(host, guests.RUNNING):
        if name.endswith(".xml"):
            path = f"{guests.RUNNING}/{name}"
            for dev, caps in parse_domain(attribute(host, path)):
                if dev in by_path:
                    yield IoLimit(by_path[dev], f"VM {name.removesuffix('.xml')}", path, caps)


# The files of a control group with caps.
FILES: Mapping[str, Callable[[str], Iterator[DeviceCaps]]] = {
    "io.max": parse,
    **{
        f"blkio.throttle.{file}_device": partial(parse_v1, cap)
        for file, cap in (
            ("read_iops", "read_ios"),
            ("write_iops", "write_ios"),
            ("read_bps", "read_bytes"),
            ("write_bps", "write_bytes"),
        )
    },
}
