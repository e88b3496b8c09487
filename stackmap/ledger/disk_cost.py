"""What the disks did for a stack, all causes included, per byte and per write at its top."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackmap.ledger.amounts import Amount, Share, Traffic
from stackmap.ledger.causes import Cause
from stackmap.ledger.device_state import is_degraded
from stackmap.ledger.layers import carriers
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device
from stackmap.model.load import plus, ratio, total_of

ByCause = Mapping[tuple[Cause, str], Traffic]  # by cause and direction
Bounds = tuple[Amount, Amount]

# Reads that writes cause. Other reads beyond the data's own may belong to either direction.
READ_FOR_WRITES = frozenset({Cause.PARITY_READ, Cause.COPY_ON_WRITE})


class DiskCost(NamedTuple):
    """
    Everything that the disks did for a stack, but discards; figures are None if unknown.

    ``bytes``, ``requests``: read and written, and completed, per second.
    ``bytes_per_byte``: bytes per byte read or written at the top, ``low`` and
    ``high`` its bounds, None where it is exact. ``causes``: the same by cause; None
    where counters do not tell a cause from another. ``written_causes``: the same per
    byte written at the top, without the data that was read; {} where nothing was
    written; ``written_low`` and ``written_high`` bound their sum. ``estimated``: whether these are estimates. ``requests_per_write``: by
    cause, requests completed per write at the top: all writes, and reads that
    writes caused.
    """

    bytes: float | None = None
    requests: float | None = None
    bytes_per_byte: float | None = None
    low: float | None = None
    high: float | None = None
    causes: Mapping[Cause, float | None] = MappingProxyType({})
    written_causes: Mapping[Cause, float | None] = MappingProxyType({})
    estimated: bool = False
    requests_per_write: Mapping[Cause, float | None] = MappingProxyType({})
    written_low: float | None = None
    written_high: float | None = None

    @property
    def bytes_per_byte_written(self) -> float | None:
        """The sum of ``written_causes``."""
        return _total(self.written_causes)

    @property
    def all_requests_per_write(self) -> float | None:
        """The sum of ``requests_per_write``."""
        return _total(self.requests_per_write)


def disk_cost(ledger: Ledger, top: str) -> DiskCost:
    """Return the I/O of the disks for the stack of *top*; no ratios where it moved no bytes."""
    owned = ledger.shares(top)
    head = owned[top]
    by_cause = {
        (cause, direction): traffic
        for (cause, direction), traffic in ledger.disk_traffic_by_cause(top).items()
        if direction != "discard"
    }
    whole = total_of(traffic.bytes for traffic in by_cause.values())
    requests = total_of(traffic.ios for traffic in by_cause.values())
    shared = any(share.undivided for share in owned.values())
    at_disks = ledger.share(top, _disks(ledger, top))
    low, high = _bounds(at_disks.total.bounds, by_cause) if shared else (Amount(), Amount())
    caused = _for_writes(at_disks)
    least, most = _bounds(caused, by_cause) if shared else (Amount(), Amount())
    degraded = any(map(_reads_for_missing, map(ledger.topology.__getitem__, owned)))
    for_writes = {key: traffic for key, traffic in by_cause.items() if key != (Cause.DATA, "read")}
    return DiskCost(
        whole,
        requests,
        ratio(whole, head.total.bytes),
        ratio(low.bytes, head.total.bytes),
        ratio(high.bytes, head.total.bytes),
        _by_cause(by_cause, head.total.bytes),
        _by_cause(for_writes, head.write.bytes),
        shared or degraded or at_disks.total.is_range or ledger.has_estimated_causes(top),
        _requests(by_cause, head.write.ios),
        ratio(least.bytes, head.write.bytes),
        ratio(most.bytes, head.write.bytes),
    )


def _by_cause(by_cause: ByCause, moved: float | None) -> dict[Cause, float | None]:
    """Return the bytes of each cause per byte *moved* at the top; {} where that is 0 or unknown."""
    causes: dict[Cause, float | None] = {}
    for (cause, direction), traffic in by_cause.items():
        seen = traffic.bytes != 0 or traffic.is_range or (cause is Cause.FLUSH and traffic.arrivals)
        if moved and seen:
            # One sum of reads and writes, or a range from 0, does not tell this cause from others.
            untold = direction == "total" or (traffic.bytes == 0 and traffic.is_range)
            part = None if untold else ratio(traffic.bytes, moved)
            causes[cause] = plus(causes.get(cause, 0.0), part)
    return {cause: causes[cause] for cause in Cause if cause in causes}


def _total(parts: Mapping[Cause, float | None]) -> float | None:
    """Return the sum of *parts*; None where there are none, or one is unknown."""
    return total_of(parts.values()) if parts else None


def _for_writes(at_disks: Share) -> Bounds:
    """Return the bounds of what a volume's writes caused at the disks, reads included."""
    (least, most), (least_read, most_read) = at_disks.write.bounds, at_disks.read.bounds
    # Reads beyond those that the volume surely asked for may have been made for its writes.
    return least, most + most_read.beyond(least_read)


def _bounds(at_disks: Bounds, by_cause: ByCause) -> Bounds:
    """Return the bounds of a volume's part of a shared pool, metadata included."""
    low, high = at_disks
    for (cause, _), traffic in by_cause.items():
        if cause is Cause.METADATA:
            least, most = traffic.bounds
            low, high = low + least, high + most
    return low, high


def _disks(ledger: Ledger, top: str) -> list[str]:
    topology, data = ledger.topology, carriers(ledger.topology, top)
    stack = topology.with_all_below(top)  # in this order, as sums depend on it
    return [name for name in stack if name in data and not topology.below(name)]


def _reads_for_missing(device: Device) -> bool:
    """Whether parity reads of *device* also replace a missing member, so that their split is an estimate."""
    return device.layout is not None and device.layout.parity > 0 and is_degraded(device)


def _requests(by_cause: ByCause, written: float | None) -> dict[Cause, float | None]:
    """Return the requests per write by cause; {} where nothing was *written*."""
    total: dict[Cause, float | None] = {}
    for (cause, direction), traffic in by_cause.items():
        wanted = direction == "write" or (direction == "read" and cause in READ_FOR_WRITES)
        if wanted and written and traffic.ios != 0:
            total[cause] = plus(total.get(cause, 0.0), ratio(traffic.ios, written))
    return total
