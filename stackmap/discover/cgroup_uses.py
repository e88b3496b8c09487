"""
Containers and services that use devices: by what their control groups read and wrote, and what they mounted.

A container's mounts are its own: the host does not see them, only the
``mountinfo`` of its processes, which root may read, has them. What a group
read and wrote is there for everyone. Everything uses the file
system mounted on ``/``, so nothing is said of that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stackmap.discover.dev_paths import device_at
from stackmap.discover.scan import Scan
from stackmap.errors import SourceError
from stackmap.model.device import Use
from stackmap.sources import cgroup, mountinfo
from stackmap.sources.cgroup import Group
from stackmap.sources.cgroup_names import owner
from stackmap.sources.sysfs import attribute


def cgroup_uses(seen: Scan, devices: Collection[str]) -> Iterator[tuple[str, Use]]:
    """Yield who uses the devices in *wanted*, by kernel names: those with nothing above them."""
    for group in cgroup.groups(seen.host) if devices else ():
        found = owner(group.name)
        if found is None:
            continue
        how, who = found
        if how != "service":
            for name, source in _mounted(seen, group):
                if name in devices:
                    yield name, Use(how, who, source)
        for number, charge in cgroup.counters_of(seen.host, group).items():
            name = seen.names.get(number, "")
            if name in devices and (charge.reads or charge.writes):
                yield name, Use(how, who, group.source)


def _mounted(seen: Scan, group: Group) -> Iterator[tuple[str, str]]:
    """Yield the devices that a process of *group* sees mounted, and where that is said."""
    pid = attribute(seen.host, f"{group.path}/cgroup.procs").partition("\n")[0]
    if not pid.isdecimal():
        return
    path = f"/proc/{pid}/mountinfo"
    try:
        mounts = mountinfo.parse(seen.host.read(path))
    except SourceError:
        return
    for mount in mounts:
        # btrfs has a number of its own.
        name = seen.names.get(mount.number) or device_at(seen, mount.source)
        if name:
            yield name, path
