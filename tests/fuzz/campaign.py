"""
The campaign: hostile input to every command, with limits, and a table of what failed.

``python -m tests.fuzz.campaign [--seconds N] [--cases N] [--seed N] [--kills N] [PART...]``. A case
is found again by its part, seed and number: ``--only PART:NUMBER`` runs that one.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fuzz import (
    hostile_captures,
    hostile_texts,
    killed,
    large,
    machines,
    outputs,
    processes,
    rates,
    steady,
)
from tests.fuzz.running import Tally, prepare

Case = Callable[[Tally, random.Random, Path], None]
Whole = Callable[[Tally, Path], None]

# Parts of many random cases, each with its share of the time.
RANDOM: Mapping[str, tuple[Case, float]] = {
    "files": (hostile_captures.damaged_files, 4),
    "manifests": (hostile_captures.manifests, 2),
    "logs": (hostile_captures.logs, 3),
    "tars": (hostile_captures.tars, 2),
    "names": (hostile_captures.names, 3),
    "tracers": (hostile_texts.tracers, 3),
    "texts": (hostile_texts.garbage, 2),
    "rates": (rates.true_rates, 1),
    "machines": (machines.known_machines, 2),
    "stubs": (processes.stubs, 3),
    "signals": (processes.signals, 2),
    "planted": (outputs.planted, 3),
    "full disks": (outputs.full, 2),
}
# Parts that run once, as long as they take.
WHOLE: Mapping[str, Whole] = {
    "bombs": large.bombs,
    "large texts": large.texts,
    "growth": large.growth,
}
# Parts that take too long for each campaign: they run if they are named.
LONG: Mapping[str, Whole] = {"steady": steady.steady, "trimmed": steady.trimmed}
KILLS = "kills"
ONCE = 300.0  # seconds that the parts of ``WHOLE`` and the kills take together


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
    """Run *parts* (none: all) for about *seconds*, or *cases* of each; return what each of them found."""
    prepare()
    tallies = []
    chosen = {name: part for name, part in RANDOM.items() if not parts or name in parts}
    once = {name: part for name, part in WHOLE.items() if (whole and not parts) or name in parts}
    once |= {name: part for name, part in LONG.items() if name in parts}
    kills = kills if not parts or KILLS in parts else 0
    left = max(10.0, seconds - (ONCE if once else 0))
    shares = sum(share for _, share in chosen.values())
    for name, (case, share) in chosen.items():
        tally = Tally(name)
        end = time.monotonic() + left * share / shares
        number = 0
        while number < cases if cases else time.monotonic() < end or number == 0:
            case(tally, random.Random(f"{seed} {name} {number}"), folder)
            number += 1
        tallies.append(tally)
        report([tally], heading=len(tallies) == 1)
    for name, part in once.items():
        tally = Tally(name)
        part(tally, folder)
        tallies.append(tally)
        report([tally], heading=len(tallies) == 1)
    if kills:
        tally = Tally(KILLS)
        for number in range(kills):
            case = killed.beside_a_reader if number % 2 else processes.killed_recording
            case(tally, random.Random(f"{seed} kills {number}"), folder)
        tallies.append(tally)
        report([tally], heading=len(tallies) == 1)
    return tallies


def report(tallies: list[Tally], *, heading: bool = True) -> None:
    """Print a row per part."""
    if heading:
        print(
            f"{'part':12} {'cases':>7} {'failures':>9} {'MiB':>5} {'CPU s':>6}  exit status: cases"
        )
    for tally in tallies:
        ends = ", ".join(f"{status}: {count}" for status, count in sorted(tally.statuses.items()))
        print(
            f"{tally.part:12} {tally.cases:7} {len(tally.failures):9} {tally.memory:5}"
            f" {tally.cpu:6.1f}  {ends}",
            flush=True,
        )


def main() -> int:
    """Run the campaign; return 1 if a case failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--cases", type=int, help="of each part, however long they take")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="without the parts that run once")
    parser.add_argument("--only", metavar="PART:NUMBER")
    parser.add_argument("parts", nargs="*", choices=[[], *RANDOM, *WHOLE, *LONG, KILLS], default=[])
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
    failures = [failure for tally in tallies for failure in tally.failures]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{sum(tally.cases for tally in tallies)} cases, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
