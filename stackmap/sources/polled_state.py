"""
State to poll because the kernel sends no uevent for it: dm targets, md resyncs, mounts, md's threads, errors.

Answers are kept as text and parsed when they change. A change of ``volume_state`` means that it is
time to rediscover; progress is left out of it, and whether an array was written to.

md has one thread per array, named ``md0_raid5``. Under LVM all of them are named ``mdX_raid5``
(dm-raid.c), so their names do not say which volume they serve. Kernel threads are children of
process 2; a container sees none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from stackmap.host import Host
from stackmap.model.device import Counts, Device, Kind, RaidThread, StatusReading, TargetStatus
from stackmap.model.dm_targets import DM_TARGETS
from stackmap.model.error_counts import PATH_FAILURES
from stackmap.model.raid import raid_state
from stackmap.model.topology import Topology
from stackmap.sources import dm, error_counts, mountinfo, pressure
from stackmap.sources.dm_commands import STATUS
from stackmap.sources.dm_targets import status_of
from stackmap.sources.error_counts import ErrorFile
from stackmap.sources.sysfs import NVME_PATH, ROOT, attribute, output, parse_int

MD_ATTRIBUTES = ("sync_action", "degraded")
# dm-raid's status: type, members, a letter for each, progress, sync action (dm-raid.rst).
RAID_HEALTH, RAID_ACTION = 2, 4
POLLED_TARGETS = frozenset(target.name for target in DM_TARGETS.values() if target.polled)


@dataclass(frozen=True)
class Polled:
    """The answers at one instant: ``dmsetup status``, the mounts, md's state, ``stat`` of its threads, errors, NVMe paths."""

    statuses: str
    mounts: str
    md_state: tuple[str, ...]
    stats: tuple[str, ...]
    errors: tuple[str | None, ...] = ()
    path_states: tuple[str, ...] = ()
    pressure: str = ""

    @cached_property
    def volume_state(self) -> tuple[str, ...]:
        """The states of dm targets (of RAID: health and sync action), the mounts, and the states of NVMe paths."""
        return (*_states(self.statuses), self.mounts, *self.path_states)


@dataclass(frozen=True)
class PolledDevices:
    """The devices whose state is polled: mapped devices, md arrays and md's threads, and files with errors."""

    by_dm_name: Mapping[str, Device]
    arrays: tuple[Device, ...]
    threads: tuple[RaidThread, ...]
    error_files: tuple[ErrorFile, ...] = ()
    devices: Mapping[str, Device] = field(default_factory=dict)  # all, by kernel name
    has_pressure: bool = False

    @cached_property
    def _md_attributes(self) -> tuple[str, ...]:
        return tuple(f"{ROOT}/{a.name}/md/{what}" for a in self.arrays for what in MD_ATTRIBUTES)

    def md_state(self, host: Host) -> tuple[str, ...]:
        """Return the sync action and the number of missing members of each md array."""
        return tuple(attribute(host, path) for path in self._md_attributes)

    @cached_property
    def _path_files(self) -> tuple[str, ...]:
        """The states of NVMe paths: a change has no uevent of a block device."""
        paths = (
            name for name in self.devices if name.startswith("nvme") and NVME_PATH.fullmatch(name)
        )
        return tuple(
            f"{ROOT}/{name}/{what}" for name in paths for what in ("ana_state", "device/state")
        )

    @cached_property
    def _by_number(self) -> Mapping[str, Device]:
        return {device.number: device for device in self.devices.values()}

    @property
    def have_figures(self) -> bool:
        """Whether a poll tells more than the mounts."""
        polled = self.by_dm_name, self.arrays, self.error_files, self._path_files, self.has_pressure
        return any(polled)

    def poll(self, host: Host) -> Polled:
        """Ask; runs dmsetup only for targets with a status of their own."""
        md_state = self.md_state(host)
        statuses = output(host, *STATUS) if self.by_dm_name else ""
        mounts = attribute(host, mountinfo.PATH)
        errors = error_counts.read(host, self.error_files)
        paths = tuple(attribute(host, path) for path in self._path_files)
        stats, stalled = read_stats(host, self.threads), ""
        if self.has_pressure:
            stalled = attribute(host, pressure.PATH)
        return Polled(statuses, mounts, md_state, stats, errors, paths, stalled)

    def reading(self, polled: Polled, time: float) -> StatusReading:
        """Return the status of dm targets, arrays and threads that *polled* has, as of *time*."""
        targets = {**dict(self._targets(polled.statuses)), **dict(self._md_states(polled.md_state))}
        for name, counts in error_counts.parse(self.error_files, polled.errors).items():
            self._add(targets, name, counts)
        threads = dict(parse_stats(self.threads, polled.stats))
        return StatusReading(time, targets, threads, pressure.parse(polled.pressure))

    def _add(self, targets: dict[str, TargetStatus], name: str, counts: Counts) -> None:
        if name in self.devices:
            status = targets.get(name) or self.devices[name].status._replace(counts={})
            targets[name] = status._replace(counts={**status.counts, **counts})

    def _targets(self, statuses: str) -> Iterator[tuple[str, TargetStatus]]:
        for name, (segment, *more) in dm.parse_segments(statuses).items():
            device = self.by_dm_name.get(name)
            if device is not None and not more and segment.target in POLLED_TARGETS:
                status = status_of(segment)
                yield device.name, TargetStatus(device.identity, status.state, status.counts)
                for number, failures in status.failures.items():
                    if path := self._by_number.get(number):
                        yield (
                            path.name,
                            TargetStatus(path.identity, path.state, {PATH_FAILURES: failures}),
                        )

    def _md_states(self, state: tuple[str, ...]) -> Iterator[tuple[str, TargetStatus]]:
        for array, action, degraded in zip(self.arrays, state[::2], state[1::2], strict=True):
            missing = parse_int(degraded) or 0
            now = raid_state(failed=missing > 0, action=action or "idle", progress="")
            yield array.name, TargetStatus(array.identity, now, {"missing": missing})


def polled_devices(host: Host, topology: Topology) -> PolledDevices:
    """Return the devices of *topology* whose state the kernel does not announce."""
    devices = topology.devices.values()
    wanted = {d.dm_name: d for d in devices if d.dm_name and d.target in POLLED_TARGETS}
    arrays = tuple(d for d in devices if d.kind is Kind.ARRAY)
    raid = arrays or any(d.target == "raid" for d in devices)
    threads = find_threads(host) if raid else ()
    errors = error_counts.existing(host, error_counts.files(host, devices, topology.edges))
    stalls = bool(attribute(host, pressure.PATH))
    return PolledDevices(wanted, arrays, threads, errors, topology.devices, stalls)


def _states(statuses: str) -> Iterator[str]:
    for name, segments in dm.parse_segments(statuses).items():
        for segment in segments:
            if segment.target == "raid":
                words = segment.words
                yield " ".join((name, *words[RAID_HEALTH:][:1], *words[RAID_ACTION:][:1]))
            elif segment.target in POLLED_TARGETS:
                yield f"{name} {status_of(segment).state}"


KERNEL_THREADS = ("ps", "--ppid=2", "--no-headers", "--format=pid,comm")
TICKS = 100  # per second: USER_HZ of every architecture that Debian and Red Hat support
_THREAD = re.compile(r"md\S+_raid(?:1|10|4|5|6)")
_STAT = re.compile(r"\d+ \((.*)\) \S(?: -?\d+){10} (\d+) (\d+) .*", re.DOTALL)


def find_threads(host: Host) -> tuple[RaidThread, ...]:
    """Return md's threads; () where the kernel's threads are not visible."""
    named = (line.split(None, 1) for line in output(host, *KERNEL_THREADS).splitlines())
    return tuple(
        RaidThread(int(words[0]), words[1].strip())
        for words in named
        if len(words) > 1 and words[0].isdecimal() and _THREAD.fullmatch(words[1].strip())
    )


def read_stats(host: Host, threads: Iterable[RaidThread]) -> tuple[str, ...]:
    """Return the ``stat`` of each of *threads*; "" of one that ended."""
    return tuple(attribute(host, f"/proc/{thread.pid}/stat") for thread in threads)


def parse_stats(
    threads: Iterable[RaidThread], stats: Iterable[str]
) -> Iterator[tuple[RaidThread, float]]:
    """Yield each thread that still runs, with the CPU seconds it has used."""
    for thread, stat in zip(threads, stats, strict=True):
        match = _STAT.fullmatch(stat)
        if match and match[1] == thread.name[: len(match[1])]:
            yield thread, (int(match[2]) + int(match[3])) / TICKS
