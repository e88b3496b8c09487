"""Discovery of one machine again and again: after uevents, only what changed and its neighbours."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stackmap.discover import TopologyParts, read_device, topology_parts
from stackmap.discover.scan import Discovered, Scan, scan_host
from stackmap.host import Host
from stackmap.host.intercepting import KeptAnswers, RememberingHost
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from stackmap.sources import disk_identity
from stackmap.sources.dm import MappedDevice, Segments
from stackmap.sources.dm_targets.segment import Segment
from stackmap.sources.lvm_names import PREFIX
from stackmap.sources.sysfs import Block

# Devices with facts that change without a uevent, or with devices below that only sysfs names.
ALWAYS_READ = ("md", "nvme", "nbd", "bcache")


class _Result(NamedTuple):
    scan: Scan
    discovered: dict[str, Discovered]
    parts: TopologyParts
    topology: Topology


class Rediscovery:
    """
    Discovers one machine repeatedly, with the options of ``discover``.

    ``update`` returns what ``whole`` would, apart from what the kernel changes without a uevent,
    such as the settings of a queue: that is as of the last ``whole``. ``metadata_changes``: how often
    what LVM and md know of the machine may have changed.
    """

    def __init__(self, *, geometry: bool = False) -> None:
        self._geometry = geometry
        self.metadata_changes = 0
        self._answers = KeptAnswers()
        self._last: _Result | None = None

    def whole(self, host: Host) -> Topology:
        """Return the topology of *host*; read everything."""
        self._answers, self._last = KeptAnswers(), None
        return self.update(host, frozenset())

    def update(self, host: Host, names: frozenset[str]) -> Topology:
        """
        Return the topology of *host* where only the devices *names* had uevents since the last ``whole``.

        If nothing changed, it is the same object as before.
        """
        self._answers.forget(names)
        remembering = self.remembering(host)
        last = self._last
        blocks, mapped = ({}, {}) if last is None else self._known(last.scan)
        scan = scan_host(
            remembering,
            geometry=self._geometry,
            counters=True,
            known=blocks,
            known_mapped=mapped,
        )
        kept = {} if last is None else dict(_unaffected(last, scan, names))
        discovered = {
            name: kept.get(name) or read_device(scan, block) for name, block in scan.blocks.items()
        }
        parts = topology_parts(scan, discovered.values())
        if last is None or _may_change_metadata(last.topology, parts, names):
            self.metadata_changes += 1
        same = last is not None and parts == last.parts
        topology = last.topology if last is not None and same else parts.topology()
        self._last = _Result(scan, discovered, parts, topology)
        return topology

    def remembering(self, host: Host) -> Host:
        """Return *host* with what was read of it so far."""
        return RememberingHost(host, self._answers)

    def _known(self, last: Scan) -> tuple[Mapping[str, Block], Mapping[str, MappedDevice]]:
        """Return the devices, by path, about which all answers are kept, and the mapped devices by name."""
        if last.partial:
            return {}, {}
        blocks = {
            block.path: block
            for block in last.blocks.values()
            if block.number and self._answers.has(block.path)
        }
        return blocks, last.mapped


def _may_change_metadata(before: Topology, after: TopologyParts, names: frozenset[str]) -> bool:
    """Whether LVM or md uses, or is below, one of the devices *names*."""
    known = [name for name in names if name in before]
    above = [edge.above for name in known for edge in before.above(name)]
    devices = [before[name] for name in (*known, *above)]
    return any(map(_has_metadata, devices)) or any(
        _has_metadata(device) for device in after.devices if device.name in names
    )


def _has_metadata(device: Device) -> bool:
    """Whether LVM or md describes the device, or keeps its metadata there."""
    return (
        device.kind is Kind.ARRAY
        or device.uuid.startswith(PREFIX)
        or not {"pv", "md"}.isdisjoint([use.kind for use in device.uses])
    )


def _unaffected(
    last: _Result, scan: Scan, names: frozenset[str]
) -> Iterator[tuple[str, Discovered]]:
    """Yield the devices that are certain to be as they were in *last*: nothing they were read from changed."""
    if scan.partial or last.scan.partial or _answered(last.scan) != _answered(scan):
        return
    changed = names | set(_differing(last.scan, scan))
    same_tables = scan.tables is last.scan.tables and scan.statuses is last.scan.statuses
    blocks = [
        either.blocks[name]
        for either in (last.scan, scan)
        for name in changed & either.blocks.keys()
    ]
    numbers = {block.number for block in blocks}
    for name, block in scan.blocks.items():
        before = last.discovered.get(name)
        if (
            before is not None
            and name not in changed
            and changed.isdisjoint([edge.below for edge in before.edges])
            and _is_announced(scan, block, before)
            and (same_tables or _same_table(last.scan, scan, name))
            and not _uses(scan, name, numbers)
        ):
            yield name, before


def _answered(scan: Scan) -> tuple[bool, ...]:
    """Return whether tables are missing, whether statuses are, and whether no status was asked for."""
    return scan.tables is None, scan.statuses is None, scan.statuses is scan.tables


def _differing(last: Scan, scan: Scan) -> Iterator[str]:
    """Yield the devices that came or went, or whose number or name of device-mapper changed."""
    for name in last.blocks.keys() | scan.blocks.keys():
        if last.blocks.get(name) != scan.blocks.get(name) or last.mapped.get(
            name
        ) != scan.mapped.get(name):
            yield name


def _is_announced(scan: Scan, block: Block, before: Discovered) -> bool:
    """Whether all that was read of the device changes only with a uevent; a disk's state is read here."""
    if block.name.startswith(ALWAYS_READ) or "md" in block.entries:
        return False
    if before.device.kind is not Kind.DISK:
        return True
    return disk_identity.state(scan.host, block) == before.device.state


def _same_table(last: Scan, scan: Scan, name: str) -> bool:
    """Whether table and status of the device are as before."""
    mapped = scan.mapped.get(name)
    return mapped is None or (
        _lines(scan.tables, mapped.name) == _lines(last.tables, mapped.name)
        and _lines(scan.statuses, mapped.name) == _lines(last.statuses, mapped.name)
    )


def _uses(scan: Scan, name: str, numbers: set[str]) -> bool:
    """Whether a target of the device uses one of *numbers*."""
    mapped = scan.mapped.get(name)
    segments = () if mapped is None else _lines(scan.tables, mapped.name)
    return any(not numbers.isdisjoint(segment.words) for segment in segments)


def _lines(answer: Segments | None, name: str) -> tuple[Segment, ...]:
    return (answer or {}).get(name, ())
