"""``stackmap export``: the figures of each device over time, for other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from stackmap.analysis.corrections import corrected
from stackmap.cli.measuring import Wanted, at, split_words
from stackmap.cli.output import STDOUT, writing
from stackmap.find import find_all, find_existing

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME...] [INTERVAL [COUNT]]")
@click.option("--openmetrics", is_flag=True, help="OpenMetrics text, to OUT.")
@click.option("--parquet", is_flag=True, help="Parquet, to OUT; needs pyarrow.")
@click.option(
    "-o",
    "--output",
    "out",
    metavar="OUT",
    type=click.Path(dir_okay=False),
    help="The file to write; standard output if not given, which Parquet does not go to.",
)
@click.pass_obj
def command(
    session: Session,
    /,
    words: tuple[str, ...],
    openmetrics: bool,
    parquet: bool,
    out: str | None,
) -> None:
    """
    Write the figures of each device, interval by interval, with instants.

    Of a capture all its intervals (--since, --until and --every choose); of
    this machine one second, or COUNT times INTERVAL.
    """
    if openmetrics == parquet:
        many = ", not both" if parquet else "?"
        raise click.UsageError(f"export to what: --openmetrics or --parquet{many}")
    if parquet and out is None:
        raise click.UsageError("--parquet is written to a file: -o OUT")
    names, seconds, count = split_words(words)
    topology, _ = at(session, None, repeated=seconds is not None)
    find_all(topology, names)  # says that there is none before anything else
    status = session.tell_missing(topology, names)
    session.tell_unknown(topology)
    reports = Wanted(seconds, count, None, "all", boot=False).reports(session, topology)
    if openmetrics:
        _openmetrics(out, _right(reports, names))
    else:
        _parquet(str(out), _right(reports, names))
    sys.exit(status)


def _openmetrics(out: str | None, reports: Iterator[TopologyInterval]) -> None:
    from stackmap.cli.spool import Spill
    from stackmap.render.openmetrics import courses, openmetrics

    out = None if out == "-" else out
    # Beside what is written there is room for it; in a /tmp of memory there may be none.
    folder = None if out is None else os.path.dirname(out) or "."
    with writing(out or STDOUT), Spill(folder) as store:
        found = courses(reports, store)
        with click.open_file(out or "-", "w", encoding="utf-8") as file:
            file.writelines(openmetrics(found, store))


def _parquet(out: str, reports: Iterator[TopologyInterval]) -> None:
    from stackmap.cli.parquet import write

    with writing(out):
        rows = write(out, reports)
    click.echo(f"{click.format_filename(out)}: {rows} rows", err=True)


def _right(
    reports: Iterator[TopologyInterval], names: tuple[str, ...]
) -> Iterator[TopologyInterval]:
    """Yield *reports* with their counters corrected, of what *names* mean at the time of each."""
    last: Topology | None = None
    for topology, interval in reports:
        if interval.summary:  # the average that an interrupt ends a live report with
            continue
        if topology is not last:
            last = topology
            part = topology.subset(find_existing(topology, names)) if names else topology
        yield part, corrected(topology, interval)[0]
