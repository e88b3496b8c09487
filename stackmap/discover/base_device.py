"""The fields that sysfs provides for every block device."""

from __future__ import annotations

from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind
from stackmap.sources import sysfs
from stackmap.sources.sysfs import Block


def base_device(
    scan: Scan,
    block: Block,
    kind: Kind,
    *,
    geometry: bool = False,
    size: int | None = None,
    read_only: bool | None = None,
) -> Device:
    """
    Return the device with the fields that every kind has; *geometry*: its kind needs the queue limits.

    *size* and *read_only*: if already known.
    """
    # ``iostats``: whether the kernel counts this device at all; on dm-raid also whether it counts twice.
    wanted: tuple[str, ...] = ("iostats",) if scan.counters else ()
    wanted += sysfs.GEOMETRY if geometry or scan.geometry else ()
    wanted += sysfs.SETTINGS if scan.geometry else ()
    queue = sysfs.queue(scan.host, block, wanted) if wanted else {}
    if scan.geometry:
        queue |= sysfs.alignment(scan.host, block)
    rotational = queue.get("rotational")
    return Device(
        name=block.name,
        kind=kind,
        number=block.number,
        size=sysfs.size(scan.host, block) if size is None else size,
        diskseq=block.diskseq,
        read_only=sysfs.read_only(scan.host, block) if read_only is None else read_only,
        queue=queue,
        rotational=None if rotational is None else rotational == "1",
    )
