"""``stackmap report``: one self-contained page for a change request."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import click

from stackmap.cli.options import MeasuringOptions, force_option, measuring, onto_option
from stackmap.cli.output import missing
from stackmap.cli.progress import waiting
from stackmap.cli.wear import DiskLives, Endurance, wear_options
from stackmap.commands import additions
from stackmap.errors import InputError, LayoutError, PlanRefused
from stackmap.features.report.figures import Measuring, Report
from stackmap.features.report.page import page_of
from stackmap.features.report.proposals import Proposal, Proposing
from stackmap.host.capture_format import encoded
from stackmap.host.directory import OutputFile
from stackmap.measurement.capture_part import MINUTES_OF_A_DAY
from stackmap.model.layout_request import LayoutRequest, parse
from stackmap.model.units import KIB, MIB, parse_size
from stackmap.sources import limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stackmap.cli.session import Session
    from stackmap.document.blocks import Page
    from stackmap.features.plan.plan import PlanContext
    from stackmap.features.trace.record import Trace
    from stackmap.measurement.source import Measurement

ALTERNATIVES = ("raid10", "raid5", "raid6")  # compared where no layout is asked for
COUNT = 60  # intervals of a second on a live machine
MARKDOWN = (".md", ".markdown")
HTML = (".html", ".htm")
LARGEST = 16 * MIB  # of --explain-write


def _size(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Return the bytes of --explain-write."""
    size = None if text is None else parse_size(text, 4 * KIB, "4k, 8k or 1M")
    if size is not None and size > LARGEST:
        raise click.BadParameter(f"at most 16M, not {text}")
    return size


@click.command(options_metavar="-o FILE [OPTIONS]")
@measuring
@click.option(
    "-o",
    "--output",
    "out",
    metavar="FILE",
    required=True,
    help="Write to FILE.html or FILE.md; - for stdout.",
)
@force_option
@click.option(
    "--to",
    "layouts",
    metavar="LAYOUT",
    multiple=True,
    help="Propose this layout for NAME (repeatable).",
)
@onto_option
@click.option(
    "--explain-write",
    "written",
    metavar="SIZE",
    callback=_size,
    help="Add an example: what one write of SIZE does.",
)
@click.option("-m", "--markdown", is_flag=True, help="Write Markdown, whatever the name of FILE.")
@wear_options
@click.pass_obj
def command(
    session: Session,
    /,
    options: MeasuringOptions,
    out: str,
    force: bool,
    layouts: tuple[str, ...],
    onto: tuple[str, ...],
    written: int | None,
    markdown: bool,
    wear: bool,
    endurance: Endurance | None,
) -> None:
    """
    Write an HTML or Markdown page for a change request.

    Measures one minute, or COUNT times INTERVAL. Without NAME, volumes with
    findings and the busiest ones are included. With --to, the page adds the
    load on another layout and the commands to convert to it. The page is one
    file and needs no network.
    """
    markdown = is_markdown(out, markdown=markdown)
    file = None if out == "-" else OutputFile(out, force=force)
    if layouts and not options.names:
        raise click.UsageError(missing("NAME"))
    if onto and not layouts:
        raise click.UsageError("--onto needs --to LAYOUT")
    requests = {layout: parse(layout) for layout in layouts}
    measured = session.measure(options, each=COUNT, resolution=MINUTES_OF_A_DAY, geometry=True)
    live = session.live and options.text is None
    disks = DiskLives(measured.source.host, live=live, asks=wear, rating=endurance)
    disks.ask(measured.topology)
    taken = Measuring(measured.topology, tuple(measured.devices))
    caps = limits.CapMeter(measured.source.host, measured.topology, recorded=not session.live)
    for interval in caps.over(measured.intervals()):
        taken.add(interval)
    lives = disks.of(measured.topology)
    has_trace = not session.live and options.text is None
    traces = [of(session.host) for of in additions("traced")] if has_trace else []

    def page() -> str:
        report = taken.report(caps.limits, lives)
        if report is None or not report.stacks:
            raise InputError("nothing to report: no stack has any figures")
        trace = next(filter(None, traces), None)
        proposals = tuple(_proposals(measured, taken, report, requests, onto, trace))
        others = () if proposals else tuple(_alternatives(taken, report.stacks[0].top.name))
        return drawn(page_of(report, proposals, others, written), markdown=markdown)

    write_page(file, waiting("making the page", page))


def _proposals(
    measured: Measurement,
    taken: Measuring,
    report: Report,
    requests: Mapping[str, LayoutRequest],
    onto: tuple[str, ...],
    trace: Trace | None,
) -> Iterator[Proposal]:
    """Yield a proposal per layout in *requests* for each volume that was named."""
    for name in measured.devices if requests else ():
        proposing = Proposing(taken, name, trace, timed=True)
        for layout, request in requests.items():
            context = _plan_context(measured, name, request, onto, report)
            yield proposing.propose(layout, request, context)


def _alternatives(taken: Measuring, name: str) -> Iterator[Proposal]:
    """Yield the layouts to compare where none is asked for, without their time."""
    proposing = Proposing(taken, name, timed=False)
    for layout in ALTERNATIVES:
        yield proposing.propose(layout, parse(layout), "no layout was asked for")


def _plan_context(
    measured: Measurement,
    name: str,
    request: LayoutRequest,
    onto: tuple[str, ...],
    report: Report,
) -> PlanContext | str:
    """Return the context of a plan, or the reason against one."""
    from stackmap.features.plan.inputs import plan_context

    try:
        topology, judged = measured.topology, report.judged
        return plan_context(measured.source.host, topology, name, request, onto, judged)
    except (PlanRefused, LayoutError) as refusal:
        return str(refusal)


def drawn(page: Page, *, markdown: bool) -> str:
    """Return *page* as HTML or Markdown."""
    if markdown:
        from stackmap.render.markdown import render_markdown

        return render_markdown(page)
    from stackmap.render.html.page import Assets, render_html

    charts = f"/*\n{_asset('vendor/uPlot.LICENSE.txt')}*/\n{_asset('vendor/uPlot.iife.min.js')}"
    styles = _asset("vendor/uPlot.min.css"), _asset("style.css")
    return render_html(page, Assets(styles, (charts, _asset("charts.js"))))


def _asset(name: str) -> str:
    return files("stackmap.render.html").joinpath(name).read_text()


def is_markdown(out: str, *, markdown: bool) -> bool:
    """Whether *out* is to be Markdown: *markdown* says so, or its ending."""
    if markdown or out.endswith(MARKDOWN):
        return True
    if out == "-" or out.endswith(HTML):
        return False
    raise click.BadParameter(f"{out}: use the ending .html or .md, or --markdown", param_hint="-o")


def write_page(out: OutputFile | None, page: str) -> None:
    """Write *page* to *out*, or to stdout."""
    if out is None:
        click.echo(encoded(page), nl=False)
        return
    with out.writing() as file:
        file.write(encoded(page))
