"""``stackmap report``: one self-contained page for a change request."""

from __future__ import annotations

import os
import stat
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.proposal import proposal
from stackmap.analysis.report import Measuring
from stackmap.cli.measuring import MOST, Wanted, at, measuring, split_words
from stackmap.cli.output import writing
from stackmap.document.report.page import page_of
from stackmap.errors import InputError, LayoutError, PlanRefused
from stackmap.find import find_all
from stackmap.host.capture_paths import encoded
from stackmap.model.layout_request import LayoutRequest, parse
from stackmap.render.report_data import report_data
from stackmap.sources import limits

if TYPE_CHECKING:
    from stackmap.analysis.plan.plan_context import PlanContext
    from stackmap.cli import Session
    from stackmap.document.blocks import Page
    from stackmap.model.topology import Topology
    from stackmap.render.html.document import Assets

COUNT = 60  # of a live machine
MARKDOWN = (".md", ".markdown")
HTML = (".html", ".htm")
STYLES = ("vendor/uPlot.min.css", "style.css")
LICENSE = "vendor/uPlot.LICENSE.txt"
SCRIPTS = ("vendor/uPlot.iife.min.js", "charts.js")


@click.command()
@measuring
@click.option(
    "-o",
    "--output",
    "out",
    metavar="FILE",
    required=True,
    help="The page to write: FILE.html, or FILE.md for Markdown; - for standard output.",
)
@click.option(
    "--to",
    "wishes",
    metavar="LAYOUT",
    multiple=True,
    help="Propose this layout for NAME, as whatif and plan take it; may be said again for another.",
)
@click.option(
    "--onto",
    multiple=True,
    metavar="DEVICE",
    help="A PV or an unused disk that the proposed layout shall stand on, as for plan; once for each.",
)
@click.option("-m", "--markdown", is_flag=True, help="Markdown, whatever FILE is called.")
@click.pass_obj
def command(
    session: Session,
    /,
    words: tuple[str, ...],
    text: BinaryIO | None,
    report: str | None,
    boot: bool,
    out: str,
    wishes: tuple[str, ...],
    onto: tuple[str, ...],
    markdown: bool,
) -> None:
    """
    Write one page for a change request: what is, what is wrong, and the numbers.

    With --to also what another layout would give, and the way there. A minute
    is measured, or COUNT times INTERVAL. NAME is a VG, an LV, a
    device, a mount point; without one, the tops with a finding and the most
    loaded ones are told of. The page needs no network and no other file.
    """
    markdown = _is_markdown(out, markdown=markdown)
    _refuse(out)
    names, seconds, count = split_words(words)
    if wishes and not names:
        raise click.UsageError("--to is proposed for a NAME")
    if onto and not wishes:
        raise click.UsageError("--onto is for a layout that --to proposes")
    asked = {wish: parse(wish) for wish in wishes}
    session.most = MOST
    topology, looked = at(session, text, repeated=True, geometry=True)
    session.tell_apart()
    chosen = find_all(topology, names)
    status = session.tell_missing(topology, names)
    session.tell_unknown(topology)
    taken = Measuring(topology, tuple(chosen))
    wanted = Wanted(seconds, count, looked, report, boot).apart(session, COUNT)
    wanted = wanted.near(topology, chosen)
    for interval in wanted.intervals(session, topology):
        taken.add(interval)
    found = taken.report(limits.read(session.host, topology))
    if found is None or not found.stacks:
        raise InputError("nothing was measured, so there is nothing to report")
    proposals = tuple(
        proposal(taken, name, wish, request, _plan_context(session, topology, name, request, onto))
        for name in chosen
        for wish, request in asked.items()
    )
    page = page_of(found, proposals, report_data(found, proposals))
    _write(out, _drawn(page, markdown=markdown))
    sys.exit(status)


def _plan_context(
    session: Session, topology: Topology, name: str, asked: LayoutRequest, onto: tuple[str, ...]
) -> PlanContext | str:
    """Return what a plan is made from; why there can be none."""
    from stackmap.cli.plan_inputs import plan_context

    try:
        return plan_context(session.host, topology, name, asked, onto)
    except (PlanRefused, LayoutError) as refusal:
        return str(refusal)


def _drawn(page: Page, *, markdown: bool) -> str:
    if markdown:
        from stackmap.render.markdown import render_markdown

        return render_markdown(page)
    from stackmap.render.html.document import render_html

    return render_html(page, _assets())


def _assets() -> Assets:
    from stackmap.render.html.document import Assets

    folder = files("stackmap.render.html")
    text = {name: folder.joinpath(name).read_text() for name in (*STYLES, *SCRIPTS, LICENSE)}
    license_of = {SCRIPTS[0]: f"/*\n{text[LICENSE]}*/\n"}
    return Assets(
        tuple(text[name] for name in STYLES),
        tuple(license_of.get(name, "") + text[name] for name in SCRIPTS),
    )


def _is_markdown(out: str, *, markdown: bool) -> bool:
    if markdown or out.endswith(MARKDOWN):
        return True
    if out == "-" or out.endswith(HTML):
        return False
    raise click.BadParameter(f"{out}: name it .html or .md, or say --markdown", param_hint="-o")


def _refuse(out: str) -> None:
    """Refuse what no page is written to: above all a block device, which would be lost."""
    if out == "-":
        return
    try:
        mode = os.stat(out).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISBLK(mode) or stat.S_ISDIR(mode):
        what = "a block device" if stat.S_ISBLK(mode) else "a directory"
        raise click.BadParameter(f"{out} is {what}: a page is written to a file", param_hint="-o")


def _write(out: str, page: str) -> None:
    if out == "-":
        click.echo(encoded(page), nl=False)
        return
    with writing(out), open(out, "wb") as file:
        file.write(encoded(page))
