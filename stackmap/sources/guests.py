"""
Virtual machines: libvirt's domains and Proxmox VE's guests.

``/run/libvirt/qemu`` has libvirt's running domains, ``/etc/libvirt/qemu`` all. A domain names its disks by
path (``<source dev='/dev/vg/lv'/>``); a running domain is wrapped in its status. Proxmox names the LVs of
guests ("vm-100-disk-0"); ``/etc/pve/qemu-server/100.conf`` and ``/etc/pve/lxc/100.conf`` hold lines of
``key: value``, with snapshots after a line in brackets. All of these files need root.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.sources.sysfs import attribute, list_names

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


RUNNING = "/run/libvirt/qemu"
DOMAIN_FOLDERS = (RUNNING, "/etc/libvirt/qemu")


# Elements of ``<iotune>``, and what they cap.
IOTUNE = {
    f"{direction}_{unit}_sec": f"{direction}_{ours}"
    for direction in ("read", "write", "total")
    for unit, ours in (("iops", "ios"), ("bytes", "bytes"))
}


class Domain(NamedTuple):
    """
    A virtual machine: its name, its disks (devices and files), and the file that says so.

    ``images``: the files among them, and their backing files. ``caps``: by device, what is capped and to what
    per second.
    """

    name: str
    disks: tuple[str, ...]
    source: str
    images: tuple[str, ...] = ()
    caps: Mapping[str, tuple[tuple[str, float], ...]] = {}


def domains(host: Host, folders: Iterable[str] = DOMAIN_FOLDERS) -> Iterator[Domain]:
    """Yield the readable domains, running ones first."""
    for folder in folders:
        for name in list_names(host, folder):
            if name.endswith(".xml"):
                path = f"{folder}/{name}"
                try:
                    yield parse_domain(host.read(path), path)
                except (SourceError, ValueError):
                    continue


def parse_domain(text: str, source: str) -> Domain:
    """Return the domain in *text*; ``ValueError`` without one."""
    root = _xml(text)
    domain = root if root.tag == "domain" else root.find("domain")
    if domain is None:
        raise ValueError(f"{source}: no domain in it")
    sources = domain.findall("devices/disk/source")
    paths = (element.get("dev") or element.get("file") for element in sources)
    images = (element.get("file") for element in domain.findall("devices/disk//source"))
    return Domain(
        domain.findtext("name") or "",
        tuple(filter(None, paths)),
        source,
        tuple(filter(None, images)),
        {path: caps for disk in domain.iter("disk") for path, caps in _caps(disk)},
    )


def _caps(disk: "Element") -> Iterator[tuple[str, tuple[tuple[str, float], ...]]]:
    """Yield the path and the caps of a device with ``<iotune>``; 0 is no cap."""
    caps = tuple(
        (IOTUNE[cap.tag], float(cap.text))
        for cap in disk.findall("iotune/*")
        if cap.tag in IOTUNE and cap.text and cap.text.isdecimal() and cap.text != "0"
    )
    source = disk.find("source")
    path = None if source is None else source.get("dev")
    if caps and path:
        yield path, caps


def _xml(text: str) -> "Element":
    """Return the root element of *text*; ``ValueError`` if it is not XML."""
    from xml.etree import ElementTree as ET  # 10 ms, needed only with domains

    try:
        return ET.fromstring(text)  # noqa: S314 - expat limits entity expansion
    except ET.ParseError as error:
        raise ValueError(f"not XML: {error}") from error


_GUEST_KINDS = ("vm", "base", "subvol")

# Directories of guest configurations, and the key of the guest's name.
GUEST_FOLDERS = {"/etc/pve/qemu-server": "name", "/etc/pve/lxc": "hostname"}


def guest_number(volume: str) -> str:
    """
    Return the number of the guest that the LV *volume* belongs to, "" for none.

    >>> guest_number("vm-100-disk-0"), guest_number("vm-disk1")
    ('100', '')
    """
    kind, _, rest = volume.partition("-")
    number, _, part = rest.partition("-")
    what, _, which = part.partition("-")
    is_disk = what == "disk" and which.isdecimal()
    is_state = what == "state" and which != ""
    is_guest = kind in _GUEST_KINDS and number.isdecimal()
    return number if is_guest and (is_disk or is_state or part == "cloudinit") else ""


def guest_name(host: Host, number: str) -> tuple[str, str]:
    """Return the name of guest *number* and the file that says so, "" and "" if unknown."""
    for folder, key in GUEST_FOLDERS.items():
        path = f"{folder}/{number}.conf"
        if name := config_value(attribute(host, path), key):
            return name, path
    return "", ""


def config_value(text: str, key: str) -> str:
    """Return the value of *key* before the first snapshot, "" without one."""
    current = text.partition("\n[")[0]
    lines = (line.partition(":") for line in current.splitlines())
    return next((value.strip() for word, _, value in lines if word == key), "")
