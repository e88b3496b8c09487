"""
What the state of a device shows: missing members, and work of its own (resync, check, reshape, merge).

While such work runs, the I/O of the devices below is not the workload's alone, and
ratios to the workload mean nothing. The state is read with the topology.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.ledger.layers import carries_data
from stackmap.model.device import Device, Role
from stackmap.model.reason import Reason
from stackmap.model.topology import Topology

FAILED = ("failed", "faulty", "missing")

# By the kernel's name of the work (md's sync_action, dm-raid's status): what it does below.
WORK = {
    "resync": "it reads all members and writes what differs",
    "recover": "it writes a new member from the others",
    "recovery": "it writes a new member from the others",
    "check": "it reads all members",
    "repair": "it reads all members and writes what differs",
    "reshape": "it reads the old layout and writes the new one",
    "merging": "it writes the snapshot's changes back",
}


def background(topology: Topology, top: str) -> Mapping[str, str]:
    """Return the devices of the stack whose I/O includes such work, each with the reason in words."""
    reached: dict[str, str] = {}
    for name in topology.with_all_below(top):
        device = topology[name]
        reason = reached.get(name, "")
        if not reason and (work := work_of(device)):
            words = f"{device.title} runs background work ({device.state}): {WORK[work]}"
            reason = Reason(work, words)
        if reason:
            for edge in topology.below(name):
                reached.setdefault(edge.below, reason)
    return reached


def is_working(device: Device) -> bool:
    """Whether *device* does background work."""
    return bool(work_of(device))


def work_of(device: Device) -> str:
    """Return the kernel's name of the work that *device* does, "" for none."""
    if device.state == "needs check":  # of a thin pool or cache: by an administrator
        return ""
    words = (device.state or "").replace(",", " ").split()
    return next((word for word in words if word in WORK), "")


def is_degraded(device: Device) -> bool:
    """Whether *device* lacks a member."""
    return "degraded" in (device.state or "")


def missing_members(topology: Topology, array: Device) -> int:
    """Return how many data members a degraded *array* lacks, at least 1; 0 where it is not degraded."""
    if array.layout is None or not is_degraded(array):
        return 0
    below = (topology[edge.below] for edge in topology.below(array.name) if carries_data(edge))
    working = [each for each in below if not any(word in (each.state or "") for word in FAILED)]
    return max(1, array.layout.members - len(working))


def write_mostly(topology: Topology, device: Device) -> set[str]:
    """Return the data members of *device* that are read last: md names them, dm counts."""
    words = device.facts.get("write mostly", "").split()
    if not words:
        return set()
    data = [edge.below for edge in topology.below(device.name) if edge.role is Role.DATA]
    numbered = {str(number): name for number, name in enumerate(data)}
    return {numbered.get(word, word) for word in words}.intersection(data)
