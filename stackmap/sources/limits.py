"""
Caps on I/O: control groups' ``io.max`` and libvirt's ``<iotune>``.

``io.max`` has a line a device: ``254:3 rbps=max wbps=1048576 riops=max wiops=200``.
It acts where bios are sent to that device, before any layer below. libvirt's
acts in QEMU, before the host's kernel sees anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stackmap.model.limit import Limit
from stackmap.sources.sysfs import attribute, names_in

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.topology import Topology

CGROUPS = "/sys/fs/cgroup"
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
    for path in _groups(host):
        text = attribute(host, f"{path}/io.max")
        who = path.removeprefix(CGROUPS).lstrip("/") or "/"
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


def _groups(host: Host) -> Iterator[str]:
    """Yield the folders of control groups that may have caps, the root's own has none."""
    todo = [(CGROUPS, 0)]
    seen = 0
    while todo and seen < MOST:
        path, depth = todo.pop()
        seen += 1
        inside = names_in(host, path)
        if "io.max" in inside:
            yield path
        if depth < DEEPEST:
            todo += [
                (f"{path}/{name}", depth + 1) for name in inside if "." not in name or _unit(name)
            ]


def _unit(name: str) -> bool:
    """Whether a name with a dot is a group: systemd's and libvirt's, no interface file."""
    return name.rpartition(".")[2] in ("slice", "service", "scope", "partition", "libvirt-qemu")
