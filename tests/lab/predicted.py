"""
What ``whatif`` says of a layout from a recording of another, beside what the kernel counted on that layout.

The same load never runs twice at quite the same rate: both are taken for each
request at the volume.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.lab import judged
from tests.lab.judged import Workload

Json = dict[str, Any]

PREDICTION = "prediction"  # a property of a test, a row of the table
PREDICTED = (
    "kernel", "layouts", "workload", "members", "counted", "off %",
    "disks: low", "high", "counted", "middle off %", "",
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
    high: float
    disks_counted: float

    @property
    def members_off(self) -> float:
        """The difference as a share of the truth."""
        return self.members / self.members_counted - 1

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
        figures = (self.members, self.members_counted, self.low, self.high, self.disks_counted)
        members, members_counted, low, high, disks_counted = (f"{each:.3f}" for each in figures)
        return (
            kernel, self.way, self.workload, members, members_counted, f"{self.members_off:+.1%}",
            low, high, disks_counted, f"{self.middle_off:+.1%}", "" if self.in_band else "OUT",
        )  # fmt: skip


def prediction(recorded: Workload, ran: Workload, layout: str) -> Prediction:
    """Return what the samples of *recorded* predict of *layout*, and the truth of *ran*, which has it."""
    said = whatif(recorded, layout)
    load = said["load"]
    sent = load["read"]["iops"] + load["write"]["iops"] + load["flushes"]
    members, disks = said["projected"]["members"], said["projected"]["disks"]["iops"]
    volume, below, at_disks = counted(ran)
    return Prediction(
        way=f"{recorded.name.partition('-')[0]} → {layout}",
        workload=recorded.name.partition("-")[2],
        members=members["iops"] / sent,
        least=members["low"] / sent,
        most=members["high"] / sent,
        members_counted=below / volume,
        low=disks["low"] / sent,
        high=disks["high"] / sent,
        disks_counted=at_disks / volume,
    )


def whatif(workload: Workload, layout: str) -> Json:
    """Return what ``whatif -J`` makes of the samples of *workload*."""
    samples = workload.folder / f"{workload.stack}.{workload.name}.diskstats"
    (top,) = workload.tops
    machine = workload.folder / f"{workload.stack}.tar"
    return judged.asked(machine, "whatif", top, "--to", layout, "-J", "--input", str(samples))


def counted(workload: Workload) -> tuple[int, int, int]:
    """Return what the kernel counted: requests at the volume, at its data members, done by its disks."""
    known = judged.devices(workload.folder / f"{workload.stack}.tar")
    truth = workload.counted
    (top,) = workload.tops
    volume = next(device for device in known.values() if device["label"] == top)

    def taken(device: Json) -> int:
        """Each piece, and the flush that dm makes a request of its own of, as dm counts them."""
        number = device["dev"]
        return sum(truth.taken(number, k).count + truth.flushing[number, k] for k in judged.KINDS)

    members = [known[below["name"]] for below in volume["below"] if below["role"] == "data"]
    disks = {known[below["name"]]["dev"] for member in members for below in member["below"]}
    done = (truth.issued(d, k).count + truth.empty(d, k) for d in disks for k in judged.KINDS)
    return taken(volume), sum(map(taken, members)), sum(done)
