"""``stackmap export``: the figures of each device over time, for other programs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.cli.options import MeasuringOptions, force_option, measuring
from stackmap.discover.find import find_existing
from stackmap.host.directory import OutputFile
from stackmap.ledger.corrections import corrected
from stackmap.model.topology import Topology

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.model.interval import Interval
    from stackmap.sampling.snapshots import TopologyInterval


MOST_SERIES = 50_000  # of one host: 1,000 RAID volumes
HELD = 1 << 20  # bytes that wait in memory; more are in a temporary file


@click.command()
@measuring
@click.option("--openmetrics", is_flag=True, help="Write OpenMetrics text.")
@click.option("--parquet", is_flag=True, help="Write Parquet (needs pyarrow).")
@click.option(
    "--textfile",
    "place",
    metavar="DIR",
    help="Write DIR/stackmap.prom for node_exporter; - for stdout.",
)
@click.option("--wear", is_flag=True, help="With --textfile: ask disks for their wear hourly.")
@click.option(
    "--max-series",
    type=click.IntRange(min=1),
    default=MOST_SERIES,
    show_default=True,
    metavar="N",
    help="Refuse to write more series to a textfile.",
)
@click.option(
    "-o",
    "--output",
    "out",
    metavar="OUT",
    help="Output file, or DIR/ for Parquet [default: stdout, not for Parquet].",
)
@force_option
@click.pass_obj
def command(
    session: Session,
    /,
    options: MeasuringOptions,
    openmetrics: bool,
    parquet: bool,
    place: str | None,
    wear: bool,
    max_series: int,
    out: str | None,
    force: bool,
) -> None:
    """
    Export figures over time as OpenMetrics or Parquet.

    Measures one second, or COUNT times INTERVAL; a capture or FILE is read
    completely. --textfile writes the stacks for node_exporter.
    """
    if openmetrics + parquet + (place is not None) != 1:
        raise click.UsageError("choose one format: --openmetrics, --parquet or --textfile")
    if place is not None:
        alone = out is None and not force
        _textfile(session, options, place, max_series, wear=wear, alone=alone)
        return
    if wear:
        raise click.UsageError("--wear needs --textfile")
    which = options.selection.which or "all"
    options = options._replace(selection=replace(options.selection, which=which))
    # Read when pyarrow is loaded. Its own allocator reserves 1 GiB of address space at once: under ``ulimit -v``
    # too little may be left for the rest. The C library's takes 25 MiB less, in the same time.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if parquet and out is not None and (out.endswith("/") or os.path.isdir(out)):
        _recording(session, options, out, force=force)
        return
    file = None if out in (None, "-") else OutputFile(str(out), force=force)
    if parquet and file is None:
        raise click.UsageError("--parquet needs a file or a directory: -o OUT or -o DIR/")
    measured = session.measure(options)
    reports = (
        (part, corrected(topology, interval))
        for topology, part, interval in _parts(measured.reports(), options.names, Topology.subset)
    )
    if file is None:
        _openmetrics(sys.stdout.buffer, None, reports)
        return
    # The output's file system has room for it; a /tmp in memory may have none.
    folder = os.path.dirname(file.path) or "."
    with file.writing() as stream:
        if openmetrics:
            _openmetrics(stream, folder, reports)
        else:
            from stackmap.features.export.time_series import write_parquet

            rows = write_parquet(stream, reports)
            click.echo(f"{click.format_filename(file.path)}: {rows} rows", err=True)


def _textfile(
    session: Session, options: MeasuringOptions, place: str, most: int, *, wear: bool, alone: bool
) -> None:
    from stackmap.features.export.textfile_command import write_textfile
    from stackmap.measurement.source import IntervalSelection

    if not alone or options.text is not None or options.selection != IntervalSelection():
        raise click.UsageError("--textfile takes only NAMEs: it measures nothing")
    write_textfile(session, place, options.names, most, wear=wear)


def _openmetrics(stream: BinaryIO, folder: str | None, reports: Iterator[TopologyInterval]) -> None:
    """Write *reports*; what does not fit into memory waits in *folder*."""
    from tempfile import SpooledTemporaryFile

    from stackmap.features.export.time_series import openmetrics, time_series

    with SpooledTemporaryFile(HELD, dir=folder) as store:
        series = time_series(reports, store)
        stream.writelines(line.encode() for line in openmetrics(series, store))


def _recording(session: Session, options: MeasuringOptions, out: str, *, force: bool) -> None:
    """Write the recording as tables to the directory *out*."""
    from stackmap.errors import SourceError
    from stackmap.features.export.recording import write_recording

    measured = session.measure(options, geometry=True)
    machine = ""
    if options.text is None or session.tells:
        with contextlib.suppress(SourceError):  # an older capture has none
            machine = measured.source.host.machine_id()
    reports = _parts(measured.reports(), options.names, Topology.select)
    answers = None if session.live else measured.source.host
    count = write_recording(out.rstrip("/"), reports, machine, answers, force=force)
    click.echo(f"{click.format_filename(out)}: {count} intervals", err=True)


def _parts(
    reports: Iterator[TopologyInterval],
    names: tuple[str, ...],
    part_of: Callable[[Topology, Iterable[str]], Topology],
) -> Iterator[tuple[Topology, Topology, Interval]]:
    """Yield *reports* with the part of the topology that *names* mean at the time of each."""
    parts: dict[int, tuple[Topology, Topology]] = {}  # by id, which the kept topology makes lasting
    for topology, interval in reports:
        if interval.summary:  # the average that an interrupt ends a live report with
            continue
        if id(topology) not in parts:
            chosen = find_existing(topology, names)
            parts[id(topology)] = topology, part_of(topology, chosen) if names else topology
        yield topology, parts[id(topology)][1], interval
