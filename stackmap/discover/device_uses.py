"""Users of devices: mounts, swap, virtual machines, containers, daemons, or the signature on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from stackmap.discover.cgroup_uses import cgroup_uses
from stackmap.discover.consumers import ceph, domains, open_files, proxmox_guests
from stackmap.discover.dev_paths import device_at
from stackmap.discover.discovered import Discovered
from stackmap.discover.scan import Scan
from stackmap.discover.signatures import signatures
from stackmap.errors import SourceError
from stackmap.model.device import Use
from stackmap.sources import mountinfo, swaps, sysfs
from stackmap.sources.mountinfo import Mount

BTRFS = "/sys/fs/btrfs"

DeviceUses = Iterator[tuple[str, Use]]


def device_uses(scan: Scan, found: Iterable[Discovered]) -> Mapping[str, tuple[Use, ...]]:
    """Return the users of each device that has any, by its name; of two equal ones, the first."""
    known: defaultdict[str, dict[tuple[str, str], Use]] = defaultdict(dict)
    for name, use in chain.from_iterable(finder(scan) for finder in FINDERS):
        known[name].setdefault((use.kind, use.name), use)
    stood_on = {edge.below for each in found for edge in each.edges}
    tops = [each.device for each in found if each.device.name not in stood_on]
    special = {top.name for top in tops if ("mount", "/") not in known.get(top.name, ())}
    for name, use in list(cgroup_uses(scan, special)):
        known[name].setdefault((use.kind, use.name), use)
    idle = (device for device in tops if device.name not in known)
    for name, use in list(signatures(scan, idle)):
        known[name].setdefault((use.kind, use.name), use)
    return {name: tuple(these.values()) for name, these in known.items()}


def mounts(scan: Scan) -> DeviceUses:
    """Yield the devices of mounted file systems."""
    try:
        mounted = mountinfo.read(scan.host)
    except SourceError:
        return
    siblings = _btrfs(scan) if any(mount.kind == "btrfs" for mount in mounted) else {}
    for mount in mounted:
        for name in _devices_of(scan, mount, siblings):
            yield name, Use("mount", mount.point, mountinfo.PATH)


def swapped(scan: Scan) -> DeviceUses:
    """Yield the swap devices."""
    try:
        paths = swaps.read(scan.host)
    except SourceError:
        return
    for path in paths:
        if name := device_at(scan, path):
            yield name, Use("swap", "[SWAP]", swaps.PATH)


def _devices_of(
    scan: Scan, mount: Mount, siblings: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    name = scan.names.get(mount.number) or device_at(scan, mount.source)
    if name is None:
        return ()
    return siblings.get(name, (name,))


def _btrfs(scan: Scan) -> dict[str, tuple[str, ...]]:
    """Return all devices of the same file system, for each device of a mounted btrfs."""
    found = {}
    for uuid in sysfs.list_names(scan.host, BTRFS):
        names = tuple(
            map(sysfs.kernel_name, sysfs.list_names(scan.host, f"{BTRFS}/{uuid}/devices"))
        )
        found.update(dict.fromkeys(names, names))
    return found


FINDERS: tuple[Callable[[Scan], DeviceUses], ...] = (
    mounts,
    swapped,
    domains,
    proxmox_guests,
    open_files,
    ceph,
)
