"""
Which devices a NAME means.

A name is tried in turn as a kernel name, label or device number, a path in
/dev, an array's name, an LV, a VG, and a mount point or other user; the first
kind that matches counts. LVs of one name in two VGs both match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from stackmap.errors import NameNotFound
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from stackmap.sources.lvm_names import split_name, unmangle

DEV = "/dev/"
MAPPER = "mapper/"

# Devices LVM made for its own use; a VG means the others.
HIDDEN = frozenset({Kind.MEMBER})


def find(topology: Topology, name: str) -> list[str]:
    """Return the kernel names of the devices that *name* means, [] if there is none."""
    for matches in RULES if name else ():
        found = [device.name for device in topology if matches(device, name)]
        if found:
            return found
    return []


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
    return f"{message}; did you mean '{similar}'?" if similar else message


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
    return list(dict.fromkeys(found for name in names for found in find(topology, name)))


def unmatched(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return those of *names* that no device has."""
    return [name for name in names if not find(topology, name)]


def _itself(device: Device, name: str) -> bool:
    return name in (device.name, device.label, device.number)


def _path(device: Device, name: str) -> bool:
    path = name.removeprefix(DEV)
    return path != name and (path in _paths(device) or _label_at(path) == device.label != "")


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


def _alias(device: Device, name: str) -> bool:
    return device.facts.get("alias") == name


def _volume(device: Device, name: str) -> bool:
    return device.label.partition("/")[2] == name != ""


def _group(device: Device, name: str) -> bool:
    group, slash, _ = device.label.partition("/")
    return bool(slash) and group == name.removeprefix(DEV) and device.kind not in HIDDEN


def _user(device: Device, name: str) -> bool:
    return any(use.name == (name.rstrip("/") or "/") for use in device.uses)


RULES: tuple[Callable[[Device, str], bool], ...] = (
    _itself,
    _path,
    _alias,
    _volume,
    _group,
    _user,
)
