"""``stackmap fiojob``: a measured load as a job for fio."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.fiojob.job import Job, job_of
from stackmap.analysis.fiojob.load import DIRECTIONS, Measuring
from stackmap.analysis.fiojob.sizes import Sizes, given
from stackmap.analysis.fiojob.target import in_use, is_source
from stackmap.analysis.plan.ground import path_of
from stackmap.cli.measuring import Wanted, at, measuring, split_words
from stackmap.discover import discover
from stackmap.errors import InputError, NameNotFound, TargetRefused
from stackmap.find import find, find_all
from stackmap.render.fiojob import fiojob_json, fiojob_text
from stackmap.render.text import safe

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.topology import Topology

COUNT = 60  # of a live machine
DEV = "/dev/"


def _given(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, Sizes]:
    found = {}
    for value in values:
        direction, _sign, sizes = value.partition("=")
        if direction not in DIRECTIONS:
            raise click.BadParameter(f"takes read=SIZES or write=SIZES, not {value}")
        try:
            found[direction] = given(sizes)
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
    names, seconds, count = split_words(words)
    if len(names) != 1:
        raise click.UsageError("whose load? fiojob takes one NAME")
    topology, looked = at(session, text, repeated=True)
    name = _one(topology, names[0])
    session.tell_unknown(topology)
    path = "" if target is None else _target(session, topology, name, target)
    wanted = Wanted(seconds, count, looked, report, boot).apart(session, COUNT)
    taken = Measuring(topology, name, sizes)
    for interval in wanted.intervals(session, topology):
        taken.add(interval)
    job = _job(taken, path, runtime)
    click.echo(json.dumps(fiojob_json(job)) + "\n" if as_json else fiojob_text(job), nl=False)


def _one(topology: Topology, name: str) -> str:
    found = find_all(topology, [name])
    if len(found) > 1:
        titles = ", ".join(topology[each].title for each in found[:5])
        raise click.UsageError(f"{name} means {len(found)} devices ({titles}): name one")
    return found[0]


def _job(taken: Measuring, path: str, runtime: int | None) -> Job:
    load = taken.result()
    if load is None:
        raise InputError(f"{taken.topology[taken.name].title}: not among the counters")
    if not load.streams:
        raise InputError(f"{load.device.title} did nothing: there is no load to make again")
    return job_of(load, path, runtime)


def _target(session: Session, topology: Topology, source: str, target: str) -> str:
    """
    Return the path of *target*; ``TargetRefused`` where it is, or may be, in use.

    It is looked up where the load was measured, and on this machine, where
    fio may be run: a path may mean another device there.
    """
    machines = [topology]
    if not session.live:
        from stackmap.host.live import LiveHost

        machines.append(discover(LiveHost()))
    paths = [_judged(machine, source, target, first=machine is topology) for machine in machines]
    path = next(filter(None, paths), "") or _file(target)
    if safe(path) != path or " " in path:
        raise TargetRefused(f"{safe(path)}: no name for a job file")
    return path


def _judged(machine: Topology, source: str, target: str, *, first: bool) -> str:
    found = find(machine, target)
    if len(found) > 1:
        raise click.UsageError(f"--target {target} means {len(found)} devices: name one")
    if not found:
        return ""
    (name,) = found
    if first and is_source(machine, source, name):
        raise TargetRefused(f"{target} is where the load comes from, or a part of it")
    reason = in_use(machine, name)
    if reason:
        raise TargetRefused(f"{target} {reason}: a job is for a volume that nobody uses")
    return path_of(machine[name])


def _file(target: str) -> str:
    if target.startswith(DEV) or os.sep not in target:
        raise NameNotFound(f"no device is named {target}")
    if not os.path.isfile(target):
        raise InputError(f"{target}: no file; make it first, as large as the test shall be")
    return os.path.abspath(target)
