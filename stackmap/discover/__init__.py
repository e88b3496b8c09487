"""
``discover(host)``: every block device and what stands on what, from all that the host tells.

sysfs tells which devices there are; each kind has a reader here that knows
whom else to ask. What one of them could not learn is said, once, in
``Topology.unknown``: the same stack is drawn with less on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stackmap.discover import device_mapper, disks
from stackmap.discover.device_uses import device_uses
from stackmap.discover.discovered import Discovered
from stackmap.discover.metadata import with_metadata
from stackmap.discover.scan import Scan, scan
from stackmap.model.device import Device, Use
from stackmap.model.machine import Machine
from stackmap.model.topology import Topology
from stackmap.sources.sysfs import Block, attribute

if TYPE_CHECKING:
    from stackmap.host import Host


def discover(
    host: Host, *, metadata: bool = False, geometry: bool = False, counters: bool = True
) -> Topology:
    """
    Return the topology of *host*.

    *metadata* also asks LVM and md themselves, through libblockdev: slow, and
    needs root. *geometry* reads the ``queue/`` attributes of every device, not
    only of those whose layout is told by them, and how each queue is set.
    *counters*: False where none will be read, so that what tells whether to
    believe them need not be asked.
    """
    seen = scan(host, geometry=geometry, counters=counters)
    found = [_read(seen, block) for block in seen.blocks.values()]
    told = {name: state for each in found for name, state in each.states.items()}
    users = device_uses(seen, found)
    devices = [
        _joined(each.device, told.get(each.device.name, ""), users.get(each.device.name, ()))
        for each in found
    ]
    unknown = [*seen.unknown, *device_mapper.unknown(found)]
    if metadata:
        devices, refused = with_metadata(host, devices)
        unknown += refused
    edges = (edge for each in found for edge in each.edges)
    return Topology(devices, edges, machine=machine(host), unknown=unknown)


def machine(host: Host) -> Machine:
    """Return which host this is, with the kernel it runs and the boot it runs since."""
    words = attribute(host, "/proc/version").split()
    return Machine(
        host=attribute(host, "/proc/sys/kernel/hostname"),
        kernel=words[2] if len(words) > 2 else "",
        boot=attribute(host, "/proc/sys/kernel/random/boot_id"),
    )


def _read(seen: Scan, block: Block) -> Discovered:
    if "dm" in block.entries:
        return device_mapper.read(seen, block)
    if "md" in block.entries:
        from stackmap.discover import arrays  # 3 ms that a host without md does not pay

        return arrays.read(seen, block)
    return disks.read(seen, block)


def _joined(device: Device, told: str, users: tuple[Use, ...]) -> Device:
    """Return *device* with what others told of it: its state as a member, and who uses it."""
    if users:
        device = replace(device, uses=users)
    if told and device.state in (None, "active"):
        device = replace(device, state=told)
    return device
