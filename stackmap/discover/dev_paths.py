"""Which device a path in /dev means."""

from __future__ import annotations

from stackmap.discover.scan import Scan
from stackmap.sources.lvm_names import unmangle

DEV = "/dev/"


def device_at(seen: Scan, path: str) -> str | None:
    """Return the kernel name of the device at *path*: /dev/sda, /dev/mapper/vg-lv or /dev/vg/lv."""
    if not path.startswith(DEV):
        return None
    name = path.removeprefix(DEV)
    if name in seen.blocks:
        return name
    return seen.by_dev_path.get(unmangle(name))
