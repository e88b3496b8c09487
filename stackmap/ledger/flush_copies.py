"""
Empty flushes that device-mapper sends to several places and counts once.

A striped volume, and a linear one of several segments, counts an empty flush as one write and sends a copy of
it to each device (before Linux 6.11 to each segment). Disks count every copy as a write of 0 sectors, so
more writes arrive there than the volumes counted, with no more bytes::

    writes at the disks - writes of the volumes on them = sum of the copies, at most (places - 1) x writes of each

A request larger than a disk takes looks the same: the disk splits it. A striped volume sends no request above
its chunk, so with a small one all that is beyond are copies. Where several such volumes use the disks, the
copies of one are a range.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stackmap.ledger.amounts import NOTHING, Amount, Traffic
from stackmap.model.device import Device, Kind, Role
from stackmap.model.load import UNKNOWN_LOAD, Load, sum_flows
from stackmap.model.topology import Topology, computed_once
from stackmap.model.units import KIB

TAKEN = 64 * KIB  # by every disk in one request: USB's 120 KiB are the least of the kernel's limits
TOLERANCE = 0.01  # of the volumes' writes and bytes: counters are not read at one instant


class Group(NamedTuple):
    """
    Volumes, and all devices that these use, and nothing else uses.

    ``places``: to how many places each volume sends a flush at most. ``unsplit``: those whose
    requests no device below splits.
    """

    places: Mapping[str, int]
    unsplit: frozenset[str]
    below: tuple[str, ...]  # in one order, as sums depend on it


def flush_copies(topology: Topology, loads: Mapping[str, Load]) -> Mapping[str, Traffic]:
    """Return what each volume sent beside the writes that it counted, by name; a range where no counter tells whose they were."""
    copies: dict[str, Traffic] = {}
    for group in _groups(topology):
        if all(name in loads for name in (*group.places, *group.below)):
            queues = {queue for name in group.below for queue in _queues(topology, name)}
            flushed = sum_flows(loads.get(name, UNKNOWN_LOAD).flush for name in queues).ios
            # Where it is known that no queue got a flush, the disks split requests.
            if flushed != 0:
                copies.update(_copies(group, loads))
    return copies


def _copies(group: Group, loads: Mapping[str, Load]) -> Iterator[tuple[str, Traffic]]:
    sent = sum_flows(loads[name].write for name in group.places)
    arrived = sum_flows(loads[name].write for name in group.below)
    if sent.ios is None or arrived.arrivals is None or None in (sent.bytes, arrived.bytes):
        return
    beyond = arrived.arrivals - sent.ios
    most = {name: (n - 1) * (loads[name].write.ios or 0.0) for name, n in group.places.items()}
    total = sum(most.values())
    if beyond <= TOLERANCE * sent.ios or beyond > (1 + TOLERANCE) * total:
        return
    if (arrived.bytes or 0.0) > (1 + TOLERANCE) * (sent.bytes or 0.0):
        return  # something else writes there
    unsplit = {name for name in group.places if loads[name].write.ios} <= group.unsplit
    copies = min(beyond, total)
    for name, own in most.items():
        if own:
            least = max(0.0, copies - (total - own)) if unsplit else 0.0
            mine = NOTHING._replace(arrivals=copies * (own / total))
            ends = Amount(least, 0.0), Amount(min(own, copies), 0.0)
            yield name, mine if ends[0] == ends[1] else mine._replace(low=ends[0], high=ends[1])


@computed_once
def _groups(topology: Topology) -> tuple[Group, ...]:
    """Return the groups with a volume that may send copies; kept with the topology."""
    return tuple(group for group in _all_groups(topology) if max(group.places.values()) > 1)


def _all_groups(topology: Topology) -> Iterator[Group]:
    seen: set[str] = set()
    for name, device in topology.devices.items():
        if name in seen or not _maps(device):
            continue
        places, below = _connected(topology, name)
        seen |= places.keys()
        volumes = [topology[volume] for volume in places]
        if all(map(_maps, volumes)) and all(_counts_copies(topology[lower]) for lower in below):
            unsplit = frozenset(v.name for v in volumes if _has_small_chunks(v))
            yield Group(places, unsplit, below)


def _connected(topology: Topology, start: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return *start* and all that share a device with it, with the number of their places, and the devices below them."""
    places: dict[str, int] = {}
    below: dict[str, None] = {}
    todo = [start]
    while todo:
        name = todo.pop()
        if name in places:
            continue
        used = topology.used_by(name, Role.DATA)
        places[name] = len(used)
        for lower in used:
            if lower not in below:
                below[lower] = None
                todo += [edge.above for edge in topology.above(lower)]
    return places, tuple(below)


def _maps(device: Device) -> bool:
    return device.target in ("linear", "striped")


def _counts_copies(device: Device) -> bool:
    """Whether a flush that arrives at *device* is among its writes, and is not split on the way."""
    return device.merges or device.kind is Kind.PARTITION


def _queues(topology: Topology, name: str) -> list[str]:
    """Return the devices that count the flushes at *name*: of a partition, its disk."""
    is_partition = topology[name].kind is Kind.PARTITION
    return [edge.below for edge in topology.below(name)] if is_partition else [name]


def _has_small_chunks(device: Device) -> bool:
    chunk = device.layout.chunk if device.layout is not None else None
    return chunk is not None and chunk <= TAKEN
