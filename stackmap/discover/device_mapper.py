"""Mapped devices: from their tables, or without root from names, uuids and sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stackmap.discover import inference
from stackmap.discover.common_fields import common_fields
from stackmap.discover.discovered import Discovered
from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Edge
from stackmap.sources import dm, sysfs
from stackmap.sources.dm import MappedDevice
from stackmap.sources.dm_targets import ACTIVE, Target, target
from stackmap.sources.dm_targets.segment import DmStatus, Segment
from stackmap.sources.sysfs import Block

# What malformed words make of a reader that takes them by position.
DAMAGE = (ValueError, IndexError, KeyError, ArithmeticError)


def read(seen: Scan, block: Block) -> Discovered:
    """Return the mapped device that *block* is."""
    mapped = seen.mapped[block.name]
    segments = (seen.tables or {}).get(mapped.name)
    if segments is None:
        return inference.read(seen, mapped)
    try:
        return _from_table(seen, mapped, segments)
    except DAMAGE:
        found = inference.read(seen, mapped)
        return found._replace(uncertainties=(*found.uncertainties, inference.STRANGE))


def unknown(found: Iterable[Discovered]) -> Iterator[str]:
    """Yield a sentence for each doubt, with the devices that share it."""
    doubted: defaultdict[str, list[str]] = defaultdict(list)
    for each in found:
        for doubt in each.uncertainties:
            doubted[doubt].append(each.device.title)
    for doubt, titles in doubted.items():
        yield doubt.format(devices=", ".join(sorted(titles)))


def _from_table(seen: Scan, mapped: MappedDevice, segments: tuple[Segment, ...]) -> Discovered:
    readers = [target(segment.target) for segment in segments]
    told = _told(seen, mapped)
    edges = tuple(_edges(seen, mapped, zip(readers, segments, strict=True)))
    names = list(dict.fromkeys([segment.target for segment in segments]))
    layouts = {r.layout(segment) for r, segment in zip(readers, segments, strict=True)}
    size = sum([segment.length for segment in segments])
    device = Device(
        **common_fields(seen, mapped.block, size=size, read_only=mapped.read_only),
        kind=_kind(mapped, {reader.kind for reader in readers}),
        label=mapped.label,
        dm_name=mapped.name,
        target=",".join(names),
        uuid=mapped.uuid,
        layout=layouts.pop() if len(layouts) == 1 else None,
        state="suspended" if mapped.suspended else told.state,
        # A pool sends a thin volume's I/O straight to its data, past its own counters.
        counted="thin-pool" not in names,
        merges="multipath" in names and queues_requests(seen, mapped.block),
        facts={**_facts(readers, segments), **told.facts},
    )
    return Discovered(device, edges, states=_states(edges, told, seen.names))


def _edges(
    seen: Scan, mapped: MappedDevice, read_segments: Iterable[tuple[Target, Segment]]
) -> Iterator[Edge]:
    above = mapped.block.name
    for reader, segment in read_segments:
        for below in reader.below(segment):
            name = seen.names.get(below.number)
            if name is not None:
                yield Edge(above, name, below.role, below.start, below.length)
        if reader.name != segment.target:
            yield from inference.edges(seen, mapped, segment.target)


def _kind(mapped: MappedDevice, kinds: set[Kind]) -> Kind:
    kind = kinds.pop() if len(kinds) == 1 else Kind.DM
    if mapped.lv is None:
        return dm.infer_target(mapped, ()).kind if kind is Kind.DM else kind
    if kind is Kind.THIN_POOL or mapped.uuid.endswith("-pool"):
        return Kind.THIN_POOL
    if mapped.lv.hidden:
        return Kind.MEMBER
    return Kind.VOLUME if kind is Kind.DM else kind


def _told(seen: Scan, mapped: MappedDevice) -> DmStatus:
    """Return what the status lines tell: of several, the first that is not in order."""
    if seen.statuses is None:
        return DmStatus()
    lines = seen.statuses.get(mapped.name, ())
    if (
        lines and seen.statuses is seen.tables
    ):  # not even asked for: no target here has more to tell
        return ACTIVE
    told = [_read_status(target(line.target), line) for line in lines]
    wrong = (each for each in told if each.state != "active")
    return next(wrong, told[0] if told else DmStatus())


def _read_status(kind: Target, line: Segment) -> DmStatus:
    try:
        return kind.status(line)
    except DAMAGE:
        return DmStatus()


def _facts(readers: Sequence[Target], segments: Sequence[Segment]) -> dict[str, str]:
    facts = {"segments": str(len(segments))} if len(segments) > 1 else {}
    for reader, segment in zip(readers, segments, strict=True):
        facts |= reader.facts(segment)
    return facts


def _states(edges: tuple[Edge, ...], told: DmStatus, names: Mapping[str, str]) -> dict[str, str]:
    """Return the states of the devices below, by name."""
    if not told.paths and not told.members:
        return {}
    states = {names[number]: state for number, state in told.paths.items() if number in names}
    carriers = [edge.below for edge in edges if edge.role != "metadata"]
    # Letters count places of the table, where a missing member has one too.
    if len(carriers) == len(told.members):
        states |= dict(zip(carriers, told.members, strict=True))
    return states


def queues_requests(seen: Scan, block: Block) -> bool:
    """Whether a multipath device merges: request-based it has an I/O scheduler to choose."""
    scheduler = sysfs.queue(seen.host, block, ("scheduler",)).get("scheduler", "")
    return "mq" in block.entries or "[" in scheduler
