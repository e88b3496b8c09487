"""
State to poll because the kernel sends no uevent for it: dm targets, md resyncs, mounts, md's threads.

Answers are kept as text and parsed when they change. A change of ``volume_state`` means that it is
time to rediscover; progress is left out of it, and whether an array was written to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import Device, Kind
from stackmap.model.target_status import RaidThread, StatusReading, TargetStatus
from stackmap.model.topology import Topology
from stackmap.sources import dmsetup, mountinfo, raid_threads
from stackmap.sources.dm_commands import STATUS
from stackmap.sources.dm_targets import status_of
from stackmap.sources.sysfs import ROOT, attribute

MD_ATTRIBUTES = ("sync_action", "degraded")
# dm-raid's status: type, members, a letter for each, progress, sync action (dm-raid.rst).
RAID_HEALTH, RAID_ACTION = 2, 4
POLLED_TARGETS = frozenset(
    ("raid", "thin-pool", "cache", "writecache", "snapshot", "snapshot-merge")
)


def md_attributes(topology: Topology) -> tuple[str, ...]:
    """Return the paths that ``md_state`` reads."""
    names = (d.name for d in topology.devices.values() if d.kind is Kind.ARRAY)
    return tuple(f"{ROOT}/{name}/md/{what}" for name in names for what in MD_ATTRIBUTES)


def md_state(host: Host, attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sync action and the number of missing members of each md array."""
    return tuple(attribute(host, path) for path in attributes)


@dataclass(frozen=True)
class Polled:
    """The answers at one instant: ``dmsetup status``, the mounts, and ``stat`` of md's threads."""

    statuses: str
    mounts: str
    stats: tuple[str, ...]

    @cached_property
    def volume_state(self) -> tuple[str, ...]:
        """The states of dm targets (of RAID: health and sync action), and the mounts."""
        return (*_states(self.statuses), self.mounts)


@dataclass(frozen=True)
class PolledDevices:
    """What there is to poll on a machine: ``by_dm_name`` the mapped devices, ``threads`` md's."""

    by_dm_name: Mapping[str, Device]
    threads: tuple[RaidThread, ...]

    @property
    def have_figures(self) -> bool:
        """Whether a poll tells more than the mounts."""
        return bool(self.by_dm_name or self.threads)

    def poll(self, host: Host) -> Polled:
        """Ask; runs dmsetup only for targets with a status of their own."""
        statuses = ""
        if self.by_dm_name:
            try:
                statuses = host.run(*STATUS)
            except SourceError:  # not root; sysfs does not have it
                statuses = ""
        mounts = attribute(host, mountinfo.PATH)
        return Polled(statuses, mounts, raid_threads.read(host, self.threads))

    def reading(self, polled: Polled, time: float) -> StatusReading:
        """Return what was *polled* at *time*."""
        targets = dict(self._targets(polled.statuses))
        threads = dict(raid_threads.parse(self.threads, polled.stats))
        return StatusReading(time, targets, threads)

    def _targets(self, statuses: str) -> Iterator[tuple[str, TargetStatus]]:
        for name, (segment, *more) in dmsetup.parse(statuses).items():
            device = self.by_dm_name.get(name)
            if device is not None and not more and segment.target in POLLED_TARGETS:
                status = status_of(segment)
                yield device.name, TargetStatus(device.identity, status.state, status.counts)


def polled_devices(host: Host, topology: Topology) -> PolledDevices:
    """Return what there is to poll."""
    devices = topology.devices.values()
    wanted = {d.dm_name: d for d in devices if d.dm_name and d.target in POLLED_TARGETS}
    arrays = any(d.kind is Kind.ARRAY or d.target == "raid" for d in devices)
    return PolledDevices(wanted, raid_threads.find(host) if arrays else ())


def _states(statuses: str) -> Iterator[str]:
    for name, segments in dmsetup.parse(statuses).items():
        for segment in segments:
            if segment.target == "raid":
                words = segment.words
                yield " ".join((name, *words[RAID_HEALTH:][:1], *words[RAID_ACTION:][:1]))
            elif segment.target in POLLED_TARGETS:
                yield f"{name} {status_of(segment).state}"
