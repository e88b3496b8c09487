"""
What may change without the kernel telling it: arrays that begin to sync, mounts.

Few questions, to be asked again and again: the answers only show whether it is
time to look at everything. No progress is among them, nor whether an array
was written to just now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.model.device import Kind
from stackmap.sources import dmsetup, mountinfo
from stackmap.sources.sysfs import ROOT, attribute

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.topology import Topology

MD_ATTRIBUTES = ("sync_action", "degraded")
# dm-raid's status: type, members, a letter for each, progress, what it does (dm-raid.rst).
RAID_HEALTH, RAID_ACTION = 2, 4


def md_attributes(topology: Topology) -> tuple[str, ...]:
    """Return the attributes that ``of_arrays`` reads."""
    names = (d.name for d in topology.devices.values() if d.kind is Kind.ARRAY)
    return tuple(f"{ROOT}/{name}/md/{what}" for name in names for what in MD_ATTRIBUTES)


def md_state(host: Host, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return what md's arrays are at: two attributes of each."""
    return tuple(attribute(host, path) for path in attributes)


def volume_state(host: Host, topology: Topology) -> tuple[str, ...]:
    """Return what LVM's RAID volumes are at, and what is mounted; a command, where there is such a volume."""
    raids = any("raid" in d.target for d in topology.devices.values())
    told = tuple(_raid_states(host)) if raids else ()
    return (*told, attribute(host, mountinfo.PATH))


def _raid_states(host: Host) -> Iterator[str]:
    try:
        statuses = dmsetup.read_statuses(host)
    except SourceError:  # not root: sysfs has nothing of it
        return
    for name, segments in statuses.items():
        for segment in segments:
            if segment.target == "raid":
                words = segment.words
                yield " ".join((name, *words[RAID_HEALTH:][:1], *words[RAID_ACTION:][:1]))
