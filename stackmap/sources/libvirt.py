"""
libvirt's domains: ``/run/libvirt/qemu`` has those that run, ``/etc/libvirt/qemu`` all. Both need root.

A domain names its disks by path (``<source dev='/dev/vg/lv'/>``), a running
one is wrapped in its status.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceError
from stackmap.sources.sysfs import names_in

if TYPE_CHECKING:
    from stackmap.host import Host

FOLDERS = ("/run/libvirt/qemu", "/etc/libvirt/qemu")


class Domain(NamedTuple):
    """
    A virtual machine: its name, the devices and files it has as disks, and where that is said.

    ``images``: the files among them, and those that they are snapshots of.
    """

    name: str
    disks: tuple[str, ...]
    source: str
    images: tuple[str, ...] = ()


def read(host: Host) -> Iterator[Domain]:
    """Yield the domains that may be read, those that run first."""
    for folder in FOLDERS:
        for name in names_in(host, folder):
            if name.endswith(".xml"):
                path = f"{folder}/{name}"
                try:
                    yield parse(host.read(path), path)
                except (SourceError, ValueError):
                    continue


def parse(text: str, source: str) -> Domain:
    """Return the domain in *text*; ``ValueError`` where there is none."""
    from xml.etree import ElementTree as ET  # 10 ms that only a host with domains pays

    try:
        root = ET.fromstring(text)  # noqa: S314 - expat stops at expanding entities
    except ET.ParseError as error:
        raise ValueError(f"{source}: {error}") from error
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
    )
