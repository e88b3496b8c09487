"""``stackmap plan``: the commands that convert a volume; printed, never run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from stackmap.cli.options import json_option, layout_option, onto_option
from stackmap.cli.output import print_blocks
from stackmap.discover import discover
from stackmap.errors import PlanRefused
from stackmap.features.plan import document as plan
from stackmap.features.plan.document import plan_json
from stackmap.features.plan.inputs import plan_context
from stackmap.features.plan.strategies import STRATEGIES, is_current_layout, outcomes
from stackmap.model.layout_request import parse

if TYPE_CHECKING:
    from stackmap.cli.session import Session


@click.command(options_metavar="--to LAYOUT [OPTIONS]")
@click.argument("name")
@layout_option
@onto_option
@click.option(
    "--way", type=click.Choice(list(STRATEGIES)), help="Use this method [default: the safest]."
)
@json_option
@click.pass_obj
def command(
    session: Session,
    /,
    name: str,
    layout: str,
    onto: tuple[str, ...],
    way: str | None,
    as_json: bool,
) -> None:
    """
    Print the commands that convert a volume.

    Nothing is run. Each command comes with its effect, its risk and how to undo
    it. A method that is not known to be safe for this stack is refused, with the
    reason.
    """
    request = parse(layout)
    context = plan_context(session.host, discover(session.host), name, request, onto)
    if is_current_layout(context):
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
