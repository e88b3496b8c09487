"""``stackmap whatif``: the measured load on another layout."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.whatif.project import project
from stackmap.analysis.whatif.volume_context import volume_context
from stackmap.cli.measuring import MOST, Wanted, at, measuring, split_words
from stackmap.cli.output import width
from stackmap.document import whatif
from stackmap.find import find_all
from stackmap.model.layout_request import parse
from stackmap.render.terminal import Style, render_text
from stackmap.render.whatif_json import whatif_json

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

COUNT = 10  # of a live machine: ten seconds, as ``explain`` has it


@click.command()
@measuring
@click.option(
    "--to",
    "wish",
    required=True,
    metavar="LAYOUT",
    help="raid10, raid1, raid0, raid5 or raid6, with :members=,chunk=,copies=,layout= where it is "
    "not to be as now; the present one checks the model.",
)
@click.option("-J", "--json", "as_json", is_flag=True, help="A JSON object a volume.")
@click.option("-n", "--no-heading", is_flag=True, help="No headings.")
@click.pass_obj
def command(
    session: Session,
    /,
    words: tuple[str, ...],
    text: BinaryIO | None,
    report: str | None,
    boot: bool,
    wish: str,
    as_json: bool,
    no_heading: bool,
) -> None:
    """
    Project the measured load of NAME on another layout: requests, bytes, load a disk.

    Ten seconds are measured, or COUNT times INTERVAL; of a capture or FILE,
    all there is. The man page has the model.
    """
    names, seconds, count = split_words(words)
    if not names:
        raise click.UsageError("whose load? whatif takes a NAME")
    asked = parse(wish)
    session.most = MOST
    topology, looked = at(session, text, repeated=True)
    session.tell_apart()
    chosen = find_all(topology, names)
    status = session.tell_missing(topology, names)
    session.tell_unknown(topology)
    wanted = Wanted(seconds, count, looked, report, boot).apart(session, COUNT)
    wanted = wanted.near(topology, chosen)
    intervals = _repeatable(wanted, session, topology)
    style = Style(width(), headings=not no_heading)
    # Several volumes on one array mean that array.
    devices = dict.fromkeys(volume_context(topology, name).device.name for name in chosen)
    for number, name in enumerate(devices):
        projection = project(topology, intervals(), name, asked)
        if as_json:
            click.echo(json.dumps(whatif_json(projection)))
            continue
        gap = "\n" if number else ""
        click.echo(gap + render_text(whatif.document(projection), style), nl=False)
    sys.exit(status)


def _repeatable(
    wanted: Wanted, session: Session, topology: Topology
) -> Callable[[], Iterable[Interval]]:
    """Return what gives the intervals, as often as they are wanted: a recording is read again, not held."""
    if session.recorded is not None and wanted.text is None:
        return partial(wanted.intervals, session, topology)
    taken = list(wanted.intervals(session, topology))
    return lambda: taken
