"""Which device a name in a statistics text means."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.load import PrintedLoads
from stackmap.model.topology import Topology
from stackmap.sources.lvm_names import unmangle

_SAR_NUMBER = re.compile(r"dev(\d{1,9})-(\d{1,9})\Z")
_ARRAY = re.compile(r"md\d{1,6}|dev9-\d{1,6}")
_PATH = re.compile(r"(nvme\d{1,4})c\d{1,4}(n\d{1,5}(?:p\d{1,3})?)\Z")
_PLACES = re.compile(r"^(?:/dev/)?(?:disk/by-[a-z]+/|mapper/|md/)?")
# Prefixes of links in by-id; sysstat drops them.
_BUSES = ("wwn-", "nvme-", "scsi-", "ata-", "dm-uuid-")

LOCAL_MAJORS = range(240, 255)  # Linux admin-guide/devices.rst: given out on demand, 254 first
_DYNAMIC = ("vd", "zram", "rbd", "bcache", "zd")  # that have one of these, too

MAX_STRANGERS = 10_000
MAX_LISTS = 8  # of names: most reports of a text have the same
MAX_NAMES = 50_000  # remembered, more than a report may have


def aliases(topology: Topology) -> dict[str, str]:
    """
    Return the kernel name of each device by every name that a text may use.

    Kernel names come first, then labels and numbers, then names of links. An
    earlier kind wins; a name that two devices have in the same kind is unknown.
    """
    devices = topology.devices
    given = {d.name: (d.label, d.dm_name, d.facts.get("alias", ""), d.number) for d in topology}
    linked = {name: _links(device) for name, device in devices.items()}
    kernel_names: dict[str, str] = dict(zip(devices, devices, strict=True))
    for kind in (given, linked):
        counts = Counter(alias for name in devices for alias in {*kind[name]})
        known = {alias: name for name in devices for alias in kind[name] if counts[alias] == 1}
        kernel_names = {alias: name for alias, name in known.items() if alias} | kernel_names
    return kernel_names


def _links(device: Device) -> tuple[str, ...]:
    """Return the names of its links in by-id: the WWN, model and serial, or a dm uuid."""
    model = f"{device.model}_{device.serial}".replace(" ", "_") if device.serial else ""
    return device.uuid, device.wwn, device.wwn.removeprefix("0x"), model, device.serial


def kernel_name(printed: str, known: Mapping[str, str]) -> str | None:
    """
    Return the kernel name for *printed*; None if no device has that name.

    sar's ``dev253-89`` is a number; other names are looked up with and without
    directory, bus prefix and device-mapper's escapes.
    """
    number = _SAR_NUMBER.match(printed)
    if number:
        return known.get(f"{int(number[1])}:{int(number[2])}")
    for name in (printed, unmangle(printed)):
        bare = _PLACES.sub("", name)
        for bus in ("", *(bus for bus in _BUSES if bare.startswith(bus))):
            known_as = known.get(name) or known.get(bare.removeprefix(bus))
            if known_as is not None:
                return known_as
    return None


def _paths(words: Sequence[str]) -> dict[int, str]:
    """Return the places in *words* of NVMe's only paths to a namespace, and its name: nvme2c5n1 is of nvme2n1."""
    heads = {
        n: f"{path[1]}{path[2]}" for n, word in enumerate(words) if (path := _PATH.match(word))
    }
    several = {head for head, count in Counter(heads.values()).items() if count > 1}
    return {place: head for place, head in heads.items() if head not in several}


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
        # A text may name dm-3 without its number, whose major is one of those that the kernel has left.
        others = any(name.startswith(_DYNAMIC) for name in topology.devices)
        self._unnumbered = {
            name
            for name, device in topology.devices.items()
            if name.startswith("dm-") and not device.number and not others
        }
        # The only array of a ticket may be known as /dev/md/data, and the only one with figures as md127.
        arrays = [device.name for device in topology if device.kind is Kind.ARRAY]
        self._alias = arrays[0] if len(arrays) == 1 and arrays[0].startswith("md/") else ""
        self._name = lru_cache(MAX_NAMES)(lambda word: kernel_name(word, known))
        self._means = lru_cache(MAX_LISTS)(self._look_up)

    def resolved(self, interval: Interval) -> Interval:
        """Return *interval* with its loads under kernel names; unknown names are kept."""
        names, strangers = self._means(tuple(interval.loads))
        self.known += len(interval.loads) - len(strangers)
        for name in strangers:
            if name in self.strangers or len(self.strangers) < MAX_STRANGERS:
                self.strangers[name] = self.strangers.get(name, 0) + 1
        if not names:
            return interval
        loads = interval.loads
        if isinstance(loads, PrintedLoads) and len({*names}) == len(names):
            return replace(interval, loads=PrintedLoads(names, loads.printed, loads.convert))
        return replace(interval, loads=dict(zip(names, loads.values(), strict=True)))

    def _look_up(self, words: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Return the names that *words* become, [] if all stay as they are, and the unknown ones."""
        means = [self._name(word) for word in words]
        for place, head in _paths(words).items():
            if means[place] is None and (known_as := self._name(head)) not in means:
                means[place] = known_as
        if self._unnumbered and None in means:
            self._number_mapped(words, means)
        if self._alias:
            arrays = [
                n for n, word in enumerate(words) if means[n] is None and _ARRAY.fullmatch(word)
            ]
            for place in arrays if len(arrays) == 1 else ():
                means[place] = self._alias
        names = [name or word for word, name in zip(words, means, strict=True)]
        strangers = [word for word, name in zip(words, means, strict=True) if name is None]
        return [] if names == [*words] else names, strangers

    def _number_mapped(self, words: Sequence[str], means: list[str | None]) -> None:
        """Enter dm-3 for dev253-3 in *means*, if there is one such major and each of its devices is known."""
        numbered = [
            (place, number)
            for place, word in enumerate(words)
            if means[place] is None
            and (number := _SAR_NUMBER.match(word))
            and int(number[1]) in LOCAL_MAJORS
        ]
        mapped = [f"dm-{int(number[2])}" for _, number in numbered]
        if len({number[1] for _, number in numbered}) == 1 and self._unnumbered.issuperset(mapped):
            for (place, _), name in zip(numbered, mapped, strict=True):
                means[place] = name
