"""
stackmap's figures of a measured workload beside the kernel's own count of it.

``measured(folder)`` reads what ``measure`` and ``dump`` in guest.sh left: of
each workload the machine, its counters before and after, and the histograms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.lab import truth
from tests.lab.truth import Sent, Truth

KINDS = {"R": "read", "W": "write"}
FEW = 20  # of so few requests, one that straddles an edge of the span is more than 1 %

# Targets and kinds whose requests have no remap event: stackmap-kernel(7), "Device-mapper targets".
MAKERS = frozenset(
    {"raid", "thin", "thin-pool", "cache", "mirror", "snapshot", "writecache", "bcache"}
)


@dataclass(frozen=True)
class Workload:
    """One load on one stack; ``tops`` are what it was sent to, ``folder / name.*`` what is known."""

    folder: Path
    stack: str
    name: str
    tops: tuple[str, ...]
    status: int

    @property
    def counted(self) -> Truth:
        return truth.read(self.folder / f"{self.stack}.{self.name}.truth")

    def said(self, top: str) -> dict[str, Any]:
        """Return what stackmap makes of it: the stack of *top*."""
        samples = self.folder / f"{self.stack}.{self.name}.diskstats"
        report = layers(self.folder / f"{self.stack}.tar", samples, top)
        return {**report["stacks"][0], "seconds": report["seconds"]}


def measured(folder: Path) -> dict[str, Workload]:
    """Return the workloads of a scenario by "STACK.WORKLOAD"."""
    lines = (folder / "measured.txt").read_text().splitlines()
    found = {}
    for stack, name, tops, status in map(str.split, lines):
        found[f"{stack}.{name}"] = Workload(
            folder, stack, name, tuple(tops.split(",")), int(status)
        )
    return found


@cache
def layers(machine: Path, samples: Path, *names: str) -> dict[str, Any]:
    """Return ``iostat --per-layer -J`` of the samples, on the machine as it was dumped."""
    return asked(machine, "iostat", "--per-layer", "-J", "--input", str(samples), *names)


@cache
def devices(machine: Path) -> dict[str, dict[str, Any]]:
    """Return ``tree -J``'s devices by kernel name."""
    return {device["name"]: device for device in asked(machine, "tree", "-J")["devices"]}


def asked(machine: Path, *words: str) -> dict[str, Any]:
    """Return what stackmap prints as JSON, asked of a dump."""
    result = CliRunner().invoke(stackmap, ["--from", str(machine), *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


@dataclass(frozen=True)
class Figure:
    """
    What stackmap says (None: that it cannot tell) and what the kernel counted.

    ``ends``: the range that it says the truth lies in, where it is an estimate.
    """

    said: float | None
    counted: float
    ends: tuple[float, float] | None = None

    @property
    def off(self) -> float | None:
        """The difference as a share of the truth; of an estimate, by how much that is out of range."""
        if self.said is None:
            return None
        low, high = self.ends or (self.said, self.said)
        return max(low - self.counted, self.counted - high, 0.0) / self.counted


@dataclass(frozen=True)
class Verdict:
    """Reads or writes at a layer of a stack, under a workload."""

    workload: str
    top: str
    role: str
    direction: str
    requests: Figure
    bytes: Figure
    iops_ratio: Figure | None
    bytes_ratio: Figure | None
    estimated: bool
    reason: str

    @property
    def off(self) -> float | None:
        """The greatest difference; None where there is no figure."""
        figures = filter(None, (self.requests, self.bytes, self.iops_ratio, self.bytes_ratio))
        return max((figure.off for figure in figures if figure.off is not None), default=None)

    def right(self, within: float) -> bool:
        """Whether every figure is the kernel's, or a reason says why there is none."""
        if self.requests.said is None and self.bytes.said is None:
            return bool(self.reason)
        return self.off is not None and self.off <= within


def judged_tops(workload: Workload) -> list[str]:
    """Return the tops of *workload*, but for thin volumes of one pool the pool: no event tells whose chunk it zeroes."""
    known = devices(workload.folder / f"{workload.stack}.tar")
    labels = {device["label"]: device for device in known.values()}
    pools = [
        below["name"]
        for top in workload.tops
        for below in labels.get(top, {"below": ()})["below"]
        if known[below["name"]]["target"] == "thin-pool"
    ]
    if len(pools) < 2:
        return list(workload.tops)
    others = [top for top in workload.tops if labels.get(top, {}).get("kind") != "thin"]
    return [*others, *dict.fromkeys(pools)]


def verdicts(workload: Workload, top: str) -> Iterator[Verdict]:
    """Yield a verdict for each layer of the stack of *top* and each direction that was busy."""
    known = devices(workload.folder / f"{workload.stack}.tar")
    said, counted = workload.said(top), workload.counted
    seconds = said["seconds"]
    for kind, direction in KINDS.items():
        above: list[str] = []
        metadata: list[str] = []
        sent = _taken(known, known[said["device"]], counted, kind)
        top_told = said["layers"][0][direction]
        for layer in said["layers"]:
            parts = (
                # An array has one count for all that comes to it.
                _arrived(known, counted, above + metadata * is_array(known[name]), name, kind)
                for name in layer["devices"]
            )
            here = sum(parts, Sent())
            above += layer["devices"]
            metadata += layer["metadata"]
            if here.count < FEW:
                continue
            told, ratios = layer[direction], layer["amplification"]
            above_it = sent if sent.count >= FEW else None
            yield Verdict(
                f"{workload.stack}.{workload.name}",
                top,
                layer["role"],
                direction,
                _figure(told, "arrivals", seconds, here.count),
                _figure(told, "bytes", seconds, here.bytes),
                _ratio(
                    told, top_told, "arrivals", seconds, ratios["iops"][direction], here, above_it
                ),
                _ratio(
                    told, top_told, "bytes", seconds, ratios["bytes"][direction], here, above_it
                ),
                layer["estimated"],
                layer["reason"] or "",
            )


def _figure(told: dict[str, Any], what: str, seconds: float, counted: float) -> Figure:
    ends = (told["range"] or {}).get(what)
    low_high = None if ends is None else (ends[0] * seconds, ends[1] * seconds)
    return Figure(_times(told[what], seconds), counted, low_high)


def _ratio(
    told: dict[str, Any],
    top_told: dict[str, Any],
    what: str,
    seconds: float,
    ratio: float | None,
    here: Sent,
    above: Sent | None,
) -> Figure | None:
    """Return a ratio to the requests or bytes sent above; its range is that of the layer, or else that of the top."""
    if above is None:
        return None
    of, counted = (above.count, here.count) if what == "arrivals" else (above.bytes, here.bytes)
    ends = _figure(told, what, seconds, counted).ends
    if ends is not None:
        ends = ends[0] / of, ends[1] / of
    elif (most := _figure(top_told, what, seconds, of)).ends and ratio is not None and most.said:
        low, high = most.ends
        ends = ratio * most.said / high, ratio * most.said / low
    return Figure(ratio, counted / of, ends)


def cost(workload: Workload, top: str) -> float:
    """Return the bytes below parity that a byte written to *top* cost: written, and read because of it."""
    known = devices(workload.folder / f"{workload.stack}.tar")
    said, counted = workload.said(top), workload.counted
    volume = known[said["device"]]
    below = [each["name"] for each in volume["below"] if each["role"] == "data"]
    there = {
        kind: sum(_arrived(known, counted, [volume["name"]], name, kind).bytes for name in below)
        for kind in KINDS
    }
    above = {kind: counted.arrived(volume["dev"], kind).bytes for kind in KINDS}
    return (there["W"] + there["R"] - above["R"]) / above["W"]


def is_array(device: dict[str, Any]) -> bool:
    """Whether a device is an array of md."""
    return bool(device["kind"] == "array")


def _arrived(
    known: dict[str, dict[str, Any]], counted: Truth, above: list[str], name: str, kind: str
) -> Sent:
    """Return what the data devices *above* sent to *name*, or all it took where they make requests."""
    senders = [
        device
        for device in (known[each] for each in above)
        if any(below["name"] == name for below in device["below"])
    ]
    number = known[name]["dev"]
    if any(device["target"] == "thin" for device in senders):
        return _taken(known, known[name], counted, kind) + _zeroes(counted, number, kind)
    if senders and known[name]["kind"] == "partition":
        # Each event names its disk instead, but for the one that leaves the partition.
        (disk,) = known[name]["below"]
        return counted.remapped(number, known[disk["name"]]["dev"], kind)
    if not senders or any(MAKERS & {device["target"], device["kind"]} for device in senders):
        return _taken(known, known[name], counted, kind)
    passed = (counted.remapped(device["dev"], number, kind) for device in senders)
    # md sends a flush to each member without telling of a remap. Nobody else sends empty bios:
    # those of its superblocks and bitmaps carry something, and are not of the data path.
    by_md = any(map(is_array, senders))
    return sum(passed, Sent(counted.empty(number, kind) if by_md else 0))


def _zeroes(counted: Truth, number: str, kind: str) -> Sent:
    """Requests to write zeroes, by which a pool clears a chunk where the disks know how: /proc/diskstats has them as writes."""
    return counted.arrived(number, "N") if kind == "W" else Sent()


def _taken(
    known: dict[str, dict[str, Any]], device: dict[str, Any], counted: Truth, kind: str
) -> Sent:
    """Return the requests at *device*, split as each driver counts them (stackmap-kernel(7), "Counters")."""
    number, layout = device["dev"], device["layout"]
    if device["target"]:
        taken, divided = counted.taken(number, kind), counted.flushing[number, kind]
        if device["target"] == "linear" and len(device["below"]) == 1:
            # From 7.0 on, it passes a flush with data as one bio: what left it tells.
            left = counted.remapped(number, known[device["below"][0]["name"]]["dev"], kind)
            divided = min(divided, max(0, left.count - taken.count))
        return taken + Sent(divided)
    if not is_array(device):
        return counted.taken(number, kind)
    # md does not count empty flushes, and counts each piece that it cuts at its chunks.
    whole = counted.arrived(number, kind)
    if layout["level"] == "raid1" or (layout["parity"] and kind == "W"):
        return whole
    # Each piece leaves RAID0 and RAID10 once per copy. Of partitions the events name the disk.
    members = [known[below["name"]]["dev"] for below in device["below"]]
    left = sum(counted.remapped(number, member, kind).count for member in members)
    if left and not layout["parity"]:
        return Sent(left // (layout["copies"] if kind == "W" else 1), whole.bytes)
    # Without them: all requests are aligned.
    pieces = (n * -(-size // layout["chunk"]) for size, n in counted.sizes(number, kind).items())
    return Sent(sum(pieces), whole.bytes)


def _times(rate: float | None, seconds: float) -> float | None:
    return None if rate is None else rate * seconds
