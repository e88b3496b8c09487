"""``stackmap plan``: the commands that convert a volume; printed, never run."""

import json
from typing import BinaryIO

import click

from stackmap.cli import options as opt
from stackmap.cli.output import print_blocks
from stackmap.cli.session import Session
from stackmap.discover import discover
from stackmap.discover.find import find_one_name
from stackmap.errors import NoInterval, PlanRefused
from stackmap.features.plan import document as plan
from stackmap.features.plan.document import plan_json
from stackmap.features.plan.inputs import plan_context
from stackmap.features.plan.strategies import (
    STRATEGIES,
    is_current_layout,
    outcomes,
    require_finished,
)
from stackmap.measurement.capture_part import MINUTES_OF_A_DAY
from stackmap.measurement.source import IntervalSelection, Measurement
from stackmap.model.layout_request import parse
from stackmap.rules.decision import Judged, judge
from stackmap.sources.limits import CapMeter

COUNT = 10  # intervals of a second on a live machine
OF_TEXT = "a plan needs the machine or a capture of it: a text does not show all that a safe plan depends on"


def _judged(measured: Measurement, *, recorded: bool) -> Judged | None:
    """Return the findings in the samples; None without samples."""
    caps = CapMeter(measured.source.host, measured.topology, recorded=recorded)
    try:
        intervals = tuple(caps.over(measured.intervals()))
    except NoInterval:
        return None
    return judge(measured.topology, intervals, caps.limits) if intervals else None


@click.command(options_metavar="--to LAYOUT [OPTIONS]")
@click.argument("name")
@opt.layout_option
@opt.onto_option
@click.option(
    "--way", type=click.Choice(list(STRATEGIES)), help="Use this method [default: the safest]."
)
@opt.text_option
@opt.json_option
@click.pass_obj
def command(
    session: Session,
    /,
    name: str,
    layout: str,
    onto: tuple[str, ...],
    way: str | None,
    text: BinaryIO | None,
    as_json: bool,
) -> None:
    """
    Print the commands that convert a volume.

    Nothing is run. Each command comes with its effect, its risk and how to undo
    it. A method that is not known to be safe for this stack is refused, with the
    reason. The disks are judged by ten seconds of their I/O, or by CAPTURE.
    """
    if text is not None:
        raise PlanRefused(OF_TEXT)
    request = parse(layout)
    find_one_name(discover(session.host), name)  # a wrong name needs no ten seconds
    measuring = opt.MeasuringOptions((), IntervalSelection(), None)
    measured = session.measure(measuring, each=COUNT, resolution=MINUTES_OF_A_DAY, geometry=True)
    topology = measured.topology
    context = plan_context(
        session.host, topology, name, request, onto, _judged(measured, recorded=not session.live)
    )
    if is_current_layout(context):
        require_finished(context)
        same = json.dumps(plan_json(context, [], same=True))
        click.echo(same if as_json else plan.unchanged(context))
        return
    candidates = [outcome for outcome in outcomes(context) if way in (None, outcome.strategy.name)]
    if as_json:
        click.echo(json.dumps(plan_json(context, candidates)))
    if not any(outcome.plan for outcome in candidates):
        if not candidates:
            raise PlanRefused(f"method {way} does not apply to {name}; see stackmap-plan(8)")
        raise plan.refusal(context, candidates)
    if not as_json:
        print_blocks(plan.document(context, candidates[0], candidates[1:]))
