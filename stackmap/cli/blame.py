"""``stackmap blame``: who loads a disk, and which disks a volume loads."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from stackmap.analysis.blame import blame, targets
from stackmap.analysis.corrections import corrected
from stackmap.analysis.traffic.ledger import Ledger
from stackmap.cli.options import json_option, measuring, no_heading_option, why_option
from stackmap.cli.output import as_text
from stackmap.cli.session import missing_status
from stackmap.document.blame import disk_blocks, group_blocks, volume_blocks
from stackmap.document.notes import notes
from stackmap.find import find_existing
from stackmap.model.cgroup_io import cgroup_loads
from stackmap.render.blame_json import blame_json
from stackmap.sources import cgroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackmap.cli.options import MeasuringOptions
    from stackmap.cli.session import Session
    from stackmap.host import Host
    from stackmap.model.cgroup_io import CgroupLoad
    from stackmap.model.interval import Interval
    from stackmap.model.load import Load
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval


@click.command()
@measuring
@json_option
@no_heading_option
@why_option
@click.pass_obj
def command(
    session: Session,
    /,
    options: MeasuringOptions,
    as_json: bool,
    no_heading: bool,
    why: bool,
) -> None:
    """
    Show which volumes load a disk: their shares of its requests and bytes.

    For a disk, show the volumes that load it. For any other device, show the
    disks that it loads. Without NAME, show all disks.
    """
    names = options.names
    measured = session.measure(options)
    observed = None if options.no_machine else measured.host
    for current, interval, groups in _with_groups(observed, measured.reports()):
        right, done = corrected(current, interval)
        ledger = Ledger(current, right.loads, right.seconds)
        chosen, disks, volumes = _chosen(current, names)
        seen = [name for name in disks if names or not _idle(right.loads.get(name))]
        blamed = [blame(ledger, name) for name in seen]
        loading = [(top, targets(ledger, top)) for top in volumes]
        if as_json:
            click.echo(json.dumps(blame_json(current, blamed, loading, groups, right, done)))
            continue
        blocks = [block for each in blamed for block in disk_blocks(current, each, right)]
        blocks += [block for each in loading for block in volume_blocks(current, *each, right)]
        blocks += [*group_blocks(current, chosen, groups), *notes(right, done, why=why)]
        click.echo(as_text(blocks, heading=not no_heading))
    sys.exit(missing_status(measured.missing))


def _chosen(topology: Topology, names: tuple[str, ...]) -> tuple[list[str], list[str], list[str]]:
    """Return what *names* mean now, of it the disks, and the rest; without names, all disks."""
    chosen = find_existing(topology, names)
    if not names:
        chosen = [device.name for device in topology if not topology.below(device.name)]
    disks = [name for name in chosen if not topology.below(name)]
    return chosen, disks, [name for name in chosen if topology.below(name)]


def _with_groups(
    host: Host | None, reports: Iterator[TopologyInterval]
) -> Iterator[tuple[Topology, Interval, list[CgroupLoad]]]:
    """Yield each report with what the control groups did in it; [] without a host to read."""
    before = cgroup.read(host) if host else {}
    for topology, interval in reports:
        after = cgroup.read(host) if host else {}
        yield topology, interval, cgroup_loads(before, after, interval.seconds or 1.0)
        before = after


def _idle(load: Load | None) -> bool:
    return load is None or load.idle
