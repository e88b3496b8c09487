"""
What each layer of a stack does to the I/O above it.

For a stack with top u and a lower layer L, for reads, writes and both together:

    IOPS amplification   arrivals at L that belong to u ÷ u's completions
    byte amplification   bytes at L that belong to u ÷ u's bytes
    shrink               u's mean size ÷ the mean size of what arrives at L
    coalescing at L      arrivals ÷ completions (1: nothing merged)
    accounted            arrivals at L ÷ what the devices above it sent

IOPS amplification is byte amplification times shrink, exactly. An arrival is a
request that completed or merged into another: what was sent from above.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.ledger.amounts import Share, Traffic
from stackmap.ledger.corrections import corrected
from stackmap.ledger.device_state import background
from stackmap.ledger.disk_cost import DiskCost, disk_cost
from stackmap.ledger.expected import by_layer
from stackmap.ledger.layers import Layer, layers, spreading
from stackmap.ledger.ledger import Account, Ledger, diagnosis, mismatches
from stackmap.ledger.ownership import is_pool
from stackmap.ledger.parity import Parity, parity_device, parity_of, parity_reads
from stackmap.ledger.unknown_targets import UnknownTarget
from stackmap.ledger.wear import DiskWear, wear
from stackmap.model.device import Device, Kind
from stackmap.model.dm_targets import Expected
from stackmap.model.health import NO_LIVES, Life
from stackmap.model.interval import Interval
from stackmap.model.load import DIRECTIONS, Flow, on_one_line, plus, ratio, total_of
from stackmap.model.topology import Topology

Ratios = Mapping[str, float | None]  # by direction: "read", "write", "discard", "total"


@dataclass(frozen=True)
class LayerFigures:
    """
    One layer of the stack of *top*: sums over the *ledger* and their ratios.

    ``expected``: bytes here per byte at the top, by the layouts above.
    ``background``: the background work that runs here, "" for none; then there
    are no ratios to the top. ``below_parity``: whether a parity array with known
    cost is above. Ratios are None where a figure is unknown (``share.reason``
    has why) or nothing moved above.
    """

    ledger: Ledger
    top: str
    layer: Layer
    expected: Expected | None
    background: str
    below_parity: bool

    @cached_property
    def share(self) -> Share:
        """What belongs to the stack."""
        return self.ledger.share(self.top, self.layer.devices)

    @cached_property
    def own(self) -> Mapping[str, Flow]:
        """The load of the layer's devices, all owners."""
        return self.ledger.flows(self.layer.devices)

    @cached_property
    def metadata(self) -> Mapping[str, Flow]:
        """The load of its metadata devices, all owners."""
        return self.ledger.flows(self.layer.metadata)

    @cached_property
    def aqu(self) -> float | None:
        """The sum of the devices' queue depths."""
        return total_of(self.ledger.load(name).aqu for name in self.layer.devices)

    @cached_property
    def parity_reads(self) -> Traffic | None:
        """The reads here that writes to the parity array above caused; None without one."""
        if not self.below_parity or self.share.reason:
            return None
        return parity_reads(self._head.read, self.share.read)

    @cached_property
    def iops_amplification(self) -> Ratios:
        """Arrivals per completion at the top."""
        # At the top itself it is 1; merging there is in coalescing.
        at_top = self.share == self._head
        return {
            d: ratio(self._head.part(d).ios if at_top else self.share.part(d).arrivals, done)
            for d, done in self._per("ios").items()
        }

    def per_counted_piece(self, direction: str) -> bool:
        """Whether ratios per request at the top are estimates: the top may have counted pieces of requests."""
        return self._head.part(direction).is_range and self.share != self._head

    @cached_property
    def byte_amplification(self) -> Ratios:
        """Bytes per byte at the top."""
        return {d: ratio(self.share.part(d).bytes, all_) for d, all_ in self._per("bytes").items()}

    @cached_property
    def shrink(self) -> Ratios:
        """The mean size at the top per mean size here."""
        moved = self.byte_amplification
        return {d: ratio(arrived, moved[d]) for d, arrived in self.iops_amplification.items()}

    @cached_property
    def coalescing(self) -> Ratios:
        """Arrivals per completion, of all users."""
        return {d: ratio(flow.arrivals, flow.ios) for d, flow in self.own.items()}

    @cached_property
    def accounted(self) -> Ratios:
        """Arrivals per request that the layer above sent, of all users."""
        return {d: account.ratio for d, account in self._accounts.items()}

    @cached_property
    def diagnoses(self) -> Mapping[str, str]:
        """Why ``accounted`` is not 1, by direction; {} where it is."""
        here = [self.ledger.topology[name] for name in self.layer.devices]
        flushes = not any(device.kind is Kind.ARRAY for device in here)
        under_way = self.ledger.in_flight(self.layer.devices)
        return {
            d: diagnosis(self._accounts[d], d, under_way, self.ledger.seconds, flushes=flushes)
            for d in mismatches(self._accounts)
        }

    @property
    def diagnosis(self) -> str:
        """Why ``accounted`` is not 1, for all directions in one text; "" where it is."""
        return "; ".join(filter(None, self.diagnoses.values()))

    @cached_property
    def _head(self) -> Share:
        return self.ledger.shares(self.top)[self.top]

    @cached_property
    def _accounts(self) -> Mapping[str, Account]:
        return {d: self.ledger.account(self.layer.devices, d) for d in DIRECTIONS}

    def _per(self, figure: str) -> Ratios:
        """Return *figure* of the top by direction; nothing where background work makes ratios meaningless."""
        if self.background:
            return {}
        return {d: getattr(self._head.part(d), figure) for d in DIRECTIONS}


@dataclass(frozen=True)
class StackFigures:
    """One stack over an interval."""

    ledger: Ledger
    top: Device

    @cached_property
    def layers(self) -> tuple[LayerFigures, ...]:
        """The layers from the top down."""
        topology, top = self.ledger.topology, self.top.name
        work = background(topology, top)
        known = self.raid is not None and self.parity is not None and not self.parity.reason
        below = (
            topology.with_all_below(self.raid.name)[1:] if self.raid is not None and known else ()
        )
        return tuple(
            LayerFigures(
                self.ledger,
                top,
                layer,
                expected,
                next((work[name] for name in layer.devices if name in work), ""),
                below_parity=set(layer.devices) <= set(below),
            )
            for layer, expected in by_layer(topology, layers(topology, top)).items()
        )

    @cached_property
    def wear(self) -> list[DiskWear]:
        """What it writes to each disk of a known life."""
        return wear(self.ledger, self.top.name)

    @cached_property
    def shared(self) -> tuple[Device, ...]:
        """
        The devices that it shares with other tops and that make requests of their own.

        An array under several volumes is one. Below it the stack's traffic is
        unknown, but the figures of the array's own stack are exact.
        """
        if self.is_passthrough:
            return ()
        owned, topology = self.ledger.shares(self.top.name), self.ledger.topology
        above = (
            edge.above
            for n, share in owned.items()
            if share.undivided
            for edge in topology.above(n)
        )
        known = (
            n
            for n in above
            if n in owned
            and n != self.top.name
            and not owned[n].reason
            and (is_pool(topology[n]) or not owned[n].undivided)
        )
        return tuple(topology[name] for name in dict.fromkeys(known))

    @cached_property
    def is_passthrough(self) -> bool:
        """Whether every device passes requests on one by one, so that all counters show whose they are."""
        below = self.ledger.topology.with_all_below(self.top.name)[1:]
        return all(map(self.ledger.sent.only_from_passthrough, below))

    @property
    def unknown_targets(self) -> list[UnknownTarget]:
        """What counters tell of its devices with unknown targets, in tree order."""
        told = self.ledger.sent.unknown_targets
        stack = self.ledger.topology.with_all_below(self.top.name) if told else ()
        return [told[name] for name in stack if name in told]

    @cached_property
    def spreading(self) -> tuple[Device, ...]:
        """The devices that spread its data over several members."""
        return tuple(spreading(self.ledger.topology, self.top.name))

    @cached_property
    def raid(self) -> Device | None:
        """The first device with parity; None for none."""
        return parity_device(self.ledger.topology, self.top.name)

    @cached_property
    def parity(self) -> Parity | None:
        """What parity cost there; None without counters."""
        return None if self.raid is None else parity_of(self.ledger, self.raid)

    @property
    def requests_per_write(self) -> float | None:
        """Requests the last layer completed per write at the top, parity reads included."""
        disks, written = self.layers[-1], self.layers[0].share.write.ios
        if disks.parity_reads is None:
            return None
        return ratio(plus(disks.share.write.ios, disks.parity_reads.ios), written)

    @cached_property
    def cost(self) -> DiskCost:
        """Everything the disks did for it, by cause."""
        return disk_cost(self.ledger, self.top.name)

    @property
    def idle(self) -> bool:
        """Whether nothing came to the top; False if unknown."""
        return self.layers[0].share.total.ios == 0


def with_shared(stacks: Iterable[StackFigures]) -> Iterator[StackFigures]:
    """Yield *stacks*, each followed by those of the devices that it shares; each stack once."""
    seen: set[str] = set()
    for stack in stacks:
        for top in (stack.top, *stack.shared):
            if top.name not in seen:
                seen.add(top.name)
                yield StackFigures(stack.ledger, top)


def one_by_one(ledger: Ledger, tops: Iterable[str]) -> Iterator[StackFigures]:
    """
    Yield the figures of the stacks of *tops* and of what they share; each is freed after it was used.

    Those of 16,000 stacks need 200 MB.
    """
    for stack in with_shared(StackFigures(ledger, ledger.topology[top]) for top in tops):
        yield stack
        ledger.forget(stack.top.name)


def figures_of(ledger: Ledger, tops: Iterable[str]) -> list[StackFigures]:
    """Return the figures of the stacks of *tops*."""
    return [StackFigures(ledger, ledger.topology[top]) for top in tops]


class LayerMetric(NamedTuple):
    """
    A figure of a layer in one direction.

    ``key`` in CSV; ``path`` in JSON, with {} for the direction. ``heading`` in
    tables, "" for none; a line break splits it on a terminal, where the figure is
    divided by ``divisor`` and has so many ``digits`` after the point.
    """

    key: str
    path: str
    value: Callable[[LayerFigures, str], float | None]
    heading: str = ""
    help: str = ""
    divisor: float = 1
    digits: int = 2

    @property
    def title(self) -> str:
        """The heading on one line."""
        return on_one_line(self.heading)


LAYER_METRICS = (
    LayerMetric("requests_per_s", "{}.iops", lambda f, d: f.share.part(d).ios, "IOPS", "Requests completed per second."),
    LayerMetric("arrivals_per_s", "{}.arrivals", lambda f, d: f.share.part(d).arrivals),
    LayerMetric("bytes_per_s", "{}.bytes", lambda f, d: f.share.part(d).bytes, "KiB/s", "Data per second, in KiB of 1024 bytes.", 1024, 1),
    LayerMetric("mean_bytes", "{}.size", lambda f, d: f.share.part(d).size, "size\nKiB", "Mean size of a completed request.", 1024, 1),
    LayerMetric(
        "await_ms", "{}.await", lambda f, d: f.own[d].await_ms, "await\nms",
        "Mean time per request on these devices, queueing included, for all volumes.",
    ),
    LayerMetric(
        "iops_amplification", "amplification.iops.{}", lambda f, d: f.iops_amplification.get(d), "IOPS\n× top",
        "IOPS amplification: requests arriving here, before merging, per request completed at the top.",
    ),
    LayerMetric(
        "byte_amplification", "amplification.bytes.{}", lambda f, d: f.byte_amplification.get(d), "bytes\n× top",
        "Byte amplification: bytes here per byte at the top.", digits=3,
    ),
    LayerMetric(
        "shrink", "amplification.shrink.{}", lambda f, d: f.shrink.get(d), "shrink",
        "Mean request size at the top ÷ mean size of the requests arriving here. IOPS × top = bytes × top × shrink.",
    ),
    LayerMetric(
        "coalescing", "coalescing.{}", lambda f, d: f.coalescing.get(d), "coalescing",
        "Requests arriving here ÷ requests completed here; 1 means nothing was merged.",
    ),
    LayerMetric(
        "closure", "closure.{}", lambda f, d: f.accounted.get(d), "accounted",
        "Requests arriving here ÷ requests that the layer above sent; 1.000 means that all of them are accounted for.", digits=3,
    ),
)  # fmt: skip
COLUMNS = tuple(metric for metric in LAYER_METRICS if metric.heading)


MAX_STACKS = 20_000  # of a report, unless they are chosen: each takes 0.4 ms


class LayerReport:
    """
    What the layers of *topology* did over an interval, as *measured*.

    *chosen*: the devices whose stacks are shown; without them all busy tops, or the
    first. *skip_idle*: without idle stacks, unless all are idle: then the first is shown.

    *lives*: what may still be written to disks. ``interval``: with its counters corrected.
    ``InputError`` for more than ``MAX_STACKS``.
    """

    def __init__(
        self,
        topology: Topology,
        measured: Interval,
        chosen: Sequence[str],
        *,
        skip_idle: bool,
        lives: Mapping[str, Life] = NO_LIVES,
    ) -> None:
        self.interval = corrected(topology, measured)
        self._ledger = Ledger(topology, self.interval.loads, self.interval.seconds, lives)
        self._tops = chosen or self._ledger.busy_tops or self._ledger.tops[:1]
        if not chosen and len(self._tops) > MAX_STACKS:
            raise InputError(
                f"{len(self._tops)} stacks have I/O: name those that you want, at most {MAX_STACKS} have a table each"
            )
        self._skip_idle = skip_idle

    @property
    def stacks(self) -> Iterator[StackFigures]:
        """
        The figures of each stack shown, followed by those of the devices that it shares.

        They are computed as they are read.
        """
        idle: list[StackFigures] = []
        shown = False
        for stack in one_by_one(self._ledger, self._tops):
            if self._skip_idle and stack.idle:
                idle = idle or [stack]
            else:
                shown = True
                yield stack
        if not shown:
            yield from idle
