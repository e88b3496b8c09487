"""
Which volumes load a disk, and which disks a volume loads.

Each device directly above a disk sent what its own counters say (``Sent``).
It belongs to one volume, as its data or its metadata. Or it belongs to several
through a device that makes requests of its own, where no counter tells them
apart: then they are one row together. What arrived and no device above sent
came from elsewhere: a direct reader, udev's probing, the kernel.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from stackmap.ledger.amounts import NOTHING, Amount, Traffic, all_of
from stackmap.ledger.layers import carriers
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.member_writes import has_bitmap, share_with_bitmap
from stackmap.ledger.sent import divides, is_idle
from stackmap.model.load import Flow, ratio, total_of
from stackmap.model.topology import Edge

SEPARATE = ("read", "write", "discard")
TOGETHER = ("total",)  # where the source has only the sum


class Owner(NamedTuple):
    """The ``tops`` whose traffic it is, the device ``through`` which they share it, whether it is metadata."""

    tops: tuple[str, ...] = ()
    through: str = ""
    metadata: bool = False


class Loader(NamedTuple):
    """
    One source of a device's I/O.

    ``tops``: the volumes it belongs to, () for what no device above sent.
    ``through``: the device that several volumes share, "" for one volume.
    ``metadata``: metadata rather than data. ``parts``: traffic by direction. ``inferred``: a device
    with an unknown target is below it, which passes requests on by its counters.
    """

    tops: tuple[str, ...]
    through: str
    metadata: bool
    parts: Mapping[str, Traffic]
    inferred: bool = False

    @property
    def estimated(self) -> bool:
        """Whether it is inferred, or a part is a range: divided by one table, or perhaps bitmap writes."""
        return self.inferred or any(part.is_range for part in self.parts.values())

    @property
    def arrivals(self) -> float | None:
        """Requests sent per second, all directions."""
        return total_of(part.arrivals for part in self.parts.values())

    @property
    def bytes(self) -> float | None:
        """Bytes per second, all directions."""
        return total_of(part.bytes for part in self.parts.values())


@dataclass(frozen=True)
class Blame:
    """
    A device and what loads it, the heaviest first.

    ``unseen``: loaders without counters; their traffic is in the row of no
    known sender. ``accounted``: arrivals ÷ what all loaders sent, near 1 where
    nothing else reads or writes; None where a loader is unseen or an estimate.
    """

    device: str
    loaders: tuple[Loader, ...]
    unseen: tuple[Loader, ...]
    accounted: float | None

    def share(self, loader: Loader) -> float | None:
        """Return the part of all requests here that *loader* sent; the parts sum to 1."""
        return ratio(loader.arrivals, self._requests)

    def byte_share(self, loader: Loader) -> float | None:
        """Return the part of all bytes here that *loader* moved; the parts sum to 1."""
        return ratio(loader.bytes, self._bytes)

    @cached_property
    def _requests(self) -> float | None:
        return total_of(loader.arrivals for loader in self.loaders)

    @cached_property
    def _bytes(self) -> float | None:
        return total_of(loader.bytes for loader in self.loaders)


class Target(NamedTuple):
    """A disk that a volume loads: the volume's traffic there, as a share of both."""

    device: str
    part: Traffic
    of_volume: float | None
    of_device: float | None
    inferred: bool = False

    @property
    def estimated(self) -> bool:
        """Whether the traffic is a range, or rests on an unknown target's counters (``inferred``)."""
        return self.inferred or self.part.is_range


def blame(ledger: Ledger, name: str, *, idle: bool = True) -> Blame:
    """Return the sources of the I/O at the device *name*; *idle*: also devices above it that did nothing."""
    load = ledger.load(name)
    directions = [d for d in SEPARATE if load.flow(d).ios is not None] or list(TOGETHER)
    whole = {d: all_of(load.flow(d)) for d in directions}
    loader_of: dict[Owner, Loader] = {}
    for edge in _senders(ledger, name, idle=idle):
        owner = _owner(ledger, edge.above)
        parts = {d: _sent(ledger, edge, d) for d in directions}
        if owner in loader_of:
            parts = {d: loader_of[owner].parts[d] + part for d, part in parts.items()}
        inferred = edge.below != name and ledger.sent.is_estimate(name)
        loader_of[owner] = Loader(*owner, parts, inferred)
    # sar has bytes, and no merges: what arrived is unknown.
    unknown = (None, None)
    seen = [x for x in loader_of.values() if (x.arrivals, x.bytes) != unknown]
    unseen = tuple(x for x in loader_of.values() if (x.arrivals, x.bytes) == unknown)
    known = {d: sum((loader.parts[d] for loader in seen), start=NOTHING) for d in directions}
    rest = Loader(*Owner(), {d: _rest(whole[d], known[d]) for d in directions})
    loaders = sorted([*seen, rest], key=lambda x: (-(x.arrivals or 0), -(x.bytes or 0)))
    accounted = ratio(
        total_of(part.arrivals for part in whole.values()),
        total_of(part.arrivals for part in known.values()),
    )
    uncertain = unseen or any(loader.estimated for loader in seen)
    return Blame(name, tuple(loaders), unseen, None if uncertain else accounted)


def targets(ledger: Ledger, top: str) -> list[Target]:
    """Return the disks that *top* loads with its data, the heaviest first."""
    topology, owned = ledger.topology, ledger.shares(top)
    data = carriers(topology, top)
    parts = {n: share.total for n, share in owned.items() if n in data and not topology.below(n)}
    everything = total_of(part.arrivals for part in parts.values())
    disks = [
        Target(
            name,
            part,
            ratio(part.arrivals, everything),
            _share(part, ledger.load(name).total),
            ledger.sent.is_estimate(name),
        )
        for name, part in parts.items()
    ]
    return sorted(disks, key=lambda target: -(target.part.arrivals or 0.0))


def _share(part: Traffic, whole: Flow) -> float | None:
    """Return the share, 0…1, of the *part* in the *whole*: estimates of several edges may add up to more."""
    share = ratio(part.arrivals, whole.arrivals)
    return min(share, 1.0) if share is not None and part.is_range else share


def _senders(ledger: Ledger, name: str, *, idle: bool) -> Iterator[Edge]:
    """
    Yield the edges whose devices count what was sent to *name*, each with the volumes that sent it.

    A device that passes on the requests of several volumes, or data and metadata of one, is
    replaced by the devices above it, whose own counters tell them apart. A device that
    makes requests of its own is kept: those above it would not tell.
    """
    topology = ledger.topology
    replaced: set[str] = set()  # a device with several segments here has several edges
    for edge in topology.above(name):
        if not idle and is_idle(ledger.loads.get(edge.above)):
            continue
        between = (edge, *topology.above(edge.above))
        told_apart = all(map(ledger.sent.passes_on, between))
        owners = {_owner(ledger, link.above) for link in between}
        # Data of one volume, or metadata of one.
        is_one = len(owners) == 1 and all(len(owner.tops) == 1 for owner in owners)
        if not told_apart or divides(topology, edge) or is_one:
            yield edge
        elif edge.above not in replaced:
            replaced.add(edge.above)
            yield from _senders(ledger, edge.above, idle=idle)


def _owner(ledger: Ledger, name: str) -> Owner:
    """Return the volumes that *name* serves, without idle ones."""
    topology, loads = ledger.topology, ledger.loads
    if not topology.above(name):
        return Owner((name,))
    tops = sorted(topology.tops_of(name))
    active = [top for top in tops if top not in loads or not loads[top].idle] or tops
    metadata = all(name not in carriers(topology, top) for top in active)
    if len(active) == 1:
        return Owner((active[0],), "", metadata)
    shared = [at for at in topology.with_all_above(name) if topology.tops_of(at) >= {*active}]
    return Owner(tuple(active), shared[-1], metadata)


def _sent(ledger: Ledger, edge: Edge, direction: str) -> Traffic:
    """Return the traffic that the device above sent down *edge*; unknown where no counter tells."""
    sent = ledger.sent.down(edge, direction)
    if sent is not None:
        return sent
    # It makes requests of its own: all that arrived is its own if no other device is above.
    if len(ledger.topology.above(edge.below)) > 1 or edge.below not in ledger.loads:
        return Traffic()
    if has_bitmap(ledger.topology[edge.above]):
        share = share_with_bitmap(ledger.topology, ledger.loads, edge.above, edge.below)
        return share.part(direction)
    return all_of(ledger.load(edge.below).flow(direction))


def _rest(whole: Traffic, known: Traffic) -> Traffic:
    """Return the arrivals beyond the *known* traffic, at least 0: counters are read at different instants."""
    arrived = Amount(whole.arrivals, whole.bytes)
    rest = arrived.beyond(Amount(known.arrivals, known.bytes))
    high, low = map(arrived.beyond, known.bounds)
    if known.low is None:
        return Traffic(rest.arrivals, bytes=rest.bytes)
    return Traffic(rest.arrivals, bytes=rest.bytes, low=low, high=high)
