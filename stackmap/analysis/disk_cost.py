"""What the disks did for a stack, all causes included, per byte and per write at its top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackmap.analysis.degraded import is_degraded
from stackmap.analysis.traffic.amounts import Traffic
from stackmap.analysis.traffic.ledger import Ledger
from stackmap.analysis.traffic.rows import Cause
from stackmap.model.load import plus, ratio

# Reads that writes cause. Other reads beyond the data's own may belong to either direction.
READ_FOR_WRITES = frozenset({Cause.PARITY_READ, Cause.COPY_ON_WRITE})


@dataclass(frozen=True, slots=True)
class DiskCost:
    """
    Everything that the disks did for a stack; figures are None if unknown.

    ``bytes_per_byte``: bytes that the disks read and wrote per byte read or
    written at the top. ``causes``: the same by cause; they sum to it where all are
    known. ``estimated``: whether a figure is an estimate or a range.
    ``bytes``, ``requests``: the bytes and completed requests per second, all
    directions but discards. ``low``, ``high``: the bounds of ``bytes_per_byte``, None
    where it is exact. ``requests_per_write``: requests that the disks completed
    per write at the top, by cause: all writes, and reads that writes caused.
    """

    bytes_per_byte: float | None = None
    causes: Mapping[Cause, float | None] = field(default_factory=dict)
    estimated: bool = False
    requests_per_write: Mapping[Cause, float | None] = field(default_factory=dict)
    bytes: float | None = None
    requests: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def all_requests_per_write(self) -> float | None:
        """The requests of all causes."""
        found = self.requests_per_write.values()
        return None if not found or None in found else sum(filter(None, found))


def disk_cost(ledger: Ledger, top: str) -> DiskCost:
    """Return what the disks did for the stack of *top*; nothing is known where it moved no bytes."""
    head = ledger.shares(top)[top]
    found = {
        (cause, direction): traffic
        for (cause, direction), traffic in ledger.disk_traffic_by_cause(top).items()
        if direction != "discard"
    }
    whole: float | None = 0.0
    requests: float | None = 0.0
    causes: dict[Cause, float | None] = {}
    for (cause, direction), traffic in found.items():
        whole, requests = plus(whole, traffic.bytes), plus(requests, traffic.ios)
        if traffic.bytes != 0 or traffic.is_range:
            part = None if _untold(direction, traffic) else ratio(traffic.bytes, head.total.bytes)
            causes[cause] = plus(causes.get(cause, 0.0), part)
    return DiskCost(
        ratio(whole, head.total.bytes),
        causes if head.total.bytes else {},
        _is_estimate(ledger, top),
        _requests(found, head.write.ios),
        whole,
        requests,
        *_bounds(ledger, top, found, head.total.bytes),
    )


def _bounds(
    ledger: Ledger,
    top: str,
    found: Mapping[tuple[Cause, str], Traffic],
    moved: float | None,
) -> tuple[float | None, float | None]:
    """Return the bounds of a volume's part of a shared pool, per byte *moved* at the top; None elsewhere."""
    owned = ledger.shares(top)
    if not any(share.undivided for share in owned.values()):
        return None, None
    low, high = ledger.share(top, _disks(ledger, top)).total.bounds
    for (cause, _), traffic in found.items():
        if cause is Cause.METADATA:
            least, most = traffic.bounds
            low, high = low + least, high + most
    return ratio(low.bytes, moved), ratio(high.bytes, moved)


def _disks(ledger: Ledger, top: str) -> list[str]:
    return [name for name in ledger.shares(top) if not ledger.topology.below(name)]


def _is_estimate(ledger: Ledger, top: str) -> bool:
    """Whether the bytes at the disks, or their split, are not exact."""
    topology, owned = ledger.topology, ledger.shares(top)
    lacking = (
        device.layout is not None and device.layout.parity and is_degraded(device)
        for device in map(topology.__getitem__, owned)
    )
    shared = any(share.undivided for share in owned.values())
    return shared or any(lacking) or ledger.share(top, _disks(ledger, top)).total.is_range


def _untold(direction: str, traffic: Traffic) -> bool:
    """Whether the counters do not tell this cause from others: one sum of reads and writes, or a range from 0."""
    return direction == "total" or (traffic.bytes == 0 and traffic.is_range)


def _requests(
    found: Mapping[tuple[Cause, str], Traffic], written: float | None
) -> dict[Cause, float | None]:
    """Return the requests per write by cause; {} where nothing was *written*."""
    total: dict[Cause, float | None] = {}
    for (cause, direction), traffic in found.items():
        wanted = direction == "write" or (direction == "read" and cause in READ_FOR_WRITES)
        if wanted and written and traffic.ios != 0:
            total[cause] = plus(total.get(cause, 0.0), ratio(traffic.ios, written))
    return total
