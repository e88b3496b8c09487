"""Users of devices: mounts, swap, virtual machines, containers, daemons, or the signature on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from stackmap.discover.cgroup_uses import cgroup_uses
from stackmap.discover.consumers import ceph, domains, open_files, proxmox_guests
from stackmap.discover.discovered import Discovered
from stackmap.discover.scan import Scan
from stackmap.discover.signatures import signatures
from stackmap.model.device import Use
from stackmap.sources import mountinfo, swaps, sysfs

BTRFS = "/sys/fs/btrfs"
BCACHEFS = "/sys/fs/bcachefs"

DeviceUses = Iterator[tuple[str, Use]]


def device_uses(scan: Scan, found: Iterable[Discovered]) -> Mapping[str, tuple[Use, ...]]:
    """Return the users of each device that has any, by its name; of two equal ones, the first."""
    known: defaultdict[str, dict[tuple[str, str], Use]] = defaultdict(dict)

    def add(uses: Iterable[tuple[str, Use]]) -> None:
        for name, use in uses:
            known[name].setdefault((use.kind, use.name), use)

    add(chain.from_iterable(finder(scan) for finder in FINDERS))
    stood_on = {edge.below for each in found for edge in each.edges}
    tops = [each.device for each in found if each.device.name not in stood_on]
    special = {top.name for top in tops if ("mount", "/") not in known.get(top.name, ())}
    add(cgroup_uses(scan, special))
    add(signatures(scan, [device for device in tops if device.name not in known]))
    return {name: tuple(these.values()) for name, these in known.items()}


def mounts(scan: Scan) -> DeviceUses:
    """Yield the devices of mounted file systems."""
    mounted = mountinfo.read(scan.host)
    kinds = {mount.kind for mount in mounted}
    siblings = _btrfs(scan) if "btrfs" in kinds else {}
    siblings |= _bcachefs(scan) if mountinfo.BCACHEFS in kinds else {}
    for mount in mounted:
        number = scan.names.get(mount.number)
        devices = [number] if number else [scan.device_at(path) for path in mount.sources]
        members = (siblings.get(device, (device,)) for device in devices if device)
        for name in dict.fromkeys(chain.from_iterable(members)):
            yield name, Use("mount", mount.point, mountinfo.PATH)


def swapped(scan: Scan) -> DeviceUses:
    """Yield the swap devices."""
    for path in swaps.read(scan.host):
        if name := scan.device_at(path):
            yield name, Use("swap", "[SWAP]", swaps.PATH)


def _btrfs(scan: Scan) -> dict[str, tuple[str, ...]]:
    """Return all devices of the same file system, for each device of a mounted btrfs."""
    found = {}
    for uuid in sysfs.list_names(scan.host, BTRFS):
        names = tuple(
            map(sysfs.kernel_name, sysfs.list_names(scan.host, f"{BTRFS}/{uuid}/devices"))
        )
        found.update(dict.fromkeys(names, names))
    return found


def _bcachefs(scan: Scan) -> dict[str, tuple[str, ...]]:
    """Return all devices of the same file system, for each device of a mounted bcachefs."""
    found = {}
    for uuid in sysfs.list_names(scan.host, BCACHEFS):
        place = f"{BCACHEFS}/{uuid}"
        members = [name for name in sysfs.list_names(scan.host, place) if name.startswith("dev-")]
        links = (sysfs.link(scan.host, f"{place}/{member}/block") for member in members)
        names = tuple(sysfs.kernel_name(link.rpartition("/")[2]) for link in links if link)
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
