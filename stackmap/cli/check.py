"""``stackmap check``: alignment, chunks, stripes and sector sizes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.cli.options import (
    exit_code_option,
    json_option,
    markdown_option,
    status_of,
    text_option,
)
from stackmap.cli.output import print_blocks
from stackmap.cli.session import tell_unknown
from stackmap.discover import discover
from stackmap.discover.find import find_all
from stackmap.document.findings import check_document
from stackmap.errors import InputError
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.rules.rule import Severity
from stackmap.sources import mountinfo
from stackmap.sources.lvm_names import unmangle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackmap.cli.session import Session
    from stackmap.host.capture import CapturedHost
    from stackmap.model.topology import Topology
    from stackmap.rules.rule import Finding


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@markdown_option
@json_option
@text_option
@click.option("-a", "--all", "everything", is_flag=True, help="Also show each passed check.")
@click.option("-p", "--problems", is_flag=True, help="Show problems only; the default.")
@exit_code_option
@click.pass_obj
def command(
    session: Session,
    /,
    names: tuple[str, ...],
    text: BinaryIO | None,
    as_json: bool,
    everything: bool,
    problems: bool,
    exit_code: bool,
) -> None:
    """
    Check alignment, chunks, stripes and sector sizes.

    No device is opened: sysfs, device-mapper tables and mount options are read.
    """
    if text is not None:
        session.take(text)
        if not session.tells:
            from stackmap.measurement.ticket import NO_STACK

            raise InputError(f"{text.name}: {NO_STACK}")
    topology = discover(session.host, geometry=True)
    chosen = topology.select(find_all(topology, names)) if names else topology
    session.tell_missing(topology, names)
    tell_unknown(topology)
    found = checks(_context(session, chosen))
    if as_json:
        if problems:
            found = [each for each in found if each.severity is not Severity.GOOD]
        from stackmap.render.figures_json import check_json

        click.echo(json.dumps(check_json(chosen, found)))
    else:
        passed = everything and not problems
        print_blocks(check_document(chosen, found, passed=passed))
    if exit_code:
        judged = bool(found) and not topology.unknown
        severities = (each.severity for each in found)
        session.status = status_of(severities, judged=judged) or session.status


def setup_problems(session: Session, topology: Topology) -> Iterator[Finding]:
    """Yield the findings of ``check`` on *topology* that no rule about a load reports."""
    for each in checks(_context(session, topology)):
        if not each.rule.needs_load and each.severity is not Severity.GOOD:
            yield each


def _context(session: Session, topology: Topology) -> Context:
    return Context(
        topology,
        mounted=mountinfo.options(session.host, topology),
        capture="" if session.live else session.capture.path,
        recorded_keys=() if session.live else _recorded_keys(session.capture),
    )


def _recorded_keys(capture: CapturedHost) -> tuple[str, ...]:
    """Return the names of the devices whose key is in *capture*."""
    return tuple(map(unmangle, capture.recorded_keys()))
