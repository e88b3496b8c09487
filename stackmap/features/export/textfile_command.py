"""``stackmap export --textfile``: the stacks of this machine for node_exporter's textfile collector."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from stackmap import __version__
from stackmap.cli.output import tell
from stackmap.cli.session import tell_unknown
from stackmap.discover import discover
from stackmap.discover.find import find_existing
from stackmap.errors import InputError, NoInterval, OutputRefused, ParseError
from stackmap.features.export import kept_samples
from stackmap.features.export.families import Exported, Family, families
from stackmap.features.export.kept_samples import KeptSamples
from stackmap.features.export.textfile import FIRST, textfile
from stackmap.features.export.weights import stacks
from stackmap.host.output_file import OutputFile
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.rules.measured import measured_context
from stackmap.rules.table import findings
from stackmap.sources import diskstats, limits, mountinfo

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.host import Host
    from stackmap.model.topology import Topology

NAME = "stackmap.prom"
SAMPLES = "stackmap.samples"  # beside it; node_exporter reads *.prom only
READABLE = 0o644
SLOW = "SM202"


def write_textfile(session: Session, place: str, names: tuple[str, ...], most: int) -> None:
    """Write what *names* and all below them export to the folder *place*, or to stdout for "-"."""
    found = _families(session, names, "" if place == "-" else place)
    count = sum(len(family.samples) for family in found)
    if count > most:
        raise InputError(f"{count} series, more than --max-series {most}: name fewer volumes")
    content = "".join(textfile(found)).encode("utf-8", "backslashreplace")
    if place == "-":
        sys.stdout.buffer.write(content)
        return
    path = os.path.join(place, NAME)
    output = OutputFile(path, force=True, mode=READABLE)  # refuses links and pipes
    _refuse_foreign(path, FIRST)
    with output.writing() as file:
        file.write(content)


def _families(session: Session, names: tuple[str, ...], place: str) -> list[Family]:
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
    return families(
        Exported(
            part,
            tuple(stacks(part)),
            tuple(checks(Context(part, mounted=mountinfo.options(host, part)))),
            sample.counters,
            time,
            __version__,
            _slow_members(host, topology, sample, place) if place else None,
        )
    )


def _slow_members(
    host: Host, topology: Topology, newest: diskstats.Sample, place: str
) -> dict[str, float] | None:
    """
    Keep *newest* in the folder *place*, and judge members as ``explain`` does by what is kept there.

    Return await ÷ the median of the peers of each slow member; None before there are ten minutes.
    """
    raids = [device.name for device in topology if device.layout is not None]
    if not raids:
        return None
    path = os.path.join(place, SAMPLES)
    output = OutputFile(path, force=True)  # refuses links and pipes
    _refuse_foreign(path, kept_samples.FIRST)
    kept = _kept(path).with_newest(
        topology.machine.boot, newest, frozenset(topology.with_all_below(*raids))
    )
    with output.writing() as file:
        file.writelines(line.encode("utf-8", "surrogateescape") for line in kept.text())
    intervals = kept.intervals()
    if not intervals:
        return None
    context = measured_context(topology, intervals, limits=tuple(limits.read(host, topology)))
    if not context.loads:  # all counters went back
        return None
    return {
        each.device: each.observed.evidence["ratio"].value
        for each in findings(context)
        if each.rule.id == SLOW and each.is_grave
    }


def _kept(path: str) -> KeptSamples:
    """Return the samples in the file at *path*; none, after a line about it, if it is damaged."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return kept_samples.parse(file.read())
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
