"""
One side of a comparison: a recording in batches, and the sums of each layer of a stack, batch by batch.

A week of one-second intervals is 600,000, and a bootstrap needs some hundred. So equally many
consecutive intervals are averaged into one batch. Layers are named so that they match across
layouts: "top", "disks" (the last), and between them the role, with a number if several layers have it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackmap.ledger.amounts import Share
from stackmap.ledger.amplification import LayerFigures, StackFigures, figures_of
from stackmap.ledger.averages import average
from stackmap.ledger.corrections import corrected
from stackmap.ledger.device_state import background
from stackmap.ledger.disk_cost import READ_FOR_WRITES, disk_cost
from stackmap.ledger.layers import spreading
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import parity_reads
from stackmap.ledger.time_series import TimeSeries, start_of
from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.load import plus, ratio
from stackmap.model.topology import Machine, Topology

MAX_BATCHES = 120


@dataclass(frozen=True)
class Recording:
    """
    A machine over some time.

    ``source``: its name for people. ``batches``: in time order, corrected; the
    last intervals, fewer than a batch, are left out. ``count``: intervals;
    ``seconds``: their sum, None if a text does not have it. ``start``, ``end``:
    seconds since the epoch, None if unknown. ``changed``: intervals left out
    because the stacks were different; ``at_work``: because of background
    ``work``. If it ran all the time, nothing is left out and ``worked`` is True.
    """

    source: str
    topology: Topology
    batches: tuple[Interval, ...]
    count: int
    seconds: float | None
    start: float | None
    end: float | None
    corrections: tuple[str, ...] = ()
    changed: int = 0
    at_work: int = 0
    work: tuple[str, ...] = ()
    worked: bool = False

    @property
    def batch_size(self) -> int:
        """Intervals per batch."""
        return max(1, round(self.count / max(1, len(self.batches))))

    @property
    def machine(self) -> Machine:
        """The machine that the recording names; else the one whose topology is used."""
        named = self.batches[0].machine if self.batches else Machine()
        known = self.topology.machine
        return Machine(named.host or known.host, named.kernel or known.kernel)

    @property
    def length(self) -> float | None:
        """Seconds per interval."""
        return None if self.seconds is None or not self.count else self.seconds / self.count


def recording_of(
    source: str,
    topology: Topology,
    tops: Sequence[str],
    reports: Iterable[tuple[Topology, Interval]],
) -> Recording:
    """Return the recording *source* of the stacks of *tops*, as they are in *topology*, from its *reports*."""
    clean, working = TimeSeries(MAX_BATCHES), TimeSeries(MAX_BATCHES)
    stacks = {name for top in tops for name in topology.with_all_below(top)}
    needed = {
        above for name in stacks for above in topology.with_all_above(name)
    }  # for attribution
    work = dict[str, None]()
    changed, ends = 0, list[Interval]()
    last, is_same, present = topology, True, _background_work(topology, tops)
    for now, interval in reports:
        if interval.since_boot or interval.summary:
            continue
        ends = [*ends[:1], interval]
        if now is not last:
            last, is_same = now, all(_shape(now, top) == _shape(topology, top) for top in tops)
            present = _background_work(now, tops) if is_same else ()
        if not is_same:
            changed += 1
            continue
        work |= dict.fromkeys(present)
        loads = {name: load for name, load in interval.loads.items() if name in needed}
        part = Interval(
            loads, interval.time, interval.seconds, interval.stamp, machine=interval.machine
        )
        (working if present else clean).add(part, {})
    count, at_work = (sum(b.count for b in series.full) for series in (clean, working))
    worked = not count and at_work > 0
    kept = working if worked else clean
    right = tuple(corrected(topology, batch.interval) for batch in kept.full)
    seconds = [interval.seconds for interval in right]
    return Recording(
        source,
        topology,
        right,
        count=at_work if worked else count,
        seconds=None if None in seconds else sum(filter(None, seconds)),
        start=start_of(ends[0]) if ends else None,
        end=ends[-1].time if ends else None,
        corrections=tuple(sorted({what for interval in right for what in interval.corrections})),
        changed=changed,
        at_work=0 if worked else at_work,
        work=tuple(work),
        worked=worked,
    )


def _background_work(topology: Topology, tops: Iterable[str]) -> tuple[str, ...]:
    reasons = (background(topology, top).values() for top in tops)
    return tuple(dict.fromkeys(reason for of_top in reasons for reason in of_top))


def _shape(topology: Topology, top: str) -> frozenset[tuple[str, str, str]]:
    """Return the edges of a stack, by kernel names."""
    if top not in topology:
        return frozenset()
    return frozenset(
        (edge.above, edge.below, str(edge.role))
        for name in topology.with_all_below(top)
        for edge in topology.below(name)
    )


TOP, LAST = "top", "disks"
DIRECTIONS = ("read", "write", "total")

Sum = tuple[str, str, str]  # layer, direction, quantity: ("disks", "write", "ios")


@dataclass(frozen=True)
class StackRecord:
    """
    The stack of ``top`` in one recording, by layer from the top down.

    ``raids``: the first device on each way down that spreads its data. ``columns``: a value per batch, None if not
    known. ``reasons``: why a layer's figures are not known. ``parity``: whether a device has parity; ``caused``:
    layers below it where parity reads can be separated from the volume's reads.
    """

    top: Device
    recording: Recording
    raids: tuple[Device, ...] = ()
    layers: tuple[str, ...] = ()
    columns: Mapping[Sum, tuple[float | None, ...]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parity: bool = False
    caused: frozenset[str] = frozenset()

    def columns_of(self, keys: Iterable[Sum]) -> list[list[float]] | None:
        """Return the columns of *keys* for the batches that have them all; None if none has."""
        columns = [self.columns.get(key, ()) for key in keys]
        if not all(columns):
            return None
        rows = [row for row in zip(*columns, strict=True) if None not in row]
        return [[value or 0.0 for value in column] for column in zip(*rows, strict=True)] or None

    def at_top(self, direction: str, quantity: str) -> float | None:
        """Return a sum of the top's over all batches that have it; None if none has."""
        column = self.columns.get((TOP, direction, quantity), ())
        known = [value for value in column if value is not None]
        return math.fsum(known) if known else None

    @property
    def counting_error(self) -> float:
        """The part of all requests that may be in flight at the ends of the recording."""
        done = self.at_top("total", "ios")
        in_flight = ratio(self.at_top("total", "queue"), self.at_top("total", "seconds"))
        return (1 + (in_flight or 0.0)) / done if done else 0.0


def record_of(recording: Recording, top: str) -> StackRecord:
    """Return the sums of the stack of *top*; none for a recording without batches."""
    topology = recording.topology
    record = StackRecord(topology[top], recording, tuple(spreading(topology, top)))
    whole = next(average(recording.batches), None)
    if whole is None:
        return record
    stack = figures_of(Ledger(topology, whole.loads, whole.seconds), [top])[0]
    names = _names(stack)
    layers = dict(zip(names, stack.layers, strict=True))
    rows = [_of_batch(topology, batch, top, layers) for batch in recording.batches]
    keys = dict.fromkeys(key for row in rows for key in row)
    reasons = {name: layer.share.reason or layer.background for name, layer in layers.items()}
    return replace(
        record,
        layers=names,
        columns={key: tuple(row.get(key) for row in rows) for key in keys},
        reasons={name: reason for name, reason in reasons.items() if reason},
        devices={name: layer.layer.devices for name, layer in layers.items()},
        parity=stack.raid is not None,
        caused=frozenset(
            name for name, layer in layers.items() if layer.parity_reads and not layer.background
        ),
    )


def _of_batch(
    topology: Topology, batch: Interval, top: str, layers: Mapping[str, LayerFigures]
) -> dict[Sum, float | None]:
    """Return the sums of one batch: each rate times its seconds."""
    length = batch.seconds or 1.0
    ledger = Ledger(topology, batch.loads)
    head = ledger.load(top)
    rates: dict[Sum, float | None] = {
        (TOP, "total", "seconds"): 1.0,
        (TOP, "total", "queue"): head.aqu,
        (TOP, "total", "flushes"): head.flush.ios,
    }
    for name, figures in layers.items():
        devices = figures.layer.devices
        did = ledger.flows(devices)
        # During background work the stack's share is not known.
        share = Share() if figures.background else ledger.share(top, devices)
        for direction in DIRECTIONS:
            part = share.part(direction)
            own = did[direction]
            rates |= {
                (name, direction, "arrivals"): part.arrivals,
                (name, direction, "ios"): part.ios,
                (name, direction, "bytes"): part.bytes,
                (name, direction, "own arrivals"): own.arrivals,
                (name, direction, "own ios"): own.ios,
                (name, direction, "own wait"): own.wait,
            }
    if LAST in layers and not any(figures.background for figures in layers.values()):
        rates |= _costs(ledger, top, ledger.share(top, layers[LAST].layer.devices))
    return {key: None if rate is None else rate * length for key, rate in rates.items()}


def _costs(ledger: Ledger, top: str, data: Share) -> dict[Sum, float | None]:
    """
    Return the disks' I/O for *top*, and for its writes: all writes and the reads they caused.

    Where a cause is unknown, such as a bitmap that the input lacks, all that is known: *data*, with parity.
    """
    asked, cost = ledger.shares(top)[top].read, disk_cost(ledger, top)
    causes = ledger.disk_traffic_by_cause(top)
    ours = [
        traffic
        for (cause, direction), traffic in causes.items()
        if direction == "write" or (direction == "read" and cause in READ_FOR_WRITES)
    ]
    whole = not any(direction == "total" for _, direction in causes)
    moved, requests = ([getattr(traffic, of) for traffic in ours] for of in ("bytes", "ios"))
    read = parity_reads(asked, data.read)
    return {
        (LAST, "total", "all bytes"): cost.bytes,
        (LAST, "total", "all ios"): data.total.ios if cost.requests is None else cost.requests,
        (LAST, "write", "cost bytes"): sum(filter(None, moved))
        if whole and None not in moved
        else plus(data.write.bytes, read.bytes),
        (LAST, "write", "cost ios"): sum(filter(None, requests))
        if whole and None not in requests
        else plus(data.write.ios, read.ios),
    }


def _names(stack: StackFigures) -> tuple[str, ...]:
    names = [TOP]
    for figures in stack.layers[1:-1]:
        role = figures.layer.role
        correlation = sum(name.partition(" ")[0] == role for name in names)
        names.append(f"{role} {correlation + 1}" if correlation or role in (TOP, LAST) else role)
    return (*names, LAST) if len(stack.layers) > 1 else (TOP,)
