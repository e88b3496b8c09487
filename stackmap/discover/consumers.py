"""Virtual machines and storage daemons that use whole devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.discover.scan import Scan
from stackmap.model.device import Use
from stackmap.sources import guests
from stackmap.sources.sysfs import attribute, link, list_names

# Directories with a PID file per virtual machine, named after it or its number.
PID_FILES = ("/run/libvirt/qemu", "/run/qemu-server")

CEPH = "/var/lib/ceph"
UNNUMBERED = Use("ceph", "[Ceph OSD]", "LV name")
OSD_VOLUMES = ("osd-block-", "osd-db-", "osd-wal-")


def domains(scan: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the disks of libvirt's domains."""
    for domain in guests.domains(scan.host):
        for path in domain.disks:
            if device := scan.device_at(path):
                yield device, Use("vm", domain.name, domain.source)


def proxmox_guests(scan: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the disks of Proxmox guests by LV name, which needs no root."""
    for device, mapped in scan.mapped.items():
        number = guests.guest_number(mapped.lv.lv) if mapped.lv else ""
        if number:
            name, source = guests.guest_name(scan.host, number)
            yield device, Use("vm", name or number, source or "LV name")


def open_files(scan: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the devices that a virtual machine's process has open; needs root."""
    for folder in PID_FILES:
        for entry in list_names(scan.host, folder):
            if entry.endswith(".pid"):
                pid = attribute(scan.host, f"{folder}/{entry}")
                files = f"/proc/{pid}/fd"
                for number in list_names(scan.host, files) if pid.isdecimal() else ():
                    if device := scan.device_at(link(scan.host, f"{files}/{number}")):
                        guest = entry.removesuffix(".pid")
                        if guest.isdecimal():  # Proxmox names its files by number
                            guest = guests.guest_name(scan.host, guest)[0] or guest
                        yield device, Use("vm", guest, files)


def ceph(scan: Scan) -> Iterator[tuple[str, Use]]:
    """Yield the devices of Ceph's OSDs: with their numbers as root, else by LV name."""
    numbered = set()
    for path, number in _osd_links(scan):
        device = scan.device_at(link(scan.host, path))
        if device:
            numbered.add(device)
            yield device, Use("ceph", f"osd.{number}", path)
    rest = [
        (device, mapped.label)
        for device, mapped in scan.mapped.items()
        if mapped.lv and device not in numbered and mapped.lv.lv.startswith(OSD_VOLUMES)
    ]
    tags: Mapping[str, Mapping[str, str]] = {}
    if rest:
        from stackmap.sources import lvm_report  # 3 ms, needed only with Ceph's LVs

        tags = lvm_report.read_tags(scan.host)
    for device, label in rest:
        number = tags.get(label, {}).get("ceph.osd_id", "")
        yield device, Use("ceph", f"osd.{number}", "LV tag") if number else UNNUMBERED


def _osd_links(scan: Scan) -> Iterator[tuple[str, str]]:
    """Yield the links to the devices of OSDs, with the OSD's number: ceph-volume's and cephadm's."""
    folders = [(f"{CEPH}/osd", "ceph-")]
    folders += [(f"{CEPH}/{name}", "osd.") for name in list_names(scan.host, CEPH) if "-" in name]
    for folder, start in folders:
        for entry in list_names(scan.host, folder):
            number = entry.removeprefix(start)
            if entry.startswith(start) and number.isdecimal():
                for part in ("block", "block.db", "block.wal"):
                    yield f"{folder}/{entry}/{part}", number
