"""A device in a few words: the column WHAT of the tree, one line per kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from stackmap.document.units import size
from stackmap.model.device import Device, Kind
from stackmap.model.dm_targets import target_of
from stackmap.model.raid import Layout

NO_TARGET_KINDS = frozenset({Kind.VOLUME, Kind.MEMBER, Kind.DM})
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
    """Describe a device-mapper device by its layout, in the words of its target, or by its target's name."""
    if device.layout is not None:
        return layout(device.layout)
    if device.kind is Kind.THIN_POOL and device.target == "linear":
        return "name of the thin pool"
    target, segments = target_of(device), device.facts.get("segments")
    is_own = target.kind is device.kind
    if is_own and not (segments and device.kind is Kind.DM):
        return "".join(_known_words(target.what, device.facts)) or device.target or "mapped"
    name = device.target or ("mapped" if device.kind in NO_TARGET_KINDS else str(device.kind))
    return f"{name}, {segments} segments" if segments else name


def _known_words(words: Iterable[str], facts: Mapping[str, str]) -> Iterator[str]:
    """Yield *words* with their facts, without those whose facts are unknown."""
    for word in words:
        with suppress(KeyError):
            yield word.format_map(facts)


def _array(device: Device) -> str:
    how = layout(device.layout) if device.layout else "md"
    alias = device.facts.get("alias")
    return f"{how} ({alias})" if alias else how


def _fact(word: str, *keys: str) -> Callable[[Device], str]:
    """Return a function: *word* and the known ones of these facts."""

    def describe(device: Device) -> str:
        known = [device.facts[key] for key in keys if key in device.facts]
        return " ".join([word, ", ".join(known)]).strip()

    return describe


DESCRIPTIONS: dict[Kind, Callable[[Device], str]] = {
    Kind.DISK: _disk,
    Kind.PARTITION: _fact("partition"),
    Kind.ARRAY: _array,
    Kind.LOOP: _fact("loop", "file"),
    Kind.ZRAM: _fact("zram"),
    Kind.BCACHE: _fact("bcache", "mode", "state"),
}
