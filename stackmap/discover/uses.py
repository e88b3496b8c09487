"""Who uses a device: mounts and swap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from stackmap.discover.scan import Scan
from stackmap.errors import SourceError
from stackmap.model.device import Use
from stackmap.sources import mountinfo, swaps, sysfs
from stackmap.sources.lvm import unmangled
from stackmap.sources.mountinfo import Mount

BTRFS = "/sys/fs/btrfs"
MAPPER = "/dev/mapper/"


def uses(seen: Scan) -> Mapping[str, tuple[Use, ...]]:
    """Return the uses of each device that has any, by its name."""
    found: defaultdict[str, list[Use]] = defaultdict(list)
    for name, use in (*_mounts(seen), *_swaps(seen)):
        if use not in found[name]:
            found[name].append(use)
    return {name: tuple(these) for name, these in found.items()}


def _mounts(seen: Scan) -> Iterator[tuple[str, Use]]:
    try:
        mounts = mountinfo.read(seen.host)
    except SourceError:
        return
    siblings = _btrfs(seen) if any(mount.kind == "btrfs" for mount in mounts) else {}
    for mount in mounts:
        for name in _devices_of(seen, mount, siblings):
            yield name, Use("mount", mount.point, mountinfo.PATH)


def _devices_of(
    seen: Scan, mount: Mount, siblings: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    name = seen.names.get(mount.number) or _named(seen, mount.source)
    if name is None:
        return ()
    return siblings.get(name, (name,))


def _swaps(seen: Scan) -> Iterator[tuple[str, Use]]:
    try:
        paths = swaps.read(seen.host)
    except SourceError:
        return
    for path in paths:
        if name := _named(seen, path):
            yield name, Use("swap", "[SWAP]", swaps.PATH)


def _named(seen: Scan, path: str) -> str | None:
    """Return the kernel name of the device at *path* in /dev."""
    if path.startswith(MAPPER):
        wanted = unmangled(path.removeprefix(MAPPER))
        return next((name for name, dm in seen.mapped.items() if dm.name == wanted), None)
    name = path.removeprefix("/dev/")
    return name if name in seen.blocks else None


def _btrfs(seen: Scan) -> dict[str, tuple[str, ...]]:
    """Return, for each device of a mounted btrfs, all devices of that file system."""
    found = {}
    for uuid in sysfs.names_in(seen.host, BTRFS):
        names = tuple(map(sysfs.unescaped, sysfs.names_in(seen.host, f"{BTRFS}/{uuid}/devices")))
        found.update(dict.fromkeys(names, names))
    return found
