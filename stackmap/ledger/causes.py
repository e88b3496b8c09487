"""Why traffic happens: by the role of an edge, and by the device that makes requests of its own."""

from __future__ import annotations

from enum import StrEnum

from stackmap.ledger.device_state import is_degraded, is_working
from stackmap.ledger.member_writes import has_bitmap
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import target_of
from stackmap.model.far_side import by_name
from stackmap.model.topology import Edge


class Cause(StrEnum):
    """Why traffic happens."""

    DATA = "data"  # what was asked for at the top, each copy of it included
    PARITY = "parity"  # parity written
    PARITY_READ = "parity_read"  # read to compute parity
    DEGRADED = "degraded"  # read in place of a missing member; with writes, parity reads too
    BITMAP = "bitmap"  # a RAID array's bitmap; in an rmeta sub-LV its superblock too
    JOURNAL = "journal"
    INTEGRITY = "integrity"  # checksums and their journal
    METADATA = "metadata"  # of thin pools, caches and others
    COPY_ON_WRITE = "cow"
    ZEROING = "zeroing"  # of new blocks of a thin pool
    CACHE = "cache"  # promotions and write-back
    FLUSH = "flush"  # empty flushes below arrays and pools: requests without bytes
    RESYNC = "resync"  # resync, check, reshape, merge; on arrays with parity, parity too
    OTHER = "other"  # more bytes than the layout explains


BY_ROLE = {Role.JOURNAL: Cause.JOURNAL, Role.COW: Cause.COPY_ON_WRITE}


def cause_of_edge(above: Device, edge: Edge) -> Cause | None:
    """Return the cause of all traffic down *edge*; None where it carries the data of the device *above*."""
    if edge.role is not Role.METADATA:
        return BY_ROLE.get(edge.role)
    if above.target == "integrity":
        return Cause.INTEGRITY
    return Cause.BITMAP if above.layout is not None else Cause.METADATA


def cause_of_extra(
    device: Device, direction: str, *, reads: bool = False, fits_log: bool = True
) -> Cause:
    """
    Return the cause of the I/O of *device* below that its layout does not need; *reads*: it was read.

    *fits_log*: no more than an activity log of DRBD can be; the rest is what its peer wrote.
    """
    if is_working(device):
        return Cause.RESYNC
    if device.layout is not None and device.layout.parity:
        if direction == "read" and reads and is_degraded(device):
            return Cause.DEGRADED
        return Cause.PARITY_READ if direction == "read" else Cause.PARITY
    if has_bitmap(device) and direction == "write":
        return Cause.BITMAP
    if by_name(device.name) == "drbd" and direction == "write" and fits_log:
        return Cause.METADATA
    return (
        Cause.CACHE if device.kind is Kind.BCACHE else Cause(target_of(device).extra or Cause.OTHER)
    )
