"""What readers learn about a device: the fields that sysfs has for all of them, and the rest."""

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.discover.scan import Scan
from stackmap.model.device import NO_QUEUE, NO_TEXTS, Device, Kind, Queue
from stackmap.model.topology import Edge
from stackmap.sources import sysfs
from stackmap.sources.sysfs import Block


class Discovered(NamedTuple):
    """
    A device, the edges down from it, and the states it reports for devices below.

    ``uncertainties``: sentences with ``{devices}`` for what had to be inferred or
    is unknown; ``device_mapper.unknown`` joins the devices that share one.
    """

    device: Device
    edges: tuple[Edge, ...] = ()
    states: Mapping[str, str] = NO_TEXTS
    uncertainties: tuple[str, ...] = ()


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
    queue = queue_of(scan, block, geometry=geometry)
    return Device(
        name=block.name,
        kind=kind,
        number=block.number,
        size=sysfs.size(scan.host, block) if size is None else size,
        diskseq=block.diskseq,
        read_only=sysfs.read_only(scan.host, block) if read_only is None else read_only,
        queue=queue,
        rotational=queue.rotational,
    )


def queue_of(scan: Scan, block: Block, *, geometry: bool = False) -> Queue:
    """Return the settings of the queue that are wanted; *geometry*: its limits too."""
    wanted: tuple[str, ...] = ("iostats",) if scan.counters else ()
    wanted += sysfs.GEOMETRY if geometry or scan.geometry else ()
    wanted += sysfs.SETTINGS if scan.geometry else ()
    return sysfs.queue(scan.host, block, wanted) if wanted else NO_QUEUE
