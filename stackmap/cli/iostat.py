"""``stackmap iostat``: counters by device, and what each layer does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from stackmap.cli import options as opt
from stackmap.cli.output import one_form, print_blocks
from stackmap.cli.wear import DiskLives, Endurance, wear_options
from stackmap.discover.find import DEV, NAME_PATTERN, find_existing
from stackmap.document.table_options import Arrangement
from stackmap.ledger.corrections import corrected
from stackmap.model.device import Device, Kind
from stackmap.model.load import METRICS, SYSSTAT_HEADINGS

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.measurement.source import Measurement
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

ALL = "ALL"  # of -p, as in iostat: every disk and partition
Looks = dict[str, bool]  # the flags of the command, by name
Show = Callable[["Interval"], None]
# Entered while the reports are printed; what a feature has to say about all of them follows.
Addition = Callable[["Session", "Measurement"], AbstractContextManager[None]]


def _meanings() -> opt.Legend:
    from stackmap.document import iostat, layers

    return {"Columns per device": iostat.MEANINGS, "Columns per layer (-l)": layers.MEANINGS}


def _as_json(ctx: click.Context, _: click.Parameter, form: str | None) -> str | None:
    """Return *form*; ``-o JSON`` means ``--json``, which is one form of output."""
    if form is not None:
        (json_form,) = (param for param in ctx.command.params if param.name == "as_json")
        one_form(ctx, json_form, wanted=True)
    return form


@click.command()
@opt.measuring
@click.option("-l", "--per-layer", is_flag=True, help="Show one row per layer and its ratios.")
@click.option("-x", "--extended", is_flag=True, help="Add merges, discards, flushes and busy%.")
@click.option("-z", "--skip-idle", is_flag=True, help="Skip idle devices and stacks.")
@click.option("-t", "--time", is_flag=True, help="Print the time of each report, ISO 8601.")
@opt.json_option
@opt.csv_option
@opt.no_heading_option
@click.option("--totals", is_flag=True, help="Add totals at the tops and at the disks.")
@opt.columns_option
@opt.sort_option
@opt.legend_option(_meanings)
@opt.why_option
@opt.with_additions("iostat")
@wear_options
@click.option(
    "-o",
    "form",
    type=click.Choice(["JSON"], case_sensitive=False),
    callback=_as_json,
    help="Same as -J.",
)
@click.option("-m", "--mib", is_flag=True, help="Show bytes per second in MiB.")
@click.option("--human", is_flag=True, help="Show bytes with a unit: 1.5 MiB.")
@click.option(
    *("-p", "--partitions"),
    metavar="[DISK,...|ALL]",
    is_flag=False,
    flag_value=ALL,
    default="",
    help="Show these disks and their partitions; ALL is the default.",
)
@click.option(
    *("-d", "-k", "-y", "-N", "usual"),
    is_flag=True,
    help="No change: stackmap shows devices, KiB, no report since boot, and names.",
)
@click.pass_obj
def command(
    session: Session,
    /,
    options: opt.MeasuringOptions,
    columns: tuple[str, ...],
    sort: str,
    form: str | None,
    partitions: str,
    usual: bool,  # noqa: ARG001 - for iostat compatibility
    wear: bool,
    endurance: Endurance | None,
    additions: tuple[Addition, ...] = (),
    **looks: bool,
) -> None:
    """
    Show I/O statistics per device or per layer.

    NAME is a VG, an LV, a device or a mount point. Without INTERVAL, one second
    is measured. With INTERVAL, reports repeat COUNT times or until interrupted.
    """
    if looks["per_layer"] and (looks["extended"] or looks["totals"]):
        raise click.UsageError("--per-layer cannot be combined with --extended or --totals")
    if looks["per_layer"] and sort:
        raise click.UsageError(
            "--per-layer cannot be combined with --sort: layers have their order"
        )
    if (wear or endurance) and not looks["per_layer"]:
        raise click.UsageError("--wear and --endurance need --per-layer (-l)")
    looks["as_json"] |= form is not None
    if looks["mib"] and looks["human"]:
        raise click.UsageError("choose one unit: -m or --human")
    if partitions and looks["per_layer"]:
        raise click.UsageError("--per-layer cannot be combined with -p: name the disk instead")
    unit = "B" if looks["human"] else "MiB" if looks["mib"] else ""
    keys = {metric.key: metric.heading for metric in METRICS} | SYSSTAT_HEADINGS
    table = Arrangement(columns, sort, keys, unit)
    disks = tuple(filter(None, partitions.split(",")))
    if disks:
        options = options._replace(names=(*options.names, *(disk for disk in disks if disk != ALL)))
    measured = session.measure(options)
    live = session.live and options.text is None
    lives = DiskLives(measured.source.host, live=live, asks=wear, rating=endurance)
    with ExitStack() as stack:
        for begin in additions:
            stack.enter_context(begin(session, measured))
        _show(measured, options, looks, table, disks, lives)


def _show(
    measured: Measurement,
    options: opt.MeasuringOptions,
    looks: Looks,
    table: Arrangement,
    disks: tuple[str, ...],
    lives: DiskLives,
) -> None:
    """Print each report; *disks*: those of ``-p``."""
    last: Topology | None = None
    for topology, interval in measured.reports():
        if topology is not last:  # names are looked up anew
            last = topology
            chosen = find_existing(topology, options.names)
            if looks["per_layer"]:
                shown = topology if chosen or not options.names else topology.subset(())
                show = _layers(shown, chosen, looks, table, lives)
            else:
                show = _devices(topology, part(topology, options.names, disks), looks, table)
        show(interval)


def part(topology: Topology, names: tuple[str, ...], disks: tuple[str, ...]) -> Topology:
    """
    Return the devices to show: all if nothing is named.

    As in iostat, a kernel name or a pattern means these devices alone; other names mean whole stacks.
    """
    if ALL in disks:
        kinds = (Kind.DISK, Kind.PARTITION)
        kept = {device.name for device in topology if device.kind in kinds}
    elif not names:
        return topology
    else:
        kept = set()
    for name in names:
        chosen = find_existing(topology, [name])
        if name in disks:
            above = (edge.above for device in chosen for edge in topology.above(device))
            chosen += [device for device in above if topology[device].kind is Kind.PARTITION]
        is_alone = name.removeprefix(DEV) in topology.devices or re.search(NAME_PATTERN, name)
        kept.update(chosen if is_alone else topology.select(chosen).devices)
    return topology.subset(kept)


def _layers(
    topology: Topology, chosen: list[str], looks: Looks, table: Arrangement, lives: DiskLives
) -> Show:
    from stackmap.ledger.amplification import LayerReport

    def show(interval: Interval) -> None:
        report = LayerReport(
            topology, interval, chosen, skip_idle=looks["skip_idle"], lives=lives.of(topology)
        )
        if looks["as_json"]:
            from stackmap.render.figures_json import layers_json

            click.echo(json.dumps(layers_json(report.stacks, report.interval)))
            return
        from stackmap.document.layers import layers_document

        blocks = layers_document(
            report.stacks, report.interval, time=looks["time"], why=looks["why"]
        )
        print_blocks(table.of(blocks), heading=not looks["no_heading"], after="\n")

    return show


def idle_stacks_last(
    rows: Iterable[tuple[Device, int]], interval: Interval
) -> Iterator[tuple[Device, int]]:
    """Yield *rows* with the stacks without I/O in *interval* after all others: unused loops and drives."""
    stacks: list[list[tuple[Device, int]]] = []
    for row in rows:
        if row[1] == 0:
            stacks.append([])
        stacks[-1].append(row)

    def is_idle(stack: list[tuple[Device, int]]) -> bool:
        loads = (interval.loads.get(device.name) for device, _ in stack)
        return all(load is None or load.idle for load in loads)

    for stack in sorted(stacks, key=is_idle):
        yield from stack


def _devices(topology: Topology, part: Topology, looks: Looks, table: Arrangement) -> Show:
    from stackmap.ledger.layers import totals

    rows: list[tuple[Device, int]] = []

    if table and (not table.columns or table.adds):
        shown = (m.heading for m in METRICS if looks["extended"] or not m.extended)
        table = table._replace(columns=(*shown, *table.names))
    options = {name: looks[name] for name in ("skip_idle", "time", "why")}
    options["extended"] = looks["extended"] or bool(table)

    def show(interval: Interval) -> None:
        right = corrected(topology, interval)
        shown = (note for note in right.corrections if note.partition(": ")[2] in part.devices)
        right = replace(right, corrections=tuple(shown))
        sums = totals(part, right.loads) if looks["totals"] else ()
        if not rows:  # the order stays from report to report
            depths = part.rows() if not table.sort else ((device, 0) for device, _ in part.rows())
            rows.extend(idle_stacks_last(depths, right))
        if looks["as_json"]:
            from stackmap.render.json import iostat_json

            busy = [
                row
                for row in rows
                if not looks["skip_idle"]
                or ((load := right.loads.get(row[0].name)) and not load.idle)
            ]
            click.echo(json.dumps(iostat_json(busy, right, sums)))
            return
        from stackmap.document.iostat import iostat_document

        blocks = iostat_document(rows, right, sums, **options)
        heading = not looks["no_heading"]
        print_blocks(table.of(blocks), heading=heading, after="\n" * heading)

    return show
