"""``stackmap export --textfile``: the stacks of this machine for node_exporter's textfile collector."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from stackmap import __version__
from stackmap.cli.session import tell_unknown
from stackmap.discover import discover
from stackmap.discover.find import find_existing
from stackmap.errors import InputError, NoInterval, OutputRefused
from stackmap.features.export.families import Exported, Family, families
from stackmap.features.export.textfile import FIRST, textfile
from stackmap.features.export.weights import stacks
from stackmap.host.output_file import OutputFile
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.sources import diskstats, mountinfo

if TYPE_CHECKING:
    from stackmap.cli.session import Session

NAME = "stackmap.prom"
READABLE = 0o644


def write_textfile(session: Session, place: str, names: tuple[str, ...], most: int) -> None:
    """Write what *names* and all below them export to the folder *place*, or to stdout for "-"."""
    found = _families(session, names)
    count = sum(len(family.samples) for family in found)
    if count > most:
        raise InputError(f"{count} series, more than --max-series {most}: name fewer volumes")
    content = "".join(textfile(found)).encode("utf-8", "backslashreplace")
    if place == "-":
        sys.stdout.buffer.write(content)
        return
    path = os.path.join(place, NAME)
    output = OutputFile(path, force=True, mode=READABLE)  # refuses links and pipes
    _refuse_foreign(path)
    with output.writing() as file:
        file.write(content)


def _families(session: Session, names: tuple[str, ...]) -> list[Family]:
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
            diskstats.parse(sample.lines),
            time,
            __version__,
        )
    )


def _refuse_foreign(path: str) -> None:
    """Refuse to replace a file that stackmap did not write; an empty one has nothing to lose."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(FIRST))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return  # the writer says so
    if start and start != FIRST.encode():
        raise OutputRefused(f"{click.format_filename(path)}: was not written by stackmap; move it")
