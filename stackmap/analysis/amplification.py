"""
What each layer of a stack makes of the I/O above it.

For a stack with top u and a lower layer L, reads, writes and both alike:

    IOPS amplification   arrivals at L that belong to u ÷ u's completions
    byte amplification   bytes at L that belong to u ÷ u's bytes
    shrink               u's mean size ÷ the mean size of what arrives at L
    coalescing at L      arrivals ÷ completions (1: nothing merged)
    closure              arrivals at L ÷ what the devices above it sent

IOPS amplification is byte amplification times shrink, exactly. An arrival is a
request completed or merged into another: what was sent from above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from stackmap.analysis.attribution import shares, together
from stackmap.analysis.background_work import background
from stackmap.analysis.bitmap_writes import most_marked
from stackmap.analysis.closing import Account, Sides
from stackmap.analysis.doubt import closes, closure_doubt
from stackmap.analysis.expected import Expected, by_layer
from stackmap.analysis.layers import Layer, layers
from stackmap.analysis.parity import Parity, caused_reads, parity
from stackmap.analysis.sending import Sending
from stackmap.analysis.share import DIRECTIONS, Portion, Share, flow_of
from stackmap.model.device import Device, Role
from stackmap.model.load import Flow, Load, plus, ratio, sum_flows
from stackmap.model.topology import Topology

Ratios = Mapping[str, float | None]  # by direction: "read", "write", "total"


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """
    One layer of one stack over an interval.

    ``share`` is what belongs to the stack; ``own`` all that its devices did,
    whoever sent it; ``metadata`` what its metadata devices did. The ratios
    are None where they cannot be known: nothing moved above, or
    ``share.reason`` or ``background`` says why: other work than the stack's
    ran here. ``expected``: bytes here a byte at the top, by the layouts above.
    ``caused``: the reads here that writes to a parity array above caused.
    ``doubt``: why closure is not 1, where it is not.
    """

    layer: Layer
    share: Share
    own: Mapping[str, Flow]
    metadata: Mapping[str, Flow]
    aqu: float | None
    expected: Expected | None = None
    background: str = ""
    caused: Portion | None = None
    doubt: str = ""
    iops_amplification: Ratios = field(default_factory=dict)
    byte_amplification: Ratios = field(default_factory=dict)
    shrink: Ratios = field(default_factory=dict)
    coalescing: Ratios = field(default_factory=dict)
    closure: Ratios = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StackFigures:
    """One stack over an interval: its top, its layers from the top down, what parity cost."""

    top: Device
    layers: tuple[LayerFigures, ...]
    raid: Device | None = None
    parity: Parity | None = None

    @property
    def requests_per_write(self) -> float | None:
        """Requests the last layer completed for one written to the top, reads it caused included."""
        disks, done = self.layers[-1], self.layers[0].share.write.ios
        if disks.caused is None:
            return None
        return ratio(plus(disks.share.write.ios, disks.caused.ios), done)

    @property
    def idle(self) -> bool:
        """Nothing came to the top; where that is unknown, it is not idle."""
        return self.layers[0].share.total.ios == 0


def figures_of(
    topology: Topology,
    loads: Mapping[str, Load],
    tops: Iterable[str],
    seconds: float | None = None,
) -> list[StackFigures]:
    """
    Return the figures of the stacks of *tops*; *loads* as ``corrections`` left them.

    *seconds*: how long the interval was, to judge what was in flight at its edges.
    """
    sending = Sending(topology, loads)
    span = _Span(topology, loads, sending, Account(topology, loads, sending), seconds)
    return [_stack(span, top) for top in tops]


def stack_figures(topology: Topology, loads: Mapping[str, Load], top: str) -> StackFigures:
    """Return the figures of one stack."""
    return figures_of(topology, loads, [top])[0]


@dataclass(frozen=True, slots=True)
class _Span:
    """What all stacks of one interval are worked out from."""

    topology: Topology
    loads: Mapping[str, Load]
    sending: Sending
    account: Account
    seconds: float | None


def _stack(span: _Span, top: str) -> StackFigures:
    topology, loads = span.topology, span.loads
    owned = shares(topology, loads, top, span.sending)
    work = background(topology, top)
    found = []
    for layer, likely in by_layer(topology, layers(topology, top)).items():
        share = together(topology, [owned[name] for name in layer.devices])
        reason = next((work[name] for name in layer.devices if name in work), "")
        figures = _rated(_counted(span, layer, share), owned[top], reason)
        found.append(replace(figures, expected=likely))
    raid = _parity_device(topology, top)
    cost = None if raid is None else _parity(topology, loads, raid)
    if raid is not None and cost is not None and not cost.reason:
        below = frozenset(topology.with_all_below(raid.name)[1:])
        found = [_with_caused(figures, owned[top], below) for figures in found]
    return StackFigures(topology[top], tuple(found), raid, cost)


def _with_caused(figures: LayerFigures, head: Share, below: frozenset[str]) -> LayerFigures:
    """Return *figures* with the reads that writes caused, for a layer *below* the parity."""
    if not below.issuperset(figures.layer.devices) or figures.share.reason:
        return figures
    return replace(figures, caused=caused_reads(head.read, figures.share.read))


def heads(topology: Topology, loads: Mapping[str, Load]) -> list[str]:
    """Return the highest devices that there are counters of, in tree order: tops, unless a text lacks them."""
    return [
        device.name
        for device, _ in topology.rows()
        if device.name in loads
        and not any(above in loads for above in topology.with_all_above(device.name)[1:])
    ]


def stack_tops(topology: Topology, loads: Mapping[str, Load], tops: Iterable[str]) -> list[str]:
    """
    Return each of *tops*, and after it the devices of its stack that deserve figures of their own.

    Those are what several tops share through a device that makes requests of
    its own (an array under several volumes): below it nothing can be divided,
    but of it and all below the figures are exact.
    """
    sending = Sending(topology, loads)
    found: dict[str, None] = {}
    for top in tops:
        owned = shares(topology, loads, top, sending)
        sharers = (
            edge.above
            for name, share in owned.items()
            if share.undivided
            for edge in topology.above(name)
            if edge.above in owned and not owned[edge.above].reason
        )
        found |= dict.fromkeys([top, *sharers])
    return list(found)


def _counted(span: _Span, layer: Layer, share: Share) -> LayerFigures:
    """Return what the counters say of a layer by itself."""
    loads = span.loads
    own = _own(loads, layer.devices)
    aqu = [loads[name].aqu if name in loads else None for name in layer.devices]
    closing = {d: span.account.of(layer.devices, d) for d in DIRECTIONS}
    return LayerFigures(
        layer=layer,
        share=share,
        own=own,
        metadata=_own(loads, layer.metadata),
        aqu=None if None in aqu else sum(filter(None, aqu)),
        coalescing={d: ratio(own[d].arrivals, own[d].ios) for d in DIRECTIONS},
        closure={d: sides.ratio for d, sides in closing.items()},
        doubt=_doubt(span, layer, closing),
    )


def _doubt(span: _Span, layer: Layer, closing: Mapping[str, Sides]) -> str:
    """Return what is suspected where reads, or writes, or both do not close; "" where they do."""
    everything = closing["total"].arrived.arrivals
    for direction, of in (("read", everything), ("write", everything), ("total", None)):
        sides = closing[direction]
        if not closes(sides.arrived.arrivals, sides.sent.arrivals, of):
            in_flight = _in_flight(span.topology, span.loads, layer)
            return closure_doubt(sides.arrived, sides.sent, of, in_flight, span.seconds)
    return ""


def _rated(figures: LayerFigures, head: Share, work: str) -> LayerFigures:
    """Return *figures* with their ratios to the top's share, *head*; none where other *work* ran."""
    share = figures.share
    rated = () if work else DIRECTIONS
    # Of the top itself it is 1, however much of what arrives there merges: coalescing shows that.
    came = {d: head.part(d).ios if share == head else share.part(d).arrivals for d in rated}
    iops = {d: ratio(came[d], head.part(d).ios) for d in rated}
    size = {d: ratio(share.part(d).bytes, head.part(d).bytes) for d in rated}
    return replace(
        figures,
        background=work,
        iops_amplification=iops,
        byte_amplification=size,
        shrink={d: ratio(iops[d], size[d]) for d in rated},
    )


def _own(loads: Mapping[str, Load], names: tuple[str, ...]) -> dict[str, Flow]:
    return {d: sum_flows(flow_of(loads.get(n, Load()), d) for n in names) for d in DIRECTIONS}


def _in_flight(topology: Topology, loads: Mapping[str, Load], layer: Layer) -> float | None:
    """Return the requests under way at both ends of the interval, at the layer and just above it."""
    above = {edge.above for name in layer.devices for edge in topology.above(name)}
    found: float | None = 0.0
    for name in (*layer.devices, *above):
        load = loads.get(name, Load())
        on_average = None if load.aqu is None else 2 * load.aqu
        found = plus(
            found, on_average if load.in_flight_at_ends is None else load.in_flight_at_ends
        )
    return found


def _parity_device(topology: Topology, top: str) -> Device | None:
    """Return the first device of the stack whose layout has parity."""
    devices = (topology[name] for name in topology.with_all_below(top))
    return next((d for d in devices if d.layout is not None and d.layout.parity), None)


def _parity(topology: Topology, loads: Mapping[str, Load], raid: Device) -> Parity | None:
    members = [e.below for e in topology.below(raid.name) if e.role is Role.DATA]
    if raid.layout is None or not members or raid.name not in loads:
        return None
    flows = _own(loads, tuple(members))
    marked = most_marked(topology, loads, raid)
    both = (flows["read"], flows["write"])
    return parity(raid.layout, loads[raid.name], both, _trouble(topology, raid), marked)


def _trouble(topology: Topology, raid: Device) -> str:
    """Return why the members' figures are not the workload's alone."""
    if any(edge.role is Role.JOURNAL for edge in topology.below(raid.name)):
        return "it has a journal: what the members get is not what a write costs"
    if raid.state in (None, "active"):
        return ""
    return f"its state is {raid.state}: the members also do the work of that"
