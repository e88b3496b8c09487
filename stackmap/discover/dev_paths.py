"""Devices by their path in /dev."""

from __future__ import annotations

from stackmap.discover.scan import Scan
from stackmap.sources.lvm_names import unmangle

DEV = "/dev/"


def device_at(scan: Scan, path: str) -> str | None:
    """Return the kernel name of the device at *path* (/dev/sda, /dev/mapper/vg-lv, /dev/vg/lv), None if unknown."""
    if not path.startswith(DEV):
        return None
    name = path.removeprefix(DEV)
    if name in scan.blocks:
        return name
    return scan.by_dev_path.get(unmangle(name))
