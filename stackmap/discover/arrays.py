"""md arrays."""

from collections.abc import Collection, Iterator

from stackmap.discover.device_mapper import NOTHING_BELOW
from stackmap.discover.scan import Discovered, Scan, base_device
from stackmap.model.device import Kind, Role
from stackmap.model.topology import Edge
from stackmap.model.units import SECTOR
from stackmap.sources import mdraid, mdstat, sysfs
from stackmap.sources.mdraid import Array, Member
from stackmap.sources.sysfs import Block

NO_LAYOUT = "data layout of {devices}: its attribute md/layout cannot be read"


def read(scan: Scan, block: Block) -> Discovered:
    """Return the array *block*, its members in slot order."""
    array = mdraid.read(scan.host, block)
    if not array.attributes["level"] and scan.partial:
        array = mdstat.read(scan.host).get(block.name, array)
    properties = sysfs.udev_properties(scan.host, block.number)
    alias = properties.get("MD_DEVNAME", "")
    facts = mdraid.facts(array) | ({"alias": alias} if alias not in ("", block.name) else {})
    base = base_device(scan, block, Kind.ARRAY)
    # From about Linux 7.1 this is the full stripe of RAID4/5/6, where md cuts requests; before, 0.
    sectors = _of_queue(scan, block, "chunk_sectors") if scan.counters else None
    queue = base.queue
    if sectors is not None and sectors >= 0:
        queue = queue._replace(boundary=sectors * SECTOR)
    if sectors and array.layout is not None and array.layout.parity:
        queue = queue._replace(max_sectors_kb=_of_queue(scan, block, "max_sectors_kb"))
    device = base._replace(
        queue=queue,
        uuid=array.attributes["uuid"] or properties.get("MD_UUID", ""),
        layout=array.layout,
        state=array.state,
        facts=facts,
    )
    members = array.members or tuple(
        Member(name, None, frozenset({"in_sync"})) for name in sysfs.slaves(scan.host, block)
    )
    # To a container every disk is a spare; the arrays built from them know the real states.
    states = {} if array.is_container else {member.name: member.state for member in members}
    edges = tuple(_edge(block, array, member) for member in members)
    doubts = tuple(_uncertainties(scan, array, members))
    # A text need not list every disk.
    return Discovered(device, edges, states, doubts, slots=() if scan.partial else array.slots)


def _of_queue(scan: Scan, block: Block, name: str) -> int | None:
    return sysfs.parse_int(sysfs.attribute(scan.host, f"{block.path}/queue/{name}"))


def _uncertainties(scan: Scan, array: Array, members: Collection[Member]) -> Iterator[str]:
    """Yield the facts on *array* and its *members* that the input lacks."""
    if array.attributes["level"] == "raid10" and array.layout is None:
        yield NO_LAYOUT
    if scan.partial and not members:
        yield NOTHING_BELOW
    for member in members:
        if member.name not in scan.blocks:
            name = member.name.replace("{", "{{").replace("}", "}}")
            yield f"member {name} of {{devices}}: not among the block devices of the input"


def _edge(block: Block, array: Array, member: Member) -> Edge:
    role = Role.SPARE if array.is_container else member.role
    start = None if member.offset is None else member.offset * SECTOR
    return Edge(block.name, member.name, role, start)
