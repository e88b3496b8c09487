"""Names of the devices that share a row."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from stackmap.model.device import Device, Kind
from stackmap.model.topology import natural_key

if TYPE_CHECKING:
    from stackmap.document.walk import Row

ARROW = "↑"  # after the name of a device that the tree shows further up
MOST_NAMES = 4  # names listed per row; of more, the first and the last


def title(row: Row) -> str:
    """Return the names of the devices of *row*, without what the row above already says."""
    if len(row.devices) == 1:
        name = _short(row.devices[0], row.above)
        return f"{name} {ARROW}" if row.again else name
    names = list(dict.fromkeys(_short(device, row.above) for device in row.devices))
    if row.again:
        return f"{listed(names)} {ARROW}"
    return names[0] if len(names) == 1 else _folded(names)


def _short(device: Device, above: Iterable[Device]) -> str:
    """Return a device's name without the volume or VG that the row above names."""
    if device.kind is Kind.MEMBER:
        for owner in above:
            rest = device.title.removeprefix(owner.title)
            if rest.startswith("_"):
                return rest
    group, _, volume = device.label.partition("/")
    same = volume and any(owner.label.startswith(f"{group}/") for owner in above)
    return volume if same else device.title


def kernel(row: Row) -> str:
    """Return the kernel names, "" where the title shows them."""
    names = [device.name for device in row.devices if device.label not in ("", device.name)]
    if not names:
        return ""
    if len(names) == len(row.devices) == 1:
        return names[0]
    return _numbered([device.name for device in row.devices])


def listed(names: list[str]) -> str:
    """Return names; of more than ``MOST_NAMES`` the first, the last and the count."""
    if len(names) <= MOST_NAMES:
        return " ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"


def _folded(names: list[str]) -> str:
    """
    Return names that differ in one number as one name with a range.

    >>> _folded(["disk1_rimage_0", "disk1_rimage_1", "disk1_rimage_2"])
    'disk1_rimage_0–2'
    >>> _folded(["i_rimage_0_iorig", "i_rimage_1_iorig"])
    'i_rimage_0–1_iorig'
    """
    keys = sorted(map(natural_key, names))
    places = [place for place, parts in enumerate(zip_longest(*keys)) if len(set(parts)) > 1]
    place = places[0] if len(places) == 1 else 0
    whole = ["".join(map(str, key)) for key in keys] == sorted(names, key=natural_key)
    if not whole or place % 2 == 0:  # texts differ, or a number is written with zeros before it
        return listed(names)
    before, after = map("".join, (map(str, keys[0][:place]), map(str, keys[0][place + 1 :])))
    return f"{before}{keys[0][place]}–{keys[-1][place]}{after}"


def _numbered(names: list[str]) -> str:
    """
    Return kernel names with their common prefix once and runs of numbers as ranges.

    >>> _numbered(["dm-1", "dm-3", "dm-5"]), _numbered(["dm-4", "dm-5", "dm-6"])
    ('dm-1,3,5', 'dm-4–6')
    """
    if len(names) == 1:
        return names[0]
    stem = names[0].rstrip("0123456789")
    numbers = [name.removeprefix(stem) for name in names]
    if not all(
        number.isdecimal() and name.startswith(stem)
        for name, number in zip(names, numbers, strict=True)
    ):
        return listed(names)
    runs = []
    for _, run in groupby(enumerate(map(int, numbers)), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        runs.append(f"{found[0]}–{found[-1]}" if len(found) > 2 else ",".join(map(str, found)))
    if len(runs) > MOST_NAMES:
        return f"{names[0]} … {numbers[-1]}"
    return stem + ",".join(runs)
