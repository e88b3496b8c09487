"""Virtual machines and storage daemons that use whole devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackmap.discover.dev_paths import device_at
from stackmap.discover.scan import Scan
from stackmap.errors import SourceError
from stackmap.model.device import Use
from stackmap.sources import libvirt, lvm_tags, proxmox
from stackmap.sources.sysfs import attribute, names_in

# Where the process of each virtual machine is told, by the machine's name or number.
PID_FILES = ("/run/libvirt/qemu", "/run/qemu-server")

CEPH = "/var/lib/ceph"
UNNUMBERED = Use("ceph", "[Ceph OSD]", "LV name")
_OSD_VOLUME = re.compile(r"osd-(?:block|db|wal)-.+")


def domains(seen: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the disks of libvirt's domains."""
    for domain in libvirt.read(seen.host):
        for path in domain.disks:
            if device := device_at(seen, path):
                yield device, Use("vm", domain.name, domain.source)


def proxmox_guests(seen: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the disks of Proxmox' guests: by LV names, which any user may read."""
    for device, mapped in seen.mapped.items():
        number = proxmox.guest_number(mapped.lv.lv) if mapped.lv else ""
        if number:
            name, source = proxmox.guest_name(seen.host, number)
            yield device, Use("vm", name or number, source or "LV name")


def open_files(seen: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the devices that the process of a virtual machine holds open; root alone may look."""
    for folder in PID_FILES:
        for entry in names_in(seen.host, folder):
            if entry.endswith(".pid"):
                pid = attribute(seen.host, f"{folder}/{entry}")
                for path in _open_files(seen, pid) if pid.isdecimal() else ():
                    if device := device_at(seen, path):
                        name = entry.removesuffix(".pid")
                        yield device, Use("vm", _guest_name(seen, name), f"/proc/{pid}/fd")


def ceph(seen: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the devices of Ceph's OSDs: by number where root may look, else by LV names."""
    numbered = set()
    for path, number in _osd_links(seen):
        device = device_at(seen, _link(seen, path))
        if device:
            numbered.add(device)
            yield device, Use("ceph", f"osd.{number}", path)
    rest = [
        (device, mapped.label)
        for device, mapped in seen.mapped.items()
        if mapped.lv and device not in numbered and _OSD_VOLUME.fullmatch(mapped.lv.lv)
    ]
    tags = lvm_tags.read(seen.host) if rest else {}
    for device, label in rest:
        number = tags.get(label, {}).get("ceph.osd_id", "")
        yield device, Use("ceph", f"osd.{number}", "LV tag") if number else UNNUMBERED


def _osd_links(seen: Scan) -> Iterator[tuple[str, str]]:
    """Yield the links to the devices of OSDs, with the OSD's number: ceph-volume's and cephadm's."""
    folders = [(f"{CEPH}/osd", "ceph-")]
    folders += [(f"{CEPH}/{name}", "osd.") for name in names_in(seen.host, CEPH) if "-" in name]
    for folder, start in folders:
        for entry in names_in(seen.host, folder):
            number = entry.removeprefix(start)
            if entry.startswith(start) and number.isdecimal():
                for part in ("block", "block.db", "block.wal"):
                    yield f"{folder}/{entry}/{part}", number


def _open_files(seen: Scan, pid: str) -> Iterator[str]:
    folder = f"/proc/{pid}/fd"
    for number in names_in(seen.host, folder):
        yield _link(seen, f"{folder}/{number}")


def _guest_name(seen: Scan, name: str) -> str:
    """Return a guest's name; Proxmox' files bear its number."""
    return proxmox.guest_name(seen.host, name)[0] or name if name.isdecimal() else name


def _link(seen: Scan, path: str) -> str:
    try:
        return seen.host.link(path)
    except SourceError:
        return ""
