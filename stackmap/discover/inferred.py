"""
Stacks inferred from figures alone: what one layer moved is the sum of what the layer below moved.

A text with rates and no topology tells much: an array that writes 78,794 KiB/s while six disks write as much together
stripes; one that writes 4,328 MiB/s while each of two disks does mirrors. A stack counts as inferred only if exactly
one explanation fits, in several intervals with different rates; each disk in it must be explained whole.

Kinds of explanation, by what the members together write and read per byte of the volume: ``shapes.py``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from math import sqrt
from operator import add, le
from typing import NamedTuple

from stackmap.discover.shapes import ALONE, READ, SHAPES, SUM, Shape
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE
from stackmap.model.raid import layout
from stackmap.model.topology import (
    ASK_FOR_IT,
    FIGURES,
    INFERRED,
    NO_TOPOLOGY,
    Edge,
    Topology,
    natural_key,
)

MIN_INTERVALS = 4  # with I/O, and with at least so many different rates
# Of one interval, a quarter of that in all; requests in flight at its ends belong to two.
NEAR = 0.02
DOUBTFUL = 3.0  # times as far off: if another explanation is no farther, none counts
LEAST_MISS = 0.002  # of a perfect explanation: rounding
FLYING = 4  # requests that are in one interval above and in the next one below
ROUNDED = 32.0  # bytes/s: half of the last digit of "0.06 kB/s", of few figures
FOLLOWS = 0.8  # of the variation of a rate that the explanation must share
WRITTEN = 0.02  # of all bytes: reads alone do not tell a stripe from a mirror
LEAST_SHARE = 0.2  # of an equal part: a member that gets less is none
# Of all searches in one text; of what is left untried nothing is said.
MAX_STEPS = 100_000
MAX_COMPARED = 10_000_000  # rates, which takes some 2 s; 500 volumes on 1,000 disks in 20 reports
EXAMINED = 16  # intervals that choose what is tried; all decide
MAX_ALIKE = 12  # devices that write as much as each other
# Times what a volume moves, that one of its members may: reads of RAID6 for small writes.
MOST = 3.2
MAX_SAID = 6
BASE = frozenset({Kind.DISK, Kind.PARTITION})
UPPER = frozenset({Kind.ARRAY, Kind.DM, Kind.VOLUME, Kind.MEMBER})


class Series(NamedTuple):
    """
    The bytes per second that a device wrote and read, an interval each, and how much may be in flight.

    ``moved``: both together, which are compared with those of many devices.
    """

    writes: tuple[float, ...]
    reads: tuple[float, ...]
    moved: tuple[float, ...]
    slack: float

    @property
    def total(self) -> float:
        """Of both, in all intervals."""
        return sum(self.writes) + sum(self.reads)


class Explanation(NamedTuple):
    """That *above* has the *shape* on *members*."""

    above: str
    shape: Shape
    members: tuple[str, ...]


def may_infer(topology: Topology) -> bool:
    """Whether *topology*, made of names, has devices that lie on others, and disks."""
    kinds = {device.kind for device in topology if not topology.below(device.name)}
    return NO_TOPOLOGY in topology.unknown and Kind.DISK in kinds and bool(kinds & UPPER)


def inferred(topology: Topology, intervals: Sequence[Interval]) -> Topology:
    """Return *topology*, made of names, with the stacks that its *intervals* prove; itself if they prove none."""
    series = {name: one for name in topology.devices if (one := _series(name, intervals))}
    # What lies on other devices, which its name does not tell.
    uppers = [name for name in series if topology[name].kind in UPPER and not topology.below(name)]
    uppers.sort(key=natural_key)
    bases = [name for name in series if topology[name].kind in BASE and not topology.above(name)]
    search = Search(series)
    alone, groups = _explained(topology, uppers, bases, series, search)
    shared = _shared(topology, uppers, bases, series, alone, groups, search)
    edges = [*_stacked(alone, groups), *shared]
    if not edges:
        return topology
    shapes = {chain[0].above: chain[0] for chain in groups.values()}
    above = {edge.above for edge in edges}
    devices = [
        _shaped(device, shapes.get(device.name)) if device.name in above else device
        for device in topology.devices.values()
    ]
    return Topology(
        devices,
        [*topology.edges, *edges],
        machine=topology.machine,
        unknown=[*topology.unknown, _sentence(edges, shapes)],
    )


def _sentence(edges: Iterable[Edge], shapes: Mapping[str, Explanation]) -> str:
    """Return a sentence that names the inferred edges."""
    below: dict[str, list[str]] = {}
    for edge in edges:
        below.setdefault(edge.above, []).append(edge.below)
    said = [
        f"{name} is {shapes[name].shape.level + ' of' if name in shapes and shapes[name].shape.level else 'on'} "
        + ", ".join(members)
        for name, members in below.items()
    ]
    more = f" and {len(said) - MAX_SAID} more" if len(said) > MAX_SAID else ""
    return (
        f"{INFERRED}: {'; '.join(said[:MAX_SAID])}{more}. Devices of equal figures are in the order of their "
        f"numbers. {ASK_FOR_IT} settles it"
    )


def _kind(topology: Topology, name: str) -> Kind:
    return Kind.ARRAY if topology[name].kind is Kind.ARRAY else Kind.DM


def _series(name: str, intervals: Sequence[Interval]) -> Series | None:
    """Return the bytes of *name* in all *intervals*; None if one does not know them, or it did nothing."""
    writes, reads, slack = [], [], 0.0
    for interval in intervals:
        load = interval.loads.get(name, IDLE)  # iostat -z leaves out idle devices
        if load.read.bytes is None or load.write.bytes is None:
            return None
        writes.append(load.write.bytes)
        reads.append(load.read.bytes)
        size = max(load.read.size or 0.0, load.write.size or 0.0)
        flying = FLYING + (load.aqu or 0.0) / FLYING
        slack = max(slack, flying * size / (interval.seconds or 1.0))
    moved = tuple(map(add, writes, reads))
    return Series(tuple(writes), tuple(reads), moved, slack) if any(moved) else None


def _tells(series: Series) -> bool:
    """Whether *series* has enough intervals with different rates that agreement is no chance."""
    rates = {round(rate, -2) for rate in series.moved if rate}
    return len(rates) >= MIN_INTERVALS


def _agree(wanted: Sequence[float], sums: Sequence[float], slack: float, scale: float) -> bool:
    """Whether *sums* are the *wanted* rates, each of them and together, in *scale* times the tolerance."""
    slack, near = scale * (slack + ROUNDED), scale * NEAR
    singly = all(abs(a - b) <= near * a + slack for a, b in zip(wanted, sums, strict=True))
    return singly and abs(sum(wanted) - sum(sums)) <= near / 4 * sum(wanted) + 2 * slack


def _follows(wanted: Sequence[float], sums: Sequence[float], scale: float) -> bool:
    """Whether *sums* rise and fall as the *wanted* rates do: steady rates may be equal by chance."""
    middle = sum(wanted) / len(wanted)
    left = sum((a - b) ** 2 for a, b in zip(wanted, sums, strict=True))
    return left <= scale * (1 - FOLLOWS) * sum((a - middle) ** 2 for a in wanted)


def _wanted(shape: Shape, own: Series) -> tuple[list[float], list[float]]:
    """Return the bytes that the members of a volume with the figures *own* write and read, an interval each."""
    writes = [shape.writes * rate for rate in own.writes]
    reads = [shape.reads * r + shape.caused * w for w, r in zip(own.writes, own.reads, strict=True)]
    return writes, reads


def _moved(members: Sequence[Series]) -> tuple[list[float], list[float]]:
    """Return the bytes that *members* together wrote and read, an interval each."""
    return _sums(member.writes for member in members), _sums(member.reads for member in members)


def _sums(rows: Iterable[Sequence[float]]) -> list[float]:
    return [*map(sum, zip(*rows, strict=True))]


def _fits(shape: Shape, own: Series, members: Sequence[Series], scale: float) -> bool:
    """Whether *members* moved what a volume with the figures *own* and this *shape* sends them."""
    slack = own.slack * max(1.0, shape.writes)
    wanted, moved = _wanted(shape, own), _moved(members)
    if not all(_agree(a, b, slack, scale) for a, b in zip(wanted, moved, strict=True)):
        return False
    if not _follows(_sums(wanted), _sums(moved), scale):
        return False
    part = [shape.writes / len(members) * rate for rate in own.writes]
    return not shape.each or all(_agree(part, member.writes, slack, scale) for member in members)


class Search:
    """Searches the members of volumes among devices with *series*, in so many steps for all of them together."""

    def __init__(self, series: Mapping[str, Series]) -> None:
        self._series = series
        self._left = MAX_STEPS
        self._to_compare = MAX_COMPARED

    def near(self, own: Series, names: Sequence[str]) -> list[str]:
        """Return the devices among *names* that may be below a volume with the figures *own*, the busiest first."""
        if not self._may_compare(own, names):
            return []
        most = [MOST * rate + 2 * own.slack + ROUNDED for rate in own.moved]
        possible = [name for name in names if all(map(le, self._series[name].moved, most))]
        return sorted(possible, key=lambda name: -self._series[name].total)

    def solutions(
        self, own: Series, shape: Shape, names: Sequence[str]
    ) -> Iterator[tuple[str, ...]]:
        """Yield the sets of *names* that may be the members of a volume with the figures *own* and *shape*."""
        series = self._series
        if not self._may_compare(own, names):
            yield ()  # not all are tried: perhaps there is another one
        elif shape.members == 1:
            yield from ((name,) for name in names if _fits(shape, own, [series[name]], DOUBTFUL))
        elif shape.each:
            part = [shape.writes / shape.members * rate for rate in own.writes]
            agreeing = (n for n in names if _agree(part, series[n].writes, own.slack, DOUBTFUL))
            alike = [*islice(agreeing, MAX_ALIKE + 1)]
            if len(alike) > MAX_ALIKE:
                yield ()  # not all are tried: perhaps there is another one
                return
            for chosen in combinations(alike, shape.members):
                if _fits(shape, own, [series[name] for name in chosen], DOUBTFUL):
                    yield chosen
        else:
            yield from self._sums(own, shape, names)

    def _may_compare(self, own: Series, names: Sequence[str]) -> bool:
        """Whether the rates of *own* may be compared with those of all *names*."""
        self._to_compare -= len(names) * len(own.writes)
        return self._to_compare >= 0

    def _sums(self, own: Series, shape: Shape, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        wanted = _sums(_wanted(shape, own))[:EXAMINED]
        spare = [DOUBTFUL * (NEAR * rate + 2 * own.slack + ROUNDED) for rate in wanted]
        moved = [self._series[name].moved[:EXAMINED] for name in names]
        rest = [[0.0] * len(wanted)]
        for rates in reversed(moved):
            rest.append([a + b for a, b in zip(rest[-1], rates, strict=True)])
        rest.reverse()
        stack: list[tuple[int, tuple[int, ...], list[float]]] = [(0, (), wanted)]
        while stack:
            self._left -= 1
            if self._left < 0:
                yield ()  # not all were tried: perhaps there is another one
                return
            place, chosen, lacking = stack.pop()
            enough = shape.members <= len(chosen) <= (shape.most or len(chosen))
            if enough and all(a <= b for a, b in zip(lacking, spare, strict=True)):
                members = [self._series[names[n]] for n in chosen]
                if (shape is SUM or _is_even(members)) and _fits(shape, own, members, DOUBTFUL):
                    yield tuple(names[n] for n in chosen)
            if place == len(names) or any(
                a - b > c for a, b, c in zip(lacking, rest[place], spare, strict=True)
            ):
                continue
            stack.append((place + 1, chosen, lacking))
            left = [a - b for a, b in zip(lacking, moved[place], strict=True)]
            if all(a + b >= 0 for a, b in zip(left, spare, strict=True)):
                stack.append((place + 1, (*chosen, place), left))


def _best(
    own: Series, explanations: Sequence[Explanation], series: Mapping[str, Series]
) -> Explanation | None:
    """Return the explanation that fits, and far better than any with other members; None without one."""
    if not explanations or any(not explanation.members for explanation in explanations):
        return None
    misses = {
        explanation: _miss(explanation.shape, own, [series[name] for name in explanation.members])
        for explanation in explanations
    }
    best, *others = sorted(explanations, key=lambda explanation: misses[explanation])
    if not _fits(best.shape, own, [series[name] for name in best.members], 1.0):
        return None
    doubtful = DOUBTFUL * max(misses[best], LEAST_MISS)
    near = [other for other in others if misses[other] < doubtful]
    if any(other.members != best.members for other in near):
        return None
    # The members are certain. Writes alone do not tell LVM's stripes from a mirror that is counted twice.
    return best._replace(shape=best.shape._replace(level="", target="")) if near else best


def _miss(shape: Shape, own: Series, members: Sequence[Series]) -> float:
    """Return the error of this explanation: the root mean square of what *members* moved less what *shape* sends them, as a share."""
    wanted, moved = _wanted(shape, own), _moved(members)
    pairs = (zip(a, b, strict=True) for a, b in zip(wanted, moved, strict=True))
    left = sum((a - b) ** 2 for both in pairs for a, b in both)
    return sqrt(left / (sum(a * a for rates in wanted for a in rates) or 1.0))


def _is_even(members: Sequence[Series]) -> bool:
    """Whether each of *members* has a fair part, as stripes give it."""
    totals = [member.total for member in members]
    return min(totals) >= LEAST_SHARE * sum(totals) / len(totals)


def _explained(
    topology: Topology,
    uppers: Iterable[str],
    bases: Sequence[str],
    series: Mapping[str, Series],
    search: Search,
) -> tuple[dict[str, list[Explanation]], dict[tuple[str, ...], list[Explanation]]]:
    """Return the explanations of devices on one base, by that base, and those on several members, by the members."""
    alone: dict[str, list[Explanation]] = {}
    groups: dict[tuple[str, ...], list[Explanation]] = {}
    for name in uppers:
        own, kind = series[name], _kind(topology, name)
        if not _tells(own):
            continue
        written = sum(own.writes) >= WRITTEN * own.total
        shapes = (SHAPES if written else READ)[kind]
        near = search.near(own, bases)
        explanations = [
            Explanation(name, shape, tuple(sorted(members, key=natural_key)))
            for shape in ((ALONE, *shapes) if kind is Kind.DM else shapes)
            for members in search.solutions(own, shape, near)
        ]
        only = _best(own, explanations, series)
        if only is None:
            continue
        if only.shape is ALONE:
            alone.setdefault(only.members[0], []).append(only)
        else:
            groups.setdefault(only.members, []).append(only)
    crossing = {
        members
        for members in groups
        for other in groups
        if members != other and set(members) & set(other)
    }
    for members in crossing:
        del groups[members]
    for chain in groups.values():  # an array is below a mapped device of the same figures
        chain.sort(
            key=lambda one: (topology[one.above].kind is not Kind.ARRAY, natural_key(one.above))
        )
    return alone, groups


def _stacked(
    alone: Mapping[str, list[Explanation]],
    groups: Mapping[tuple[str, ...], list[Explanation]],
) -> Iterator[Edge]:
    """Yield the edges: on each base the devices with its figures, in the order of their numbers, then the volume."""
    top = {}
    for base, chain in alone.items():
        below = base
        for explanation in chain:
            yield Edge(explanation.above, below, Role.DATA, source=FIGURES)
            below = explanation.above
        top[base] = below
    for members, chain in groups.items():
        lowest, *others = (explanation.above for explanation in chain)
        for member in members:
            yield Edge(lowest, top.get(member, member), Role.DATA, source=FIGURES)
        below = lowest
        for name in others:
            yield Edge(name, below, Role.DATA, source=FIGURES)
            below = name


def _shared(
    topology: Topology,
    uppers: Sequence[str],
    bases: Sequence[str],
    series: Mapping[str, Series],
    alone: Mapping[str, list[Explanation]],
    groups: Mapping[tuple[str, ...], list[Explanation]],
    search: Search,
) -> Iterator[Edge]:
    """Yield the edges of volumes that share one base or array, whose figures are their sum."""
    known = {one.above for chain in (*alone.values(), *groups.values()) for one in chain}
    taken = {*alone, *(member for members in groups for member in members)}
    tops = [chain[-1].above for chain in groups.values()]
    tops += [chain[-1].above for base, chain in alone.items() if not any(base in x for x in groups)]
    free = [name for name in uppers if name not in known and _kind(topology, name) is Kind.DM]
    volumes: dict[str, tuple[str, ...]] = {}
    for base in [*tops, *(name for name in bases if name not in taken)]:
        own = series[base]
        if _tells(own):
            # What lies on a mapped device was made after it.
            ordered = topology[base].kind not in BASE and _kind(topology, base) is Kind.DM
            later = [n for n in free if not ordered or natural_key(n) > natural_key(base)]
            sets = [*search.solutions(own, SUM, search.near(own, later))]
            if len(sets) == 1 and sets[0] and _fits(SUM, own, [series[n] for n in sets[0]], 1.0):
                volumes[base] = sets[0]
    for base, names in volumes.items():
        if not any(set(names) & set(other) for place, other in volumes.items() if place != base):
            yield from (Edge(name, base, Role.DATA, source=FIGURES) for name in names)


def _shaped(device: Device, explanation: Explanation | None) -> Device:
    """Return *device*, whose layer below was inferred, with the layout of its *explanation*, if it has one."""
    device = device._replace(facts={**device.facts, "inferred": "inferred"})
    if explanation is None or not explanation.shape.level:
        return device
    return device._replace(
        layout=layout(explanation.shape.level, len(explanation.members)),
        target=explanation.shape.target or device.target,
        kind=Kind.VOLUME if explanation.shape.target else device.kind,
    )
