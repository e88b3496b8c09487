"""``stackmap annotate``: iostat, sar or sadf text in, the same text out with the names people use."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.naming import aliases
from stackmap.discover import discover
from stackmap.find import find_all
from stackmap.render.annotate import Annotator
from stackmap.render.name_fields import Style
from stackmap.render.text import safe

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.topology import Topology

CHUNK = 1 << 20
MOST_NAMED = 5  # of the names that nobody bears


@click.command()
@click.argument("text", metavar="[FILE]", type=click.File("rb"), default="-")
@click.option("--replace", is_flag=True, help="The names alone; else the printed one follows.")
@click.option("--no-align", is_flag=True, help="Let a long name take the blanks after it.")
@click.option("--only", metavar="NAME", multiple=True, help="Only rows of NAME and what it is on.")
@click.option("--tree", is_flag=True, help="Put the rows of a report in the order of the stacks.")
@click.pass_obj
def command(
    session: Session,
    text: BinaryIO,
    replace: bool,
    no_align: bool,
    only: tuple[str, ...],
    tree: bool,
) -> None:
    """
    Put LV names on iostat, sar or sadf output: iostat -x 5 | stackmap annotate.

    The same text comes out, each report as it arrives; lines that are no
    device's pass untouched. sar's dev253-89 is found by its number.
    """
    topology = discover(session.host)
    known = aliases(topology)
    annotator = Annotator(
        {alias: topology[name].title for alias, name in known.items()},
        {device.number: device.name for device in topology.devices.values()},
        _style(topology, known, append=not replace, aligned=not no_align, only=only, tree=tree),
    )
    out = sys.stdout.buffer
    while chunk := os.read(text.fileno(), CHUNK):
        out.write(annotator.feed(chunk))
        out.flush()
    out.write(annotator.finish())
    out.flush()
    _tell(annotator)


def _style(
    topology: Topology,
    known: dict[str, str],
    *,
    append: bool,
    aligned: bool,
    only: tuple[str, ...],
    tree: bool,
) -> Style:
    """Return the style; the devices that are shown, and their order, by every name of theirs."""
    shown = {device.name for device in topology.select(find_all(topology, only))} if only else None
    place = {device.name: rank for rank, (device, _) in enumerate(topology.rows())}
    return Style(
        append=append,
        aligned=aligned,
        only=None if shown is None else frozenset(a for a, name in known.items() if name in shown),
        order={alias: place[name] for alias, name in known.items()} if tree else None,
    )


def _tell(annotator: Annotator) -> None:
    """Say on stderr how many names nobody bears."""
    if annotator.unresolved:
        names = ", ".join(safe(name) for name in list(annotator.unresolved)[:MOST_NAMED])
        more = ", …" if len(annotator.unresolved) > MOST_NAMED else ""
        rows = sum(annotator.unresolved.values())
        click.echo(
            f"stackmap: {rows} rows of {len(annotator.unresolved)} names that no device bears "
            f"were left as they are: {names}{more}",
            err=True,
        )
