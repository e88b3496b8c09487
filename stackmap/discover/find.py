"""
Which devices a NAME or a shell pattern means.

A name is tried in turn as a kernel name, label or device number, a path in
/dev, an array's name, an LV, a VG, and a mount point or other user; the first
kind that matches counts. LVs of one name in two VGs both match. A pattern
("vg*", "dm-[0-9]") means all devices with a name that it matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from stackmap.errors import NameNotFound
from stackmap.model.device import Device, Kind
from stackmap.model.dm_targets import POOL
from stackmap.model.topology import Topology
from stackmap.sources.lvm_names import split_name, unmangle

PATTERN = r"[*?]|\[.+\]"
DEV = "/dev/"
MAPPER = "mapper/"


def find(topology: Topology, name: str) -> list[str]:
    """Return the kernel names of the devices that *name* means, [] if there is none."""
    found: dict[int, list[str]] = {}
    for device in topology if name else ():
        kind = next((kind for kind, fits in enumerate(_meanings(device, name)) if fits), None)
        if kind is not None:
            found.setdefault(kind, []).append(device.name)
    return [_carrier(topology, each) for each in found[min(found)]] if found else []


def _carrier(topology: Topology, name: str) -> str:
    """Return the device that carries the I/O of *name*: below the idle alias of a thin pool, the pool itself."""
    edges = topology.below(name)
    if topology[name].kind is Kind.THIN_POOL and len(edges) == 1:
        below = topology[edges[0].below]
        return below.name if below.target == POOL else name
    return name


def _matching(topology: Topology, name: str) -> list[str]:
    """Return the devices that *name* means; if none, those that it matches as a pattern."""
    found = find(topology, name)
    if found or not re.search(PATTERN, name):
        return found
    from fnmatch import fnmatchcase  # only a pattern pays for it

    pattern = name.removeprefix(DEV)
    matching = [
        device
        for device in topology
        if any(fnmatchcase(each, pattern) for each in (*_names(device), *_paths(device)))
    ]
    # LVM's sub-LVs are called like their volume.
    visible = [each.name for each in matching if each.kind is not Kind.MEMBER]
    return visible or [each.name for each in matching]


def find_one_name(topology: Topology, name: str) -> list[str]:
    """Return the devices that the exact *name* means; ``NameNotFound`` if none, and for a pattern."""
    found = find(topology, name)
    if not found and re.search(PATTERN, name):
        raise NameNotFound(f"'{name}' is a pattern; give the exact name of one volume")
    return found or find_all(topology, [name])


def find_all(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return the devices that any of *names* means, each once; ``NameNotFound`` if none has any."""
    names = list(names)
    found = find_existing(topology, names)
    if names and not found:
        raise NameNotFound(not_found(topology, names))
    return found


def not_found(topology: Topology, names: Sequence[str]) -> str:
    """Return the message that none of *names* is found, with the most similar name there is."""
    message = "no device named " + " or ".join(f"'{name}'" for name in names)
    similar = next(filter(None, (_similar(topology, name) for name in names)), "")
    advice = f"did you mean '{similar}'?" if similar else "run `stackmap tree` to list names"
    return f"{message}; {advice}"


def _similar(topology: Topology, name: str) -> str:
    """Return the known name that is most like *name*, in any case; "" if none is."""
    from difflib import get_close_matches  # 2 ms that only an unknown name costs

    known = {each.lower(): each for device in topology for each in _names(device)}
    found = get_close_matches(name.lower(), known, 1)
    return known[found[0]] if found else ""


def _names(device: Device) -> Iterator[str]:
    """Yield the names that people use for *device*: what it is called, its VG, where it is mounted."""
    group, _, volume = device.label.partition("/")
    names = (device.name, device.label, group, volume, device.facts.get("alias", ""))
    yield from filter(None, (*names, *(use.name for use in device.uses)))


def find_existing(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return the devices that any of *names* means, each once; [] if there is none any more."""
    return list(dict.fromkeys(found for name in names for found in _matching(topology, name)))


def unmatched(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return those of *names* that no device has."""
    return [name for name in names if not _matching(topology, name)]


def _meanings(device: Device, name: str) -> Iterator[bool]:
    """Yield whether *name* means *device*, for one kind of name after the other."""
    path = name.removeprefix(DEV)
    group, slash, volume = device.label.partition("/")
    yield name in (device.name, device.label, device.number)
    yield path != name and (path in _paths(device) or _label_at(path) == device.label != "")
    yield device.facts.get("alias") == name
    yield volume == name
    # Members are LVM's own devices: a VG means the others.
    yield slash != "" and group == path and device.kind is not Kind.MEMBER
    yield any(use.name == (name.rstrip("/") or "/") for use in device.uses)


def _paths(device: Device) -> Iterator[str]:
    """Yield where *device* is found in /dev."""
    yield device.name
    if device.label:
        yield device.label
        yield MAPPER + device.label
    if alias := device.facts.get("alias"):
        yield f"md/{alias}"


def _label_at(path: str) -> str:
    """
    Return the label of the LV at *path* in /dev/mapper, where hyphens in its names are doubled.

    >>> _label_at("mapper/vg--md-home--dirs")
    'vg-md/home-dirs'
    """
    group, *rest = split_name(unmangle(path.removeprefix(MAPPER)))
    return f"{group}/{'-'.join(rest)}"
