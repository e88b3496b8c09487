"""``stackmap explain``: is it the workload, the layout, or a sick disk?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.averages import average
from stackmap.analysis.corrections import corrected
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Severity
from stackmap.analysis.findings.rules import RULES, findings
from stackmap.analysis.geometry.checks import CHECKS
from stackmap.cli.baseline import baseline_of
from stackmap.cli.measuring import Wanted, measuring, split_words
from stackmap.cli.verdict import exit_with
from stackmap.discover import discover
from stackmap.find import find_all
from stackmap.render.explain import explain_json, explain_markdown, explain_text
from stackmap.render.rules import rules_text
from stackmap.sources import limits

if TYPE_CHECKING:
    from stackmap.analysis.findings.finding import Finding
    from stackmap.cli import Session
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

SECONDS, COUNT = 1.0, 10  # of a live machine: ten seconds, of which each one is looked at


@click.command()
@measuring
@click.option(
    "--baseline",
    metavar="CAPTURE|FILE",
    type=click.Path(exists=True),
    help="The same machine when it was well: a capture, or statistics as --input takes.",
)
@click.option("--rules", is_flag=True, help="Print the rules with their thresholds and sources.")
@click.option("-m", "--markdown", is_flag=True, help="Markdown, for a ticket.")
@click.option("-J", "--json", "as_json", is_flag=True, help="A JSON object.")
@click.option("--exit-code", is_flag=True, help="Exit with 10 for a warning, 11 for worse.")
@click.pass_obj
def command(
    session: Session,
    /,
    words: tuple[str, ...],
    text: BinaryIO | None,
    report: str | None,
    boot: bool,
    baseline: str | None,
    rules: bool,
    markdown: bool,
    as_json: bool,
    exit_code: bool,
) -> None:
    """
    Say what is slow and why: the workload, the layout, or a disk; the worst first.

    Ten seconds are measured, or COUNT times INTERVAL. Each finding has the
    numbers it rests on, what speaks against it, and what to do next.
    """
    if rules:
        click.echo(rules_text((*RULES, *CHECKS)), nl=False)
        return
    names, seconds, count = split_words(words)
    topology = discover(session.host, geometry=True)
    chosen = set(topology.select(find_all(topology, names)).devices) if names else None
    status = session.tell_missing(topology, names)
    session.tell_unknown(topology)
    before = None if baseline is None else baseline_of(topology, baseline)
    together = report in (None, "average")
    which = "all" if together else report
    wanted = Wanted(seconds or SECONDS, count or (1 if seconds else COUNT), text, which, boot)
    caps = tuple(limits.read(session.host, topology))
    severities: list[Severity] = []
    for whole, series in _judged(wanted.intervals(session, topology), together=together):
        right, done = corrected(topology, whole)
        parts = tuple(corrected(topology, each)[0] for each in series)
        found = findings(Context(topology, right, parts, before, done, caps))
        found = [each for each in found if chosen is None or each.device in chosen]
        between = "" if not severities or as_json else "\n"
        severities += [each.severity for each in found] or [Severity.GOOD]
        click.echo(
            between + _page(topology, found, right, as_json=as_json, markdown=markdown), nl=False
        )
    exit_with(severities if exit_code else (), otherwise=status)


def _judged(
    reports: Iterator[Interval], *, together: bool
) -> Iterator[tuple[Interval, tuple[Interval, ...]]]:
    """Yield what to judge as one, with its parts: all reports *together*, or each by itself."""
    if not together:
        yield from ((each, ()) for each in reports)
        return
    taken = list(reports)
    current = [each for each in taken if not each.since_boot] or taken
    series = tuple(current) if len(current) > 1 else ()
    yield from ((whole, series) for whole in average(current))


def _page(
    topology: Topology,
    found: list[Finding],
    interval: Interval,
    *,
    as_json: bool,
    markdown: bool,
) -> str:
    if as_json:
        return json.dumps(explain_json(topology, found, interval)) + "\n"
    show = explain_markdown if markdown else explain_text
    return show(topology, found, interval)
