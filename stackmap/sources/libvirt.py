"""
libvirt's domains: ``/run/libvirt/qemu`` has the running ones, ``/etc/libvirt/qemu`` all. Both need root.

A domain names its disks by path (``<source dev='/dev/vg/lv'/>``). A running domain
is wrapped in its status.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.sources.sysfs import list_names

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

RUNNING = "/run/libvirt/qemu"
FOLDERS = (RUNNING, "/etc/libvirt/qemu")


class Domain(NamedTuple):
    """
    A virtual machine: its name, its disks (devices and files), and the file that says so.

    ``images``: the files among them, and their backing files.
    """

    name: str
    disks: tuple[str, ...]
    source: str
    images: tuple[str, ...] = ()


def read(host: Host) -> Iterator[Domain]:
    """Yield the readable domains, running ones first."""
    for folder in FOLDERS:
        for name in list_names(host, folder):
            if name.endswith(".xml"):
                path = f"{folder}/{name}"
                try:
                    yield parse(host.read(path), path)
                except (SourceError, ValueError):
                    continue


def parse(text: str, source: str) -> Domain:
    """Return the domain in *text*; ``ValueError`` without one."""
    root = xml(text)
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


def xml(text: str) -> "Element":
    """Return the root element of *text*; ``ValueError`` if it is not XML."""
    from xml.etree import ElementTree as ET  # 10 ms, needed only with domains

    try:
        return ET.fromstring(text)  # noqa: S314 - expat limits entity expansion
    except ET.ParseError as error:
        raise ValueError(f"not XML: {error}") from error
