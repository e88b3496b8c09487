"""
Caps on I/O: control groups' ``io.max`` and libvirt's ``<iotune>``.

``io.max`` has a line a device: ``254:3 rbps=max wbps=1048576 riops=max wiops=200``;
version 1 has a file for each of the four, ``254:3 200``. It acts where bios are sent to that device, before any layer below. libvirt's
acts in QEMU, before the host's kernel sees anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from stackmap.model.io_limit import IoLimit
from stackmap.sources import cgroup
from stackmap.sources.sysfs import attribute, names_in

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.topology import Topology

DeviceCaps = tuple[str, tuple[tuple[str, float], ...]]  # a device's number or path, and its caps

MAX_DEPTH = 6  # levels of groups looked into
MAX_GROUPS = (
    500  # groups looked into: a host with more has its caps set by something that knows them
)
KINDS = {"riops": "read_ios", "wiops": "write_ios", "rbps": "read_bytes", "wbps": "write_bytes"}
IOTUNE = {
    f"{direction}_{unit}_sec": f"{direction}_{ours}"
    for direction in ("read", "write", "total")
    for unit, ours in (("iops", "ios"), ("bytes", "bytes"))
}
DOMAINS = "/run/libvirt/qemu"


def read(host: Host, topology: Topology) -> Iterator[IoLimit]:
    """Yield the caps on devices of *topology*."""
    numbers = {device.number: name for name, device in topology.devices.items()}
    for group in islice(cgroup.groups(host, MAX_DEPTH), MAX_GROUPS):
        for name, parsed in FILES.items():
            if name not in group.files:  # the root's own has none
                continue
            path = f"{group.path}/{name}"
            who = group.name.lstrip("/") or "/"
            for number, caps in parsed(attribute(host, path)):
                if number in numbers:
                    yield IoLimit(numbers[number], f"control group {who}", path, caps)
    yield from _domains(host, topology)


def parse(text: str) -> Iterator[DeviceCaps]:
    """
    Yield device number and caps of each line that has any.

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
    Yield the same of a file of version 1, which tells of *cap* alone.

    >>> list(parse_v1("write_ios", "254:3 200"))
    [('254:3', (('write_ios', 200.0),))]
    """
    for line in text.splitlines():
        number, _, value = line.partition(" ")
        if value.isdecimal():
            yield number, ((cap, float(value)),)


def parse_domain(text: str) -> Iterator[DeviceCaps]:
    """Yield path and caps of each disk in a domain's XML that has an ``<iotune>``; none if it is not XML."""
    from xml.etree import ElementTree as ET  # 10 ms that only a host with domains pays

    try:
        root = ET.fromstring(text)  # noqa: S314 - expat stops at expanding entities
    except ET.ParseError:
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
    for name in names_in(host, DOMAINS):
        if name.endswith(".xml"):
            path = f"{DOMAINS}/{name}"
            for dev, caps in parse_domain(attribute(host, path)):
                if dev in by_path:
                    yield IoLimit(by_path[dev], f"VM {name.removesuffix('.xml')}", path, caps)


# The files of a control group that hold caps.
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
