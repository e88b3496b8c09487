"""
``stackmap export --textfile``: the stacks of this machine for node_exporter's textfile collector.

One run sees one instant; a member or disk is judged by ten minutes. So each run keeps its sample in a file beside its own. That
has a first line with the boot, then each sample: its time in a line, and lines of ``/proc/diskstats``. Disks are asked for
their wear once per hour; the answers are in a file of their own until then.
"""

import os
import sys
from collections.abc import Container, Iterator
from itertools import pairwise
from typing import NamedTuple

import click

from stackmap import __version__
from stackmap.cli.output import tell
from stackmap.cli.session import Session, tell_unknown
from stackmap.discover import discover
from stackmap.discover.find import find_existing
from stackmap.errors import InputError, NoInterval, OutputRefused, ParseError
from stackmap.features.export import families
from stackmap.features.export.weights import stacks
from stackmap.host import Host
from stackmap.host.directory import OutputFile
from stackmap.model.exported import HUNG, SLOW
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.rules.checks import checks
from stackmap.rules.context import Context, measured_context
from stackmap.rules.rule import Severity
from stackmap.rules.table import findings
from stackmap.sources import diskstats, health, limits, mountinfo
from stackmap.sources.diskstats import Sample

NAME = "stackmap.prom"
WEAR = "stackmap-wear.prom"  # beside it
ASK_AGAIN = 3600  # seconds until the disks are asked for their wear again
SAMPLES = "stackmap.samples"  # beside it; node_exporter reads *.prom only
READABLE = 0o644
FIRST_KEPT = "# Samples that stackmap export --textfile judges members by; boot "
TIME = "time "
LEAST = 600  # seconds of samples that a judgement needs
MOST = 690  # seconds that are kept: little more, so that a member that recovers is soon not slow
GAP = 300  # seconds without a sample, after which the earlier ones are of another time


def write_textfile(
    session: Session, place: str, names: tuple[str, ...], most: int, *, wear: bool
) -> None:
    """Write what *names* and all below them export to the folder *place*, or to stdout for "-"; *wear*: that of disks, too."""
    exported = _exported(session, names, "" if place == "-" else place)
    files = {NAME: families.families(exported)}
    asks = wear and (place == "-" or _is_old(os.path.join(place, WEAR), exported.time))
    if asks and (wear_said := _wear(session, exported)):
        files[WEAR] = wear_said
    count = sum(len(family.samples) for of_file in files.values() for family in of_file)
    if count > most:
        raise InputError(f"{count} series, more than --max-series {most}: name fewer volumes")
    if place == "-":
        whole = [family for of_file in files.values() for family in of_file]
        sys.stdout.buffer.write(_encoded(whole))
        return
    for name, of_file in files.items():
        path = os.path.join(place, name)
        output = OutputFile(path, force=True, mode=READABLE)  # refuses links and pipes
        _refuse_foreign(path, families.FIRST)
        with output.writing() as file:
            file.write(_encoded(of_file))


def _encoded(exported: list[families.Family]) -> bytes:
    return "".join(families.textfile(exported)).encode("utf-8", "backslashreplace")


def _is_old(path: str, now: float) -> bool:
    """Whether the file at *path* is missing, an hour old, or of another clock."""
    try:
        return not 0 <= now - os.stat(path).st_mtime < ASK_AGAIN
    except OSError:  # the writer says what is wrong
        return True


def _wear(session: Session, exported: families.Exported) -> list[families.Family]:
    """Ask the disks, or the capture; nothing, and a line, if the user may not."""
    topology = exported.topology
    if session.live and os.geteuid() != 0:
        tell("wear: only root may ask disks for their health")
        return []
    ask = health.read if session.live else health.recorded
    asked = families.wear_families(topology, ask(session.host, [*topology]), exported.time)
    return [family for family in asked if family.samples]


def _exported(session: Session, names: tuple[str, ...], place: str) -> families.Exported:
    host = session.host
    time = next(host.ticks(0, 1), None)
    if time is None:
        raise NoInterval("no readable sample, so no counters")
    sample = diskstats.read(host, time)
    topology = discover(host, geometry=True)
    tell_unknown(topology)
    chosen = find_existing(topology, names) if names else []
    session.tell_missing(topology, names)
    part = topology.select(chosen) if names else topology
    slow, hung = _judged(host, topology, sample, place) if place else (None, None)
    return families.Exported(
        part,
        tuple(stacks(part)),
        tuple(checks(Context(part, mounted=mountinfo.options(host, part)))),
        sample.counters,
        time,
        __version__,
        slow,
        None if hung is None else [name for name in hung if name in part],
    )


def _judged(
    host: Host, topology: Topology, newest: diskstats.Sample, place: str
) -> tuple[dict[str, float], list[str]] | tuple[None, None]:
    """
    Keep *newest* in the folder *place*, and judge devices as ``explain`` does by what is kept there.

    Return await ÷ the median of the peers of each slow member, and the devices that hang; None before there
    are ten minutes.
    """
    path = os.path.join(place, SAMPLES)
    output = OutputFile(path, force=True)  # refuses links and pipes
    _refuse_foreign(path, FIRST_KEPT)
    raids = [device.name for device in topology if device.layout is not None]
    disks = [device.name for device in topology if not topology.below(device.name)]
    used = frozenset((*topology.with_all_below(*raids), *disks))
    kept = _kept(path).with_newest(topology.machine.boot, newest, used)
    with output.writing() as file:
        file.writelines(line.encode("utf-8", "surrogateescape") for line in kept.text())
    intervals = kept.intervals()
    if not intervals:
        return None, None
    context = measured_context(topology, intervals, limits=tuple(limits.read(host, topology)))
    if not context.loads:  # all counters went back
        return None, None
    grave = [finding for finding in findings(context) if finding.is_grave]
    ratios = {
        finding.device: finding.observed.evidence["ratio"].value
        for finding in grave
        if finding.rule.id == SLOW
    }
    return ratios, [
        finding.device
        for finding in grave
        if finding.rule.id == HUNG
        and finding.severity is Severity.CRITICAL  # else it goes on again
    ]


def _kept(path: str) -> "KeptSamples":
    """Return the samples in the file at *path*; none, after a line about it, if it is damaged."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return parse(file.read())
    except FileNotFoundError:
        return KeptSamples("")
    except ParseError as error:
        tell(f"{click.format_filename(path)}: {error}; the samples begin anew")
        return KeptSamples("")


def _refuse_foreign(path: str, first: str) -> None:
    """Refuse to replace a file that stackmap did not write; an empty one has nothing to lose."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(first))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return  # the writer says so
    if start and start != first.encode():
        raise OutputRefused(f"{click.format_filename(path)}: was not written by stackmap; move it")


class KeptSamples(NamedTuple):
    """Samples of one ``boot``, the earliest first."""

    boot: str
    samples: tuple[Sample, ...] = ()

    def with_newest(self, boot: str, newest: Sample, devices: Container[str]) -> "KeptSamples":
        """Return these samples and *newest*, of *devices* only; without old ones and those of another boot."""
        lines = zip(newest.names, newest.lines, strict=True)
        part = Sample(newest.time, tuple(line for name, line in lines if name in devices))
        known = self.samples if boot and boot == self.boot else ()
        # After a step of the clock the earlier times mean nothing.
        if known and not 0 < newest.time - known[-1].time <= GAP:
            known = ()
        recent = (sample for sample in known if sample.time >= newest.time - MOST)
        return KeptSamples(boot, (*recent, part))

    def intervals(self) -> list[Interval]:
        """Return the intervals between the samples; [] if these span too little time to judge."""
        if not self.samples or self.samples[-1].time - self.samples[0].time < LEAST:
            return []
        return [diskstats.between(*pair) for pair in pairwise(self.samples)]

    def text(self) -> Iterator[str]:
        """Yield the lines of the file."""
        yield f"{FIRST_KEPT}{self.boot}\n"
        for sample in self.samples:
            yield f"{TIME}{sample.time!r}\n"
            yield from (f"{line}\n" for line in sample.lines)


def parse(text: str) -> KeptSamples:
    """Return the samples in *text*; ``ParseError`` if stackmap did not write it."""
    first, *lines = text.splitlines() or [""]
    if not first.startswith(FIRST_KEPT):
        raise ParseError(f"its first line is not {FIRST_KEPT!r}")
    starts = [number for number, line in enumerate(lines) if line.startswith(TIME)]
    samples = tuple(
        Sample(_time(lines[start]), tuple(lines[start + 1 : end]))
        for start, end in pairwise([*starts, len(lines)])
    )
    for sample in samples:
        diskstats.parse(sample.lines)  # a damaged line is found here
    if any(later.time <= earlier.time for earlier, later in pairwise(samples)):
        raise ParseError("its samples are out of order")
    return KeptSamples(first.removeprefix(FIRST_KEPT), samples)


def _time(line: str) -> float:
    try:
        return float(line.removeprefix(TIME))
    except ValueError as error:
        raise ParseError(f"no time in {line[: diskstats.MAX_QUOTED]!r}") from error
