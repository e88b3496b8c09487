"""``stackmap tree``: the stacks, from what is used down to the disks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from stackmap.cli.output import width

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.topology import Topology
    from stackmap.render.columns import Column
    from stackmap.render.tree_style import Look


def _list_columns(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from stackmap.render.columns import COLUMNS

        for column in COLUMNS.values():
            click.echo(f"{column.name:>10}  {column.help}")
        ctx.exit()


def _columns(_: click.Context, __: click.Parameter, wish: str | None) -> list[Column]:
    if not wish:
        return []
    from stackmap.render.columns import choose

    try:
        return choose(wish)
    except KeyError as error:
        raise click.BadParameter(f"no column {error.args[0]}; -H lists them") from error


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-s", "--inverse", is_flag=True, help="From the disks up.")
@click.option("--expand", is_flag=True, help="A row for each of LVM's hidden LVs.")
@click.option(
    "-o",
    "--output",
    "columns",
    metavar="LIST",
    callback=_columns,
    help="Columns, by commas; +LIST adds to the usual ones.",
)
@click.option("-O", "--output-all", "everything", is_flag=True, help="All columns.")
@click.option(
    "-H",
    "--list-columns",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_columns,
    help="List the columns, and stop.",
)
@click.option("-J", "--json", "form", flag_value="json", help="A JSON object.")
@click.option("-P", "--pairs", "form", flag_value="pairs", help='Lines of NAME="value".')
@click.option("-r", "--raw", "form", flag_value="raw", help="Lines of values, apart by blanks.")
@click.option("--dot", "form", flag_value="dot", help="A diagram for Graphviz.")
@click.option("--mermaid", "form", flag_value="mermaid", help="A diagram for Mermaid.")
@click.option("--svg", "form", flag_value="svg", help="A diagram as an SVG file.")
@click.option("--graphml", "form", flag_value="graphml", help="The graph, for other programs.")
@click.option(
    "--diff",
    "earlier",
    metavar="CAPTURE",
    help="What changed since CAPTURE was taken, in place of the tree.",
)
@click.option("-i", "--ascii", "plain", is_flag=True, help="Draw in ASCII.")
@click.option("-n", "--no-heading", is_flag=True, help="No headings.")
@click.option("-b", "--bytes", "exact", is_flag=True, help="Sizes in bytes.")
@click.pass_obj
def command(
    session: Session,
    /,
    names: tuple[str, ...],
    columns: list[Column],
    everything: bool,
    form: str | None,
    earlier: str | None,
    plain: bool,
    **looks: bool,
) -> None:
    """
    Show the stacks: what stands on what, from LVs and arrays down to the disks.

    NAME is a VG, an LV, an array, a device, a mount point: the stacks it is
    part of. A device is drawn once; an arrow points back to it.
    """
    _ahead(session)
    from stackmap.discover import discover
    from stackmap.find import find_all
    from stackmap.render.columns import choose

    columns = choose("", everything=True) if everything else columns
    whole = discover(
        session.host,
        geometry=any(column.geometry for column in columns),
        counters=any(column.counters for column in columns),
    )
    chosen = find_all(whole, names)
    topology = whole.select(chosen) if chosen else whole
    look = _look(session, plain=plain)
    if earlier is not None:
        text = look.text(_changes(earlier, names, topology, as_json=form == "json"))
    else:
        text = FORMS[form](topology, look, columns, looks)
    click.echo(text, nl=False, color=look.colour)
    sys.exit(session.tell_missing(whole, names))


def _ahead(session: Session) -> None:
    """Begin what is asked of mapped devices, so that it works while what reads it is imported."""
    if not session.live:
        return
    from stackmap.host.live import LiveHost
    from stackmap.sources.dm_commands import INFO, TABLE

    if isinstance(session.host, LiveHost):
        session.host.start(*TABLE)
        session.host.start(*INFO)


Looks = dict[str, bool]


def _drawn(topology: Topology, look: Look, columns: list[Column], looks: Looks) -> str:
    from stackmap.render.text import safe
    from stackmap.render.tree import render_tree

    text = render_tree(
        topology,
        look,
        columns,
        inverse=looks["inverse"],
        expand=looks["expand"],
        heading=not looks["no_heading"],
        exact=looks["exact"],
    )
    notes = (f"not known: {safe(sentence)}\n" for sentence in topology.unknown)
    return text + look.text("".join(notes))


def _json(topology: Topology, _: Look, __: list[Column], ___: Looks) -> str:
    import json

    from stackmap.render.json import tree_json

    return json.dumps(tree_json(topology)) + "\n"


def _pairs(topology: Topology, _: Look, columns: list[Column], looks: Looks) -> str:
    from stackmap.render.columns import choose
    from stackmap.render.flat import render_pairs

    return render_pairs(topology, columns or choose(""), exact=looks["exact"])


def _raw(topology: Topology, _: Look, columns: list[Column], looks: Looks) -> str:
    from stackmap.render.columns import choose
    from stackmap.render.flat import render_raw

    heading = not looks["no_heading"]
    return render_raw(topology, columns or choose(""), heading=heading, exact=looks["exact"])


def _dot(topology: Topology, _: Look, __: list[Column], looks: Looks) -> str:
    from stackmap.render.dot import render_dot
    from stackmap.render.picture import picture

    return render_dot(picture(topology, expand=looks["expand"]))


def _mermaid(topology: Topology, _: Look, __: list[Column], looks: Looks) -> str:
    from stackmap.render.mermaid import render_mermaid
    from stackmap.render.picture import picture

    return render_mermaid(picture(topology, expand=looks["expand"]))


def _svg(topology: Topology, _: Look, __: list[Column], looks: Looks) -> str:
    from stackmap.render.picture import picture
    from stackmap.render.svg import render_svg

    return render_svg(picture(topology, expand=looks["expand"]))


def _graphml(topology: Topology, _: Look, __: list[Column], ___: Looks) -> str:
    from stackmap.render.graphml import render_graphml

    return render_graphml(topology)


def _changes(earlier: str, names: tuple[str, ...], after: Topology, *, as_json: bool) -> str:
    import json

    from stackmap.analysis.differences import differences
    from stackmap.cli import tell
    from stackmap.discover import discover
    from stackmap.find import find
    from stackmap.host.capture import CapturedHost
    from stackmap.render.differences import differences_json, render_differences

    before = discover(CapturedHost(earlier, tell), counters=False)
    found = [name for wish in names for name in find(before, wish)]
    changes = differences(before.select(found) if names else before, after)
    return json.dumps(differences_json(changes)) + "\n" if as_json else render_differences(changes)


Form = Callable[["Topology", "Look", list["Column"], Looks], str]

FORMS: dict[str | None, Form] = {
    None: _drawn,
    "json": _json,
    "pairs": _pairs,
    "raw": _raw,
    "dot": _dot,
    "mermaid": _mermaid,
    "svg": _svg,
    "graphml": _graphml,
}


def _look(session: Session, *, plain: bool) -> Look:
    """Return the look this terminal can show: ASCII where its encoding has no lines."""
    from stackmap.render.tree_style import ASCII, UNICODE

    terminal = sys.stdout.isatty()
    unicode = not plain and "utf" in (sys.stdout.encoding or "").lower()
    columns = width() if terminal else None
    colour = terminal and not os.environ.get("NO_COLOR")
    return (UNICODE if unicode else ASCII).within(
        columns, colour=colour if session.color is None else session.color
    )
