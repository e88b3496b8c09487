"""
Containers and services that use devices: by the I/O of their control groups, and by their mounts.

A container's mounts appear only in the ``mountinfo`` of its processes, which needs root; a
group's I/O is public. Every process uses the file system on ``/``, so its device is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stackmap.discover.scan import Scan
from stackmap.model.device import Use
from stackmap.sources import cgroup, mountinfo
from stackmap.sources.cgroup import Group
from stackmap.sources.cgroup_names import owner
from stackmap.sources.sysfs import attribute


def cgroup_uses(scan: Scan, devices: Collection[str]) -> Iterator[tuple[str, Use]]:
    """Yield the users of *devices*, kernel names of tops."""
    for group in cgroup.groups(scan.host) if devices else ():
        found = owner(group.name)
        if found is None:
            continue
        how, who = found
        if how != "service":
            for name, source in _mounted(scan, group):
                if name in devices:
                    yield name, Use(how, who, source)
        for number, charge in cgroup.counters_of(scan.host, group).items():
            name = scan.names.get(number, "")
            if name in devices and (charge.reads or charge.writes):
                yield name, Use(how, who, group.source)


def _mounted(scan: Scan, group: Group) -> Iterator[tuple[str, str]]:
    """Yield the devices that a process of *group* has mounted, and the file that says so."""
    pid = attribute(scan.host, f"{group.path}/cgroup.procs").partition("\n")[0]
    if not pid.isdecimal():
        return
    path = f"/proc/{pid}/mountinfo"
    for mount in mountinfo.parse(attribute(scan.host, path)):
        # btrfs has a device number of its own, so the source counts.
        name = scan.names.get(mount.number) or scan.device_at(mount.source)
        if name:
            yield name, path
