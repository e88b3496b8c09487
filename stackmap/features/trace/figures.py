"""
What a trace says of a stack: distributions by layer, and row updates of RAID4/5/6 from md's own decisions.

md decides for each row with new data whether to write it full, to reconstruct its parity or to
read-modify-write it. Full rows that follow one another are decided once, as a batch. So rows of fewer
than d pages are counted one by one, and full rows follow from the pages that md wrote:

    full = (pages written - sum n_k (k + p)) / (d + p)

The pages that arrived at the array check it: (sum k n_k + d full) × 4096 ÷ bytes written = 1. What fails a
check is withheld with the reason: a trace has no figures that may be wrong. The requests are counted by a
tracepoint, which is always run; probes may be skipped.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackmap.features.trace import probes
from stackmap.features.trace.record import BOTH, READ, WRITE, Counts, Key, Rows, Trace
from stackmap.ledger.device_state import is_degraded
from stackmap.ledger.layers import Layer, layers
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import Parity, parity_device, parity_of
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import PAGE, Layout
from stackmap.model.reason import Reason
from stackmap.model.topology import Topology

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
NARROW = 0.055  # a bucket this wide or less, as a share of its end, is shown as one value


class Range(NamedTuple):
    """Where a value lies: at least ``low``, below ``high``."""

    low: int
    high: int

    @property
    def exact(self) -> bool:
        """Whether it is one value, or in a bucket so narrow that it is shown as one."""
        return self.high - self.low <= max(1.0, NARROW * self.high)

    @property
    def middle(self) -> float:
        """The value to show of a narrow bucket."""
        return self.low if self.high - self.low == 1 else (self.low + self.high) / 2


class Distribution:
    """
    How often which values occurred.

    >>> found = Distribution({(4096, 4097): 3, (65536, 65537): 1})
    >>> found.count, found.percentile(0.5), found.percentile(0.9), found.total
    (4, Range(low=4096, high=4097), Range(low=65536, high=65537), 77824)
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = dict(sorted(counts.items()))
        self.count = sum(self.counts.values())

    @classmethod
    def merged(cls, parts: Iterable[Counts]) -> "Distribution":
        """Return the distribution of all *parts* together."""
        total: Counter[tuple[int, int]] = Counter()
        for part in parts:
            total.update(part)
        return cls(total)

    def percentile(self, share: float) -> Range | None:
        """Return where the smallest value lies that *share* of all values do not exceed; None without values."""
        passed = 0
        for bucket, count in self.counts.items():
            passed += count
            if passed >= share * self.count:
                return Range(*bucket)
        return None

    @property
    def max(self) -> Range | None:
        """The bucket of the largest value; None without values."""
        return Range(*next(reversed(self.counts))) if self.counts else None

    @property
    def total(self) -> float:
        """The sum of all values, with the middle of each bucket for its values."""
        return sum(Range(*bucket).middle * n for bucket, n in self.counts.items())

    def by_powers(self) -> dict[int, int]:
        """Return the counts by power of two: the exponent of the largest one that a bucket's middle reaches."""
        by_power: Counter[int] = Counter()
        for bucket, count in self.counts.items():
            by_power[max(int(Range(*bucket).middle), 1).bit_length() - 1] += count
        return dict(sorted(by_power.items()))


LOST = 1e-3  # of the requests, or of the bytes written: a trace that lacks more has lost some
# Of the bytes written: rows that lack more do not represent the load, whatever the reason.
FAR = 0.05
# Why there are no rows, and why these cannot be checked. The state of an array is the code of its own reason.
NOT_TRACED = Reason("not-traced", "the row updates were not traced")
JOURNAL = Reason("journal", "it has a journal, which decides when rows are written")
NOTHING_WRITTEN = Reason("nothing-written", "nothing was written")
DEGRADED = Reason(
    "degraded", "the array is degraded, so its members do not hold all that was written"
)
FULL_MAP = Reason("full-map", "there was no room to count all sizes of requests")
PART_PAGES = Reason("part-pages", "some requests do not fill whole 4 KiB pages")


class RowUpdates(NamedTuple):
    """
    Rows by kind; every figure but the self-check is None where ``reason`` (a ``Reason``) says why.

    ``by_pages``: rows by data pages written. ``full_share``: the share of bytes written that full
    rows hold. ``self_check``: 1 where all that was written is accounted for; None where it cannot be
    known, and ``doubt`` says why.
    """

    device: Device
    full: float | None = None
    reconstruct: int | None = None
    read_modify: int | None = None
    by_pages: Mapping[int, float] = MappingProxyType({})
    full_share: float | None = None
    self_check: float | None = None
    reason: str = ""
    doubt: str = ""


def row_updates(topology: Topology, raid: Device, trace: Trace) -> RowUpdates:
    """Return the row updates of the parity array *raid*."""
    layout = raid.layout
    if layout is None or trace.rows is None:
        return RowUpdates(raid, reason=NOT_TRACED)
    if raid.state not in (None, "active") and not is_degraded(raid):
        words = f"its state is {raid.state}: it writes rows of its own"
        return RowUpdates(raid, reason=Reason(raid.state.partition(" ")[0], words))
    edges = topology.below(raid.name)
    if any(edge.role is Role.JOURNAL for edge in edges):
        return RowUpdates(raid, reason=JOURNAL)
    members = [topology[edge.below].number for edge in edges if edge.role is Role.DATA]
    sizes = Distribution(trace.sizes.get((raid.number, WRITE), {}))
    pages = sum(trace.member_bytes.get(number, 0) for number in members) / PAGE
    rows = trace.rows.get(raid.number, {})
    if not pages and not sizes.count:
        return RowUpdates(raid, reason=NOTHING_WRITTEN)
    if probes.QUEUE_EVENT in trace.full:
        return _counted(raid, layout, rows, pages, Distribution({}))._replace(doubt=FULL_MAP)
    updates = _counted(raid, layout, rows, pages, sizes)
    check, largest = updates.self_check, sizes.max.high if sizes.max else 0
    uncertain = largest * _uncertain(trace, raid.number, sizes.count) + LOST * sizes.total
    if check is None or abs(check - 1) * sizes.total <= min(uncertain, FAR * sizes.total):
        return updates
    words = f"they hold {check:.4f} of the bytes written, so rows or requests were not counted"
    return RowUpdates(raid, self_check=check, reason=Reason("self-check", words))


def _uncertain(trace: Trace, number: str, count: int) -> float:
    """
    Return of how many requests one end only may have been counted, of *count* at the device *number*.

    Those in flight at the start and at the end, and those that came while some histograms counted and others did not.
    """
    record = trace.record
    return record.in_flight(number) + count / record.seconds * record.switching


def _counted(
    raid: Device, layout: Layout, rows: Rows, pages: float, sizes: Distribution
) -> RowUpdates:
    data, parity = layout.data, layout.parity
    partial = {key: count for key, count in rows.items() if key[0] < data}
    partial_pages = sum(k * n for (k, _), n in partial.items())
    small = any(low % PAGE for low, _ in sizes.counts)
    if is_degraded(raid):
        full = max(0.0, (sizes.total / PAGE - partial_pages) / data)
        doubt: str = DEGRADED
    else:
        written = sum(n * (k + parity) for (k, _), n in partial.items())
        full = max(0.0, (pages - written) / (data + parity))
        doubt = PART_PAGES if small else ""
    by_pages: dict[int, float] = {}
    for (k, _), n in sorted(partial.items()):
        by_pages[k] = by_pages.get(k, 0) + n
    by_pages[data] = full
    total = partial_pages + full * data
    return RowUpdates(
        raid,
        full=full,
        reconstruct=sum(n for (_, rcw), n in partial.items() if rcw),
        read_modify=sum(n for (_, rcw), n in partial.items() if not rcw),
        by_pages=by_pages,
        full_share=full * data / total if total else None,
        self_check=None if doubt or not sizes.total else total * PAGE / sizes.total,
        doubt=doubt,
    )


SLOW = 2.0  # times the next slowest device's median
ENOUGH = 30  # requests of a device for a comparison


class Requests(NamedTuple):
    """
    The requests of some devices in one direction.

    ``queued``, ``served``: the parts of the latency until the dispatch to a disk's driver, and after it.
    ``following``: how many began where the previous request of the device ended; None if unknown.
    ``withheld``: why there are no latencies, though some were counted. ``full``: not all sizes were counted.
    """

    latency: Distribution
    size: Distribution
    dispatched: Distribution
    queued: Distribution
    served: Distribution
    following: int | None = None
    withheld: str = ""
    full: bool = False

    @property
    def arrived(self) -> int | None:
        """How many requests there were; None if not all were counted."""
        return None if self.full else self.size.count or self.latency.count

    @property
    def sequential(self) -> float | None:
        """The share of the requests that followed on the one before; None if unknown."""
        if self.following is None or not self.size.count:
            return None
        return min(1.0, self.following / self.size.count)


class TracedLayer(NamedTuple):
    """A layer with its requests by direction. ``devices``: the same for each device. ``titles``: the devices' names for people."""

    layer: Layer
    requests: dict[str, Requests]
    devices: dict[str, dict[str, Requests]]
    titles: dict[str, str]

    def slow_device(self, direction: str) -> tuple[str, float] | None:
        """Return the device much slower than its peers, and how many times; None without one."""
        medians = sorted(
            (median.middle, name)
            for name, by_direction in self.devices.items()
            if direction in by_direction and by_direction[direction].latency.count >= ENOUGH
            if (median := by_direction[direction].latency.percentile(0.5)) is not None
        )
        if len(medians) < 2 or medians[-1][0] < SLOW * medians[-2][0]:
            return None
        return medians[-1][1], medians[-1][0] / max(medians[-2][0], 1)


class TracedStack(NamedTuple):
    """
    A stack. ``rows``, ``parity``: of its first parity array, as traced and by the counters.

    ``over_time``: the top's latency by direction, in one part of the time after the other; {} without slices.
    """

    top: Device
    layers: tuple[TracedLayer, ...]
    rows: RowUpdates | None
    parity: Parity | None
    over_time: dict[str, list[Distribution]]

    @property
    def idle(self) -> bool:
        """Whether the top had no requests."""
        return not any(requests.arrived != 0 for requests in self.layers[0].requests.values())


def traced_stacks(
    topology: Topology, trace: Trace, ledger: Ledger, chosen: Iterable[str]
) -> Iterator[TracedStack]:
    """Yield the stacks of the devices *chosen*; if empty, all stacks with requests."""
    names = list(chosen)
    for name in names or [device.name for device in topology.tops]:
        raid = parity_device(topology, name)
        traced = tuple(_layer(topology, trace, layer) for layer in layers(topology, name))
        over_time = _over_time(trace, _numbers(topology, name))
        withheld = {d for d, requests in traced[0].requests.items() if requests.withheld}
        stack = TracedStack(
            topology[name],
            traced,
            row_updates(topology, raid, trace) if raid else None,
            parity_of(ledger, raid) if raid else None,
            {d: parts for d, parts in over_time.items() if d not in withheld},
        )
        if names or not stack.idle:
            yield stack


def _over_time(trace: Trace, numbers: list[str]) -> dict[str, list[Distribution]]:
    """Return the latencies in each slice: the counts at its end minus those at its start."""
    by_direction: dict[str, list[Distribution]] = {}
    for direction in (READ, WRITE):
        # A slice has the entries that changed in it, counted from the start of the trace.
        until: dict[str, dict[tuple[int, int], int]] = {number: {} for number in numbers}
        before: Counter[tuple[int, int]] = Counter()
        parts = []
        for part in trace.slices:
            for number, counts in until.items():
                counts.update(part.get((number, direction), {}))
            total = Counter(Distribution.merged(until.values()).counts)
            parts.append(Distribution(total - before))
            before = total
        if any(part.count for part in parts):
            by_direction[direction] = parts
    return by_direction


def _layer(topology: Topology, trace: Trace, layer: Layer) -> TracedLayer:
    # Only what has a queue of its own dispatches: above it, addresses of bios match by chance.
    queued = not any(topology.below(name) for name in layer.devices)
    devices = {
        name: by_direction
        for name in layer.devices
        if (by_direction := _by_direction(trace, _numbers(topology, name), queued=queued))
    }
    titles = {name: topology[name].title for name in layer.devices}
    whole = {
        direction: _together(parts)
        for direction in (READ, WRITE, BOTH)
        if (parts := [own[direction] for own in devices.values() if direction in own])
    }
    return TracedLayer(layer, whole, devices, titles)


def _by_direction(trace: Trace, numbers: list[str], *, queued: bool) -> dict[str, Requests]:
    """Return the requests of the devices *numbers*; *queued*: these have queues, from which they dispatch."""
    by_direction = {}
    for direction in (READ, WRITE, BOTH):
        together = _together([_requests(trace, (number, direction)) for number in numbers])
        if not queued:
            together = together._replace(dispatched=NO_VALUES, queued=NO_VALUES, served=NO_VALUES)
        if together.arrived != 0:
            by_direction[direction] = together
    return by_direction


def _requests(trace: Trace, key: Key) -> Requests:
    """Return the requests of one device in one direction, without distributions that contradict their number."""
    latency, size, dispatched, queued, served = (
        Distribution(part.get(key, {}))
        for part in (trace.latency, trace.sizes, trace.dispatched, trace.queued, trace.served)
    )
    following = None if trace.sequential is None else trace.sequential.get(key, 0)
    if probes.QUEUE_EVENT in trace.full and (size.count or latency.count):
        return Requests(*(NO_VALUES,) * 5, withheld=FULL_MAP, full=True)
    if probes.QUEUE_EVENT not in trace.record.texts:
        return Requests(latency, size, dispatched, queued, served, following)
    if probes.ISSUE_EVENT in trace.full:
        dispatched = NO_VALUES
    uncertain = _uncertain(trace, key[0], size.count) + LOST * size.count
    lacking = size.count - latency.count
    # Where the kernel skipped hits, these are what lacks, and not requests at the ends of the trace.
    fewest = (
        LOST * size.count + trace.record.in_flight(key[0]) if trace.record.missed else uncertain
    )
    withheld: str = ""
    if probes.LATENCY_EVENT in trace.record.texts and not -uncertain <= lacking <= fewest:
        words = f"{latency.count} latencies were counted of {size.count} requests"
        withheld, latency = Reason("count", words), NO_VALUES
    most = latency.count + uncertain
    if probes.ISSUE_EVENT in trace.record.texts:
        most = min(most, dispatched.count + uncertain)
    queued, served = (part if part.count <= most else NO_VALUES for part in (queued, served))
    return Requests(latency, size, dispatched, queued, served, following, withheld)


NO_VALUES = Distribution({})


def _together(parts: Collection[Requests]) -> Requests:
    """Return the requests of several devices, without latencies if those of one of them are withheld."""
    withheld = next((part.withheld for part in parts if part.withheld), "")
    distributions = [
        Distribution.merged(counts.counts for counts in same)
        for same in zip(*(part[:5] for part in parts), strict=True)
    ]
    latency, size, dispatched, queued, served = distributions
    if withheld:
        latency = queued = served = NO_VALUES
    known = [part.following for part in parts if part.following is not None]
    following = sum(known) if known else None
    full = any(part.full for part in parts)
    return Requests(latency, size, dispatched, queued, served, following, withheld, full)


def _numbers(topology: Topology, name: str) -> list[str]:
    """Return the numbers of a device and of its partitions: requests to these are the disk's too."""
    partitions = (topology[edge.above] for edge in topology.above(name))
    return [
        topology[name].number,
        *(device.number for device in partitions if device.kind is Kind.PARTITION),
    ]
