"""``stackmap fiojob``: a measured load as a job for fio."""

import json
from typing import TYPE_CHECKING

import click

from stackmap.cli.options import MeasuringOptions, json_option, measuring_one
from stackmap.cli.output import tell
from stackmap.features.fiojob.job import fiojob_json, fiojob_text, job_of
from stackmap.features.fiojob.load import DIRECTIONS, LoadMeasurement
from stackmap.features.fiojob.sizes import Sizes, parse_sizes
from stackmap.features.fiojob.target import NONE, target_of

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.measurement.source import Measurement

COUNT = 60  # intervals of a second on a live machine


def _given(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, Sizes]:
    given = {}
    for value in values:
        direction, _sign, sizes = value.partition("=")
        if direction not in DIRECTIONS:
            raise click.BadParameter(f"must be read=SIZES or write=SIZES, not {value}")
        try:
            given[direction] = parse_sizes(sizes)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    return given


@click.command()
@measuring_one
@click.option(
    "--target",
    metavar="PATH|NAME",
    help="Unused volume or file for the job [default: ${TARGET}].",
)
@click.option(
    "--runtime",
    metavar="SECONDS",
    type=click.IntRange(1, 31_536_000),
    help="Run time [default: as measured, at most one hour].",
)
@click.option(
    "--sizes",
    multiple=True,
    metavar="read|write=SIZES",
    callback=_given,
    help="Request sizes, if known: write=4k/70:64k/30.",
)
@json_option
@click.pass_obj
def command(
    session: "Session",
    /,
    options: MeasuringOptions,
    target: str | None,
    runtime: int | None,
    sizes: dict[str, Sizes],
    as_json: bool,
) -> None:
    """
    Print the measured load as a fio job.

    Nothing is run. Measures one minute, or COUNT times INTERVAL; a capture or
    FILE is read completely. Short intervals give better request sizes.
    """
    measured = session.measure(options, each=COUNT)
    name = _one(measured, options.names[0])
    onto = NONE if target is None else target_of(session, measured, name, target)
    taken = LoadMeasurement(measured.topology, name, sizes)
    for interval in measured.intervals():
        taken.add(interval)
    job = job_of(taken.result(), onto.path, runtime, onto.notes)
    for note in job.notes:
        tell(note)
    click.echo(json.dumps(fiojob_json(job)) + "\n" if as_json else fiojob_text(job), nl=False)


def _one(measured: "Measurement", name: str) -> str:
    devices = measured.devices
    if len(devices) > 1:
        titles = ", ".join(measured.topology[device].title for device in devices[:5])
        raise click.UsageError(f"{name} matches {len(devices)} devices ({titles}): choose one")
    return devices[0]
