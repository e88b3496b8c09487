"""
Who loads a disk, and which disks a volume loads.

Of a disk, each device directly above says what it sent (``sending.sent``);
each of those stands under one volume, as its data or beside it as metadata, or
under several through a device that makes requests of its own, where no counter
tells them apart: then they are one row together. What arrived and nobody sent
came from no device above: a direct reader, udev's probing, the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from stackmap.analysis.attribution import shares
from stackmap.analysis.bitmap_writes import keeps_marks, with_marks
from stackmap.analysis.layers import carriers
from stackmap.analysis.sending import Sending
from stackmap.analysis.share import NOTHING, Amount, Portion, flow_of, portion_of
from stackmap.analysis.ways import divides
from stackmap.model.load import Load, plus, ratio
from stackmap.model.passthrough import is_passthrough
from stackmap.model.topology import Edge, Topology

APART = ("read", "write", "discard")
TOGETHER = ("total",)  # of a source that says no more


@dataclass(frozen=True, slots=True)
class Loader:
    """
    One source of a device's I/O.

    ``tops``: the volumes it is for, [] for what no device above sent.
    ``through``: the device that several of them share, "" if it is one's own.
    ``metadata``: it stands beside the volume's data. ``parts``: by direction,
    what it sent.
    """

    tops: tuple[str, ...]
    through: str
    metadata: bool
    parts: Mapping[str, Portion]

    @property
    def estimated(self) -> bool:
        """Whether some of it is a range: what one table spread over several devices, or a bitmap."""
        return any(part.loose for part in self.parts.values())

    @property
    def arrivals(self) -> float | None:
        """Requests sent, of all directions."""
        return _sum(part.arrivals for part in self.parts.values())

    @property
    def bytes(self) -> float | None:
        """Bytes moved, in all directions."""
        return _sum(part.bytes for part in self.parts.values())


@dataclass(frozen=True, slots=True)
class Blame:
    """
    A device and who loads it, the heaviest first.

    ``unseen``: loaders that a text does not list; what they sent is among what
    nobody is known to have sent. ``closure``: what arrived ÷ what all loaders
    sent, near 1 where all is seen and nobody else reads or writes; None where
    some are not seen, or are guessed at from what arrived.
    """

    device: str
    whole: Mapping[str, Portion]
    loaders: tuple[Loader, ...]
    unseen: tuple[Loader, ...]
    closure: float | None

    def share(self, loader: Loader) -> float | None:
        """Return the part of all requests here that *loader* sent; these sum to 1."""
        return ratio(loader.arrivals, _sum(each.arrivals for each in self.loaders))

    def byte_share(self, loader: Loader) -> float | None:
        """Return the part of all bytes here that *loader* moved; these sum to 1."""
        return ratio(loader.bytes, _sum(each.bytes for each in self.loaders))


@dataclass(frozen=True, slots=True)
class Target:
    """A disk that a volume loads: its portion there, and the shares of both."""

    device: str
    part: Portion
    of_volume: float | None
    of_device: float | None

    @property
    def estimated(self) -> bool:
        """Whether its portion is a range."""
        return self.part.loose


def blame(topology: Topology, loads: Mapping[str, Load], name: str) -> Blame:
    """Return who loads the device *name*."""
    load = loads.get(name, Load())
    kinds = [kind for kind in APART if flow_of(load, kind).ios is not None] or list(TOGETHER)
    whole = {kind: portion_of(flow_of(load, kind)) for kind in kinds}
    found: dict[tuple[tuple[str, ...], str, bool], Loader] = {}
    sending = Sending(topology, loads)
    for edge in _senders(topology, loads, name):
        key = _whose(topology, loads, edge.above)
        loader = _loader(topology, loads, sending, edge, key, kinds)
        found[key] = _plus(found[key], loader) if key in found else loader
    seen = [each for each in found.values() if each.arrivals is not None]
    unseen = tuple(each for each in found.values() if each.arrivals is None)
    known = {k: sum((each.parts[k] for each in seen), start=NOTHING) for k in kinds}
    rest = Loader((), "", metadata=False, parts={k: _rest(whole[k], known[k]) for k in kinds})
    loaders = sorted([*seen, rest], key=lambda each: -(each.arrivals or 0.0))
    closure = ratio(
        _sum(part.arrivals for part in whole.values()),
        _sum(part.arrivals for part in known.values()),
    )
    guessed = unseen or any(each.estimated for each in seen)
    return Blame(name, whole, tuple(loaders), unseen, None if guessed else closure)


def targets(topology: Topology, loads: Mapping[str, Load], top: str) -> list[Target]:
    """Return the disks that *top* loads with its data, the heaviest first."""
    owned = shares(topology, loads, top)
    data = carriers(topology, top)
    leaves = [
        name for name in topology.with_all_below(top) if name in data and not topology.below(name)
    ]
    everything = _sum(owned[name].part("total").arrivals for name in leaves)
    found = [
        Target(
            name,
            owned[name].part("total"),
            ratio(owned[name].part("total").arrivals, everything),
            ratio(owned[name].part("total").arrivals, loads.get(name, Load()).total.arrivals),
        )
        for name in leaves
    ]
    return sorted(found, key=lambda each: -(each.part.arrivals or 0.0))


def _senders(topology: Topology, loads: Mapping[str, Load], name: str) -> Iterator[Edge]:
    """
    Yield the edges that say what was sent to *name*, and for whom.

    One that serves several volumes and only passes on what they send is
    replaced by theirs: their own counters tell them apart. Below one that
    makes requests of its own they would not, nor its data from its metadata.
    """
    gone: set[str] = set()  # a device of several segments here is above more than once
    for edge in topology.above(name):
        tops, _, _ = _whose(topology, loads, edge.above)
        between = (edge, *topology.above(edge.above))
        told = all(is_passthrough(topology[each.above]) for each in between)
        if len(tops) > 1 and told and not divides(topology, edge):
            if edge.above not in gone:
                yield from _senders(topology, loads, edge.above)
            gone.add(edge.above)
        else:
            yield edge


def _whose(
    topology: Topology, loads: Mapping[str, Load], name: str
) -> tuple[tuple[str, ...], str, bool]:
    """Return the volumes that *name* serves, through what they share it, and whether as metadata."""
    tops = sorted(topology.tops_of(name))
    active = [top for top in tops if top not in loads or not loads[top].idle] or tops
    if len(active) == 1:
        return (active[0],), "", name not in carriers(topology, active[0])
    metadata = all(name not in carriers(topology, top) for top in active)
    return tuple(active), _meeting(topology, name, set(active)), metadata


def _meeting(topology: Topology, name: str, tops: set[str]) -> str:
    """Return the highest device at or above *name* that stands under all of *tops*."""
    above = [each for each in topology.with_all_above(name) if tops <= topology.tops_of(each)]
    return above[-1]


def _loader(
    topology: Topology,
    loads: Mapping[str, Load],
    sending: Sending,
    edge: Edge,
    key: tuple[tuple[str, ...], str, bool],
    kinds: list[str],
) -> Loader:
    tops, through, metadata = key
    parts = {}
    for kind in kinds:
        said = sending.sent(edge, kind)
        parts[kind] = said if said is not None else _alone(topology, loads, edge, kind)
    return Loader(tops, through, metadata, parts)


def _alone(topology: Topology, loads: Mapping[str, Load], edge: Edge, kind: str) -> Portion:
    """Return all that arrived below *edge*, whose device makes requests of its own, if none else stands there."""
    if len(topology.above(edge.below)) > 1 or edge.below not in loads:
        return Portion()
    if keeps_marks(topology[edge.above]):
        return with_marks(topology, loads, edge.above, edge.below).part(kind)
    return portion_of(flow_of(loads[edge.below], kind))


def _plus(a: Loader, b: Loader) -> Loader:
    parts = {kind: a.parts[kind] + b.parts[kind] for kind in a.parts}
    return Loader(a.tops, a.through, a.metadata, parts)


def _rest(whole: Portion, known: Portion) -> Portion:
    """Return what arrived beyond what is *known* to be sent; less arrives than was sent only by skew."""
    rest = Portion(
        arrivals=_beyond(whole.arrivals, known.arrivals), bytes=_beyond(whole.bytes, known.bytes)
    )
    if known.least is None:
        return rest
    least, most = (
        Amount(_beyond(whole.arrivals, end.arrivals), _beyond(whole.bytes, end.bytes))
        for end in reversed(known.ends)
    )
    return replace(rest, least=least, most=most)


def _beyond(whole: float | None, sent: float | None) -> float | None:
    return None if whole is None or sent is None else max(0.0, whole - sent)


def _sum(values: Iterable[float | None]) -> float | None:
    total: float | None = 0.0
    for value in values:
        total = plus(total, value)
    return total
