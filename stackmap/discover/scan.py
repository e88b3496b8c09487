"""
What every reader needs, read once: the devices in sysfs and the device-mapper tables.

``Discovered`` is what a reader learns about a device.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import NO_QUEUE, NO_TEXTS, Counts, Device, Kind, Queue
from stackmap.model.topology import Edge
from stackmap.sources import device_lists, dm, sysfs
from stackmap.sources.dm import NO_MAPPED, MappedDevice, Segments
from stackmap.sources.dm_targets import has_status
from stackmap.sources.lvm_names import unmangle
from stackmap.sources.sysfs import NO_BLOCKS, Block

DEV = "/dev/"
NO_COUNTS_BELOW: Mapping[str, Counts] = {}
KEPT_EMPTY = frozenset({"dm", "md"})  # kept at size 0: no table loaded, array not running


class Scan:
    """
    The facts about a host that all readers share.

    ``names``: kernel names by device number. ``mapped``: device-mapper devices by kernel name.
    ``tables`` and ``statuses``: None if refused. ``unknown``: the refusals, as sentences.
    ``partial``: whether sysfs is incomplete; see ``partial_tree``.
    """

    def __init__(
        self,
        host: Host,
        blocks: Mapping[str, Block],
        mapped: Mapping[str, MappedDevice],
        tables: Segments | None,
        statuses: Segments | None,
        unknown: tuple[str, ...],
        geometry: bool,
        counters: bool,
        partial: bool,
    ) -> None:
        self.host = host
        self.blocks = blocks
        self.names = {block.number: block.name for block in blocks.values()}
        self.mapped = mapped
        self.tables = tables
        self.statuses = statuses
        self.unknown = unknown
        self.geometry = geometry
        self.counters = counters
        self.partial = partial

    @cached_property
    def nvme_paths(self) -> Mapping[str, tuple[str, ...]]:
        """The paths (nvme0c1n1) of each NVMe multipath head (nvme0n1)."""
        paths: dict[str, tuple[str, ...]] = {}
        for name in self.blocks:
            if name.startswith("nvme") and (match := sysfs.NVME_PATH.fullmatch(name)):
                head = match[1] + match[2]
                paths[head] = (*paths.get(head, ()), name)
        return paths

    @cached_property
    def by_dev_path(self) -> Mapping[str, str]:
        """Kernel names by path below /dev: /dev/mapper names, LV labels, and /dev/md names."""
        labels = {mapped.label: name for name, mapped in self.mapped.items()}
        arrays = (block for block in self.blocks.values() if "md" in block.entries)
        aliases = {
            f"md/{sysfs.udev_properties(self.host, array.number).get('MD_DEVNAME', array.name)}": array.name
            for array in arrays
        }
        nodes = {f"mapper/{mapped.name}": name for name, mapped in self.mapped.items()}
        return labels | aliases | nodes

    def device_at(self, path: str) -> str | None:
        """Return the kernel name of the device at *path* (/dev/sda, /dev/mapper/vg-lv, /dev/vg/lv), None if unknown."""
        name = path.removeprefix(DEV)
        if name == path:
            return None
        return name if name in self.blocks else self.by_dev_path.get(unmangle(name))

    def device_named(self, word: str) -> str | None:
        """Return the kernel name of the device that a *word* of a table means: a number, a path or a name; None if unknown."""
        known = self.names.get(word)
        return known or self.device_at(word if word.startswith(DEV) else f"{DEV}{word}")


def scan_host(
    host: Host,
    *,
    geometry: bool,
    counters: bool,
    known: Mapping[str, Block] = NO_BLOCKS,
    known_mapped: Mapping[str, MappedDevice] = NO_MAPPED,
) -> Scan:
    """
    Read sysfs of *host*, and dmsetup's tables if there is a device-mapper device.

    *known*: devices by path that have not changed; *known_mapped*: by name, what they were.
    """
    numbers = {} if counters else device_lists.read_numbers(host)
    listed = sysfs.read(host, numbers, known)
    printed = any(sysfs.PRINTED in block.entries for block in listed)
    partial = printed or _is_partial(listed)
    refused: list[str] = []
    if partial and not printed:
        from stackmap.discover import partial_tree  # few hosts are partial trees

        own = frozenset(block.name for block in listed if block.entries)
        host, contradictions = partial_tree.with_outputs(host)
        refused += contradictions
        listed = partial_tree.completed(host, sysfs.read(host, numbers), own)
    blocks = {
        block.name: block
        for block in listed
        if block is known.get(block.path) or _is_there(host, block)
    }
    mapped = dm.read(host, blocks.values(), known_mapped)
    tables = _ask(dm.read_tables, host, refused) if mapped else {}
    lines = (line for lines in (tables or {}).values() for line in lines)
    # Only if a target's status has more than its table.
    have_states = any(has_status(line.target) for line in lines)
    statuses = _ask(dm.read_statuses, host, refused) if have_states else tables
    unknown = tuple(refused)
    return Scan(host, blocks, mapped, tables, statuses, unknown, geometry, counters, partial)


def _is_partial(blocks: Iterable[Block]) -> bool:
    """Whether *blocks*, read from sysfs, lack devices or sizes; mapped devices are not judged."""
    whole = [block for block in blocks if not block.name.startswith("dm-")]
    return not whole or any("size" not in block.entries for block in whole)


def _is_there(host: Host, block: Block) -> bool:
    """Whether *block* can do I/O: an unused loop device has size 0; an unknown size may be any."""
    return not block.entries.isdisjoint(KEPT_EMPTY) or sysfs.size(host, block) != 0


def _ask(read: Callable[[Host], Segments], host: Host, refused: list[str]) -> Segments | None:
    try:
        return read(host)
    except SourceError as error:
        what = "tables" if read is dm.read_tables else "states"
        refused.append(f"{what} of mapped devices: {error}")
        return None


class Discovered(NamedTuple):
    """
    A device, the edges down from it, and the states and counts it reports for devices below.

    ``slots``: of an array, the device in each slot, "" where the array says that none works there.
    ``uncertainties``: sentences with ``{devices}`` for what had to be inferred or
    is unknown; ``device_mapper.unknown`` joins the devices that share one.
    """

    device: Device
    edges: tuple[Edge, ...] = ()
    states: Mapping[str, str] = NO_TEXTS
    uncertainties: tuple[str, ...] = ()
    counts: Mapping[str, Counts] = NO_COUNTS_BELOW
    slots: tuple[str, ...] = ()


def base_device(
    scan: Scan,
    block: Block,
    kind: Kind,
    *,
    geometry: bool = False,
    size: int | None = None,
    read_only: bool | None = None,
) -> Device:
    """
    Return the device with the fields that every kind has; *geometry*: its kind needs the queue limits.

    *size* and *read_only*: if already known.
    """
    queue = queue_of(scan, block, geometry=geometry)
    return Device(
        name=block.name,
        kind=kind,
        number=block.number,
        size=sysfs.size(scan.host, block) if size is None else size,
        diskseq=block.diskseq,
        read_only=sysfs.read_only(scan.host, block) if read_only is None else read_only,
        queue=queue,
        rotational=queue.rotational,
    )


def queue_of(scan: Scan, block: Block, *, geometry: bool = False) -> Queue:
    """Return the settings of the queue that are wanted; *geometry*: its limits too."""
    wanted: tuple[str, ...] = ("queue/iostats",) if scan.counters else ()
    wanted += sysfs.GEOMETRY if geometry or scan.geometry else ()
    wanted += sysfs.SETTINGS if scan.geometry else ()
    return sysfs.queue(scan.host, block, wanted) if wanted else NO_QUEUE
