"""``stackmap check``: alignment, chunks, stripes and sector sizes."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import BinaryIO

import click

from stackmap.cli import options as opt
from stackmap.cli.output import print_blocks, tell
from stackmap.cli.session import Session, tell_unknown
from stackmap.discover import discover
from stackmap.discover.find import find_all
from stackmap.document.describe import listed
from stackmap.document.findings import check_document
from stackmap.errors import NO_ANSWER, InputError
from stackmap.model.health import Health
from stackmap.model.lv_health import lv_health
from stackmap.model.topology import Topology
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.rules.errors import HEALTH
from stackmap.rules.rule import Finding, Severity
from stackmap.sources import ebs, health, libblockdev, mountinfo
from stackmap.sources.libblockdev import Reported
from stackmap.sources.lvm_names import unmangle

REPORT_SECONDS = 10.0  # after the disks have answered; LVM may wait for one that does not
UNANSWERED = Reported(unknown=(f"LVM's and md's metadata: {NO_ANSWER} {REPORT_SECONDS:g} s",))
NO_HEALTH_OF = Health()
NO_HEALTH: Mapping[str, Health] = MappingProxyType({})


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@opt.markdown_option
@opt.json_option
@opt.text_option
@click.option("-a", "--all", "everything", is_flag=True, help="Also show each passed check.")
@click.option("-p", "--problems", is_flag=True, help="Show problems only; the default.")
@click.option("--no-health", is_flag=True, help="Do not open disks to read their health.")
@opt.exit_code_option
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
    no_health: bool,
) -> None:
    """
    Check alignment, chunks, stripes, sector sizes, errors and health.

    As root on this machine, libblockdev, nvme-cli and smartctl open the disks that
    are awake and read their health, of Amazon's disks also the time over their
    limits. LVM and mdadm read their metadata. With --no-health, no device is opened.
    """
    if text is not None:
        session.take(text)
        if not session.tells:
            from stackmap.measurement.text import NO_STACK

            raise InputError(f"{text.name}: {NO_STACK}")
    topology = discover(session.host, geometry=True)
    chosen = topology.select(find_all(topology, names)) if names else topology
    session.tell_missing(topology, names)
    tell_unknown(topology)
    asked = session.live and text is None and not no_health and os.geteuid() == 0
    # lvm reads all disks: in a thread, beside the disks' own answers.
    ask = partial(libblockdev.read, topology=chosen)
    reporting = session.host.in_background(ask) if asked else None
    known = health.read(session.host, chosen) if asked else _recorded_health(session, chosen)
    reported = _recorded(session, chosen)
    if reporting is not None:
        answered = reporting.ready(REPORT_SECONDS)
        reported = reporting.result() if answered else UNANSWERED
    opened = [
        device for device in chosen if NO_ANSWER not in known.get(device.name, NO_HEALTH_OF).unknown
    ]
    exceeded = ebs.read(session.host, opened) if asked or not session.live else {}
    findings = checks(replace(_context(session, chosen, reported, known), exceeded=exceeded))
    _tell_unknown_health(chosen, known)
    _tell_reported(chosen, reported, named=bool(names))
    if as_json:
        if problems:
            findings = [finding for finding in findings if finding.severity is not Severity.GOOD]
        from stackmap.render.figures_json import check_json

        click.echo(json.dumps(check_json(chosen, findings, known)))
    else:
        passed = everything and not problems
        print_blocks(check_document(chosen, findings, passed=passed))
    if exit_code:
        judged = bool(findings) and not topology.unknown
        severities = (finding.severity for finding in findings)
        session.status = opt.status_of(severities, judged=judged) or session.status


def _tell_unknown_health(topology: Topology, known: Mapping[str, Health]) -> None:
    """Tell once per reason which disks did not say how they are."""
    reasons = {health.unknown: None for health in known.values() if health.unknown}
    for reason in reasons:
        names = [topology[name].title for name, answer in known.items() if answer.unknown == reason]
        tell(f"health of {listed(names)}: {reason}")


def _recorded(session: Session, topology: Topology) -> Reported:
    """Return LVM's and mdadm's answers in the capture; a capture without them says nothing about them."""
    reported = libblockdev.Reported() if session.live else libblockdev.read(session.host, topology)
    return reported._replace(unknown=())


def _recorded_health(session: Session, topology: Topology) -> Mapping[str, Health]:
    """Return what disks said of themselves when the capture was recorded; nothing on this machine, whose disks are not opened for it."""
    return {} if session.live else health.recorded(session.host, topology)


def _tell_reported(topology: Topology, reported: Reported, *, named: bool) -> None:
    """Tell which LVs were not checked because they are not active, unless others are *named*, and where mdadm and sysfs differ."""
    for sentence in reported.unknown:
        tell(sentence)
    inactive = [
        f"{label} ({wrong.words})"
        if (wrong := lv_health(reported.volumes[label].attributes))
        else label
        for label in libblockdev.inactive(reported)
    ]
    if inactive and not named:
        tell(f"not active, so not checked: {listed(inactive)}")
    for sentence in libblockdev.contradictions(topology, reported.arrays):
        tell(sentence)


def setup_problems(session: Session, topology: Topology) -> Iterator[Finding]:
    """Yield the findings of ``check`` on *topology* that no rule about a load reports; of health, those that slow I/O."""
    known = _recorded_health(session, topology)
    for finding in checks(_context(session, topology, _recorded(session, topology), known)):
        is_idle = finding.rule in HEALTH and not finding.rule.slows
        if not finding.rule.needs_load and finding.severity is not Severity.GOOD and not is_idle:
            yield finding


def _context(
    session: Session,
    topology: Topology,
    reported: Reported,
    known: Mapping[str, Health],
) -> Context:
    return Context(
        topology,
        mounted=mountinfo.options(session.host, topology),
        health=known,
        lv_attributes=libblockdev.visible(reported),
        capture="" if session.live else session.capture.path,
        recorded_keys=() if session.live else tuple(map(unmangle, session.capture.recorded_keys())),
    )
