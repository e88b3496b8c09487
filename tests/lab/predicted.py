"""
What ``whatif`` says of a layout from a recording of another, beside what the kernel counted on that layout.

The same load never runs twice at quite the same rate: both are taken for each
request at the volume.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab import judged
from tests.lab.judged import Workload
from tests.lab.truth import SECTOR, Sent

Json = dict[str, Any]

PREDICTION = "prediction"  # a property of a test, a row of the table
PREDICTED = (
    "kernel", "layouts", "workload", "members", "low … high", "counted", "off %",
    "disks: low", "likely", "high", "counted", "likely off %", "middle off %", "",
    "bytes: low", "likely", "high", "counted", "likely off %", "",
)  # fmt: skip


READ_APART = 0.002  # share by which layers whose counters are read one after another differ: a request in flight


@dataclass(frozen=True)
class Band:
    """What ``whatif`` says of the disks, and what was counted there: per request, or per byte, at the volume."""

    low: float
    likely: float  # the figure that is shown
    high: float
    counted: float

    @property
    def likely_off(self) -> float:
        """The difference of what is shown as a share of the truth."""
        return self.likely / self.counted - 1

    @property
    def middle_off(self) -> float:
        """That of the band's middle."""
        return (self.low + self.high) / 2 / self.counted - 1

    @property
    def width(self) -> float:
        """The width of the band as a share of what is shown."""
        return (self.high - self.low) / self.likely

    def holds(self) -> bool:
        """Whether the disks did what the band holds."""
        return self.low * (1 - READ_APART) <= self.counted <= self.high * (1 + READ_APART)

    def words(self) -> list[str]:
        """Return the cells of a table."""
        ends = (f"{each:.3f}" for each in (self.low, self.likely, self.high, self.counted))
        return [*ends, f"{self.likely_off:+.1%}"]


@dataclass(frozen=True)
class Counted:
    """What the kernel counted: requests of members and of disks per request at the volume, and bytes per byte."""

    members: float
    disks: float
    disk_bytes: float


@dataclass(frozen=True)
class Prediction:
    """Requests per request at the volume, of the members and of the disks, and the bytes of the disks per byte."""

    way: str
    workload: str
    members: Band
    disks: Band
    disk_bytes: Band

    @property
    def in_band(self) -> bool:
        """Whether the disks did what the bands hold."""
        return self.disks.holds() and self.disk_bytes.holds()

    def row(self, kernel: str) -> tuple[str, ...]:
        """Return its line in the table."""
        low, likely, high, *truth = self.members.words()
        return (
            kernel, self.way, self.workload, likely, f"{low} … {high}" if low != high else "", *truth,
            *self.disks.words(), f"{self.disks.middle_off:+.1%}", "" if self.disks.holds() else "OUT",
            *self.disk_bytes.words(), "" if self.disk_bytes.holds() else "OUT",
        )  # fmt: skip


def prediction(recorded: Workload, ran: Workload, layout: str) -> Prediction:
    """Return what the samples of *recorded* predict of *layout*, and the truth of *ran*, which has it."""
    said = whatif(recorded, layout)
    load = said["load"]
    sent = load["read"]["iops"] + load["write"]["iops"] + (load["flushes"] or 0.0)
    members, disks = said["projected"]["members"], said["projected"]["disks"]
    true = counted(ran)
    return Prediction(
        way=f"{recorded.name.partition('-')[0]} → {layout}",
        workload=recorded.name.partition("-")[2],
        members=_band({**members, "likely": members["iops"]}, sent, true.members),
        disks=_band(disks["iops"], sent, true.disks),
        disk_bytes=_band(disks["bytes_range"], load["total"]["bytes"], true.disk_bytes),
    )


def _band(ends: dict[str, float], sent: float, true: float) -> Band:
    return Band(ends["low"] / sent, ends["likely"] / sent, ends["high"] / sent, true)


def whatif(workload: Workload, layout: str) -> Json:
    """Return what ``whatif -J`` makes of the samples of *workload*."""
    samples = workload.folder / f"{workload.stack}.{workload.name}.diskstats"
    (top,) = workload.tops
    machine = workload.folder / f"{workload.stack}.tar"
    return judged.asked(machine, "whatif", top, "--to", layout, "-J", "--input", str(samples))


def counted(workload: Workload) -> Counted:
    """
    Return what the kernel counted at the volume's data members, and what its disks completed.

    The first by one histogram, which began and ended for all devices at once.
    The disks by their counters and the members', read at one instant; the
    volume's own may be doubled (stackmap-kernel(7), "Corrections").
    """
    known = judged.devices(workload.folder / f"{workload.stack}.tar")
    truth = workload.counted
    (top,) = workload.tops
    volume = next(device for device in known.values() if device["label"] == top)
    members = [known[below["name"]] for below in volume["below"] if below["role"] == "data"]
    disks = {below["name"] for member in members for below in member["below"] or [member]}
    done = _done(workload.folder / f"{workload.stack}.{workload.name}.diskstats")

    def taken(device: Json) -> Sent:
        """Each piece, and the flush that dm makes a request of its own of, as dm counts them."""
        number = device["dev"]
        pieces = [truth.taken(number, kind) for kind in judged.KINDS]
        flushes = [Sent(truth.flushing[number, kind]) for kind in judged.KINDS]
        return sum([*pieces, *flushes], start=Sent())

    at_members = sum((done[member["name"]] for member in members), start=Sent())
    at_disks = sum((done[disk] for disk in disks), start=Sent())
    if volume["kind"] == "array":  # counted right, but for flushes
        number, sent = volume["dev"], done[volume["name"]]
        flushes = sum(truth.empty(number, k) + truth.flushing[number, k] for k in judged.KINDS)
        requests = sent.count + flushes
        return Counted(
            at_members.count / requests, at_disks.count / requests, at_disks.bytes / sent.bytes
        )
    sent, passed = taken(volume), sum(map(taken, members), start=Sent())
    below = passed.count / sent.count
    return Counted(
        below,
        below * at_disks.count / at_members.count,
        passed.bytes / sent.bytes * at_disks.bytes / at_members.bytes,
    )


def _done(samples: Path) -> dict[str, Sent]:
    """Return the requests that each device completed between the first sample and the last, and their bytes."""
    first, *_, last = samples.read_text().split("TS ")[1:]
    before, after = (
        {
            fields[2]: (int(fields[3]) + int(fields[7]), int(fields[5]) + int(fields[9]))
            for fields in map(str.split, lines)
        }
        for lines in (first.splitlines()[1:], last.splitlines()[1:])
    )
    return {
        name: Sent(
            count - before.get(name, (0, 0))[0], (sectors - before.get(name, (0, 0))[1]) * SECTOR
        )
        for name, (count, sectors) in after.items()
    }
