"""
Work that a device does below on its own account, besides what it is asked for.

Where it runs, what the devices below did is not the workload's alone, and no
ratio to it means anything; the state is read once, with the topology.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.model.topology import Topology

# As the kernel calls what runs (md's sync_action, dm-raid's status), and what that does below.
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
    """Return, for each device of the stack that such work reaches, which work and whose."""
    reached: dict[str, str] = {}
    for name in topology.with_all_below(top):
        reason = reached.get(name) or _at_work(topology, name)
        if reason:
            for edge in topology.below(name):
                reached.setdefault(edge.below, reason)
    return reached


def _at_work(topology: Topology, name: str) -> str:
    device = topology[name]
    words = (device.state or "").replace(",", " ").split()
    work = next((word for word in words if word in WORK), "")
    if not work:
        return ""
    return f"{device.title} is at work on its own ({device.state}): {WORK[work]}"
