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

Json = dict[str, Any]

PREDICTION = "prediction"  # a property of a test, a row of the table
PREDICTED = (
    "kernel", "layouts", "workload", "members", "low … high", "counted", "off %",
    "disks: low", "likely", "high", "counted", "likely off %", "middle off %", "",
)  # fmt: skip


@dataclass(frozen=True)
class Prediction:
    """Requests for each at the volume: of the members, and of the disks with the ends of the band."""

    way: str
    workload: str
    members: float
    least: float  # of the members, where the recording leaves that open
    most: float
    members_counted: float
    low: float
    likely: float  # the figure that is shown
    high: float
    disks_counted: float

    @property
    def members_off(self) -> float:
        """The difference as a share of the truth."""
        return self.members / self.members_counted - 1

    @property
    def likely_off(self) -> float:
        """That of the disks, by the figure that is shown."""
        return self.likely / self.disks_counted - 1

    @property
    def middle_off(self) -> float:
        """That of the band's middle."""
        return (self.low + self.high) / 2 / self.disks_counted - 1

    @property
    def in_band(self) -> bool:
        """Whether the disks did what the band holds."""
        return self.low <= self.disks_counted <= self.high

    def row(self, kernel: str) -> tuple[str, ...]:
        """Return its line in the table."""
        disks = (f"{each:.3f}" for each in (self.low, self.likely, self.high, self.disks_counted))
        ends = f"{self.least:.3f} … {self.most:.3f}" if self.most > self.least * 1.001 else ""
        return (
            kernel, self.way, self.workload, f"{self.members:.3f}", ends, f"{self.members_counted:.3f}",
            f"{self.members_off:+.1%}", *disks, f"{self.likely_off:+.1%}", f"{self.middle_off:+.1%}",
            "" if self.in_band else "OUT",
        )  # fmt: skip


def prediction(recorded: Workload, ran: Workload, layout: str) -> Prediction:
    """Return what the samples of *recorded* predict of *layout*, and the truth of *ran*, which has it."""
    said = whatif(recorded, layout)
    load = said["load"]
    sent = load["read"]["iops"] + load["write"]["iops"] + (load["flushes"] or 0.0)
    members, disks = said["projected"]["members"], said["projected"]["disks"]["iops"]
    below, at_disks = counted(ran)
    return Prediction(
        way=f"{recorded.name.partition('-')[0]} → {layout}",
        workload=recorded.name.partition("-")[2],
        members=members["iops"] / sent,
        least=members["low"] / sent,
        most=members["high"] / sent,
        members_counted=below,
        low=disks["low"] / sent,
        likely=disks["likely"] / sent,
        high=disks["high"] / sent,
        disks_counted=at_disks,
    )


def whatif(workload: Workload, layout: str) -> Json:
    """Return what ``whatif -J`` makes of the samples of *workload*."""
    samples = workload.folder / f"{workload.stack}.{workload.name}.diskstats"
    (top,) = workload.tops
    machine = workload.folder / f"{workload.stack}.tar"
    return judged.asked(machine, "whatif", top, "--to", layout, "-J", "--input", str(samples))


def counted(workload: Workload) -> tuple[float, float]:
    """
    Return what the kernel counted for each request at the volume: at its data members, and done by its disks.

    The first by one histogram, which began and ended for all devices at once.
    The disks by their counters and the members', read at one instant; the
    volume's own may be doubled (stackmap-kernel(7), "Corrections").
    """
    known = judged.devices(workload.folder / f"{workload.stack}.tar")
    truth = workload.counted
    (top,) = workload.tops
    volume = next(device for device in known.values() if device["label"] == top)

    def taken(device: Json) -> int:
        """Each piece, and the flush that dm makes a request of its own of, as dm counts them."""
        number = device["dev"]
        return sum(truth.taken(number, k).count + truth.flushing[number, k] for k in judged.KINDS)

    members = [known[below["name"]] for below in volume["below"] if below["role"] == "data"]
    disks = {below["name"] for member in members for below in member["below"] or [member]}
    done = _done(workload.folder / f"{workload.stack}.{workload.name}.diskstats")
    at_disks = sum(done[disk] for disk in disks)
    if volume["kind"] == "array":  # counted right, but for flushes
        number = volume["dev"]
        flushes = sum(truth.empty(number, k) + truth.flushing[number, k] for k in judged.KINDS)
        sent = done[volume["name"]] + flushes
        return sum(done[member["name"]] for member in members) / sent, at_disks / sent
    below = sum(map(taken, members)) / taken(volume)
    return below, below * at_disks / sum(done[member["name"]] for member in members)


def _done(samples: Path) -> dict[str, int]:
    """Return the requests that each device completed between the first sample and the last."""
    first, *_, last = samples.read_text().split("TS ")[1:]
    ends = [
        {fields[2]: int(fields[3]) + int(fields[7]) for fields in map(str.split, lines)}
        for lines in (first.splitlines()[1:], last.splitlines()[1:])
    ]
    return {name: count - ends[0].get(name, 0) for name, count in ends[1].items()}
