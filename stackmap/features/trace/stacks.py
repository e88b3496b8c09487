"""Latency and sizes of every layer of a stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stackmap.features.trace.distribution import Distribution
from stackmap.features.trace.row_updates import RowUpdates, row_updates
from stackmap.ledger.layers import Layer, layers
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import Parity, parity_device, parity_of
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from stackmap.model.trace import BOTH, READ, WRITE, Trace

SLOW = 2.0  # times the next slowest device's median
ENOUGH = 30  # requests of a device for a comparison


class Requests(NamedTuple):
    """
    The requests of some devices in one direction.

    ``queued``, ``served``: the parts of the latency until the dispatch to a disk's driver, and after it.
    ``sequential``: the share that began where the previous request of the device ended; None if unknown.
    """

    latency: Distribution
    size: Distribution
    dispatched: Distribution
    queued: Distribution
    served: Distribution
    sequential: float | None

    @property
    def arrived(self) -> int:
        """How many requests there were."""
        return max(self.size.count, self.latency.count)


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
            for name, found in self.devices.items()
            if direction in found and found[direction].latency.count >= ENOUGH
            if (median := found[direction].latency.percentile(0.5)) is not None
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
        return not any(found.arrived for found in self.layers[0].requests.values())


def traced_stacks(
    topology: Topology, trace: Trace, ledger: Ledger, chosen: Iterable[str]
) -> Iterator[TracedStack]:
    """Yield the stacks of the devices *chosen*; if empty, all stacks with requests."""
    names = list(chosen)
    for name in names or [device.name for device in topology.tops]:
        raid = parity_device(topology, name)
        found = TracedStack(
            topology[name],
            tuple(_layer(topology, trace, layer) for layer in layers(topology, name)),
            row_updates(topology, raid, trace) if raid else None,
            parity_of(ledger, raid) if raid else None,
            _over_time(trace, _numbers(topology, name)),
        )
        if names or not found.idle:
            yield found


def _over_time(trace: Trace, numbers: list[str]) -> dict[str, list[Distribution]]:
    """Return the latencies in each slice: the counts at its end minus those at its start."""
    found: dict[str, list[Distribution]] = {}
    for direction in (READ, WRITE):
        # A slice has the entries that changed in it, counted from the start of the trace.
        until: dict[str, dict[tuple[int, int], int]] = {number: {} for number in numbers}
        before: Counter[tuple[int, int]] = Counter()
        parts = []
        for each in trace.slices:
            for number, counts in until.items():
                counts.update(each.get((number, direction), {}))
            total = Counter(Distribution.merged(until.values()).counts)
            parts.append(Distribution(total - before))
            before = total
        if any(part.count for part in parts):
            found[direction] = parts
    return found


def _layer(topology: Topology, trace: Trace, layer: Layer) -> TracedLayer:
    numbers = {name: _numbers(topology, name) for name in layer.devices}
    devices = {name: found for name, own in numbers.items() if (found := _by_direction(trace, own))}
    whole = _by_direction(trace, [number for own in numbers.values() for number in own])
    titles = {name: topology[name].title for name in layer.devices}
    return TracedLayer(layer, whole, devices, titles)


def _by_direction(trace: Trace, numbers: list[str]) -> dict[str, Requests]:
    """Return the requests of the devices *numbers*."""
    found = {}
    for direction in (READ, WRITE, BOTH):
        keys = [(number, direction) for number in numbers]
        latency, sizes, dispatched, queued, served = (
            Distribution.merged(part.get(key, {}) for key in keys)
            for part in (trace.latency, trace.sizes, trace.dispatched, trace.queued, trace.served)
        )
        requests = Requests(latency, sizes, dispatched, queued, served, None)
        if not requests.arrived:
            continue
        if trace.sequential is not None and requests.size.count:
            after = sum(trace.sequential.get(key, 0) for key in keys)
            requests = requests._replace(sequential=min(1.0, after / requests.size.count))
        found[direction] = requests
    return found


def _numbers(topology: Topology, name: str) -> list[str]:
    """Return the numbers of a device and of its partitions: requests to these are the disk's too."""
    partitions = (topology[edge.above] for edge in topology.above(name))
    return [
        topology[name].number,
        *(device.number for device in partitions if device.kind is Kind.PARTITION),
    ]
