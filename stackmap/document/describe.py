"""A device in a few words: the column WHAT of the tree, one line per kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stackmap.document.units import size
from stackmap.model.device import Device, Kind
from stackmap.model.raid import Layout

FINE = frozenset({None, "active", "standby", "spare", "journal"})


def layout(how: Layout) -> str:
    """
    Return a layout in words.

    >>> from stackmap.model.raid import layout as raid
    >>> layout(raid("raid5", 4, 65536))
    'raid5 3+1, 64 KiB'
    """
    return f"{how}, {size(how.chunk)}" if how.chunk else str(how)


def what(device: Device) -> str:
    """Return a few words on *device*."""
    return DESCRIPTIONS.get(device.kind, _mapped)(device)


def states(devices: Sequence[Device]) -> str:
    """Return the state of one device, or the problems of several."""
    if len(devices) == 1:
        return devices[0].state or "-"
    problems = [device.state for device in devices if device.state not in FINE]
    if problems:
        return ", ".join(f"{problems.count(state)} {state}" for state in dict.fromkeys(problems))
    return devices[0].state or "-"


def users(device: Device) -> str:
    """Return the users of *device*, two by name and the others counted; "" for none."""
    names = [use.name for use in device.uses]
    return ", ".join(names[:2]) + (f" (+{len(names) - 2})" if len(names) > 2 else "")


def _disk(device: Device) -> str:
    kind = {True: "hdd", False: "ssd", None: "disk"}[device.rotational]
    words = ("removable" if device.removable else kind, device.model, device.serial)
    return " ".join(word for word in words if word)


def _mapped(device: Device) -> str:
    """Describe a device of another kind by layout or target."""
    if device.layout is not None:
        return layout(device.layout)
    segments = device.facts.get("segments")
    name = device.target or "mapped"
    if segments:
        return f"{name}, {segments} segments"
    return f"{name} {device.facts['delay']}" if "delay" in device.facts else name


def _array(device: Device) -> str:
    how = layout(device.layout) if device.layout else "md"
    alias = device.facts.get("alias")
    return f"{how} ({alias})" if alias else how


def _pool(device: Device) -> str:
    if device.target == "linear":
        return "name of the thin pool"
    data, metadata = device.facts.get("data used"), device.facts.get("metadata used")
    if data is None or metadata is None:
        return "thin-pool"
    return f"thin-pool, data {data}, metadata {metadata}"


def _fact(word: str, *keys: str) -> Callable[[Device], str]:
    """Return a function: *word* and the known ones of these facts."""

    def describe(device: Device) -> str:
        known = [device.facts[key] for key in keys if key in device.facts]
        return " ".join([word, ", ".join(known)]).strip()

    return describe


def _used(word: str, key: str, verb: str) -> Callable[[Device], str]:
    def describe(device: Device) -> str:
        return f"{word}, {device.facts[key]} {verb}" if key in device.facts else word

    return describe


DESCRIPTIONS: dict[Kind, Callable[[Device], str]] = {
    Kind.DISK: _disk,
    Kind.PARTITION: _fact("partition"),
    Kind.ARRAY: _array,
    Kind.CRYPT: _fact("crypt", "cipher"),
    Kind.MULTIPATH: _used("multipath", "paths", "paths"),
    Kind.CACHE: _fact("cache", "mode", "policy"),
    Kind.THIN: _used("thin", "mapped", "mapped"),
    Kind.THIN_POOL: _pool,
    Kind.SNAPSHOT: _used("snapshot", "used", "used"),
    Kind.LOOP: _fact("loop", "file"),
    Kind.ZRAM: _fact("zram"),
    Kind.BCACHE: _fact("bcache", "mode", "state"),
}
