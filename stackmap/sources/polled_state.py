"""
State to poll because the kernel sends no uevent for it: dm targets, md resyncs, mounts, md's threads, errors.

Answers are kept as text and parsed when they change. A change of ``volume_state`` means that it is
time to rediscover; progress is left out of it, and whether an array was written to.

md has one thread per array, named ``md0_raid5``. Under LVM all of them are named ``mdX_raid5``
(dm-raid.c), so their names do not say which volume they serve. Kernel threads are children of
process 2; a container sees none of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from stackmap.host import Host
from stackmap.model.device import Counts, Device, Kind, RaidThread, StatusReading, TargetStatus
from stackmap.model.dm_targets import DM_TARGETS
from stackmap.model.health import PATH_FAILURES
from stackmap.model.raid import raid_state
from stackmap.model.topology import Topology
from stackmap.sources import dm, error_counts, mountinfo, pressure
from stackmap.sources.dm_commands import STATUS
from stackmap.sources.dm_targets import status_of
from stackmap.sources.error_counts import ErrorFile
from stackmap.sources.mdraid import BUSY
from stackmap.sources.sysfs import NVME_PATH, ROOT, attribute, attributes, output, parse_int

SYNC_ACTION, DEGRADED, ARRAY_STATE = "sync_action", "degraded", "array_state"  # attributes of md
# dm-raid's status: type, members, a letter for each, progress, sync action (dm-raid.rst).
RAID_HEALTH, RAID_ACTION = 2, 4
MOST_PATH_FILES = 128  # that are read for each sample: some 2 ms
POLLED_TARGETS = frozenset(target.name for target in DM_TARGETS.values() if target.polled)


class Polled(NamedTuple):
    """The answers at one instant: ``dmsetup status``, and the text of each polled file by path, None of one that is missing."""

    statuses: str
    texts: Mapping[str, str | None]


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
    def _md_files(self) -> tuple[str, ...]:
        attributes_of_md = (SYNC_ACTION, DEGRADED, ARRAY_STATE)
        return tuple(_md_file(a, what) for a in self.arrays for what in attributes_of_md)

    @cached_property
    def _path_files(self) -> tuple[str, ...]:
        """The states of NVMe paths: a change has no uevent of a block device."""
        paths = [n for n in self.devices if n.startswith("nvme") and NVME_PATH.fullmatch(n)]
        return tuple(f"{ROOT}/{n}/{what}" for n in paths for what in ("ana_state", "device/state"))

    @cached_property
    def _files(self) -> tuple[str, ...]:
        errors = (file.path for file in self.error_files)
        pressures = (pressure.PATH,) if self.has_pressure else ()
        stats = map(_stat_file, self.threads)
        return (*self._md_files, mountinfo.PATH, *errors, *self._path_files, *stats, *pressures)

    @cached_property
    def _by_number(self) -> Mapping[str, Device]:
        return {device.number: device for device in self.devices.values()}

    @property
    def have_figures(self) -> bool:
        """Whether a poll tells more than the mounts."""
        return bool(self.by_dm_name) or len(self._files) > 1

    def poll(self, host: Host) -> Polled:
        """Ask; runs dmsetup only for targets with a status of their own."""
        statuses = output(host, *STATUS) if self.by_dm_name else ""
        return Polled(statuses, attributes(host, self._files))

    def state_changed(self, host: Host, polled: Polled) -> bool:
        """
        Whether an md array or a path of NVMe has another state than *polled*.

        Of md: the sync action, the number of missing members or the loss of data. Very many paths are not read here.
        """
        paths = self._path_files if len(self._path_files) <= MOST_PATH_FILES else ()
        now = attributes(host, (*self._md_files, *paths))
        return any(_lasting(text) != _lasting(polled.texts[path]) for path, text in now.items())

    def volume_state(self, polled: Polled) -> tuple[str | None, ...]:
        """The states of dm targets (of RAID: health and sync action), mounts of devices, and states of NVMe paths."""
        mounts = mountinfo.lines_of_devices(polled.texts[mountinfo.PATH] or "")
        paths = (polled.texts[path] for path in self._path_files)
        return (*_states(polled.statuses), *mounts, *paths)

    def reading(self, polled: Polled, time: float) -> StatusReading:
        """Return the status of dm targets, arrays and threads that *polled* has, as of *time*."""
        texts = {path: text or "" for path, text in polled.texts.items()}
        targets = {**dict(self._targets(polled.statuses)), **dict(self._md_states(texts))}
        for name, counts in error_counts.parse(self.error_files, polled.texts).items():
            self._add(targets, name, counts)
        threads = dict(parse_stats(self.threads, texts))
        return StatusReading(time, targets, threads, pressure.parse(texts.get(pressure.PATH, "")))

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

    def _md_states(self, texts: Mapping[str, str]) -> Iterator[tuple[str, TargetStatus]]:
        for array in self.arrays:
            missing = parse_int(texts[_md_file(array, DEGRADED)]) or 0
            action = texts[_md_file(array, SYNC_ACTION)] or "idle"
            now = raid_state(failed=missing > 0, action=action, progress="")
            yield array.name, TargetStatus(array.identity, now, {"missing": missing})


def _lasting(text: str | None) -> str | None:
    """Return an attribute of md; of the states "clean", "active" and so on, which follow each write, one."""
    return BUSY[0] if text in BUSY else text


def _md_file(array: Device, name: str) -> str:
    return f"{ROOT}/{array.name}/md/{name}"


def polled_devices(host: Host, topology: Topology) -> PolledDevices:
    """Return the devices of *topology* whose state the kernel does not announce."""
    devices = topology.devices.values()
    wanted = {d.dm_name: d for d in devices if d.dm_name and d.target in POLLED_TARGETS}
    arrays = tuple(d for d in devices if d.kind is Kind.ARRAY)
    raid = arrays or any(d.target == "raid" for d in devices)
    threads = find_threads(host) if raid else ()
    files = tuple(error_counts.files(host, devices, topology.edges))
    texts = attributes(host, (file.path for file in files))
    # Older kernels lack some, and older captures all.
    errors = tuple(file for file in files if texts[file.path] is not None)
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


def _stat_file(thread: RaidThread) -> str:
    return f"/proc/{thread.pid}/stat"


def parse_stats(
    threads: Iterable[RaidThread], texts: Mapping[str, str]
) -> Iterator[tuple[RaidThread, float]]:
    """Yield each thread that still runs, with the CPU seconds it has used; *texts*: by path."""
    for thread in threads:
        match = _STAT.fullmatch(texts[_stat_file(thread)])
        if match and match[1] == thread.name[: len(match[1])]:
            yield thread, (int(match[2]) + int(match[3])) / TICKS
