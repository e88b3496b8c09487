"""
Device-mapper's own statistics: messages ``@stats_…`` to a dm device; and what they prove of its counters.

They count requests and time right where diskstats counts dm-raid twice. Their histogram does not tell
reads from writes. Documentation/admin-guide/device-mapper/statistics.rst describes the texts.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import NamedTuple, Self

from stackmap.document.blocks import Block, Paragraph
from stackmap.document.wording import size
from stackmap.errors import ParseError, SourceError
from stackmap.features.trace.tracefs import GROUP
from stackmap.host.signals import delayed, uninterrupted
from stackmap.host.tracing import LiveTracingHost
from stackmap.model.device import Device
from stackmap.model.topology import Topology
from stackmap.model.units import SECTOR
from stackmap.sources import diskstats
from stackmap.sources.trace_text import integer

FIRST, WIDTH, LONGEST = 1000, 1.05, 100 * 10**9  # ns: buckets 5 % wide up to 100 s
TOP = 10**12  # ns: where the open bucket ends for us


def boundaries() -> tuple[int, ...]:
    """Return where the buckets end, in ns."""
    ends = [float(FIRST)]
    while ends[-1] < LONGEST:
        ends.append(ends[-1] * WIDTH)
    return tuple(map(int, ends))


class DmStats(NamedTuple):
    """What a dm device counted: requests, bytes, and requests by latency."""

    reads: int
    read_bytes: int
    writes: int
    write_bytes: int
    latency: dict[tuple[int, int], int]


class Statistics:
    """
    Statistics that this process makes; the end of the context deletes them.

    ``ids``: by number of the dm device. *histogram*: count latencies too.
    """

    def __init__(self, host: LiveTracingHost, *, histogram: bool = True) -> None:
        self._host = host
        self._histogram = histogram
        self.ids: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with uninterrupted():
            for number, own in self.ids.items():
                with suppress(SourceError):  # the device may be gone
                    self._host.message(number, f"@stats_delete {own}")

    def add(self, number: str) -> None:
        """Begin to count on the dm device *number*; ``SourceError`` if it refuses."""
        options = "1 precise_timestamps"
        if self._histogram:
            options = f"2 precise_timestamps histogram:{','.join(map(str, boundaries()))}"
        with delayed():  # a signal before the id is noted would leave them
            answer = self._host.message(number, f"@stats_create - /1 {options} {GROUP}")
            self.ids[number] = answer.strip()

    def read(self, number: str) -> str:
        """Return the kernel's text of the counts so far."""
        return self._host.message(number, f"@stats_print {self.ids[number]}")


def delete_all(host: LiveTracingHost, number: str) -> int:
    """Delete all statistics of stackmap on the device, of other processes too; return how many there were."""
    listed = host.message(number, f"@stats_list {GROUP}").splitlines()
    for line in listed:
        host.message(number, f"@stats_delete {line.partition(':')[0]}")
    return len(listed)


def parse(text: str) -> DmStats:
    """Return the counts of the one area that ``Statistics`` asks for."""
    words = text.split()
    limits = (0, *boundaries(), TOP)
    try:
        counts = [integer(word) for word in words[14].split(":")] if len(words) > 14 else []
        reads, _, read_sectors, _, writes, _, write_sectors, _ = map(integer, words[1:9])
    except (ValueError, IndexError) as error:
        raise ParseError(f"dm statistics: unknown form: {text[:80]!r}") from error
    latency = {
        bucket: count for bucket, count in zip(pairwise(limits), counts, strict=False) if count
    }
    return DmStats(reads, read_sectors * SECTOR, writes, write_sectors * SECTOR, latency)


TARGET = "raid"  # the dm target whose volumes may be counted twice


class Proof(NamedTuple):
    """Bytes that diskstats and device-mapper counted on ``device`` in the same time."""

    device: Device
    counted: int
    true: int

    @property
    def ratio(self) -> float | None:
        """2.0 where the counters are doubled; None if nothing moved."""
        return self.counted / self.true if self.true else None


@contextmanager
def proving(
    host: LiveTracingHost, topology: Topology, chosen: Iterable[str]
) -> Iterator[list[Proof]]:
    """Count while the context is entered; the list is filled at its end. ``SourceError`` if dm refuses."""
    names = {name for volume in chosen for name in topology.with_all_below(volume)}
    volumes = [d for d in topology if d.target == TARGET and (d.name in names or not names)]
    proofs: list[Proof] = []
    with Statistics(host, histogram=False) as statistics:
        for device in volumes:
            statistics.add(device.number)
        before = _counted(host)
        yield proofs
        after = _counted(host)
        for device in volumes:
            moved = parse(statistics.read(device.number))
            counted = after.get(device.name, 0) - before.get(device.name, 0)
            proofs.append(Proof(device, counted, moved.read_bytes + moved.write_bytes))


def _counted(host: LiveTracingHost) -> dict[str, int]:
    """Return the bytes read and written so far, by device."""
    counters = diskstats.parse(host.read(diskstats.PATH).splitlines())
    return {name: counted.read_bytes + counted.write_bytes for name, counted in counters.items()}


NEAR = 0.05  # a relative difference that does not count: the two are not read at the same instant


def proof_sentences(proofs: Iterable[Proof]) -> list[Block]:
    """Return a sentence per volume: its counters are doubled, right, or neither."""
    sentences: list[Block] = [Paragraph(_sentence(proof), "proof:") for proof in proofs]
    return sentences or [
        Paragraph("there is no LVM RAID volume, so no counter is doubled", "proof:")
    ]


def _sentence(proof: Proof) -> str:
    title = proof.device.title
    if proof.ratio is None:
        return f"{title}: not tested: device-mapper counted no reads or writes"
    counted = f"diskstats counted {size(proof.counted)}, device-mapper {size(proof.true)}"
    if abs(proof.ratio - 2) <= 2 * NEAR:
        return f"{title}: {counted}: the counters are doubled"
    if abs(proof.ratio - 1) <= NEAR:
        return f"{title}: {counted}: the counters are right"
    return f"{title}: {counted}: neither equal nor doubled ({proof.ratio:.2f}×)"
