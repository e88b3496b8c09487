"""
Writes and discards that bypass the cache of a bcache device, whose bytes it does not count.

Since Linux 6.4 (5f27571382ca) a request is counted by what is left of it when it ends. Of a write that bypasses the
cache nothing is left: bch_data_invalidate (drivers/md/bcache/request.c) advances the program's own bio. These are
the writes of a stream of 4 MiB and more (sequential_cutoff), all in the modes writearound and none, and all
discards. Measured on Linux 6.12 and 7.3; 6.1 counts writes.

The backing device has them all. In the modes writethrough, writearound and none it has all other writes, too; dirty
data is also written back there, which was read from the cache before::

    written back <= reads of the cache and the backing device - reads of the bcache device
"""

from collections.abc import Mapping

from stackmap.model.device import Device, Role
from stackmap.model.load import Flow, Load, sum_flows
from stackmap.model.topology import Topology

TOLERANCE = 0.01  # counters are not read at one instant
SINCE = (6, 4)  # Linux
# Modes in which the backing device has every write.
THROUGH = ("writethrough", "writearound", "none")


def least_written(topology: Topology, device: Device, loads: Mapping[str, Load]) -> float | None:
    """Return the bytes per second that were written to *device*, at least; None if no counter tells more than its own."""
    own, arrived = loads[device.name].write, _flow(loads, _backing(topology, device), "write").bytes
    counted = own.bytes
    if counted is None or not (arrived and own.ios):
        return None
    least = arrived - most_written_back(topology, device, loads)
    if not _has_all(device):
        least += counted
    return least if least > counted * (1 + TOLERANCE) else None


def discarded(topology: Topology, device: Device, loads: Mapping[str, Load]) -> float | None:
    """Return the bytes per second that were discarded on *device*, which counts none; None if no counter tells."""
    own = loads[device.name].discard
    if not own.ios or own.bytes:
        return None
    return _flow(loads, _backing(topology, device), "discard").bytes


def most_written_back(topology: Topology, device: Device, loads: Mapping[str, Load]) -> float:
    """Return the bytes per second that may have been written back from the cache: so much more may have been written."""
    backing = _backing(topology, device)
    arrived = _flow(loads, backing, "write").bytes
    is_clean = _has_all(device) and device.facts.get("state") == "clean"
    if not arrived or not loads[device.name].write.ios or is_clean:
        return 0.0
    asked, caches = loads[device.name].read.bytes, topology.used_by(device.name, Role.CACHE)
    read = _flow(loads, [*backing, *caches], "read").bytes
    return arrived if read is None or asked is None else min(arrived, max(0.0, read - asked))


def _backing(topology: Topology, device: Device) -> list[str]:
    """Return the device that holds the data; nothing where its writes may be of others, or the kernel counts all."""
    backing = topology.used_by(device.name, Role.ORIGIN)
    alone = len(backing) == 1 and len(topology.above(backing[0])) == 1
    return backing if alone and (_has_all(device) or topology.machine.release >= SINCE) else []


def _has_all(device: Device) -> bool:
    """Whether the backing device of *device* has every write."""
    return device.facts.get("mode") in THROUGH


def _flow(loads: Mapping[str, Load], names: list[str], direction: str) -> Flow:
    return sum_flows(loads[name].flow(direction) if name in loads else Flow() for name in names)
