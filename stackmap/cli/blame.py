"""``stackmap blame``: who loads a disk, and which disks a volume loads."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from stackmap.cli.options import (
    columns_option,
    csv_option,
    json_option,
    legend_option,
    max_overhead_option,
    measuring,
    no_heading_option,
    sort_option,
    why_option,
)
from stackmap.cli.output import print_blocks, tell
from stackmap.discover.find import find_existing
from stackmap.document.blame import MEANINGS, disk_blocks, group_blocks, headline, volume_blocks
from stackmap.document.interval import dated
from stackmap.document.table_options import Arrangement
from stackmap.ledger.blame import blame, targets
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.model.cgroup_io import cgroup_loads
from stackmap.render.figures_json import blame_json
from stackmap.sources import cgroup

if TYPE_CHECKING:
    from stackmap.cli.options import MeasuringOptions
    from stackmap.cli.session import Session
    from stackmap.features.trace.owners import OwnerTrace


@click.command()
@measuring
@json_option
@csv_option
@no_heading_option
@columns_option
@sort_option
@legend_option(lambda: {"Columns": MEANINGS})
@why_option
@click.option("--trace", "tracing", is_flag=True, help="Trace services and processes too.")
@max_overhead_option
@click.pass_obj
def command(
    session: Session,
    /,
    options: MeasuringOptions,
    as_json: bool,
    no_heading: bool,
    columns: tuple[str, ...],
    sort: str,
    why: bool,
    tracing: bool,
    max_overhead: float,
) -> None:
    """
    Show which volumes load a disk.

    For a disk, show each volume's share of its requests and bytes. For any
    other device, show the disks that it loads. Without NAME, show all disks.
    With INTERVAL, reports repeat COUNT times or until interrupted.
    """
    source = click.get_current_context().get_parameter_source("max_overhead")
    if source is ParameterSource.COMMANDLINE and not tracing:
        raise click.UsageError("--max-overhead needs --trace")
    names = options.names
    measured = session.measure(options)
    host = None if options.no_machine else measured.source.host
    with ExitStack() as stack:
        trace = stack.enter_context(_traced(session, options, max_overhead)) if tracing else None
        before = cgroup.read(host) if host else {}
        for number, (current, interval) in enumerate(measured.reports()):
            sample = trace.read() if trace else None
            after = cgroup.read(host) if host else {}
            groups = cgroup_loads(before, after, interval.seconds or 1.0)
            before = after
            right = corrected(current, interval)
            ledger = Ledger(current, right.loads, right.seconds)
            chosen = find_existing(current, names)
            if not names:
                chosen = [device.name for device in current if not current.below(device.name)]
            volumes = [name for name in chosen if current.below(name)]
            disks = [name for name in chosen if not current.below(name)]
            active = {name for name, load in right.loads.items() if not load.idle}
            blamed = [blame(ledger, name) for name in disks if names or name in active]
            loading = [(top, targets(ledger, top)) for top in volumes]
            if as_json:
                found = blame_json(current, blamed, loading, groups, right)
                if sample:
                    from stackmap.features.trace.owners_json import owners_json

                    found |= owners_json(sample.owners(current, chosen), sample.dropped)
                    found |= {"overhead": sample.overhead, "stopped": sample.stopped or None}
                click.echo(json.dumps(found))
                continue
            blocks = [] if number else headline(current, blamed, loading)
            blocks += [block for each in blamed for block in disk_blocks(current, each, right)]
            blocks += [block for each in loading for block in volume_blocks(current, *each, right)]
            blocks += group_blocks(current, chosen, groups)
            if sample:
                from stackmap.features.trace.owners_document import owner_blocks

                owners = sample.owners(current, chosen)
                blocks += owner_blocks(current, owners, sample.dropped, sample.overhead)
                if sample.stopped:
                    tell(sample.stopped)
            shown = Arrangement(columns, sort).of(dated(blocks, right, why=why))
            print_blocks(shown, heading=not no_heading, after="\n")


def _traced(session: Session, options: MeasuringOptions, max_overhead: float) -> OwnerTrace:
    if options.no_machine:
        raise click.UsageError("--trace needs this machine: leave out --input and --since-boot")
    from stackmap.features.trace.owners import OwnerTrace  # only a trace pays for it

    return OwnerTrace(session.tracing_host, max_overhead / 100)
