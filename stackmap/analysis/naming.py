"""Which device a name in a statistics text means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

_MANGLED = re.compile(r"\\x([0-9a-fA-F]{2})")  # how device-mapper writes what a name may not hold
_SAR_NUMBER = re.compile(r"dev(\d+)-(\d+)\Z")


def aliases(topology: Topology) -> dict[str, str]:
    """
    Return the kernel's name of each device by every name a text may give it.

    A kernel name is never taken for another device's alias; an alias that two
    devices bear means neither.
    """
    known: dict[str, str] = {}
    twice: set[str] = set()
    for device in topology.devices.values():
        for alias in {
            device.label,
            device.dm_name,
            device.facts.get("alias", ""),
            device.number,
        } - {""}:
            if alias in known and known[alias] != device.name:
                twice.add(alias)
            known[alias] = device.name
    found = {alias: name for alias, name in known.items() if alias not in twice}
    return found | {name: name for name in topology.devices}


def kernel_name(printed: str, known: Mapping[str, str]) -> str | None:
    """
    Return the kernel's name for *printed*; None if no device bears it.

    sar's ``dev253-89`` goes through the number alone: the major of
    device-mapper is not the same on every machine.
    """
    number = _SAR_NUMBER.match(printed)
    if number:
        return known.get(f"{number[1]}:{number[2]}")
    return known.get(printed) or known.get(_MANGLED.sub(_character, printed))


def _character(mangled: re.Match[str]) -> str:
    return chr(int(mangled[1], 16))


def resolved(topology: Topology, interval: Interval) -> tuple[Interval, tuple[str, ...]]:
    """Return *interval* with its loads under kernel names, and the names that no device bears."""
    known = aliases(topology)
    loads = {}
    strangers = []
    for printed, load in interval.loads.items():
        name = kernel_name(printed, known)
        if name is None:
            strangers.append(printed)
        loads[name or printed] = load
    return replace(interval, loads=loads), tuple(strangers)
