"""``stackmap explain``: is it the workload, the layout, or a sick disk?"""

import json
from collections.abc import Iterator
from datetime import UTC
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import click

from stackmap.cli import options as opt
from stackmap.cli.check import setup_problems
from stackmap.cli.output import MARKDOWN, chosen_form, print_blocks, tell
from stackmap.cli.progress import waiting
from stackmap.cli.session import Session
from stackmap.document.findings import as_comment, explain_document, rules_document
from stackmap.document.interval import instant
from stackmap.errors import NoInterval, UsageError
from stackmap.ledger.time_series import IntervalSeries
from stackmap.measurement.capture_part import Resolution
from stackmap.measurement.capture_part import instant as instant_of
from stackmap.model.interval import Interval
from stackmap.model.topology import NO_TOPOLOGY
from stackmap.render.figures_json import explain_json
from stackmap.rules.decision import judge_moment, judge_over_time
from stackmap.rules.table import RULES
from stackmap.sources import limits

if TYPE_CHECKING:
    from stackmap.measurement.source import Measurement

COUNT = 10  # intervals of a second on a live machine
RESOLUTION = Resolution(1800, 720, 7200)  # all are held, 100 KB each for 200 devices


@click.command()
@opt.measuring
@click.option(
    "--baseline",
    metavar="CAPTURE|FILE",
    type=click.Path(exists=True),
    help="Compare with figures of the healthy machine.",
)
@click.option("--moment", metavar="TIME", help="Judge only the time around TIME.")
@click.option("--rules", is_flag=True, help="List the rules with thresholds and sources.")
@click.option("--why", is_flag=True, help="Show why something could not be judged.")
@opt.markdown_option
@opt.json_option
@opt.exit_code_option
@click.option("--with-check", is_flag=True, help="Count findings of the setup in --exit-code.")
@click.pass_obj
def command(
    session: Session,
    /,
    options: opt.MeasuringOptions,
    baseline: str | None,
    moment: str | None,
    rules: bool,
    why: bool,
    as_json: bool,
    exit_code: bool,
    with_check: bool,
) -> None:
    """
    Find what is slow: workload, layout or a sick disk.

    Measures ten seconds, or COUNT times INTERVAL. Begins with what to do first.
    Findings follow, worst first, each with its evidence, its caveats and what to
    do. Problems of the setup, as check reports them, are last.
    """
    if rules:
        if as_json:
            raise click.UsageError("--rules prints text: leave out --json")
        print_blocks(rules_document(RULES))
        return
    resolution = RESOLUTION if _together(options) else RESOLUTION._replace(held=None)
    measured = session.measure(options, each=COUNT, resolution=resolution, geometry=True)
    topology = measured.topology
    part = topology.select(measured.devices) if options.names else topology
    before = None
    if baseline is not None:
        from stackmap.measurement.text import read_baseline  # with the formats of texts: 15 ms

        before = read_baseline(topology, baseline, tell)
    foreign = NO_TOPOLOGY in topology.unknown
    caps = (
        None
        if foreign
        else limits.CapMeter(measured.source.host, topology, recorded=not session.live)
    )
    setup = () if foreign else tuple(setup_problems(session, part))
    severities = [finding.severity for finding in setup if with_check]
    judged = True
    states = options.text is None or session.tells
    for number, series in enumerate(_batches(measured, options, caps, states=states)):
        in_force = () if caps is None else caps.limits
        judge = judge_over_time
        if moment is not None:
            judge = partial(judge_moment, time=_time(moment, series))
        examined = waiting(
            "examining", partial(judge, topology, series, in_force, baseline=before, part=part)
        )
        known = {(finding.rule.id, finding.device) for finding in examined.findings}
        own = (
            finding
            for finding in setup
            if known.isdisjoint((rule, finding.device) for rule in finding.rule.superseded_by)
        )
        examined = examined._replace(setup=[*own])
        if as_json:
            click.echo(json.dumps(explain_json(examined)))
        else:
            gap = "\n" if number else ""
            end = examined.context.interval
            which = (moment or "") if _together(options) else _which(end, options, number + 1)
            is_comment = options.text is not None and chosen_form() == MARKDOWN
            doubt = measured.source.doubt
            blocks = explain_document(examined, doubt, which, why=why or is_comment)
            print_blocks(as_comment(blocks) if is_comment else blocks, before=gap)
        severities += [finding.severity for finding in (*examined.findings, *examined.in_episodes)]
        judged = judged and not examined.open_questions
    if exit_code:
        session.status = opt.status_of(severities, judged=judged) or session.status


def _time(moment: str, series: IntervalSeries) -> float:
    """Return *moment* on the clock of *series*."""
    ends = series.clock().ends
    if not ends:
        raise UsageError("the input has no times for --moment")
    span = ends[0], ends[-1]
    return instant_of(moment, span, span[1], later=False, zone=None if series.is_utc else UTC)


def _batches(
    measured: "Measurement",
    options: opt.MeasuringOptions,
    caps: limits.CapMeter | None,
    *,
    states: bool,
) -> Iterator[IntervalSeries]:
    """Yield the intervals that are judged together; an empty series if nothing was measured and there are *states*."""
    try:
        intervals = measured.intervals() if caps is None else caps.over(measured.intervals())
        if _together(options):
            yield IntervalSeries(intervals)
            return
        # Interrupted before the end of the first interval there is none.
        yield IntervalSeries(islice(intervals, 1))
        yield from (IntervalSeries([one]) for one in intervals)
    except NoInterval as error:
        if not states:
            raise
        if options.text is not None:
            tell(str(error))
        yield IntervalSeries()


def _together(options: opt.MeasuringOptions) -> bool:
    """Whether all intervals are judged together, not each for itself."""
    return options.selection.which in (None, "average")


def _which(interval: Interval, options: opt.MeasuringOptions, number: int) -> str:
    """Return the end of *interval*; without a time its number; "" if its stamp tells."""
    if interval.stamp:
        return ""
    chosen = options.selection.which
    return instant(interval.time) or f"report {number if chosen == 'all' else chosen}"
