"""The results of a simulation: how long requests took, and the requests that they caused below."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stackmap.features.whatif.disks import Service

# Causes of requests below, beside the operations of the volume: what parity reads, pages of the bitmap, and
# superblocks, which say whether any write is under way.
CAUSED, MARK, SUPERBLOCK = "caused", "bitmap", "superblock"
STUCK = 3600.0  # seconds, beside all that may pass before an end
STAGES = 8  # requests that one of the volume sends a disk, one after the other


class BelowCounts(NamedTuple):
    """
    What requests of the volume caused below, by cause: requests at the ``members``, those that the
    ``disks`` completed, and their ``bytes``. ``parts``: the requests sent to the disks, before merging. ``volume``: the
    volume's requests, ``moved``: their bytes, by operation.
    """

    members: Counter[str]
    disks: Counter[str]
    bytes: Counter[str]
    parts: Counter[str]
    volume: Counter[str]
    moved: Counter[str]

    def since(self, other: "BelowCounts") -> "BelowCounts":
        """Return the counts since *other*."""
        differences = []
        for now, before in zip(self, other, strict=True):
            rest = Counter(now)
            rest.subtract(before)
            differences.append(rest)
        return BelowCounts(*differences)


class Outcome(NamedTuple):
    """
    ``latencies``: seconds by operation, in the order of the ends, as the program sees them. ``seen``: from the arrival
    at the volume, where counters and a trace begin. ``busy``: the share of time in which each disk served, per server.
    ``seconds``: from the first arrival to the last end. ``below``: since the first counted arrival. ``queue``: reads and
    writes in flight while any is. ``settled``: requests per second after the first part of the run, in which a loop fills
    the queues.
    """

    latencies: dict[str, list[float]]
    seen: dict[str, list[float]]
    busy: list[float]
    seconds: float
    below: BelowCounts
    settled: float
    queue: float


class InFlight:
    """Reads and writes in flight at the volume, and how long there was any."""

    def __init__(self) -> None:
        self._count, self._since = 0, 0.0
        self._waited = self._busy = 0.0

    def begin(self, now: float) -> None:
        """Count a request that begins."""
        if not self._count:
            self._since = now
        self._count += 1

    def end(self, now: float, began: float) -> None:
        """Count the end of a request."""
        self._count -= 1
        self._waited += now - began
        if not self._count:
            self._busy += now - self._since

    @property
    def mean(self) -> float:
        """The mean while there was any."""
        return self._waited / self._busy if self._busy else 1.0


def longest_silence(delays: Sequence[float], services: "Iterable[Service]") -> float:
    """Return the seconds in which requests with these *delays* may pass without an end, if each waits for all others."""
    slowest = max((max(*service.read, *service.write, 0.0) for service in services), default=0.0)
    return STUCK + max(delays, default=0.0) + STAGES * slowest * len(delays)
