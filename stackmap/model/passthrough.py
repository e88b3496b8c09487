"""
What a device does to what it is sent, by dm target or kind.

A device that *passes* sends each request on, once, to one device below (or its
pieces, which the kernel counts as requests of their own: KERNEL 1.2). So its
own counters say what it sent, and a disk under several such devices can be
divided among them exactly. All others (RAID, thin, cache, snapshot) make
requests of their own.
"""

from __future__ import annotations

from stackmap.model.device import Device, Kind

PASSTHROUGH_TARGETS = frozenset(
    {
        "linear",
        "striped",
        "unstriped",
        "crypt",
        "multipath",
        "delay",
        "flakey",
        "dust",
        "switch",
        "zoned",
    }
)
PASSTHROUGH_KINDS = frozenset({Kind.PARTITION})


def is_passthrough(device: Device) -> bool:
    """Whether *device* sends on what it gets, request by request, and nothing else."""
    if device.target:
        return device.target in PASSTHROUGH_TARGETS
    return device.kind in PASSTHROUGH_KINDS
