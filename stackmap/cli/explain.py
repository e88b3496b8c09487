"""``stackmap explain``: is it the workload, the layout, or a sick disk?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from stackmap.analysis.findings.measured import measured_context
from stackmap.analysis.findings.rules import RULES, findings
from stackmap.cli.exit_status import status_of
from stackmap.cli.options import exit_code_option, json_option, markdown_option, measuring
from stackmap.cli.output import as_markdown, as_text, tell
from stackmap.document.findings import explain_document, rules_document
from stackmap.measurement.baseline import read_baseline
from stackmap.render.findings_json import explain_json
from stackmap.sources import limits

if TYPE_CHECKING:
    from stackmap.analysis.findings.rule import Severity
    from stackmap.cli.options import MeasuringOptions
    from stackmap.cli.session import Session

COUNT = 10  # intervals of a second on a live machine
MAX_SAMPLES = 1800  # of a recording: all intervals are held, 100 KB each for 200 devices


@click.command()
@measuring
@click.option(
    "--baseline",
    metavar="CAPTURE|FILE",
    type=click.Path(exists=True),
    help="Compare with figures of the healthy machine.",
)
@click.option("--rules", is_flag=True, help="List the rules with thresholds and sources.")
@markdown_option
@json_option
@exit_code_option
@click.pass_obj
def command(
    session: Session,
    /,
    options: MeasuringOptions,
    baseline: str | None,
    rules: bool,
    markdown: bool,
    as_json: bool,
    exit_code: bool,
) -> None:
    """
    Find what is slow: workload, layout or a sick disk.

    Measures ten seconds, or COUNT times INTERVAL. Findings are printed worst
    first, each with its evidence, its caveats and what to do next.
    """
    if rules:
        click.echo(as_text(rules_document(RULES)), nl=False)
        return
    measured = session.measure(options, each=COUNT, max_samples=MAX_SAMPLES, geometry=True)
    topology = measured.topology
    part = topology.select(measured.devices) if options.names else topology
    before = None if baseline is None else read_baseline(topology, baseline, tell)
    caps = tuple(limits.read(measured.source.host, topology))
    together = options.selection.which in (None, "average")
    write = as_markdown if markdown else as_text
    intervals = measured.intervals()
    # Interrupted before the end of the first interval there is none.
    judged = [list(intervals)] if together else ([each] for each in intervals)
    severities: list[Severity] = []
    for number, batch in enumerate(filter(None, judged)):
        context = measured_context(topology, batch, before, caps)
        found = [each for each in findings(context) if each.device in part]
        if as_json:
            click.echo(json.dumps(explain_json(topology, found, context.interval)))
        else:
            gap = "\n" if number else ""
            blocks = explain_document(
                topology, found, context.interval, has_baseline=context.baseline is not None
            )
            click.echo(gap + write(blocks), nl=False)
        severities += [each.severity for each in found]
    if exit_code:
        session.status = status_of(severities) or session.status
