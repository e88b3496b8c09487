"""
The load of one device over a recording, as a job needs it.

Reads and writes are separate: rate, sizes, requests in flight, and flushes. With one rate and a
share of reads, a job would make each wait for the other.

No counter shows which requests start where the one before ended. For writes the share comes from the
pattern that whatif uses, so both agree on one recording. What that leaves open, and all reads, follow
from merging below: neighbours merge.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stackmap.errors import NO_DIRECTIONS, InputError
from stackmap.features.fiojob.sizes import Row, Sizes, SizeSource, sizes_of
from stackmap.features.whatif.measured import Measured, measured, users_of
from stackmap.features.whatif.pattern import pattern_of
from stackmap.features.whatif.volume_context import VolumeContext, volume_context
from stackmap.ledger.amplification import StackFigures, figures_of
from stackmap.ledger.averages import Average
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.topology import Topology

DIRECTIONS = ("read", "write")
BUSIEST = 0.95  # of the intervals have at most the job's requests in flight
UNSEEN = "no counter below shows them"
MERGING = 1.25  # arrivals per request completed below: neighbours arrived in sequence
FULL = 0.5  # of the bytes in full stripes, by requests smaller than a stripe


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """``sequential``: the estimated share of sequential requests, 0…1; ``evidence``: the reason for it."""

    sequential: float
    evidence: str


@dataclass(frozen=True, slots=True)
class Stream:
    """
    The reads or the writes.

    ``rate``: requests per second; ``mean``: bytes per request. ``queue``: in flight, 95th percentile of
    intervals; None if not known.
    """

    direction: str
    rate: float
    mean: float
    sizes: Sizes
    queue: float | None
    access: AccessPattern


@dataclass(frozen=True, slots=True)
class JobLoad:
    """
    The measured load of ``device``.

    ``seconds``: None if the text does not say. ``flushes``: per second, None where
    ``flushes_reason`` says why. ``split_size``: bytes at which the device splits requests
    before it counts them, None if it does not. ``count``: intervals.
    """

    device: Device
    streams: tuple[Stream, ...]
    flushes: float | None
    flushes_reason: str
    split_size: int | None
    seconds: float | None
    count: int
    corrections: tuple[str, ...]

    def stream(self, direction: str) -> Stream | None:
        """Return the reads or the writes; None if there were none."""
        return next((stream for stream in self.streams if stream.direction == direction), None)


@dataclass
class LoadMeasurement:
    """Collects intervals; ``given``: sizes from the user, by direction."""

    topology: Topology
    name: str
    given: Mapping[str, Sizes] = field(default_factory=dict)
    _rows: dict[str, list[Row]] = field(default_factory=lambda: {d: [] for d in DIRECTIONS})
    _queues: dict[str, list[float]] = field(default_factory=lambda: {d: [] for d in DIRECTIONS})
    _flushed: list[float] = field(default_factory=list)
    _seconds: list[float | None] = field(default_factory=list)
    _whole: Average = field(default_factory=Average)
    _corrections: dict[str, None] = field(default_factory=dict)
    _flushes_reason: str = ""
    _disturbed: bool = False

    def __post_init__(self) -> None:
        self._context: VolumeContext = volume_context(self.topology, self.name)
        stack = self.topology.with_all_below(self.name)
        # Empty flushes are counted by the members of an array, or by the only disk below.
        leaves = [n for n in stack if not self.topology.below(n)]
        self._leaf = leaves[0] if len(leaves) == 1 else ""
        flush_device = self._context.device.name if self._context.present else self._leaf
        ours = {*stack, *self.topology.with_all_above(self.name)}
        users = self.topology.with_all_above(flush_device) if flush_device else ()
        self._other_users = tuple(name for name in users if name not in ours)
        below = (edge.below for name in self._other_users for edge in self.topology.below(name))
        self._nearby = dict.fromkeys((*stack, *self._other_users, *below, *self._context.others))

    def add(self, interval: Interval) -> None:
        """Add one interval; only devices that matter are corrected, for there may be many."""
        if not interval.loads.keys() <= self._nearby.keys():
            near = {name: interval.loads[name] for name in self._nearby if name in interval.loads}
            interval = replace(interval, loads=near)
        right = corrected(self.topology, interval)
        load = right.loads.get(self.name)
        if load is None or load.total.ios is None:
            return
        self._corrections.update(dict.fromkeys(right.corrections))
        self._whole.add(interval)
        length = right.seconds or 1.0
        self._seconds.append(right.seconds)
        flushes, reason = self._flushes(right, load)
        self._flushes_reason = self._flushes_reason or reason
        self._flushed.append(flushes * length)
        for direction in DIRECTIONS:
            flow = load.flow(direction)
            sent = flow.ios if flow.arrivals is None else flow.arrivals
            if sent is None or flow.bytes is None:
                continue
            empty = flushes if direction == "write" and self._counts_flushes else 0.0
            self._rows[direction].append((max(0.0, sent - empty) * length, flow.bytes * length))
            if (queue := _queue(load, flow)) is not None:
                self._queues[direction].append(queue)

    def result(self) -> JobLoad:
        """Return the load; ``InputError`` if there is none, or reads and writes are not known separately."""
        whole, title = self._whole.result(), self.topology[self.name].title
        if whole is None:
            raise InputError(f"{title}: the input has no counters for it")
        seconds = None if None in self._seconds else math.fsum(filter(None, self._seconds))
        span = seconds or float(len(self._seconds))
        access = self._access_patterns(corrected(self.topology, whole))
        streams = [s for d in DIRECTIONS if (s := self._stream(d, span, access[d])) is not None]
        total = whole.loads[self.name].total
        if not streams and (not total.ios or total.bytes == 0):
            what = "moved no data" if total.ios else "was idle"
            raise InputError(f"{title} {what}: there is no load to reproduce")
        if not streams:
            raise InputError(f"{title}: {NO_DIRECTIONS}")
        context = self._context
        return JobLoad(
            self.topology[self.name],
            tuple(streams),
            flushes=None if self._flushes_reason else math.fsum(self._flushed) / span,
            flushes_reason=self._flushes_reason,
            split_size=context.split_size if context.device.name == self.name else None,
            seconds=seconds,
            count=len(self._seconds),
            corrections=tuple(sorted(self._corrections)),
        )

    def _access_patterns(self, whole: Interval) -> Mapping[str, AccessPattern]:
        """Return the pattern of reads, and of writes: whatif's, if no other volume used the members."""
        ledger = Ledger(self.topology, whole.loads, whole.seconds)
        (stack,) = figures_of(ledger, [self.name])
        volume = None if self._disturbed else measured(ledger, self._context)
        written = _merged(stack, "write")
        if volume is not None:
            written = _written(stack, self._context, volume)
        return {"read": _merged(stack, "read"), "write": written}

    def _stream(self, direction: str, span: float, access: AccessPattern) -> Stream | None:
        rows = self._rows[direction]
        boundary = self.topology[self.name].queue.boundary
        sizes = sizes_of(rows, boundary)
        if sizes is None:
            return None
        queues = sorted(self._queues[direction])
        queue = queues[min(len(queues) - 1, int(BUSIEST * len(queues)))] if queues else None
        counted = math.fsum(n for n, _ in rows)
        is_cut = sizes.source is SizeSource.PIECES
        rate = (sum(sizes.requests.values()) if is_cut else counted) / span
        known = self.given.get(direction, sizes)
        return Stream(direction, rate, sizes.mean, known, queue, access)

    def _flushes(self, interval: Interval, load: Load) -> tuple[float, str]:
        """Return the empty flushes per second and "", or 0 and why they are not known."""
        if load.flush.ios is not None and self.name == self._leaf:
            return load.flush.ios, ""
        used = users_of(self.topology, interval.loads, self._other_users)
        self._disturbed = self._disturbed or bool(used)
        if self._counts_flushes and load.write.ios == 0:
            return 0.0, ""
        if used:
            return 0.0, f"{used} the same disks"
        at_leaf = interval.load(self._leaf).flush.ios
        if self._context.present is None and at_leaf is not None:
            return at_leaf, ""
        volume = measured(Ledger(self.topology, interval.loads, interval.seconds), self._context)
        if volume is None:
            return 0.0, UNSEEN
        return 0.0 if volume.flushes_reason else volume.known_flushes, volume.flushes_reason

    @property
    def _counts_flushes(self) -> bool:
        """Whether the device counts empty flushes as writes; md does not (stackmap-kernel(7), "Counters")."""
        return self.topology[self.name].kind is not Kind.ARRAY


def _queue(load: Load, flow: Flow) -> float | None:
    """Return the requests of *flow* in flight; by their number, if *load* has a common queue only."""
    if flow.wait is not None:
        return flow.wait / 1000
    share = ratio(flow.ios, load.total.ios)
    return None if load.aqu is None or share is None else load.aqu * share


def _written(stack: StackFigures, context: VolumeContext, volume: Measured) -> AccessPattern:
    low = stack.parity.full_stripe_low if stack.parity is not None else None
    stripe = context.present.stripe if context.present is not None else None
    # A single large request fills a stripe at any position.
    if low is not None and low > FULL and (stripe is None or volume.write.size < stripe):
        words = (
            f"{100 * low:.0f} % of the bytes, or more, were full-stripe writes of several requests"
        )
        return AccessPattern(1.0, words)
    pattern = pattern_of(volume, context)
    shares = [hypothesis.sequential for hypothesis in pattern.hypotheses]
    merged = _merged(stack, "write")
    if not pattern.evidence or (merged.sequential and max(shares) == 1.0):
        return merged  # the pattern is not decided
    # On other layouts a run is derived from stripes, not from counted requests.
    by_rows = pattern.rows is not None and pattern.journal is None
    sequential = pattern.likely.following if by_rows else pattern.likely.sequential
    return AccessPattern(
        sequential,
        f"{100 * sequential:.1f} % are sequential, shown by {' and '.join(pattern.evidence)}",
    )


def _merged(stack: StackFigures, direction: str) -> AccessPattern:
    merged = max((f.coalescing.get(direction) or 0.0 for f in stack.layers), default=0.0)
    # Parity levels split everything into pages, which merge again under any load.
    if stack.raid is None and merged >= MERGING:
        return AccessPattern(
            1.0, f"below, {merged:.1f} requests merge into one, so they are adjacent"
        )
    return AccessPattern(0.0, "no merging or full stripes as sequential requests would cause")
