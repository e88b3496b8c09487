"""``stackmap tree``: the stacks, from volumes down to disks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.cli.options import no_heading_option, text_option
from stackmap.cli.output import coloured, decimal_point, one_form, tell, width

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.document.pictured_load import PicturedLoad
    from stackmap.model.topology import Topology
    from stackmap.render.columns import Column
    from stackmap.render.tree import Look

Command = Callable[..., object]


def _list_columns(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from stackmap.render.columns import COLUMNS

        for column in COLUMNS.values():
            click.echo(f"{column.name:>10}  {column.help}")
        ctx.exit()


OF_FILE_SYSTEMS = ("FSTYPE", "FSVER", "LABEL", "FSAVAIL", "FSUSE%", "FSSIZE", "FSUSED")  # lsblk's


def _columns(_: click.Context, __: click.Parameter, value: str | None) -> list[Column]:
    if not value:
        return []
    from stackmap.render.columns import choose

    try:
        return choose(value)
    except KeyError as error:
        name = error.args[0]
        instead = "; `lsblk -f` shows it" if name in OF_FILE_SYSTEMS else "; -H lists the columns"
        raise click.BadParameter(f"no column {name}{instead}") from error


def _form(*names: str, help: str) -> Callable[[Command], Command]:
    """Return an option that chooses the form of the output, as the parameter ``form``."""

    def choose(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
        if one_form(ctx, option, wanted):
            ctx.params["form"] = names[-1].removeprefix("--")

    return click.option(*names, is_flag=True, expose_value=False, callback=choose, help=help)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("-s", "--inverse", is_flag=True, help="Show the stacks from the disks up.")
@click.option("--expand", is_flag=True, help="Show one row per sub-LV.")
@click.option(
    "-o",
    "--output",
    "columns",
    metavar="LIST",
    callback=_columns,
    help="Columns, comma-separated; +LIST adds to the default.",
)
@click.option("-O", "--output-all", "everything", is_flag=True, help="Show all columns.")
@click.option(
    "-H",
    "--list-columns",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_columns,
    help="List the columns and exit.",
)
@_form("-J", "--json", help="Print a JSON object.")
@_form("-P", "--pairs", help='Print lines of NAME="value" pairs.')
@_form("-r", "--raw", help="Print space-separated values.")
@_form("--csv", help="Print the devices as CSV, with raw numbers.")
@_form("--dot", help="Print a diagram for Graphviz.")
@_form("--mermaid", help="Print a diagram for Mermaid.")
@_form("--svg", help="Print a diagram with the load as SVG.")
@_form("--graphml", help="Print the graph as GraphML.")
@click.option("--diff", "earlier", metavar="CAPTURE", help="Show what changed since CAPTURE.")
@text_option
@click.option("-i", "--ascii", "plain", is_flag=True, help="Draw in ASCII.")
@no_heading_option
@click.option("-b", "--bytes", "exact", is_flag=True, help="Print sizes in bytes.")
@click.pass_obj
def command(
    session: Session,
    /,
    names: tuple[str, ...],
    columns: list[Column],
    everything: bool,
    earlier: str | None,
    text: BinaryIO | None,
    plain: bool,
    form: str | None = None,
    **looks: bool,
) -> None:
    """
    Show the storage stacks, from volumes down to disks.

    NAME is a VG, an LV, an array, a device or a mount point: all stacks that
    contain it are shown. A device is drawn once; an arrow refers back to it.
    """
    if earlier is not None and form not in (None, "json"):
        raise click.UsageError(f"choose one form of output: --diff or --{form}")
    if text is not None:
        text = session.take(text)
    else:  # dmsetup runs while the modules that read its output are imported
        from stackmap.sources import dm_commands

        dm_commands.start(session.host)
    from stackmap.discover import discover
    from stackmap.discover.find import find_all
    from stackmap.render.columns import choose

    columns = choose("", everything=True) if everything else columns
    source = None
    if text is not None:
        from stackmap.measurement.text import TextSource

        source = TextSource(text, None, (lambda _: None) if session.tells else tell)
    if source and not session.tells:
        whole = source.topology()
    else:
        whole = discover(
            session.host,
            geometry=any(column.geometry for column in columns),
            counters=any(column.counters for column in columns),
        )
        whole = source.with_own_names(whole) if source else whole
    if text is not None and not whole.devices:
        from stackmap.errors import InputError
        from stackmap.measurement.text import NO_STACK

        raise InputError(f"{text.name}: {NO_STACK}")
    chosen = find_all(whole, names)
    topology = whole.select(chosen) if chosen else whole
    look = _look(plain=plain)
    if earlier is not None:
        shown = look.text(_changes(earlier, names, topology, as_json=form == "json"))
    elif form:
        load = _load(session) if form == "svg" and text is None else None
        shown = _formatted(form, topology, columns, looks, load)
    else:
        shown = _drawn(topology, look, columns, looks)
    click.echo(shown, nl=False)
    session.tell_missing(whole, names)


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
    notes = [f"{safe(remark)}\n" for remark in topology.remarks]
    sources = Counter(edge.source for edge in topology.edges if edge.source)
    if sources:
        counted = ", ".join(f"{safe(source)} ({count})" for source, count in sources.most_common())
        notes.insert(0, f"Edges are known from: {counted}\n")
    return text + look.text("".join(notes))


def _load(session: Session) -> PicturedLoad | None:
    """Return the average load of the recording, or that of the next second; None if nothing is known or busy."""
    from stackmap.document.pictured_load import pictured
    from stackmap.errors import NoInterval
    from stackmap.ledger.corrections import corrected
    from stackmap.ledger.ledger import Ledger
    from stackmap.measurement.source import IntervalSelection

    selection = IntervalSelection(which="average")
    if session.live:
        selection = IntervalSelection(seconds=1.0, count=1)
    try:
        topology, interval = next(iter(session.machine().select(selection)))
    except NoInterval:  # a capture of one sample
        return None
    right = corrected(topology, interval)
    return pictured(Ledger(topology, right.loads, right.seconds))


def _formatted(
    form: str,
    topology: Topology,
    columns: list[Column],
    looks: Looks,
    load: PicturedLoad | None,
) -> str:
    """Return *topology* in a *form* for programs; each imports only what it needs."""
    if form == "json":
        import json

        from stackmap.render.json import tree_json

        return json.dumps(tree_json(topology)) + "\n"
    if form in ("pairs", "raw", "csv"):
        from stackmap.render.columns import choose, render_pairs, render_raw

        columns = columns or choose("")
        if form == "pairs":
            return render_pairs(topology, columns, exact=looks["exact"])
        if form == "csv":
            from stackmap.render.csv import devices_csv

            return devices_csv(topology, columns, heading=not looks["no_heading"])
        return render_raw(topology, columns, heading=not looks["no_heading"], exact=looks["exact"])
    from stackmap.render.diagrams import render_dot, render_graphml, render_mermaid, render_svg
    from stackmap.render.picture import picture

    if form == "graphml":
        return render_graphml(topology)
    render = {"dot": render_dot, "mermaid": render_mermaid, "svg": render_svg}[form]
    return render(picture(topology, expand=looks["expand"], load=load))


def _changes(earlier: str, names: tuple[str, ...], after: Topology, *, as_json: bool) -> str:
    import json

    from stackmap.discover import discover
    from stackmap.discover.find import find_existing
    from stackmap.host.capture import CapturedHost
    from stackmap.model.differences import differences
    from stackmap.render.json import differences_json
    from stackmap.render.tree import render_differences

    before = discover(CapturedHost(earlier, tell), counters=False)
    part = before.select(find_existing(before, names)) if names else before
    changes = differences(part, after)
    return json.dumps(differences_json(changes)) + "\n" if as_json else render_differences(changes)


def _look(*, plain: bool) -> Look:
    """Return the style for this terminal: ASCII if its encoding has no lines."""
    from stackmap.render.tree import ASCII, UNICODE

    terminal = sys.stdout.isatty()
    unicode = not plain and "utf" in (sys.stdout.encoding or "").lower()
    columns = width() if terminal else None
    look = UNICODE if unicode else ASCII
    return look._replace(width=columns, colour=coloured(), point=decimal_point())
