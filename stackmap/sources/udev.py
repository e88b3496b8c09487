"""udev's record of a device, and the signature on it."""

from __future__ import annotations

from stackmap.errors import SourceError
from stackmap.host import Host


def properties(host: Host, number: str) -> dict[str, str]:
    """Return udev's properties of device *number*, {} without any or without permission."""
    try:
        return host.udev(number)
    except SourceError:
        return {}


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
