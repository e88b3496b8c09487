"""
The samples of the last minutes, which ``export --textfile`` keeps in a file beside its own.

One run sees one instant; a member is judged by ten minutes. The file has a first line with the
boot, then each sample: its time in a line, and lines of ``/proc/diskstats``.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import pairwise
from typing import NamedTuple

from stackmap.errors import ParseError
from stackmap.model.interval import Interval
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample

FIRST = "# Samples that stackmap export --textfile judges members by; boot "
TIME = "time "
LEAST = 600  # seconds of samples that a judgement needs
MOST = 690  # seconds that are kept: little more, so that a member that recovers is soon not slow
GAP = 300  # seconds without a sample, after which the earlier ones are of another time


class KeptSamples(NamedTuple):
    """Samples of one ``boot``, the earliest first."""

    boot: str
    samples: tuple[Sample, ...] = ()

    def with_newest(self, boot: str, newest: Sample, devices: Container[str]) -> KeptSamples:
        """Return them with *newest*, of *devices* only; without those that are too old or of another boot."""
        lines = zip(newest.names, newest.lines, strict=True)
        part = Sample(newest.time, tuple(line for name, line in lines if name in devices))
        known = self.samples if boot and boot == self.boot else ()
        # After a step of the clock the earlier times mean nothing.
        if known and not 0 < newest.time - known[-1].time <= GAP:
            known = ()
        recent = (each for each in known if each.time >= newest.time - MOST)
        return KeptSamples(boot, (*recent, part))

    def intervals(self) -> list[Interval]:
        """Return the intervals between them; none if they are too short for a judgement."""
        if not self.samples or self.samples[-1].time - self.samples[0].time < LEAST:
            return []
        return [diskstats.between(*pair) for pair in pairwise(self.samples)]

    def text(self) -> Iterator[str]:
        """Yield the lines of the file."""
        yield f"{FIRST}{self.boot}\n"
        for sample in self.samples:
            yield f"{TIME}{sample.time!r}\n"
            yield from (f"{line}\n" for line in sample.lines)


def parse(text: str) -> KeptSamples:
    """Return the samples in *text*; ``ParseError`` if stackmap did not write it."""
    first, *lines = text.splitlines() or [""]
    if not first.startswith(FIRST):
        raise ParseError(f"its first line is not {FIRST!r}")
    starts = [number for number, line in enumerate(lines) if line.startswith(TIME)]
    samples = tuple(
        Sample(_time(lines[start]), tuple(lines[start + 1 : end]))
        for start, end in pairwise([*starts, len(lines)])
    )
    for sample in samples:
        diskstats.parse(sample.lines)  # a damaged line is found here
    if any(later.time <= earlier.time for earlier, later in pairwise(samples)):
        raise ParseError("its samples are out of order")
    return KeptSamples(first.removeprefix(FIRST), samples)


def _time(line: str) -> float:
    try:
        return float(line.removeprefix(TIME))
    except ValueError as error:
        raise ParseError(f"no time in {line[: diskstats.MAX_QUOTED]!r}") from error
