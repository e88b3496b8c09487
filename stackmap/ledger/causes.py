"""Why traffic happens: by the role of an edge, and by the device that makes requests of its own."""

from enum import StrEnum

from stackmap.ledger.device_state import is_degraded, is_working
from stackmap.ledger.member_writes import has_bitmap
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import target_of
from stackmap.model.far_side import by_name
from stackmap.model.raid import PAGE
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


# Bytes that DRBD writes to its activity log per write, which may lie in two extents.
MOST_LOGGED = 2 * PAGE


def cause_of_extra(
    device: Device, direction: str, *, reads: bool = False, per_write: float | None = None
) -> Cause:
    """
    Return the cause of the I/O of *device* below that its layout does not need; *reads*: it was read.

    *per_write*: bytes of this I/O per write of its own, None without one.
    """
    if is_working(device):
        return Cause.RESYNC
    if device.layout is not None and device.layout.parity:
        if direction == "read" and reads and is_degraded(device):
            return Cause.DEGRADED
        return Cause.PARITY_READ if direction == "read" else Cause.PARITY
    if has_bitmap(device) and direction == "write":
        return Cause.BITMAP
    if by_name(device.name) == "drbd" and direction == "write":
        is_log = per_write is not None and per_write <= MOST_LOGGED
        return Cause.METADATA if is_log else Cause.OTHER  # its peer's writes
    if device.kind is Kind.BCACHE:
        return Cause.CACHE
    return Cause(target_of(device).extra or Cause.OTHER)
