"""
State to poll because the kernel sends no uevent for it: md resyncs, RAID LVs, mounts.

A change only means that it is time to rediscover. Progress is left out, and
whether an array was written to.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import Kind
from stackmap.model.topology import Topology
from stackmap.sources import dmsetup, mountinfo
from stackmap.sources.sysfs import ROOT, attribute

MD_ATTRIBUTES = ("sync_action", "degraded")
# dm-raid's status: type, members, a letter for each, progress, sync action (dm-raid.rst).
RAID_HEALTH, RAID_ACTION = 2, 4


def md_attributes(topology: Topology) -> tuple[str, ...]:
    """Return the paths that ``md_state`` reads."""
    names = (d.name for d in topology.devices.values() if d.kind is Kind.ARRAY)
    return tuple(f"{ROOT}/{name}/md/{what}" for name in names for what in MD_ATTRIBUTES)


def md_state(host: Host, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sync action and the number of missing members of each md array."""
    return tuple(attribute(host, path) for path in attributes)


def volume_state(host: Host, topology: Topology) -> tuple[str, ...]:
    """Return health and sync action of LVM's RAID volumes, and the mounts; runs dmsetup if there are any."""
    raids = any("raid" in d.target for d in topology.devices.values())
    states = tuple(_raid_states(host)) if raids else ()
    return (*states, attribute(host, mountinfo.PATH))


def _raid_states(host: Host) -> Iterator[str]:
    try:
        statuses = dmsetup.read_statuses(host)
    except SourceError:  # not root; sysfs does not have it
        return
    for name, segments in statuses.items():
        for segment in segments:
            if segment.target == "raid":
                words = segment.words
                yield " ".join((name, *words[RAID_HEALTH:][:1], *words[RAID_ACTION:][:1]))
