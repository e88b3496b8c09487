"""
``/sys/block/*/device``: model, serial and WWN of a disk, by what drives it.

SCSI cuts a model to 16 characters, of which ATA disks use more: their full
name is in udev's database. A serial is on VPD page 0x80, behind four bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.sources import udev
from stackmap.sources.sysfs import Block, attribute, names_in
from stackmap.sources.udev import Identity

if TYPE_CHECKING:
    from stackmap.host import Host

_RUNNING = ("running", "live")
_UNPRINTED = "".join(map(chr, range(33)))


def identity(host: Host, block: Block) -> Identity:
    """
    Return what *block* is called by its maker.

    udev, a library and a file a disk, is asked only where it knows more: of
    SCSI disks, and where sysfs has nothing (a partial copy of it).
    """
    path = f"{block.path}/device"
    entries = frozenset(names_in(host, path)) if "device" in block.entries else frozenset()

    def ask(name: str) -> str:
        return " ".join(attribute(host, f"{path}/{name}").split()) if name in entries else ""

    vendor, model = ask("vendor"), ask("model") or ask("name")
    serial = (
        ask("serial")
        or _attribute_if_listed(host, block, "serial")
        or _vpd_serial(host, path, entries)
    )
    scsi = block.name.startswith("sd") and (not serial or vendor == "ATA")
    if scsi or ("device" in block.entries and not entries - {"block"}):
        said = udev.identity(udev.properties(host, block.number))
        model, serial = said.model or model, said.serial or serial
        vendor = "" if said.model else vendor
    return Identity(
        _full_model(vendor, model),
        serial,
        wwn(_attribute_if_listed(host, block, "wwid") or ask("wwid")),
    )


def state(host: Host, block: Block) -> str | None:
    """Return "active", what the driver says instead, or None where it says nothing."""
    if "device" not in block.entries:
        return None
    said = attribute(host, f"{block.path}/device/state")
    return "active" if said in _RUNNING else said or None


def wwn(wwid: str) -> str:
    """
    Return the World Wide Name in a kernel's *wwid*, as udev writes it.

    >>> wwn("naa.5000c500a1b2c3d4")
    '0x5000c500a1b2c3d4'
    """
    return "0x" + wwid.removeprefix("naa.") if wwid.startswith("naa.") else wwid


def _full_model(vendor: str, model: str) -> str:
    """Return both in one, the maker once; virtio's vendor is a number, which says nothing."""
    if vendor.startswith("0x") or model.startswith(vendor):
        return model
    return f"{vendor} {model}".strip()


def _attribute_if_listed(host: Host, block: Block, name: str) -> str:
    return attribute(host, f"{block.path}/{name}") if name in block.entries else ""


def _vpd_serial(host: Host, path: str, entries: frozenset[str]) -> str:
    if "vpd_pg80" not in entries:
        return ""
    # 00 80, two bytes of length, the serial; 80 alone is no UTF-8, so it comes spelled out.
    return attribute(host, f"{path}/vpd_pg80").partition(r"\x80")[2][2:].strip(_UNPRINTED)
