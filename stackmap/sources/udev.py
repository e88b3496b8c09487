r"""
udev's record of a disk: model, serial, WWN, and the signature on it.

In the ``_ENC`` properties special characters are ``\xNN``; in the others they
are underscores. So the former are preferred.
"""

from __future__ import annotations

from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.sources.lvm_names import unmangle

# Properties with a serial, in lsblk's order: SCSI's is printed on the disk, ID_SERIAL_SHORT may be a WWN.
SERIALS = ("SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL", "ID_SERIAL_SHORT")


class Identity(NamedTuple):
    """Model, serial and WWN of a disk; "" if unknown."""

    model: str = ""
    serial: str = ""
    wwn: str = ""


def properties(host: Host, number: str) -> dict[str, str]:
    """Return udev's properties of device *number*, {} without any or without permission."""
    try:
        return host.udev(number)
    except SourceError:
        return {}


def identity(record: dict[str, str]) -> Identity:
    """Return model, serial and WWN from udev's properties."""
    model = unmangle(record.get("ID_MODEL_ENC", "")) or record.get("ID_MODEL", "")
    return Identity(
        model=model.strip(),
        serial=next((record[key] for key in SERIALS if record.get(key)), ""),
        wwn=record.get("ID_WWN_WITH_EXTENSION") or record.get("ID_WWN") or "",
    )


def content(record: dict[str, str], *, partition: bool) -> str | None:
    """
    Return the file system or partition table on a device; "" if there is none that udev knows.

    None if udev has no record. A *partition* has its disk's table among its properties.

    >>> content({"DEVTYPE": "disk", "ID_PART_TABLE_TYPE": "gpt"}, partition=False)
    'gpt'
    """
    if not record:
        return None
    table = "" if partition else record.get("ID_PART_TABLE_TYPE", "")
    return record.get("ID_FS_TYPE") or table
