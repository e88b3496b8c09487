"""
Caps on I/O: control groups' ``io.max`` and libvirt's ``<iotune>``.

``io.max`` has a line a device: ``254:3 rbps=max wbps=1048576 riops=max wiops=200``.
It acts where bios are sent to that device, before any layer below. libvirt's
acts in QEMU, before the host's kernel sees anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from stackmap.model.limit import Limit
from stackmap.sources import cgroup
from stackmap.sources.sysfs import attribute, names_in

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.topology import Topology

DEEPEST = 6  # levels of groups looked into
MOST = 500  # groups looked into: a host with more has its caps set by something that knows them
KINDS = {"riops": "read_ios", "wiops": "write_ios", "rbps": "read_bytes", "wbps": "write_bytes"}
IOTUNE = {
    f"{direction}_{unit}_sec": f"{direction}_{ours}"
    for direction in ("read", "write", "total")
    for unit, ours in (("iops", "ios"), ("bytes", "bytes"))
}
DOMAINS = "/run/libvirt/qemu"


def read(host: Host, topology: Topology) -> Iterator[Limit]:
    """Yield the caps on devices of *topology*."""
    numbers = {device.number: name for name, device in topology.devices.items()}
    for group, names, _ in islice(cgroup.groups(host, DEEPEST), MOST):
        if "io.max" not in names:  # the root's own has none
            continue
        path = cgroup.ROOT + group
        text = attribute(host, f"{path}/io.max")
        who = group.lstrip("/") or "/"
        for number, caps in parse(text):
            if number in numbers:
                yield Limit(numbers[number], f"control group {who}", f"{path}/io.max", caps)
    yield from _domains(host, topology)


def parse(text: str) -> Iterator[tuple[str, tuple[tuple[str, float], ...]]]:
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


def parse_domain(text: str) -> Iterator[tuple[str, tuple[tuple[str, float], ...]]]:
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


def _domains(host: Host, topology: Topology) -> Iterator[Limit]:
    by_path = {f"/dev/{device.title}": name for name, device in topology.devices.items()}
    for name in names_in(host, DOMAINS):
        if name.endswith(".xml"):
            path = f"{DOMAINS}/{name}"
            for dev, caps in parse_domain(attribute(host, path)):
                if dev in by_path:
                    yield Limit(by_path[dev], f"VM {name.removesuffix('.xml')}", path, caps)
