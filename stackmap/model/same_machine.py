"""Whether two topologies of different boots are of one machine."""

from __future__ import annotations

from stackmap.model.machine import Machine, of_another
from stackmap.model.topology import Topology

# How world-wide names begin. Hypervisors give other ids to several disks.
UNIQUE = ("0x", "eui.", "nvme.", "uuid.")
UNNAMED = ("", "(none)", "localhost", "localhost.localdomain")  # before DHCP gives a name
ALL_OTHERS = "no disk has the world-wide name of one there"


def another_machine(ours: Topology, theirs: Topology) -> str:
    """
    Return how *theirs* differs as another machine does; "" if it may be the same.

    One disk must be the same, by its world-wide name, if both sides have any. A machine
    that was renamed has the same disks, but for new or removed ones: two nodes of a
    cluster share some, and each has others.
    """
    here, there = _disks(ours), _disks(theirs)
    if here and there and here.isdisjoint(there):
        return ALL_OTHERS
    names = ours.machine.host, theirs.machine.host
    if any(name in UNNAMED for name in names) or (
        here and there and (here <= there or here >= there)
    ):
        return ""
    return of_another(*map(Machine, names))


def _disks(topology: Topology) -> set[str]:
    return {device.wwn for device in topology if device.wwn.startswith(UNIQUE)}
