"""
``./run bench``: what the commands cost, against what they are allowed to.

``bench.py [-n RUNS] [NAME...]``; exits with 1 where a budget is exceeded. Add
a benchmark by adding a line to BENCHMARKS.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

# Run as a script, so that its folder is on the path already; no package, no install.
from measure import Command, Cost, compare
from tabulate import tabulate

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_topologies" / "vghdd"
PYTHON = sys.executable
STACKMAP = [Path(PYTHON).with_name("stackmap")]


@dataclass(frozen=True)
class Benchmark:
    """*command* may cost *budget* times what *against* does; *why* that is the measure."""

    name: str
    command: Command
    against: Command
    budget: float
    why: str


# What starting costs any program made with click: below it we cannot get.
CLICK = [PYTHON, "-c", "import click"]

BENCHMARKS = [
    Benchmark(
        "tree of a sample",
        [*STACKMAP, "--from", SAMPLE, "tree"],
        CLICK,
        2.0,
        "import click",
    ),
    Benchmark("tree of this machine", [*STACKMAP, "tree"], CLICK, 2.0, "import click"),
]


def main() -> int:
    options = argparse.ArgumentParser(description="What stackmap's commands cost.")
    options.add_argument("-n", type=int, default=21, metavar="RUNS", help="of each command")
    options.add_argument("names", nargs="*", help="only benchmarks whose name holds one of these")
    chosen = options.parse_args()
    rows, failed = [], False
    for bench in BENCHMARKS:
        if chosen.names and not any(word in bench.name for word in chosen.names):
            continue
        try:
            costs = compare({"ours": bench.command, "theirs": bench.against}, chosen.n)
        except RuntimeError as error:  # one that cannot be run does not hide the others
            print(f"{bench.name}: {error}", file=sys.stderr)
            failed = True
            continue
        row, fine = judge(bench, costs["ours"], costs["theirs"])
        rows.append(row)
        failed |= not fine
    heading = ["benchmark", "CPU ms", "±", "against", "CPU ms", "±", "ratio", "budget", "verdict"]
    print(tabulate(rows, headers=heading, floatfmt=".1f"))
    return int(failed)


def judge(bench: Benchmark, ours: Cost, theirs: Cost) -> tuple[list[object], bool]:
    """Return the row for *bench*, and whether it is within its budget."""
    ratio = ours.median / theirs.median
    fine = ratio <= bench.budget
    row = [bench.name, ours.median, ours.spread, bench.why, theirs.median, theirs.spread]
    return [*row, f"{ratio:.2f}x", f"{bench.budget:g}x", "ok" if fine else "TOO MUCH"], fine


if __name__ == "__main__":
    sys.exit(main())
