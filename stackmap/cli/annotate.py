"""``stackmap annotate``: iostat, sar or sadf text in, the same text out with the names people use."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.device_names import aliases
from stackmap.cli.texts import Another, tell_strangers
from stackmap.discover import discover
from stackmap.find import find_all
from stackmap.model.machine import UNKNOWN_MACHINE
from stackmap.render.annotate import Annotator
from stackmap.render.name_fields import Style
from stackmap.render.text import safe
from stackmap.sources.statistics import line_types

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.topology import Topology

CHUNK = 1 << 20
BANNER = 1000  # bytes in which a text says of which machine it is


@click.command()
@click.argument("text", metavar="[FILE]", type=click.File("rb"), default="-")
@click.option(
    "--append/--replace",
    default=True,
    help="The printed name after the other one, in brackets, as is usual; or the other one alone.",
)
@click.option("--no-align", is_flag=True, help="Let a long name take the blanks after it.")
@click.option("--only", metavar="NAME", multiple=True, help="Only rows of NAME and what it is on.")
@click.option("--tree", is_flag=True, help="Put the rows of a report in the order of the stacks.")
@click.pass_obj
def command(
    session: Session,
    text: BinaryIO,
    append: bool,
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
        {alias: safe(topology[name].title) for alias, name in known.items()},
        {device.number: device.name for device in topology.devices.values()},
        _style(topology, known, append=append, aligned=not no_align, only=only, tree=tree),
    )
    out = sys.stdout.buffer
    another = Another(topology.machine)
    while chunk := os.read(text.fileno(), CHUNK):
        another.tell(line_types.machine(chunk[:BANNER].decode(errors="replace")) or UNKNOWN_MACHINE)
        out.write(annotator.feed(chunk))
        out.flush()
    out.write(annotator.finish())
    out.flush()
    tell_strangers(annotator.unresolved, " were left as they are")


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
