"""``stackmap fiojob``: a measured load as a job for fio."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.fiojob.job import Job, job_of
from stackmap.analysis.fiojob.load import DIRECTIONS, LoadMeasurement
from stackmap.analysis.fiojob.sizes import Sizes, parse_sizes
from stackmap.cli.measuring import Wanted, at, measuring, split_words
from stackmap.cli.target import NONE, Target, target_of
from stackmap.errors import InputError
from stackmap.find import find_all
from stackmap.render.fiojob import fiojob_json, fiojob_text

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.topology import Topology

COUNT = 60  # of a live machine


def _given(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, Sizes]:
    found = {}
    for value in values:
        direction, _sign, sizes = value.partition("=")
        if direction not in DIRECTIONS:
            raise click.BadParameter(f"takes read=SIZES or write=SIZES, not {value}")
        try:
            found[direction] = parse_sizes(sizes)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    return found


@click.command()
@measuring
@click.option(
    "--target",
    metavar="PATH|NAME",
    help="What the job runs on: a volume that nobody uses, or a file; without it, ${TARGET}.",
)
@click.option(
    "--runtime",
    metavar="SECONDS",
    type=click.IntRange(1, 31_536_000),
    help="How long the job runs: else as long as was measured, an hour at most.",
)
@click.option(
    "--sizes",
    multiple=True,
    metavar="read|write=SIZES",
    callback=_given,
    help="The sizes where they are known better than counters tell them: write=4k/70:64k/30.",
)
@click.option("-J", "--json", "as_json", is_flag=True, help="A JSON object, with the job in it.")
@click.pass_obj
def command(
    session: Session,
    /,
    words: tuple[str, ...],
    text: BinaryIO | None,
    report: str | None,
    boot: bool,
    target: str | None,
    runtime: int | None,
    sizes: dict[str, Sizes],
    as_json: bool,
) -> None:
    """
    Print the measured load of NAME as a fio job for a test volume.

    A minute is measured, or COUNT times INTERVAL; of a capture or FILE, all
    there is. Short intervals tell more of the sizes. Nothing is run.
    """
    from stackmap.cli import tell

    names, seconds, count = split_words(words)
    if len(names) != 1:
        raise click.UsageError("whose load? fiojob takes one NAME")
    topology, looked = at(session, text, repeated=True)
    name = _one(topology, names[0])
    session.tell_unknown(topology)
    onto = NONE if target is None else target_of(session, topology, name, target)
    wanted = Wanted(seconds, count, looked, report, boot).apart(session, COUNT)
    wanted = wanted.near(topology, [name])
    taken = LoadMeasurement(topology, name, sizes)
    for interval in wanted.intervals(session, topology):
        taken.add(interval)
    job = _job(taken, onto, runtime)
    for note in job.notes:
        tell(note)
    click.echo(json.dumps(fiojob_json(job)) + "\n" if as_json else fiojob_text(job), nl=False)


def _one(topology: Topology, name: str) -> str:
    found = find_all(topology, [name])
    if len(found) > 1:
        titles = ", ".join(topology[each].title for each in found[:5])
        raise click.UsageError(f"{name} means {len(found)} devices ({titles}): name one")
    return found[0]


def _job(taken: LoadMeasurement, onto: Target, runtime: int | None) -> Job:
    load = taken.result()
    if load is None:
        raise InputError(f"{taken.topology[taken.name].title}: not among the counters")
    if not load.streams:
        raise InputError(f"{load.device.title} did nothing: there is no load to make again")
    return job_of(load, onto.path, runtime, onto.notes)
