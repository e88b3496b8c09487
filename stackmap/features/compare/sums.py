"""
The sums of each layer of a stack, batch by batch, from which figures are computed.

Layers are named so that they match across layouts: "top", "disks" (the last), and between
them the role, with a number if several layers have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stackmap.features.compare.recording import Recording
from stackmap.ledger.amounts import Share
from stackmap.ledger.amplification import LayerFigures, StackFigures, figures_of
from stackmap.ledger.averages import average
from stackmap.ledger.disk_cost import READ_FOR_WRITES, disk_cost
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import parity_reads
from stackmap.model.interval import Interval
from stackmap.model.load import plus
from stackmap.model.topology import Topology

TOP, LAST = "top", "disks"
DIRECTIONS = ("read", "write", "total")

Sum = tuple[str, str, str]  # layer, direction, quantity: ("disks", "write", "ios")


@dataclass(frozen=True)
class Sums:
    """
    ``columns``: a value per batch, None if not known.

    ``layers``: from the top down; ``reasons``: by layer, why a figure is not known;
    ``devices``: by layer. ``parity``: whether a device has parity; ``caused``: layers below
    it where parity reads can be separated from the volume's reads.
    """

    layers: tuple[str, ...] = ()
    columns: Mapping[Sum, tuple[float | None, ...]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parity: bool = False
    caused: frozenset[str] = frozenset()


def sums_of(recording: Recording, top: str) -> Sums:
    """Return the sums of the stack of *top*; empty for a recording without batches."""
    topology = recording.topology
    whole = next(average(recording.batches), None)
    if whole is None:
        return Sums()
    stack = figures_of(Ledger(topology, whole.loads, whole.seconds), [top])[0]
    names = _names(stack)
    found = dict(zip(names, stack.layers, strict=True))
    rows = [_of_batch(topology, batch, top, found) for batch in recording.batches]
    keys = dict.fromkeys(key for row in rows for key in row)
    reasons = {n: each.share.reason or each.background for n, each in found.items()}
    return Sums(
        names,
        columns={key: tuple(row.get(key) for row in rows) for key in keys},
        reasons={name: reason for name, reason in reasons.items() if reason},
        devices={name: each.layer.devices for name, each in found.items()},
        parity=stack.raid is not None,
        caused=frozenset(
            n for n, each in found.items() if each.parity_reads and not each.background
        ),
    )


def _of_batch(
    topology: Topology, batch: Interval, top: str, found: Mapping[str, LayerFigures]
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
    for name, figures in found.items():
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
    if LAST in found and not any(figures.background for figures in found.values()):
        rates |= _costs(ledger, top, ledger.share(top, found[LAST].layer.devices))
    return {key: None if rate is None else rate * length for key, rate in rates.items()}


def _costs(ledger: Ledger, top: str, data: Share) -> dict[Sum, float | None]:
    """
    Return what the disks moved and completed for *top*, and for its writes: all writes and the reads they caused.

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
    moved, requests = ([getattr(each, of) for each in ours] for of in ("bytes", "ios"))
    read = parity_reads(asked, data.read)
    return {
        (LAST, "total", "all bytes"): cost.bytes,
        (LAST, "total", "all ios"): data.total.ios if cost.requests is None else cost.requests,
        (LAST, "write", "cost bytes"): _sum(moved)
        if whole and None not in moved
        else plus(data.write.bytes, read.bytes),
        (LAST, "write", "cost ios"): _sum(requests)
        if whole and None not in requests
        else plus(data.write.ios, read.ios),
    }


def _sum(parts: Sequence[float | None]) -> float:
    return sum(filter(None, parts))


def _names(stack: StackFigures) -> tuple[str, ...]:
    names = [TOP]
    for figures in stack.layers[1:-1]:
        role = figures.layer.role
        correlation = sum(name.partition(" ")[0] == role for name in names)
        names.append(f"{role} {correlation + 1}" if correlation or role in (TOP, LAST) else role)
    return (*names, LAST) if len(stack.layers) > 1 else (TOP,)
