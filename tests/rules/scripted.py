"""
A machine as texts of the kernel, whose counters grow by a script; what the rules find on it.

A rule sees such a machine only through the readers, discovery and sampling. So it sees what a real
kernel could print, and an attribute that no reader reads is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stackmap.discover import discover
from stackmap.rules.checks import checks
from stackmap.rules.context import Context, measured_context
from stackmap.rules.rule import Finding
from stackmap.rules.table import findings
from stackmap.sampling.watch import Watch
from stackmap.sources import ebs, health, libblockdev, limits, mountinfo
from tests.machine import DrawnHost, block, mapped

KIB = 1024
SECTOR = 512
GIB_SECTORS = 2 << 20  # sectors of 1 GiB
SECONDS = 10.0
BEGIN = 1_700_000_000.0
ALL_DISKS = ("sda", "sdb", "sdc", "sdd")


class Did(NamedTuple):
    """
    What a device counts per second; ``read_ms`` and ``write_ms`` per request.

    By Little's law the queue is rate × await, and the device is busy that share of the time, at most
    always; ``queue`` and ``busy`` replace these. ``stuck``: requests in flight all the time.
    """

    reads: float = 0.0
    read_size: float = 4096.0
    read_ms: float = 0.0
    writes: float = 0.0
    write_size: float = 4096.0
    write_ms: float = 0.0
    merged: float = 0.0  # requests that merged into others, per second: half reads, half writes
    flushes: float = 0.0
    flush_ms: float = 0.0
    queue: float | None = None
    busy: float | None = None
    stuck: int = 0

    def counted(self, seconds: float) -> list[int]:
        """The growth of the fields of /proc/diskstats over *seconds*; in flight is a gauge."""
        waited = (self.reads * self.read_ms + self.writes * self.write_ms) / 1000
        queue = waited if self.queue is None else self.queue
        busy = min(1.0, queue) if self.busy is None else self.busy
        merged = self.merged / 2
        exact = [
            self.reads, merged if self.reads else 0.0, self.reads * self.read_size / SECTOR,
            self.reads * self.read_ms,
            self.writes, self.merged if not self.reads else merged,
            self.writes * self.write_size / SECTOR, self.writes * self.write_ms,
            0, 1000 * busy, 1000 * queue, 0, 0, 0, 0, self.flushes, self.flushes * self.flush_ms,
        ]  # fmt: skip
        return [round(figure * seconds) for figure in exact]


IDLE = Did()
Part = Mapping[str, Did]  # what each device counts per second in one interval


class Scripted(DrawnHost):
    """
    A machine with *files*; its device-mapper *targets* are "name: start length target words…".

    *parts*: one interval each, of *seconds*. *statuses*: dmsetup's status before the first and after
    each interval; the last one stays. *answers*: what other commands print then. *before*: the same machine when
    it was healthy, the baseline.
    """

    def __init__(
        self,
        *files: Mapping[str, str],
        targets: Sequence[str] = (),
        statuses: Sequence[str] = (),
        parts: Sequence[Part] = (),
        seconds: float = SECONDS,
        before: Part | None = None,
        changes: Sequence[Mapping[str, str]] = (),
        answers: Sequence[Mapping[str, str]] = (),
    ) -> None:
        kernel = {"/proc/version": "Linux version 6.1.0-28-amd64\n", "/proc/self/mountinfo": ""}
        super().__init__({name: text for part in (kernel, *files) for name, text in part.items()})
        self.parts, self.seconds, self.before = parts, seconds, before
        self.statuses, self.changes, self.answers = statuses, changes, answers
        self.volumes: list[dict[str, object]] = []
        self.commands = {"dmsetup table": "".join(f"{line}\n" for line in targets)}
        self._set_status(0)

    def _set_status(self, number: int) -> None:
        if self.statuses:
            text = self.statuses[min(number, len(self.statuses) - 1)]
            self.commands = {**self.commands, "dmsetup status": text}
        if number < len(self.changes):
            self.files = {**self.files, **self.changes[number]}
        if number < len(self.answers):
            self.commands = {**self.commands, **self.answers[number]}

    def metadata(self, of):
        """The LVs that LVM knows, and no arrays."""
        return self.volumes if of == "volumes" else []

    def numbers(self) -> dict[str, str]:
        """The device numbers of all devices, by name."""
        return {
            path.split("/")[-2]: ":".join(
                line.partition("=")[2] for line in text.splitlines() if line.startswith("M")
            )
            for path, text in self.files.items()
            if path.endswith("/uevent")
        }

    def ticks(self, interval, count):
        """Show the counters at the begin and after each part."""
        numbers = self.numbers()
        totals = {name: [1000] * 17 for name in numbers}
        for tick in range(count):
            self._set_status(tick)
            part = self.parts[tick - 1] if tick else {}
            for name, total in totals.items():
                grown = part.get(name, IDLE).counted(interval)
                totals[name] = [a + b for a, b in zip(total, grown, strict=True)]
            lines = []
            for name, total in totals.items():
                shown = [*total]
                shown[8] = part.get(name, IDLE).stuck
                lines.append(
                    f"{numbers[name].replace(':', ' ')} {name} {' '.join(map(str, shown))}"
                )
            self.files = {**self.files, "/proc/diskstats": "".join(f"{x}\n" for x in lines)}
            yield BEGIN + interval * tick


def intervals(host: Scripted, parts: Sequence[Part], caps: limits.CapMeter | None = None):
    """The intervals that sampling yields while *parts* happen; *caps* counts in each."""
    host.parts = parts
    topology = discover(host, geometry=True)
    watch = Watch(
        host, topology, lambda h: discover(h, geometry=True), listen=False, replayed=lambda: None
    )
    measured = (interval for _, interval in watch.intervals(host.seconds, len(parts)))
    return topology, list(measured if caps is None else caps.over(measured))


def explained(host: Scripted) -> list[Finding]:
    """What ``explain`` finds."""
    parts, before = host.parts, None
    if host.before is not None:
        (before,) = intervals(host, [host.before])[1]
    caps = limits.CapMeter(host, discover(host, geometry=True), recorded=True)
    topology, measured = intervals(host, parts, caps)
    if not measured:
        return findings(Context(topology, limits=caps.limits))
    return findings(measured_context(topology, measured, before, caps.limits))


def checked(host: Scripted) -> list[Finding]:
    """What ``check`` finds."""
    topology = discover(host, geometry=True)
    known = health.read(host, topology)
    attributes = libblockdev.visible(libblockdev.read(host, topology))
    mounted = mountinfo.options(host, topology)
    return checks(
        Context(
            topology,
            mounted=mounted,
            health=known,
            lv_attributes=attributes,
            exceeded=ebs.read(host, topology),
        )
    )


def disk(name: str, size: int = GIB_SECTORS, **more: object) -> dict[str, str]:
    """A disk; *more*: its attributes, ``queue__…`` for those of its queue."""
    usual = {"device__state": "running", "queue__rotational": "1", "queue__physical_block_size": "4096",
             "queue__logical_block_size": "512"}  # fmt: skip
    given = {key: str(value) for key, value in more.items()}
    return block(name, f"8:{16 * (ord(name[-1]) - 97)}", size, **usual | given)


def disks(names: Sequence[str] = ALL_DISKS, **more: object) -> dict[str, str]:
    """Several equal disks."""
    return {path: text for name in names for path, text in disk(name, **more).items()}


def partition(disk_name: str, number: int, start: int, size: int = 65536) -> dict[str, str]:
    """A partition of *disk_name* from sector *start*."""
    path = f"/sys/block/{disk_name}/{disk_name}{number}"
    minor = 16 * (ord(disk_name[-1]) - 97) + number
    return {
        f"{path}/uevent": f"MAJOR=8\nMINOR={minor}\nDEVTYPE=partition\n",
        f"{path}/partition": f"{number}\n",
        f"{path}/size": f"{size}\n",
        f"{path}/start": f"{start}\n",
    }


def md(
    level: str,
    members: Sequence[str] = ALL_DISKS,
    name: str = "md0",
    chunk: int = 65536,
    states: Mapping[str, str] | None = None,
    size: int = GIB_SECTORS,
    **more: object,
) -> dict[str, str]:
    """An array; *more*: attributes in ``md/``, or ``queue__…``."""
    path = f"/sys/block/{name}"
    usual: dict[str, object] = {
        "level": level, "layout": 2 if level in ("raid5", "raid6") else 258 if level == "raid10" else 0,
        "raid_disks": len(members), "chunk_size": chunk, "degraded": 0, "array_state": "clean",
        "sync_action": "idle", "sync_completed": "none", "consistency_policy": "resync",
    }  # fmt: skip
    queues = {key: str(value) for key, value in more.items() if key.startswith("queue__")}
    inside = usual | {key: value for key, value in more.items() if key not in queues}
    files = block(name, f"9:{name[2:]}", size, **queues)
    files |= {f"{path}/md/{key}": f"{value}\n" for key, value in inside.items()}
    for slot, member in enumerate(members):
        files[f"{path}/slaves/{member}"] = ""
        state = (states or {}).get(member, "in_sync")
        entries = {"slot": slot, "state": state, "offset": 2048}
        files |= {f"{path}/md/dev-{member}/{key}": f"{text}\n" for key, text in entries.items()}
    return files


def volume(
    number: int, name: str, *below: str, size: int = GIB_SECTORS, **more: object
) -> dict[str, str]:
    """A mapped device of LVM, ``dm-NUMBER``."""
    given = {key: str(value) for key, value in more.items()}
    return mapped(number, name, f"LVM-{'v' * 32}{number:032d}", size, below, **given)
