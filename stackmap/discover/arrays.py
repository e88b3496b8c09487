"""md arrays."""

from __future__ import annotations

from dataclasses import replace

from stackmap.discover.base_device import base_device
from stackmap.discover.discovered import Discovered
from stackmap.discover.scan import Scan
from stackmap.model.device import Kind, Role
from stackmap.model.topology import Edge
from stackmap.model.units import SECTOR
from stackmap.sources import mdraid, sysfs, udev
from stackmap.sources.mdraid import Array, Member
from stackmap.sources.sysfs import Block


def read(scan: Scan, block: Block) -> Discovered:
    """Return the array *block*, its members in slot order."""
    array = mdraid.read(scan.host, block)
    properties = udev.properties(scan.host, block.number)
    alias = properties.get("MD_DEVNAME", "")
    facts = mdraid.facts(array) | ({"alias": alias} if alias not in ("", block.name) else {})
    device = replace(
        base_device(scan, block, Kind.ARRAY),
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
    return Discovered(device, edges, states)


def _edge(block: Block, array: Array, member: Member) -> Edge:
    role = Role.SPARE if array.is_container else member.role
    start = None if member.offset is None else member.offset * SECTOR
    return Edge(block.name, member.name, role, start)
