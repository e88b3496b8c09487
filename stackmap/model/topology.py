"""A machine: its devices and the edges between them."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar, TypeVarTuple

from stackmap.model.device import Device, Kind, Role

if TYPE_CHECKING:
    import networkx as nx


PREFIX = "_known_"  # of the attribute that keeps the results of a method
Owner = TypeVar("Owner")
Given = TypeVarTuple("Given")
Result = TypeVar("Result")


def computed_once(
    method: Callable[[Owner, *Given], Result],
) -> Callable[[Owner, *Given], Result]:
    """Return *method* so that each object computes it once per hashable positional arguments."""
    name = PREFIX + method.__name__

    @wraps(method)
    def known(self: Owner, *given: *Given) -> Result:
        answers: dict[Hashable, Result] = vars(self).setdefault(name, {})
        try:
            return answers[given]
        except KeyError:
            pass  # outside, so that an error of *method* is not said to come from this one
        result = answers[given] = method(self, *given)
        return result

    return known


def forget(owner: object, *given: Hashable) -> None:
    """Free what the methods of *owner* computed for these arguments."""
    for name, answers in vars(owner).items():
        if name.startswith(PREFIX):
            answers.pop(given, None)


FIGURES = "figures"  # the source of an edge that was inferred
LOWEST = frozenset({Kind.DISK, Kind.PARTITION, Kind.LOOP, Kind.ZRAM})  # that may lie on no device
WITHOUT_DEVICE = frozenset({"error", "zero"})  # targets that lie on none


def is_inferred(topology: "Topology", name: str) -> bool:
    """Whether *name* or a device below it lies on others only by what its figures show."""
    return any(
        edge.source == FIGURES
        for device in topology.with_all_below(name)
        for edge in topology.below(device)
    )


# Among what is unknown of a topology: it was made from the names in a text.
NO_TOPOLOGY = "no topology for this text; devices are shown by their own names"
# What tells the topology of another host.
ASK_FOR_IT = "`lsblk -J -O; cat /proc/mdstat; dmsetup table`"
INFERRED = "inferred from the figures"  # how the sentence begins that says which stacks are

_DIGITS = re.compile(r"([0-9]{1,18})")


class Machine(NamedTuple):
    """Host name, kernel release and boot id, each "" if unknown."""

    host: str = ""
    kernel: str = ""
    boot: str = ""

    @property
    def release(self) -> tuple[int, ...]:
        """The first two numbers of the kernel release; (0, 0) if unknown."""
        match = re.match(r"(\d+)\.(\d+)", self.kernel)
        return (int(match[1]), int(match[2])) if match else (0, 0)


UNKNOWN_MACHINE = Machine()


def of_another(ours: Machine, theirs: Machine) -> str:
    """Return how *theirs* shows that a text is from another machine or kernel; "" if it does not."""
    told = []
    if ours.host and theirs.host and not same_host(ours.host, theirs.host):
        told.append(f"host {theirs.host}, not {ours.host}")
    if ours.kernel and theirs.kernel and ours.kernel != theirs.kernel:
        told.append(f"kernel {theirs.kernel}, not {ours.kernel}")
    return "; ".join(told)


def same_host(one: str, other: str) -> bool:
    """Whether two names, with their domains or without, are of one host."""
    return short_host(one).lower() == short_host(other).lower()


def short_host(host: str) -> str:
    """
    Return *host* without its domain; an address has none.

    >>> short_host("db1.example.com"), short_host("192.0.2.7")
    ('db1', '192.0.2.7')
    """
    is_address = host.replace(".", "").isdecimal()
    return host if is_address else host.partition(".")[0]


class Edge(NamedTuple):
    """
    *above* uses *below* as its ``role``.

    ``start``: the first byte used on *below*, ``length``: the bytes used; None if unknown. ``source``: the texts
    that tell of it ("lsblk, /proc/mdstat"), "" on a machine.
    """

    above: str
    below: str
    role: Role
    start: int | None = None
    length: int | None = None
    source: str = ""


# The walks are written out: networkx takes 100 ms to import, and its walks do not keep natural order.
class Topology:
    """
    Every block device of a machine, and the edges between them.

    Edges run **down**, the way I/O travels::

        vghdd/vm-disk1  dm-8
          │ data            │ metadata
        dm-1 (rimage_0)   dm-0 (rmeta_0)   … three more of each
          └────────┬────────┘
                  sda

    A device is held once, however many use it. Iteration is top down; tops come
    in natural order of their names. ``unknown``: what could not be learned, and why.
    """

    def __init__(
        self,
        devices: Iterable[Device],
        edges: Iterable[Edge] = (),
        *,
        machine: Machine | None = None,
        unknown: Iterable[str] = (),
    ) -> None:
        self.devices: Mapping[str, Device] = {
            device.name: device for device in sorted(devices, key=lambda d: natural_key(d.title))
        }
        self.machine = machine or UNKNOWN_MACHINE
        self.unknown = tuple(unknown)
        below: defaultdict[str, list[Edge]] = defaultdict(list)
        above: defaultdict[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            if edge.above in self.devices and edge.below in self.devices:
                below[edge.above].append(edge)
        self._below = {name: tuple(dict.fromkeys(edges)) for name, edges in below.items()}
        for edge in chain.from_iterable(self._below.values()):
            above[edge.below].append(edge)
        self._above = {name: tuple(edges) for name, edges in above.items()}

    @property
    def remarks(self) -> list[str]:
        """What is unknown or inferred, in sentences."""
        whole = (NO_TOPOLOGY, INFERRED)
        return [r if r.startswith(whole) else f"not known: {r}" for r in self.unknown]

    def __iter__(self) -> Iterator[Device]:
        """Yield each device once, top down."""
        return iter(self._top_down)

    def __getitem__(self, name: str) -> Device:
        return self.devices[name]

    def __contains__(self, name: object) -> bool:
        return name in self.devices

    def __len__(self) -> int:
        return len(self.devices)

    def below(self, name: str) -> tuple[Edge, ...]:
        """Return the edges from *name* to the devices it uses."""
        return self._below.get(name, ())

    def above(self, name: str) -> tuple[Edge, ...]:
        """Return the edges from the devices that use *name*."""
        return self._above.get(name, ())

    def used_by(self, name: str, role: Role) -> list[str]:
        """Return the devices that *name* uses in *role*, one for each edge."""
        return [edge.below for edge in self._below.get(name, ()) if edge.role is role]

    def disks_of(self, name: str) -> list[str]:
        """Return the devices at or below *name* that use no other device, in the order of ``with_all_below``."""
        return [below for below in self.with_all_below(name) if not self.below(below)]

    def edges_above(self, names: Iterable[str]) -> Mapping[str, list[Edge]]:
        """Return the edges down from *names*, by the device below: of a shared one, only these."""
        edges: dict[str, list[Edge]] = {}
        for name in names:
            for edge in self.below(name):
                edges.setdefault(edge.below, []).append(edge)
        return edges

    def rows(self) -> Iterator[tuple[Device, int]]:
        """
        Yield each device once, below everything that uses it, with its depth (the longest way down).

        Members follow their volume, data before metadata; a shared device follows the last stack
        that uses it.
        """
        names = self.with_all_below(*(top.name for top in self.tops))
        depth = dict.fromkeys(names, 0)
        for name in names:
            for edge in self.below(name):
                depth[edge.below] = max(depth[edge.below], depth[name] + 1)
        place = {top.name: number for number, top in enumerate(self.tops)}
        after = {name: max(place[top] for top in self.tops_of(name)) for name in names}

        def position(name: str) -> tuple[int, int, bool]:
            roles = {edge.role for edge in self.above(name)}
            return after[name], depth[name], roles == {Role.METADATA}

        for name in sorted(names, key=position):
            yield self.devices[name], depth[name]

    @property
    def edges(self) -> Iterator[Edge]:
        """Yield every edge once, top down."""
        for device in self:
            yield from self.below(device.name)

    @cached_property
    def tops(self) -> tuple[Device, ...]:
        """The devices with nothing above them, in natural order of their names."""
        return tuple(device for device in self.devices.values() if device.name not in self._above)

    @cached_property
    def open_ends(self) -> frozenset[str]:
        """The devices that lie on others, of which the input has none."""
        return frozenset(
            device.name
            for device in self
            if device.kind not in LOWEST
            and device.target not in WITHOUT_DEVICE
            and device.size != 0  # an inactive array, or no table: it sends nothing
            and not self.below(device.name)
        )

    def with_all_below(self, *tops: str) -> list[str]:
        """Return *tops* and the names of everything below them, each after everything above it."""
        return self._reachable(tops, self._below, attrgetter("below"))

    def with_all_above(self, name: str) -> list[str]:
        """Return *name* and the names of everything above it, each after everything below it."""
        return self._reachable([name], self._above, attrgetter("above"))

    def connected(self, names: Iterable[str]) -> frozenset[str]:
        """Return everything that can affect *names*: all devices that share anything with their stacks."""
        reached: set[str] = set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in reached:
                reached.add(name)
                todo += [edge.below for edge in self.below(name)]
                todo += [edge.above for edge in self.above(name)]
        return frozenset(reached)

    def tops_of(self, name: str) -> frozenset[str]:
        """Return the tops whose I/O can reach *name*."""
        return self._tops_of[name]

    def select(self, names: Iterable[str]) -> "Topology":
        """Return the whole stacks that contain *names*, as a topology."""
        kept: set[str] = set()
        for name in names:
            kept.update(self.with_all_below(name))
            kept.update(self.with_all_above(name))
        return self.subset(kept)

    def subset(self, names: Iterable[str]) -> "Topology":
        """Return *names* and the edges between them, as a topology."""
        kept = set(names)
        return Topology(
            (device for device in self.devices.values() if device.name in kept),
            (edge for edges in self._below.values() for edge in edges if edge.above in kept),
            machine=self.machine,
            unknown=self.unknown,
        )

    def graph(self) -> "nx.MultiDiGraph":
        """Return this as a networkx graph with edges down, for algorithms and exports."""
        # Imported here: it takes 100 ms, which tree and iostat must not pay.
        import networkx as nx

        graph = nx.MultiDiGraph()
        for device in self.devices.values():
            size = {} if device.size is None else {"size": device.size}  # GraphML has no null
            graph.add_node(device.name, label=device.title, kind=str(device.kind), **size)
        for edge in self.edges:
            graph.add_edge(edge.above, edge.below, role=str(edge.role))
        return graph

    @cached_property
    def _top_down(self) -> tuple[Device, ...]:
        names = dict.fromkeys(name for top in self.tops for name in self._down(top.name))
        return tuple(self.devices[name] for name in names)

    @cached_property
    def _tops_of(self) -> Mapping[str, frozenset[str]]:
        reach: defaultdict[str, set[str]] = defaultdict(set)
        for top in self.tops:
            for name in self._down(top.name):
                reach[name].add(top.name)
        return {name: frozenset(tops) for name, tops in reach.items()}

    def _down(self, start: str) -> Iterator[str]:
        """Yield *start* and everything below it, depth first, each once."""
        seen: set[str] = set()
        todo = [start]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                yield name
                todo.extend(edge.below for edge in reversed(self.below(name)))

    def _reachable(
        self,
        starts: Sequence[str],
        edges: Mapping[str, tuple[Edge, ...]],
        other: Callable[[Edge], str],
    ) -> list[str]:
        """Return the devices that *starts* reach, each after all devices that lead to it (reverse postorder)."""
        if len(starts) == 1 and starts[0] not in edges:
            return [*starts]  # a disk alone, of which a host may have hundreds
        done: list[str] = []
        entered: set[str] = set()
        for start in reversed(starts):
            if start in entered:
                continue
            entered.add(start)
            todo = [(start, reversed(edges.get(start, ())))]
            while todo:
                name, remaining = todo[-1]
                following = next((other(e) for e in remaining if other(e) not in entered), None)
                if following is None:
                    done.append(name)
                    todo.pop()
                else:
                    entered.add(following)
                    todo.append((following, reversed(edges.get(following, ()))))
        return done[::-1]


def natural_key(name: str) -> tuple[str | int, ...]:
    """Return a sort key that puts dm-2 before dm-10."""
    # re.split with a group alternates text and digits, so keys compare like with like. The group
    # takes only ASCII digits, and not more than int() accepts.
    parts = _DIGITS.split(name)
    return tuple([int(part) if place % 2 else part for place, part in enumerate(parts)])
