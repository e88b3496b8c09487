"""
``discover(host)``: every block device of a host and the edges between them.

sysfs lists the devices (``scan.py``); a reader per kind knows where to look further. What
could not be learned is listed once in ``Topology.unknown``. ``rediscovery.py`` updates a topology after
uevents, ``find.py`` knows which devices a NAME means, ``uses.py`` who uses a device.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from stackmap.discover import device_mapper, disks
from stackmap.discover.scan import Discovered, Scan, scan_host
from stackmap.discover.uses import device_uses, file_systems
from stackmap.host import Host
from stackmap.model.device import NO_COUNTS, Counts, Device, Kind, Use
from stackmap.model.raid import LOST, state_with
from stackmap.model.topology import Edge, Machine, Topology
from stackmap.sources import error_counts
from stackmap.sources.sysfs import Block, attribute, attributes

# No device is below itself, and no stack is deeper: the kernel has no such stacks, but a damaged or hostile
# capture may.
MAX_DEPTH = 100  # levels; the drawings and the walks of the ledger grow with them

CYCLE = "part of what is below {device}: the input lists a device below itself"
DEEP = f"part of what is below {{device}}: stacks are followed for {MAX_DEPTH} levels"


def discover(host: Host, *, geometry: bool = False, counters: bool = True) -> Topology:
    """
    Return the topology of *host*.

    *geometry*: read the ``queue/`` attributes of all devices, not only of
    those whose layout depends on them. *counters*: False if no counters will be
    read, so that the attributes that qualify them are not read either.
    """
    scan = scan_host(host, geometry=geometry, counters=counters)
    discovered = [read_device(scan, block) for block in scan.blocks.values()]
    return topology_parts(scan, discovered).topology()


NO_DEVICES = "block devices: the input has none"


class TopologyParts(NamedTuple):
    """What a topology is made of."""

    devices: list[Device]
    edges: list[Edge]
    machine: Machine
    unknown: list[str]

    def topology(self) -> Topology:
        """Return the topology."""
        return Topology(self.devices, self.edges, machine=self.machine, unknown=self.unknown)


def topology_parts(scan: Scan, discovered: Collection[Discovered]) -> TopologyParts:
    """Return the parts of the topology of the devices *discovered*."""
    member_states = {name: state for entry in discovered for name, state in entry.states.items()}
    users = device_uses(scan, discovered)
    counts = _error_counts(scan, discovered)
    titles = {entry.device.name: entry.device.title for entry in discovered}
    loops = (entry.device for entry in discovered if entry.device.kind is Kind.LOOP)
    files = {loop.name: loop.facts["file"] for loop in loops if "file" in loop.facts}
    stored = {loop: titles.get(on, on) for loop, on in file_systems(scan, files).items()}
    failed = {entry.device.name for entry in discovered if entry.device.state == LOST}
    working = titles.keys() - failed
    devices = [
        _joined(
            _with_losses(entry, working),
            member_states.get(entry.device.name, ""),
            users.get(entry.device.name, ()),
            counts.get(entry.device.name, NO_COUNTS),
            stored.get(entry.device.name, ""),
        )
        for entry in discovered
    ]
    unknown = [*scan.unknown, *device_mapper.unknown(discovered), *_unknown_sizes(discovered)]
    unknown += [] if discovered else [NO_DEVICES]
    edges, doubts = sound_edges(
        _with_sources(scan, [e for entry in discovered for e in entry.edges])
    )
    unknown += doubts
    return TopologyParts(devices, edges, machine(scan.host), unknown)


def _with_sources(scan: Scan, edges: list[Edge]) -> list[Edge]:
    """Return *edges*, each with the texts that tell of it, where the input is a text."""
    if not scan.partial:
        return edges
    from stackmap.sources.printed.capture_files import read_origins  # few inputs are texts

    known = read_origins(scan.host)
    return [e._replace(source=known.get(f"{e.above} {e.below}", "")) for e in edges]


def machine(host: Host) -> Machine:
    """Return the host name, kernel release and boot id."""
    words = attribute(host, "/proc/version").split()
    return Machine(
        host=attribute(host, "/proc/sys/kernel/hostname"),
        kernel=words[2] if len(words) > 2 else "",
        boot=attribute(host, "/proc/sys/kernel/random/boot_id"),
    )


def read_device(scan: Scan, block: Block) -> Discovered:
    """Return the device *block* with its edges, from the reader of its kind."""
    if "dm" in block.entries:
        return device_mapper.read(scan, block)
    if "md" in block.entries:
        from stackmap.discover import arrays  # 3 ms, needed only with md

        return arrays.read(scan, block)
    return disks.read(scan, block)


def _with_losses(entry: Discovered, working: Collection[str]) -> Device:
    """Return the device; of an array, its state with only those members that are *working*."""
    device = entry.device
    if device.layout is None or not entry.slots:
        return device
    slots = [name in working for name in entry.slots]
    return device._replace(state=state_with(device.state, device.layout, slots))


def _unknown_sizes(discovered: Collection[Discovered]) -> Iterator[str]:
    """Yield a sentence on the devices whose size is unknown."""
    titles = [entry.device.title for entry in discovered if entry.device.size is None]
    if titles:
        which = device_mapper.some_of(titles) if len(titles) < len(discovered) else "every device"
        yield f"size of {which}: not in the input"


def _error_counts(scan: Scan, discovered: Collection[Discovered]) -> Mapping[str, Counts]:
    """Return the counts of errors that sysfs and the devices above have, by device."""
    edges = [edge for entry in discovered for edge in entry.edges]
    files = tuple(error_counts.files(scan.host, (entry.device for entry in discovered), edges))
    counts = dict(error_counts.parse(files, attributes(scan.host, (file.path for file in files))))
    for name, more in (pair for entry in discovered for pair in entry.counts.items()):
        counts[name] = {**counts.get(name, NO_COUNTS), **more}
    return counts


def _joined(
    device: Device, member_states: str, users: tuple[Use, ...], counts: Counts, stored: str
) -> Device:
    """
    Return *device* with its state as a member, its users and its errors, as learned elsewhere.

    *stored*: the device with the file system of a loop device's file, "" if unknown.
    """
    if stored:
        device = device._replace(facts={**device.facts, "on": stored})
    if counts:
        device = device._replace(counts={**device.counts, **counts})
    if users:
        device = device._replace(uses=users)
    if member_states and device.state in (None, "active"):
        device = device._replace(state=member_states)
    return device


def sound_edges(edges: Iterable[Edge]) -> tuple[list[Edge], list[str]]:
    """Return *edges* without impossible ones, and a sentence for each kind of these."""
    kept, doubts = _sound(tuple(edges))
    return [*kept], [*doubts]


@lru_cache(maxsize=2)  # after most uevents the edges are the same, as root and without
def _sound(edges: tuple[Edge, ...]) -> tuple[Sequence[Edge], Sequence[str]]:
    below: dict[str, list[Edge]] = {}
    for edge in edges:
        below.setdefault(edge.above, []).append(edge)
    closing: set[Edge] = set()
    depth: dict[str, int] = {}
    kept: list[Edge] = []
    doubts: dict[str, str] = {}
    for name in reversed(list(_walk(below, closing))):
        for edge in below.get(name, ()):
            level = depth.get(name, 0) + 1
            if edge in closing:
                doubts.setdefault(CYCLE, CYCLE.format(device=name))
            elif level > MAX_DEPTH:
                doubts.setdefault(DEEP, DEEP.format(device=name))
            else:
                depth[edge.below] = max(level, depth.get(edge.below, 0))
                kept.append(edge)
    return kept if doubts else edges, list(doubts.values())


def _walk(below: Mapping[str, list[Edge]], closing: set[Edge]) -> Iterator[str]:
    """Yield each device after all devices below it; add to *closing* each edge that leads back up."""
    targets = {edge.below for edges in below.values() for edge in edges}
    entered: set[str] = set()
    path: set[str] = set()
    for start in (*(name for name in below if name not in targets), *below):
        todo = [(start, iter(below[start]))] if start not in entered else []
        entered.add(start)
        path.update(name for name, _ in todo)
        while todo:
            name, remaining = todo[-1]
            edge = next(remaining, None)
            if edge is None:
                yield name
                path.discard(name)
                todo.pop()
            elif edge.below in path:
                closing.add(edge)
            elif edge.below not in entered:
                entered.add(edge.below)
                path.add(edge.below)
                todo.append((edge.below, iter(below.get(edge.below, ()))))
