"""``stackmap plan``: the commands of a migration, printed and never run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from stackmap.analysis.plan.ground import Ground, Mounted
from stackmap.analysis.plan.target import target
from stackmap.analysis.plan.ways import WAYS, is_there, outcomes
from stackmap.discover import discover
from stackmap.errors import PlanRefused, SourceError
from stackmap.find import find_all
from stackmap.model.layout_request import parse
from stackmap.render.plan import plan_json, plan_text, refusal, same_text
from stackmap.sources import lvm_report, mdraid, mountinfo

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.host import Host
    from stackmap.model.topology import Topology
    from stackmap.model.volume_group import VolumeGroup


@click.command()
@click.argument("name")
@click.option(
    "--to",
    "wanted",
    required=True,
    metavar="LAYOUT",
    help="LEVEL[:members=N,chunk=SIZE,copies=N,layout=NAME], as raid10 or raid5:chunk=128k.",
)
@click.option(
    "--onto",
    multiple=True,
    metavar="DEVICE",
    help="A PV or an unused disk that the new layout shall stand on; once for each.",
)
@click.option(
    "--way", type=click.Choice(list(WAYS)), help="This way, and no other; default: the safest."
)
@click.option("-J", "--json", "as_json", is_flag=True, help="A JSON object, with all ways.")
@click.pass_obj
def command(
    session: Session,
    /,
    name: str,
    wanted: str,
    onto: tuple[str, ...],
    way: str | None,
    as_json: bool,
) -> None:
    """
    Print the commands that give NAME another layout; run none of them.

    Each with what it does, what it risks, and how to go back. A way that is
    not known to be safe for this very stack is refused, and why is said.
    """
    ground = _ground(session, name, wanted, onto)
    if is_there(ground):
        same = json.dumps(plan_json(ground, [], same=True)) + "\n" if as_json else same_text(ground)
        click.echo(same, nl=False)
        return
    found = [each for each in outcomes(ground) if way in (None, each.way.name)]
    if as_json:
        click.echo(json.dumps(plan_json(ground, found)))
    if not any(each.plan for each in found):
        raise PlanRefused(refusal(ground, found) if found else f"{way} is no way for {name}")
    if not as_json:
        click.echo(plan_text(ground, found[0], found[1:]), nl=False)


def _ground(session: Session, name: str, wanted: str, onto: tuple[str, ...]) -> Ground:
    topology = discover(session.host)
    device = target(topology, find_all(topology, [name]))
    groups, silence = _groups(session.host, topology)
    return Ground(
        topology,
        device,
        parse(wanted),
        groups=groups,
        silence=silence,
        mounted=_mounted(session.host),
        components={device.name: mdraid.component(session.host, device.name)},
        onto=tuple(found for each in onto for found in find_all(topology, [each])),
    )


def _groups(host: Host, topology: Topology) -> tuple[dict[str, VolumeGroup] | None, str]:
    """Return LVM's VGs; None and why, where it did not tell."""
    numbers = {device.number: device.name for device in topology}
    try:
        return lvm_report.read(host, numbers), ""
    except SourceError as error:
        return None, str(error)


def _mounted(host: Host) -> dict[str, Mounted]:
    try:
        mounts = mountinfo.read(host)
    except SourceError:
        return {}
    return {each.point: Mounted(each.kind, each.flags, each.root) for each in mounts}
