"""
The campaign: hostile input to every command, with limits, and a table of what failed.

``python -m tests.fuzz.campaign [--seconds N] [--cases N] [--seed N] [--kills N] [PART...]``. A case
is found again by its part, seed and number: ``--only PART:NUMBER`` runs that one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from tests.fuzz import (
    budgets,
    hostile_captures,
    hostile_recordings,
    hostile_servers,
    hostile_texts,
    hostile_tickets,
    hour,
    inputs,
    killed,
    large,
    machines,
    options,
    outputs,
    pasted,
    processes,
    rates,
    steady,
)
from tests.fuzz.running import Tally, prepare

Case = Callable[[Tally, random.Random, Path], None]
Whole = Callable[[Tally, Path], None]

ATTACKS, GENERATED, TICKETS, TABLES = "attacks", "budgets", "tickets", "recordings"
INPUTS, EXPORTS = "inputs", "exports"
SHOWN = 40  # attacks in the table
# Parts of many random cases, each with its share of the time.
RANDOM: Mapping[str, tuple[Case, float]] = {
    "files": (hostile_captures.damaged_files, 4),
    "manifests": (hostile_captures.manifests, 2),
    "logs": (hostile_captures.logs, 3),
    "tars": (hostile_captures.tars, 2),
    "names": (hostile_captures.names, 3),
    "tracers": (hostile_texts.tracers, 3),
    "texts": (hostile_texts.garbage, 2),
    "options": (options.combined, 3),
    "pasted": (pasted.values, 1),
    "rates": (rates.true_rates, 1),
    "machines": (machines.known_machines, 2),
    "stubs": (processes.stubs, 3),
    "signals": (processes.signals, 2),
    GENERATED: (budgets.generated, 2),
    INPUTS: (inputs.generated, 4),
    "answers": (hostile_servers.answers, 1),
    "planted": (outputs.planted, 3),
    "full disks": (outputs.full, 2),
}
# Parts that run once, as long as they take.
WHOLE: Mapping[str, Whole] = {
    "bombs": large.bombs,
    "large texts": large.texts,
    "servers": hostile_servers.named,
    ATTACKS: budgets.named,
    TICKETS: hostile_tickets.named,
    TABLES: hostile_recordings.named,
    EXPORTS: budgets.exports,
    **{f"growth {shape.__name__}": partial(large.growth, shape=shape) for shape in large.SHAPES},
}
GROWTH = "growth"  # all parts that begin so
# Parts that take too long for each campaign: they run if they are named.
LONG: Mapping[str, Whole] = {
    "steady": steady.steady,
    "trimmed": steady.trimmed,
    "hour": hour.hour,
}
KILLS = "kills"
ALONE = (
    360.0  # seconds that the parts of growth take, one at a time: another part makes theirs longer
)
ONCE = 200.0  # seconds of one processor that the other parts of ``WHOLE`` and the kills take
PROCESSES = 2  # other parts that run at a time


Job = tuple[str, Callable[[Tally, Path], None]]


def campaign(
    seconds: float,
    seed: int,
    kills: int,
    folder: Path,
    parts: list[str],
    *,
    whole: bool = True,
    cases: int | None = None,
) -> list[Tally]:
    """
    Run *parts* (none: all) for about *seconds*, or *cases* of each; return what each of them found.

    Growth is measured alone. ``PROCESSES`` of the others run at a time, those that take long first.
    """
    prepare()
    chosen = {name: part for name, part in RANDOM.items() if not parts or name in parts}
    once = {
        name: part
        for name, part in (WHOLE | LONG).items()
        if name in parts
        or (GROWTH in parts and name.startswith(GROWTH))
        or (whole and not parts and name in WHOLE)
    }
    alone: list[Job] = [job for job in once.items() if job[0].startswith(GROWTH)]
    jobs: list[Job] = [job for job in reversed(once.items()) if job not in alone]
    if kills and (not parts or KILLS in parts):
        jobs.insert(0, (KILLS, partial(_kills, seed, kills)))
    left = max(10.0, PROCESSES * (seconds - (ALONE if alone else 0)) - (ONCE if once else 0))
    shares = sum(share for _, share in chosen.values())
    for name, (case, share) in chosen.items():
        jobs.append((name, partial(_cases, case, seed, left * share / shares, cases)))
    found = list(_done(alone, folder / "alone", 1))
    return found + list(_done(jobs, folder / "beside", PROCESSES))


def _kills(seed: int, count: int, tally: Tally, folder: Path) -> None:
    for number in range(count):
        case = killed.beside_a_reader if number % 2 else processes.killed_recording
        case(tally, random.Random(f"{seed} {KILLS} {number}"), folder)


def _cases(
    case: Case, seed: int, seconds: float, count: int | None, tally: Tally, folder: Path
) -> None:
    """Run *count* cases, or as many as begin within *seconds*."""
    end = time.monotonic() + seconds
    number = 0
    while number < count if count else time.monotonic() < end or number == 0:
        case(tally, random.Random(f"{seed} {tally.part} {number}"), folder)
        number += 1


def _done(jobs: list[Job], folder: Path, processes: int) -> Iterator[Tally]:
    """Run each of *jobs* in a process and a folder of its own, so many at a time; yield and print its tally."""
    if not jobs:
        return
    folder.mkdir()
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        places = [(*job, folder / str(number)) for number, job in enumerate(jobs)]
        for number, tally in enumerate(pool.imap_unordered(_job, places)):
            report([tally], heading=not number)
            yield tally


def _job(job: tuple[str, Callable[[Tally, Path], None], Path]) -> Tally:
    name, part, place = job
    place.mkdir()
    tally = Tally(name)
    part(tally, place)
    shutil.rmtree(place, ignore_errors=True)
    return tally


def report(tallies: list[Tally], *, heading: bool = True) -> None:
    """Print a row per part."""
    if heading:
        print(
            f"{'part':17} {'cases':>7} {'failures':>9} {'MiB':>5} {'CPU s':>6}  exit status: cases"
        )
    for tally in tallies:
        ends = ", ".join(f"{status}: {count}" for status, count in sorted(tally.statuses.items()))
        print(
            f"{tally.part:17} {tally.cases:7} {len(tally.failures):9} {tally.memory:5}"
            f" {tally.cpu:6.1f}  {ends}",
            flush=True,
        )


def _report_worst(tallies: list[Tally]) -> None:
    """Print the attacks that took most, with their memory and time."""
    rows = [
        (memory, cpu, what)
        for tally in tallies
        if tally.part in (ATTACKS, GENERATED, INPUTS, TICKETS, TABLES, EXPORTS)
        for what, (memory, cpu) in tally.worst.items()
    ]
    if rows:
        print(f"\n{'attack':50} {'MiB':>5} {'CPU s':>6}")
    for memory, cpu, what in sorted(rows, reverse=True)[:SHOWN]:
        print(f"{what[:50]:50} {memory:5} {cpu:6.1f}")


def main() -> int:
    """Run the campaign; return 1 if a case failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--cases", type=int, help="of each part, however long they take")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="without the parts that run once")
    parser.add_argument("--only", metavar="PART:NUMBER")
    parser.add_argument(
        "parts", nargs="*", choices=[[], *RANDOM, *WHOLE, GROWTH, *LONG, KILLS], default=[]
    )
    options = parser.parse_args()
    folder = tempfile.mkdtemp()  # not TemporaryDirectory: a child that ends would remove it
    try:
        if options.only:
            prepare()
            name, _, number = options.only.partition(":")
            tally = Tally(name)
            RANDOM[name][0](tally, random.Random(f"{options.seed} {name} {number}"), Path(folder))
            tallies = [tally]
            report(tallies)
        else:
            tallies = campaign(
                options.seconds,
                options.seed,
                options.kills,
                Path(folder),
                options.parts,
                whole=not options.short,
                cases=options.cases,
            )
    finally:
        shutil.rmtree(folder)
    _report_worst(tallies)
    failures = [failure for tally in tallies for failure in tally.failures]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{sum(tally.cases for tally in tallies)} cases, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
