"""``stackmap blame``: who loads a disk, and which disks a volume loads."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol

import click

from stackmap.cli import options as opt
from stackmap.cli.output import print_blocks, tell
from stackmap.cli.session import Session
from stackmap.discover.find import find_existing
from stackmap.document.blame import MEANINGS, BlameReport, headline, matrix, volume_blocks
from stackmap.document.blocks import Block
from stackmap.document.interval import dated
from stackmap.document.table_options import Arrangement
from stackmap.host import Host
from stackmap.ledger.blame import blame, targets
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.model.cgroup_io import CgroupSample, cgroup_loads
from stackmap.model.topology import Topology
from stackmap.render.figures_json import blame_json
from stackmap.sources import cgroup, pressure, process_io


class Counted(Protocol):
    """What a feature counted during an interval."""

    @property
    def stopped(self) -> str:
        """Why it counts no more, in the first interval after that; else ""."""

    def json(self, topology: Topology, chosen: Sequence[str]) -> dict[str, object]:
        """Return keys for the object of the report."""

    def blocks(self, topology: Topology, chosen: Sequence[str]) -> list[Block]:
        """Return the end of the report."""


class Counting(Protocol):
    """What a feature counts during the measurement."""

    def read(self) -> Counted:
        """Return the counts since the previous call."""


Addition = Callable[["Session", "opt.MeasuringOptions"], AbstractContextManager[Counting]]


@click.command()
@opt.measuring
@opt.json_option
@opt.csv_option
@opt.no_heading_option
@opt.columns_option
@opt.sort_option
@opt.legend_option(lambda: {"Columns": MEANINGS})
@opt.why_option
@opt.with_additions("blame")
@click.pass_obj
def command(
    session: Session,
    /,
    options: opt.MeasuringOptions,
    as_json: bool,
    no_heading: bool,
    columns: tuple[str, ...],
    sort: str,
    why: bool,
    additions: tuple[Addition, ...] = (),
) -> None:
    """
    Show which volumes load a disk.

    For a disk, show each volume's share of its requests and bytes, then control
    groups and processes. For any other device, show the disks that it loads.
    Without NAME, show all disks. With INTERVAL, reports repeat COUNT times or until interrupted.
    """
    names = options.names
    measured = session.measure(options)
    host = None if options.no_machine else measured.source.host
    with ExitStack() as stack:
        counting = [stack.enter_context(begin(session, options)) for begin in additions]
        before, stalled = _groups(host)
        # A capture has no figures of processes, and no name of one beyond its users'.
        processes = process_io.read(host) if host and session.live else {}
        for number, (current, interval) in enumerate(measured.reports()):
            counted = [one.read() for one in counting]
            after, stalled_after = _groups(host)
            seconds = interval.seconds or 1.0
            groups = [
                group._replace(
                    owner=cgroup.owner(group.group),
                    waited=_share(
                        stalled.get(group.group), stalled_after.get(group.group), seconds
                    ),
                )
                for group in cgroup_loads(before, after, seconds)
            ]
            before, stalled, earlier = after, stalled_after, processes
            processes = process_io.read(host) if host and session.live else {}
            busy = process_io.loads(host, earlier, processes, seconds) if host else []
            right = corrected(current, interval)
            ledger = Ledger(current, right.loads, right.seconds)
            chosen = find_existing(current, names)
            if not names:
                lowest = [device.name for device in current if not current.below(device.name)]
                # What a device without known disks sends arrives at disks, too.
                chosen = [name for name in lowest if name not in current.open_ends] or lowest
            volumes = [name for name in chosen if current.below(name)]
            disks = [name for name in chosen if not current.below(name)]
            active = {name for name, load in right.loads.items() if not load.idle}
            blamed = [blame(ledger, name) for name in disks if names or name in active]
            loading = [(top, targets(ledger, top)) for top in volumes]
            report = BlameReport(current, chosen, right, blamed, loading, groups, busy)
            if as_json:
                figures = blame_json(report)
                for sample in counted:
                    figures |= sample.json(current, chosen)
                click.echo(json.dumps(figures))
                continue
            blocks = [] if number else headline(report)
            blocks += [*matrix(report), *volume_blocks(report)]
            for sample in counted:
                blocks += sample.blocks(current, chosen)
                if sample.stopped:
                    tell(sample.stopped)
            shown = Arrangement(columns, sort).of(dated(blocks, right, why=why))
            print_blocks(shown, heading=not no_heading, after="\n")


def _groups(host: Host | None) -> tuple[CgroupSample, Mapping[str, float]]:
    """Return the counters of the control groups, and the seconds in which tasks of each waited for I/O."""
    counters = cgroup.read(host) if host else {}
    names = dict.fromkeys(group for group, _ in counters)
    return counters, pressure.read_groups(host, names) if host else {}


def _share(before: float | None, after: float | None, seconds: float) -> float | None:
    """Return the share of *seconds* between two totals, at most 1: they are read a little apart."""
    if before is None or after is None or after < before:
        return None
    return min(1.0, (after - before) / seconds)
