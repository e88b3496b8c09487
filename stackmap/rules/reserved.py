"""Mirrors that were made for more disks than there are: a NAS reserves places for empty bays."""

from stackmap.ledger.device_state import is_degraded, missing_members
from stackmap.model.device import Device, Kind
from stackmap.model.raid import DEGRADED
from stackmap.model.topology import Topology
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, observe

# Fewer places, members or free places may be a mirror that lost disks.
MIN_PLACES, MIN_MEMBERS, MIN_FREE = 5, 2, 2


@Rule(
    "SM308",
    Severity.INFO,
    title="{device} has places for {free} more disks",
    outcome=Outcome.STATE,
    is_state=True,
    sentence="{device} has {members} of {places} members. All disks of {whole} have one. No disk is missing there, "
    "so {device} was made for {free} disks more: a NAS reserves places for its empty bays.",
    caveat="Whether a disk was taken out of all arrays is not known.",
    advice="Nothing to do, if no disk is missing.",
    source="mdadm(8), --raid-devices; Linux admin-guide/md.rst, degraded",
    slows=False,
)
def reserved_places(context: Context, _: Limits) -> Observations:
    """Yield mirrors over all disks of a complete array, with places for more."""
    topology = context.topology
    for device in context.devices:
        if device.layout is not None and has_reserved_places(topology, device):
            free = missing_members(topology, device)
            words = {
                "members": str(device.layout.members - free),
                "places": str(device.layout.members),
                "free": str(free),
                "whole": ", ".join(other.title for other in _complete_beside(topology, device)),
            }
            yield observe(device.name, words=words)


def has_reserved_places(topology: Topology, device: Device) -> bool:
    """Whether a degraded *device* is a mirror on partitions of all disks of the complete arrays beside it, and has free places."""
    layout = device.layout
    if layout is None or device.state != DEGRADED or layout.copies != layout.members:
        return False
    free = missing_members(topology, device)
    members = len(topology.below(device.name))  # one that failed is among them
    if layout.members < MIN_PLACES or free < MIN_FREE or members < MIN_MEMBERS:
        return False
    if members + free != layout.members:
        return False
    complete = _complete_beside(topology, device)
    disks = set().union(*(_disks_of(topology, other) for other in complete))
    return disks == _disks_of(topology, device)


def _complete_beside(topology: Topology, device: Device) -> list[Device]:
    """Return the arrays that lack nothing and have data on a disk of *device*."""
    own = _disks_of(topology, device)
    beside = [
        other
        for other in topology
        if other.kind is Kind.ARRAY
        and other.name != device.name
        and _disks_of(topology, other) & own
    ]
    return [other for other in beside if not is_degraded(other)]


def _disks_of(topology: Topology, array: Device) -> set[str]:
    """Return the disks below the partitions that are members of *array*."""
    members = [edge.below for edge in topology.below(array.name)]
    return {edge.below for name in members for edge in topology.below(name)}
