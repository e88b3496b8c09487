"""Which device a name in a statistics text means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.load import Load
from stackmap.model.load_table import LoadTable
from stackmap.model.topology import Topology

_MANGLED = re.compile(rb"\\x([0-9a-fA-F]{2})")  # device-mapper's escape
_SAR_NUMBER = re.compile(r"dev(\d{1,9})-(\d{1,9})\Z")
_PLACES = re.compile(r"^(?:/dev/)?(?:disk/by-[a-z]+/|mapper/|md/)?")
# Prefixes of links in by-id; sysstat drops them.
_BUSES = ("wwn-", "nvme-", "scsi-", "ata-", "dm-uuid-")

MAX_LOADS = 5_000  # kept as resolved: a long text repeats its reports
MAX_STRANGERS = 10_000
MAX_LISTS = 8  # of names: most reports of a text have the same
MAX_NAMES = 50_000  # remembered, more than a report may have


def aliases(topology: Topology) -> dict[str, str]:
    """
    Return the kernel name of each device by every name that a text may use.

    Kernel names come first, then labels and numbers, then names of links. An
    earlier kind wins; a name that two devices have in the same kind is unknown.
    """
    found: dict[str, str] = {}
    for kind in _KINDS:
        known: dict[str, str] = {}
        twice: set[str] = set()
        for device in topology.devices.values():
            for alias in {alias for alias in kind(device) if alias}:
                if alias in known:
                    twice.add(alias)
                known[alias] = device.name
        found = {alias: name for alias, name in known.items() if alias not in twice} | found
    return found


def _itself(device: Device) -> tuple[str, ...]:
    return (device.name,)


def _given(device: Device) -> tuple[str, ...]:
    return device.label, device.dm_name, device.facts.get("alias", ""), device.number


def _linked(device: Device) -> tuple[str, ...]:
    """Return the names of its links in by-id: the WWN, model and serial, or a dm uuid."""
    model = f"{device.model}_{device.serial}".replace(" ", "_") if device.serial else ""
    return device.uuid, device.wwn, device.wwn.removeprefix("0x"), model, device.serial


_KINDS = (_itself, _given, _linked)


def kernel_name(printed: str, known: Mapping[str, str]) -> str | None:
    """
    Return the kernel name for *printed*; None if no device has that name.

    sar's ``dev253-89`` is a number; other names are looked up with and without
    directory, bus prefix and device-mapper's escapes.
    """
    number = _SAR_NUMBER.match(printed)
    if number:
        return known.get(f"{int(number[1])}:{int(number[2])}")
    for name in (printed, _unmangled(printed)):
        bare = _PLACES.sub("", name)
        for bus in ("", *(bus for bus in _BUSES if bare.startswith(bus))):
            found = known.get(name) or known.get(bare.removeprefix(bus))
            if found is not None:
                return found
    return None


def _unmangled(name: str) -> str:
    if "\\x" not in name:
        return name
    raw = _MANGLED.sub(lambda match: bytes([int(match[1], 16)]), name.encode(errors="replace"))
    return raw.decode(errors="replace")


class Names:
    """
    Resolves the device names of a text in *topology*.

    ``strangers``: names that no device has, with their number of rows.
    ``known``: the number of rows with a known name.
    """

    def __init__(self, topology: Topology) -> None:
        self.strangers: dict[str, int] = {}
        self.known = 0
        known = aliases(topology)
        self._name = lru_cache(MAX_NAMES)(lambda word: kernel_name(word, known))
        self._means = lru_cache(MAX_LISTS)(self._look_up)
        self._resolved: dict[int, tuple[Mapping[str, Load], Mapping[str, Load], list[str]]] = {}
        self._size = 0
        self._own: set[str] = set()  # names in tables that are kernel names
        # The last table's names, what they mean; its places, and its places under other names.
        self._last_names: Sequence[str] = ()
        self._last_means: tuple[list[str], list[str]] = [], []
        self._last: tuple[Sequence[str], Mapping[str, int], Mapping[str, int]] = (), {}, {}

    def resolved(self, interval: Interval) -> Interval:
        """Return *interval* with its loads under kernel names; unknown names are kept."""
        loads, strangers = self._of(interval.loads)
        self.known += len(loads) - len(strangers)
        for name in strangers:
            if name in self.strangers or len(self.strangers) < MAX_STRANGERS:
                self.strangers[name] = self.strangers.get(name, 0) + 1
        return interval if loads is interval.loads else replace(interval, loads=loads)

    def _of(self, printed: Mapping[str, Load]) -> tuple[Mapping[str, Load], list[str]]:
        """Return the loads by kernel name, and the unknown names; computed once for reports that share loads."""
        seen = self._resolved.get(id(printed))
        if seen is not None:
            return seen[1:]
        names, strangers = self._meanings(printed)
        loads = printed
        if names:
            if isinstance(printed, LoadTable):
                loads = printed.with_names(names, self._places_of(printed, names))
            else:
                loads = dict(zip(names, printed.values(), strict=True))
        elif isinstance(printed, LoadTable):
            return printed, strangers
        if self._size > MAX_LOADS:
            self._resolved.clear()
            self._size = 0
        self._resolved[id(printed)] = printed, loads, strangers
        self._size += len(loads)
        return loads, strangers

    def _meanings(self, printed: Mapping[str, Load]) -> tuple[list[str], list[str]]:
        """Return ``_look_up`` of the names; tables of the same devices share their list of names."""
        if not isinstance(printed, LoadTable):
            return self._means(tuple(printed))
        if printed.names is not self._last_names:
            if self._own.issuperset(printed.names):
                return [], []
            self._last_names, self._last_means = printed.names, self._means(tuple(printed.names))
            if self._last_means == ([], []) and len(self._own) < MAX_NAMES:
                self._own.update(printed.names)
        return self._last_means

    def _places_of(self, printed: LoadTable, names: list[str]) -> Mapping[str, int]:
        """Return the places of *printed* under *names*: the same object for tables of the same devices."""
        if self._last[:2] != (printed.names, printed.places):
            means = dict(zip(printed.names, names, strict=True))
            places = {means[name]: place for name, place in printed.places.items()}
            self._last = printed.names, printed.places, places
        return self._last[2]

    def _look_up(self, words: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Return the names that *words* become, [] if all stay as they are, and the unknown ones."""
        means = [self._name(word) for word in words]
        names = [name or word for word, name in zip(words, means, strict=True)]
        strangers = [word for word, name in zip(words, means, strict=True) if name is None]
        return [] if names == [*words] else names, strangers


def resolved(topology: Topology, interval: Interval) -> tuple[Interval, tuple[str, ...]]:
    """Return *interval* with its loads under kernel names, and the unknown names."""
    names = Names(topology)
    return names.resolved(interval), tuple(names.strangers)
