"""
What the kernel itself counted: histograms of block tracepoints, as ``truth_off`` in guest.sh writes them.

Four of them: every bio queued (what a device was sent), every request issued
(what a driver was given, after merging), every bio remapped from one device
to another, and every bio cut in two. Empty flushes are among them, with a
size of 0.

As a program: ``truth.py TRUTH BEFORE AFTER`` prints them beside what
/proc/diskstats says of the same time.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512

_LINE = re.compile(
    r"\{ dev:\s*(?P<dev>\d+),?"
    r"(?: nr_sector:\s*(?P<size>\d+),?| old_dev:\s*(?P<old>\d+),?)?"
    r"(?: rwbs: (?P<rwbs>\w+))?\s*\}"
    r" hitcount:\s*(?P<count>\d+)"
    r"(?:\s+nr_sector:\s*(?P<total>\d+))?"
)
# What a histogram counts, where it has one kind only.
_ONLY = re.compile(r'rwbs ~ "(?P<letters>[A-Z]+)\*"(?P<rest>.*)')
# A leading F asks for a flush first; then what is done; then FUA, read-ahead, sync and metadata.
_KIND = re.compile(r"F?([RWDFN])")


@dataclass(frozen=True)
class Sent:
    """*count* of something, and the *bytes* in them."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.count + other.count, self.bytes + other.bytes)

    @property
    def size(self) -> float:
        return self.bytes / self.count


@dataclass
class Truth:
    """
    What was counted, by device ("253:8"), kind ("R", "W", "D", "F") and size in bytes.

    ``remaps``: (from, to, kind) → how many, and their bytes. ``splits``: how
    often a bio was cut in two. ``flushing``: bios with something in them that
    ask for a flush first; ``metadata``: those that are marked so.
    """

    bios: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    remaps: dict[tuple[str, str, str], Sent] = field(default_factory=dict)
    splits: Counter[tuple[str, str]] = field(default_factory=Counter)
    flushing: Counter[tuple[str, str]] = field(default_factory=Counter)
    metadata: Counter[tuple[str, str]] = field(default_factory=Counter)

    def arrived(self, device: str, kind: str) -> Sent:
        """Bios sent to *device*; empty ones, which only flush, left out."""
        return _total(self.bios, device, kind)

    def taken(self, device: str, kind: str) -> Sent:
        """Bios as a driver of *device* took them, empty ones and each piece of a cut one too."""
        more = self.empty(device, kind) + self.splits[device, kind]
        return self.arrived(device, kind) + Sent(more)

    def empty(self, device: str, kind: str) -> int:
        """How many bios sent to *device* only flush."""
        return self.bios[device, kind, 0]

    def remapped(self, above: str, below: str, kind: str) -> Sent:
        """Bios that *above* passed on to *below*, empty ones too."""
        return self.remaps.get((above, below, kind), Sent())

    def issued(self, device: str, kind: str) -> Sent:
        """Requests given to the driver of *device*; none for dm and md, which take bios."""
        return _total(self.requests, device, kind)

    def sizes(self, device: str, kind: str) -> dict[int, int]:
        """How many bios of each size *device* was sent."""
        return {s: n for (d, k, s), n in sorted(self.bios.items()) if (d, k) == (device, kind)}


def _total(counts: Counter[tuple[str, str, int]], device: str, kind: str) -> Sent:
    return sum(
        (Sent(n, n * s) for (d, k, s), n in counts.items() if (d, k) == (device, kind) and s),
        start=Sent(),
    )


def read(path: Path) -> Truth:
    return parse(path.read_text())


def parse(text: str) -> Truth:
    """Raises ValueError where a histogram was full: what it dropped is not in it."""
    truth = Truth()
    event = letters = ""
    for line in text.splitlines():
        if line.startswith("## "):
            event = line[3:].strip()
        elif line.startswith("# trigger info:"):
            letters = _only(line)
        elif line.strip().startswith("Dropped:") and int(line.split(":")[1]):
            raise ValueError(f"{event}: the histogram was full: {line.strip()}")
        elif match := _LINE.match(line):
            said = match["rwbs"] or letters
            kind = _KIND.match(said)
            if kind is None:
                raise ValueError(f"{event}: unknown kind: {line}")
            _add(truth, event, kind[1], match, said)
    return truth


def _only(trigger: str) -> str:
    """Return the letters of all that a histogram counts; "" if they are in its keys."""
    found = _ONLY.search(trigger)
    if found is None:
        return ""
    return found["letters"] + ("M" if '&& rwbs ~ "?*M"' in found["rest"] else "")


def _add(truth: Truth, event: str, kind: str, match: re.Match[str], letters: str) -> None:
    device, count = _number(match["dev"]), int(match["count"])
    if event == "block_split":
        truth.splits[device, kind] += count
    elif match["old"] is not None:
        key = (_number(match["old"]), device, kind)
        sent = Sent(count, int(match["total"]) * SECTOR)
        truth.remaps[key] = truth.remaps.get(key, Sent()) + sent
    else:
        size = int(match["size"]) * SECTOR
        counts = truth.bios if event == "block_bio_queue" else truth.requests
        counts[device, kind, size] += count
        if size and counts is truth.bios:
            truth.flushing[device, kind] += count * letters.startswith("F")
            truth.metadata[device, kind] += count * letters.endswith("M")


def _number(dev: str) -> str:
    """Return major:minor; inside the kernel a minor has 20 bits."""
    return f"{int(dev) >> 20}:{int(dev) & 0xFFFFF}"


@dataclass(frozen=True)
class Done:
    """What /proc/diskstats adds up for a device: completions, merges, sectors, as bytes."""

    name: str
    ios: dict[str, int]
    merges: dict[str, int]
    bytes: dict[str, int]

    def since(self, earlier: Done) -> Done:
        return Done(
            self.name,
            {kind: n - earlier.ios[kind] for kind, n in self.ios.items()},
            {kind: n - earlier.merges[kind] for kind, n in self.merges.items()},
            {kind: n - earlier.bytes[kind] for kind, n in self.bytes.items()},
        )


def counters(path: Path) -> dict[str, Done]:
    """Return the counters in a copy of /proc/diskstats, by major:minor; of several, the last."""
    found = {}
    for line in path.read_text().splitlines():
        fields = line.split()
        if len(fields) < 14 or fields[0] == "TS":
            continue
        r_ios, r_merges, r_sectors, _, w_ios, w_merges, w_sectors = map(int, fields[3:10])
        found[f"{fields[0]}:{fields[1]}"] = Done(
            fields[2],
            {"R": r_ios, "W": w_ios},
            {"R": r_merges, "W": w_merges},
            {"R": r_sectors * SECTOR, "W": w_sectors * SECTOR},
        )
    return found


def main(truth_path: str, before_path: str, after_path: str) -> None:
    truth = read(Path(truth_path))
    before, after = counters(Path(before_path)), counters(Path(after_path))
    print(f"{'':12}{'bios':>10}{'KiB':>12}{'requests':>10}  {'ios':>10}{'merges':>10}{'KiB':>12}")
    for device, later in sorted(after.items()):
        done = later.since(before[device]) if device in before else later
        for kind in "RW":
            bios, requests = truth.arrived(device, kind), truth.issued(device, kind)
            if bios.count or done.ios[kind]:
                print(
                    f"{later.name:10}{kind:2}"
                    f"{bios.count:10}{bios.bytes / 1024:12.1f}{requests.count:10}  "
                    f"{done.ios[kind]:10}{done.merges[kind]:10}{done.bytes[kind] / 1024:12.1f}"
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
