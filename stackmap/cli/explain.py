"""``stackmap explain``: is it the workload, the layout, or a sick disk?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.averages import average
from stackmap.analysis.corrections import corrected
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rule import Severity
from stackmap.analysis.findings.rules import RULES, findings
from stackmap.cli.baseline import baseline_of
from stackmap.cli.exit_status import exit_with
from stackmap.cli.measuring import Wanted, listen, measuring, split_words
from stackmap.cli.output import width
from stackmap.discover import discover
from stackmap.find import find_all
from stackmap.render.explain import explain_json, explain_markdown, explain_text
from stackmap.render.rules import rules_text
from stackmap.sources import limits

if TYPE_CHECKING:
    from stackmap.analysis.findings.rule import Finding
    from stackmap.cli import Session
    from stackmap.model.interval import Interval
    from stackmap.model.io_limit import IoLimit
    from stackmap.model.topology import Topology

COUNT = 10  # of a live machine: ten seconds, of which each one is looked at
MOST = 1800  # samples of a recording: the intervals are all held, 100 KB each of 200 devices


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
        click.echo(rules_text(RULES), nl=False)
        return
    names, seconds, count = split_words(words)
    again = partial(discover, geometry=True)
    session.most = MOST
    if text is None and not boot:
        listen(session.host)
    topology = again(session.host)
    session.tell_apart()
    chosen = find_all(topology, names)
    part = topology.select(chosen) if names else topology
    status = session.tell_missing(topology, names)
    session.tell_unknown(topology)
    before = None if baseline is None else baseline_of(topology, baseline)
    caps = tuple(limits.read(session.host, topology))
    together = report in (None, "average")
    wanted = Wanted(seconds, count, text, report, boot).apart(session, COUNT)
    wanted = wanted.near(topology, chosen)
    intervals = wanted.intervals(session, topology, again)
    show = _look(as_json=as_json, markdown=markdown)
    severities: list[Severity] = []
    for number, (whole, series) in enumerate(_judged(intervals, together=together)):
        context = _context(topology, whole, series, before, caps)
        found = [each for each in findings(context) if each.device in part]
        gap = "" if as_json or not number else "\n"
        click.echo(gap + show(topology, found, context.interval), nl=False)
        severities += [each.severity for each in found]
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


def _context(
    topology: Topology,
    whole: Interval,
    series: tuple[Interval, ...],
    before: Interval | None,
    caps: tuple[IoLimit, ...],
) -> Context:
    right, done = corrected(topology, whole)
    parts = tuple(corrected(topology, each)[0] for each in series)
    return Context(topology, right, parts, before, done, caps)


Look = Callable[["Topology", list["Finding"], "Interval"], str]


def _look(*, as_json: bool, markdown: bool) -> Look:
    if as_json:
        return lambda *told: json.dumps(explain_json(*told)) + "\n"
    return explain_markdown if markdown else partial(explain_text, width=width())
