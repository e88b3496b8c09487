"""What sysfs tells of any block device, whatever its kind."""

from __future__ import annotations

from typing import TypedDict

from stackmap.discover.scan import Scan
from stackmap.sources import sysfs
from stackmap.sources.sysfs import Block


class CommonFields(TypedDict):
    """The fields of ``Device`` that every kind has."""

    name: str
    number: str
    size: int
    diskseq: str
    read_only: bool
    queue: dict[str, str]
    rotational: bool | None


def common_fields(
    seen: Scan,
    block: Block,
    *,
    geometry: bool = False,
    size: int | None = None,
    read_only: bool | None = None,
) -> CommonFields:
    """
    Return the fields of *block* that every kind has; *geometry* where its kind needs it.

    *size* and *read_only* where they are known already.
    """
    # Whether the kernel counts at all is needed of each (KERNEL 1.4, 1.5).
    wanted: tuple[str, ...] = ("iostats",) if seen.counters else ()
    wanted += sysfs.GEOMETRY if geometry or seen.geometry else ()
    wanted += sysfs.SETTINGS if seen.geometry else ()
    queue = sysfs.queue(seen.host, block, wanted) if wanted else {}
    if seen.geometry:
        queue |= sysfs.alignment(seen.host, block)
    rotational = queue.get("rotational")
    return CommonFields(
        name=block.name,
        number=block.number,
        size=sysfs.size(seen.host, block) if size is None else size,
        diskseq=block.diskseq,
        read_only=sysfs.read_only(seen.host, block) if read_only is None else read_only,
        queue=queue,
        rotational=None if rotational is None else rotational == "1",
    )
