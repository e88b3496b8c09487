r"""
What udev recorded of a disk: model, serial, WWN, and what it found written there.

Its characters outside of the ordinary stand as ``\xNN`` in the ``_ENC``
forms, underscores in the others; so the former are taken where there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceError
from stackmap.sources.lvm_names import unmangle

if TYPE_CHECKING:
    from stackmap.host import Host


# Where a serial is, lsblk's order: what SCSI says is printed on the disk, ID_SERIAL_SHORT may be its WWN.
SERIALS = ("SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL", "ID_SERIAL_SHORT")


class Identity(NamedTuple):
    """A disk by what is printed on it; "" where nothing is known."""

    model: str = ""
    serial: str = ""
    wwn: str = ""


def properties(host: Host, number: str) -> dict[str, str]:
    """Return udev's properties of the device with *number*, {} where udev has none or may not be asked."""
    try:
        return host.udev(number)
    except SourceError:
        return {}


def identity(said: dict[str, str]) -> Identity:
    """Return model, serial and WWN from udev's properties."""
    model = unmangle(said.get("ID_MODEL_ENC", "")) or said.get("ID_MODEL", "")
    return Identity(
        model=model.strip(),
        serial=next((said[key] for key in SERIALS if said.get(key)), ""),
        wwn=said.get("ID_WWN_WITH_EXTENSION") or said.get("ID_WWN") or "",
    )


def content(said: dict[str, str], *, partition: bool) -> str | None:
    """
    Return what is written on a device: a file system, a table of partitions; "" for nothing that is known.

    None where udev told nothing at all. A *partition* has its disk's table among its properties.

    >>> content({"DEVTYPE": "disk", "ID_PART_TABLE_TYPE": "gpt"}, partition=False)
    'gpt'
    """
    if not said:
        return None
    table = "" if partition else said.get("ID_PART_TABLE_TYPE", "")
    return said.get("ID_FS_TYPE") or table
