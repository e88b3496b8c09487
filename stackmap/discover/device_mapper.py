"""Device-mapper devices: from their tables, or without root from names, uuids and sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stackmap.discover import inference
from stackmap.discover.discovered import Discovered, queue_of
from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind
from stackmap.model.dm_targets import DM_TARGETS, UNKNOWN
from stackmap.model.topology import Edge
from stackmap.sources import dm, sysfs
from stackmap.sources.dm import MappedDevice
from stackmap.sources.dm_targets import ACTIVE, DAMAGE, Parser, parser, status_of
from stackmap.sources.dm_targets.segment import DmStatus, Segment
from stackmap.sources.sysfs import Block


def read(scan: Scan, block: Block) -> Discovered:
    """Return the device-mapper device *block*."""
    mapped = scan.mapped[block.name]
    segments = (scan.tables or {}).get(mapped.name)
    if segments is None:
        return inference.read(scan, mapped)
    try:
        return _from_table(scan, mapped, segments)
    except DAMAGE:
        found = inference.read(scan, mapped)
        return found._replace(uncertainties=(*found.uncertainties, inference.STRANGE))


def unknown(found: Iterable[Discovered]) -> Iterator[str]:
    """Yield one sentence per uncertainty, with the devices that share it."""
    doubted: defaultdict[str, list[str]] = defaultdict(list)
    for each in found:
        for doubt in each.uncertainties:
            doubted[doubt].append(each.device.title)
    for doubt, titles in doubted.items():
        yield doubt.format(devices=", ".join(sorted(titles)))


def _from_table(scan: Scan, mapped: MappedDevice, segments: tuple[Segment, ...]) -> Discovered:
    readers = [parser(segment.target) for segment in segments]
    edges = tuple(_edges(scan, mapped, readers, segments))
    status = _read_statuses(scan, mapped)
    names = list(dict.fromkeys([segment.target for segment in segments]))
    targets = [DM_TARGETS.get(name, UNKNOWN) for name in names]
    layouts = {reader.layout(segment) for reader, segment in zip(readers, segments, strict=True)}
    queue = queue_of(scan, mapped.block)
    device = Device(
        name=mapped.block.name,
        kind=_kind(mapped, {target.kind for target in targets}),
        number=mapped.block.number,
        size=sum([segment.length for segment in segments]),
        diskseq=mapped.block.diskseq,
        read_only=mapped.read_only,
        queue=queue,
        rotational=queue.rotational,
        label=mapped.label,
        dm_name=mapped.name,
        target=",".join(names),
        uuid=mapped.uuid,
        layout=layouts.pop() if len(layouts) == 1 else None,
        state="suspended" if mapped.suspended else status.state,
        counted=all(target.counted for target in targets),
        merges=any(target.merges for target in targets) and queues_requests(scan, mapped.block),
        facts={**_facts(readers, segments), **status.facts},
        counts=status.counts,
    )
    unnamed = scan.partial and any(
        below.number not in scan.names
        for reader, segment in zip(readers, segments, strict=True)
        for below in reader.below(segment)
    )
    doubts = (inference.NOTHING_BELOW,) if unnamed else ()
    return Discovered(device, edges, _states(edges, status, scan.names), doubts)


def _edges(
    scan: Scan, mapped: MappedDevice, readers: Sequence[Parser], segments: Sequence[Segment]
) -> list[Edge]:
    above, names = mapped.block.name, scan.names
    edges = []
    for reader, segment in zip(readers, segments, strict=True):
        for number, role, start, length in reader.below(segment):
            if number in names:
                edges.append(Edge(above, names[number], role, start, length))
        if reader.name != segment.target:
            edges += inference.edges(scan, mapped, segment.target)
    return edges


def _kind(mapped: MappedDevice, kinds: set[Kind]) -> Kind:
    kind = kinds.pop() if len(kinds) == 1 else Kind.DM
    if mapped.lv is None:
        return dm.infer_target(mapped, ()).kind if kind is Kind.DM else kind
    if kind is Kind.THIN_POOL or mapped.uuid.endswith("-pool"):
        return Kind.THIN_POOL
    if mapped.lv.is_hidden:
        return Kind.MEMBER
    return Kind.VOLUME if kind is Kind.DM else kind


def _read_statuses(scan: Scan, mapped: MappedDevice) -> DmStatus:
    """Return the content of the status lines; of several, the first that is not active."""
    if scan.statuses is None:
        return DmStatus()
    lines = scan.statuses.get(mapped.name, ())
    if lines and scan.statuses is scan.tables:  # not read: no target here has more in its status
        return ACTIVE
    status = [status_of(line) for line in lines]
    wrong = (each for each in status if each.state != "active")
    return next(wrong, status[0] if status else DmStatus())


def _facts(readers: Sequence[Parser], segments: Sequence[Segment]) -> dict[str, str]:
    facts = {"segments": str(len(segments))} if len(segments) > 1 else {}
    for reader, segment in zip(readers, segments, strict=True):
        facts |= reader.facts(segment)
    return facts


def _states(edges: tuple[Edge, ...], status: DmStatus, names: Mapping[str, str]) -> dict[str, str]:
    if not status.paths and not status.members:
        return {}
    states = {names[number]: state for number, state in status.paths.items() if number in names}
    carriers = [edge.below for edge in edges if edge.role != "metadata"]
    # There is one letter per place in the table, missing members included.
    if len(carriers) == len(status.members):
        states |= dict(zip(carriers, status.members, strict=True))
    return states


def queues_requests(scan: Scan, block: Block) -> bool:
    """Whether a multipath device merges: a request-based one has an I/O scheduler."""
    scheduler = sysfs.queue(scan.host, block, ("scheduler",)).scheduler or ""
    return "mq" in block.entries or "[" in scheduler
