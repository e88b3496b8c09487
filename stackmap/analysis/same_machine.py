"""Whether two topologies, read at different times, are of one machine."""

from __future__ import annotations

from stackmap.model.machine import Machine, of_another
from stackmap.model.topology import Topology

UNIQUE = ("0x", "eui.", "nvme.")  # how world-wide names begin; hypervisors give other ids twice
UNNAMED = ("", "(none)", "localhost", "localhost.localdomain")  # before DHCP gives a name
ALL_OTHERS = "no disk has the world-wide name of one there"


def another_machine(ours: Topology, theirs: Topology) -> str:
    """
    Return how *theirs* differs as another machine does; "" if it may be the same.

    The same boot, or the world-wide name of a disk in both, is the same machine,
    whatever its host name is now. If a side has no such disk, the host names decide.
    """
    if ours.machine.boot and ours.machine.boot == theirs.machine.boot:
        return ""
    here, there = _disks(ours), _disks(theirs)
    if here and there:
        return "" if here & there else ALL_OTHERS
    names = ours.machine.host, theirs.machine.host
    if any(name in UNNAMED for name in names):
        return ""
    return of_another(*map(Machine, names))


def _disks(topology: Topology) -> set[str]:
    return {device.wwn for device in topology if device.wwn.startswith(UNIQUE)}
