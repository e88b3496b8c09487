"""``stackmap tree``: the stacks, from what is used down to the disks."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from stackmap.discover import discover
from stackmap.find import find_all, missing
from stackmap.render.look import ASCII, UNICODE, Look
from stackmap.render.text import safe

if TYPE_CHECKING:
    from stackmap.cli import Session

SOME_MISSING = 64  # lsblk's exit status where some of the named devices were found


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-s", "--inverse", is_flag=True, help="From the disks up.")
@click.option("--expand", is_flag=True, help="A row for each of LVM's hidden LVs.")
@click.option("-J", "--json", "as_json", is_flag=True, help="A JSON object.")
@click.option("-i", "--ascii", "plain", is_flag=True, help="Draw in ASCII.")
@click.option("-n", "--no-heading", is_flag=True, help="No headings.")
@click.option("-b", "--bytes", "exact", is_flag=True, help="Sizes in bytes.")
@click.pass_obj
def command(
    session: Session,
    /,
    names: tuple[str, ...],
    inverse: bool,
    expand: bool,
    as_json: bool,
    plain: bool,
    no_heading: bool,
    exact: bool,
) -> None:
    """
    Show the stacks: what stands on what, from LVs and arrays down to the disks.

    NAME is a VG, an LV, an array, a device, a mount point: the stacks it is
    part of. A device is drawn once; an arrow points back to it.
    """
    whole = discover(session.host)
    chosen = find_all(whole, names)
    topology = whole.select(chosen) if chosen else whole
    if as_json:
        from stackmap.render.json import tree_json

        click.echo(json.dumps(tree_json(topology)))
    else:
        from stackmap.render.tree import render_tree

        look = _look(session, plain=plain)
        click.echo(
            render_tree(
                topology,
                look,
                inverse=inverse,
                expand=expand,
                heading=not no_heading,
                exact=exact,
            ),
            nl=False,
            color=look.colour,
        )
        for sentence in topology.unknown:
            click.echo(look.text(f"not known: {safe(sentence)}"))
    _tell_missing(missing(whole, names))


def _look(session: Session, *, plain: bool) -> Look:
    """Return the look this terminal can show: ASCII where its encoding has no lines."""
    terminal = sys.stdout.isatty()
    unicode = not plain and "utf" in (sys.stdout.encoding or "").lower()
    width = shutil.get_terminal_size().columns if terminal else None
    colour = terminal and not os.environ.get("NO_COLOR")
    return (UNICODE if unicode else ASCII).within(
        width, colour=colour if session.color is None else session.color
    )


def _tell_missing(names: list[str]) -> None:
    for name in names:
        click.echo(f"stackmap: no device is named {safe(name)}", err=True)
    if names:
        sys.exit(SOME_MISSING)
