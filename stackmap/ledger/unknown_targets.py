"""
Whether a device with an unknown device-mapper target passes requests on, estimated from its counters.

A target without a record (``model/dm_targets``) may do anything. Where it has one device below, which serves no
other, what arrived there is what it sent. If that equals what the device itself completed, in requests and in
bytes, it passed each request on during this interval. A cache that misses every time looks the same.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stackmap.model.device import Device
from stackmap.model.dm_targets import DM_TARGETS
from stackmap.model.load import Load, ratio, total_of
from stackmap.model.topology import Topology, computed_once

ENOUGH = 100  # requests per direction: of fewer, 1 % is less than one request
TOLERANCE = 0.01
SEPARATE = ("read", "write", "discard")


class UnknownTarget(NamedTuple):
    """
    What counters tell of a device whose target is unknown.

    ``below``: the only device below. ``passes_on``: each request arrived there once, with all its bytes.
    ``requests`` and ``bytes``: what arrived there per request and per byte.
    """

    device: Device
    below: Device
    passes_on: bool
    requests: float | None
    bytes: float | None


def unknown_targets(
    topology: Topology, loads: Mapping[str, Load], seconds: float | None
) -> dict[str, UnknownTarget]:
    """
    Return the devices with an unknown target whose *loads* show what they do.

    None of those with fewer than ``ENOUGH`` requests in a direction that moved, or with requests that the device
    below only splits or that are still in flight.
    """
    judged = {}
    for name, below in _judgeable(topology):
        above, beneath = loads.get(name), loads.get(below)
        if not seconds or above is None or beneath is None:
            continue
        passes_on = _passes_on(above, beneath, seconds)
        if passes_on is None:
            continue
        sent, arrived = above.total, beneath.total
        judged[name] = UnknownTarget(
            topology[name],
            topology[below],
            passes_on,
            ratio(arrived.arrivals, sent.ios),
            ratio(arrived.bytes, sent.bytes),
        )
    return judged


@computed_once
def _judgeable(topology: Topology) -> tuple[tuple[str, str], ...]:
    return tuple(_pairs(topology))


def _pairs(topology: Topology) -> Iterator[tuple[str, str]]:
    """Yield each device with an unknown target, and the only device below it, which serves no other."""
    for device in topology.devices.values():
        if not device.target or all(name in DM_TARGETS for name in device.target.split(",")):
            continue
        below = {edge.below for edge in topology.below(device.name)}
        if len(below) == 1:
            (only,) = below
            if {edge.above for edge in topology.above(only)} == {device.name}:
                yield device.name, only


def _passes_on(above: Load, below: Load, seconds: float) -> bool | None:
    """Return whether all directions that moved arrived as they were sent; None where counters do not tell."""
    ends = total_of(load.in_flight_at_ends for load in (above, below))
    skew = ((ends or 0.0) + 1) / seconds  # counters of two devices are not read at one instant
    equal = []
    for direction in SEPARATE:
        sent, arrived = above.flow(direction), below.flow(direction)
        requests, moved, ended, landed = sent.ios, sent.bytes, arrived.arrivals, arrived.bytes
        if requests is None or moved is None or ended is None or landed is None:
            return None
        if not requests and not ended:
            continue
        if requests * seconds < ENOUGH:
            return None
        if abs(landed - moved) > max(TOLERANCE * moved, skew * moved / requests):
            return False
        same_bytes = abs(landed - moved) <= TOLERANCE * moved
        equal.append(same_bytes and abs(ended - requests) <= TOLERANCE * requests)
    return True if equal and all(equal) else None
