"""
``./run bench``: what the commands cost, against what they are allowed to.

``bench.py [-n RUNS] [NAME...]``; exits with 1 where a budget is exceeded. Add
a benchmark by adding a line to BENCHMARKS. ``bench.py lab`` boots a guest with
2,000 devices instead, and prints what commands cost beside lsblk.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

# Run as a script, so that its folder is on the path already; no package, no install.
import growth
import guest
import logs
import many
import recording
import reports
import watching
from measure import Command, Cost, compare
from tabulate import tabulate

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
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

# In instructions (valgrind --tool=cachegrind, PYTHONHASHSEED=0) a tree is 1.53 times click: 211 of 138 million.
# python and click take 122 here (fewer searches for cycles), json and locale 8, the import of 66 modules of
# stackmap 56, and the work 25. One module without classes and checks takes 172 in all: 1.25 times click.
BENCHMARKS = [
    Benchmark(
        "tree of a sample",
        [*STACKMAP, "--from", SAMPLE, "tree"],
        CLICK,
        1.6,
        "import click",
    ),
    Benchmark(
        "tree of a sample by hand (the least)",
        [PYTHON, HERE / "tree_by_hand.py", "--from", SAMPLE, "tree"],
        CLICK,
        1.6,
        "import click",
    ),
    Benchmark(
        "completion of a name",
        ["env", "_STACKMAP_COMPLETE=bash", *STACKMAP, "--from", SAMPLE, "tree", "v"],
        CLICK,
        1.7,
        "import click; at most 100 ms",
    ),
    Benchmark("tree of this machine", [*STACKMAP, "tree"], CLICK, 1.6, "import click"),
]


@dataclass(frozen=True)
class Stream:
    """
    What *command* does with a log of *size* bytes, given as its last argument.

    At least *least* MB a second of CPU; at least *times* as many as jc does
    with as much of it as jc can hold. In no more memory than *most* bytes.
    """

    name: str
    command: Command
    size: int
    most: int
    least: float = 0.0
    times: float = 0.0
    varied: bool = False  # no figure repeats


MB = 1_000_000
MOST_RUNS = 5  # of a log: each takes a second or more
JC_HOLDS = 10 * MB  # of 200 MB it would make 4 GB of objects
# jc takes a file as its standard input; a shell gives it one.
JC = ["sh", "-c", '"$0" --iostat < "$1"', Path(PYTHON).with_name("jc")]

STREAMS = [
    Stream(
        "annotate a log",
        [*STACKMAP, "--from", SAMPLE, "annotate"],
        size=200 * MB,
        most=64 * MB,
        least=40,
    ),
    Stream(
        "average of a log",
        [*STACKMAP, "--from", SAMPLE, "iostat", "--report", "average", "--input"],
        size=200 * MB,
        most=64 * MB,
        times=20,
    ),
    Stream(
        "annotate a varied log",
        [*STACKMAP, "--from", SAMPLE, "annotate"],
        size=60 * MB,
        most=64 * MB,
        times=5,
        varied=True,
    ),
    Stream(
        "average of a varied log",
        [*STACKMAP, "--from", SAMPLE, "iostat", "--report", "average", "--input"],
        size=60 * MB,
        most=64 * MB,
        times=4,
        varied=True,
    ),
    Stream(
        "its words as numbers (the least)",
        [PYTHON, HERE / "splitting.py"],
        size=60 * MB,
        most=64 * MB,
        times=4,
        varied=True,
    ),
]


# What takes a setting of its own to measure, and prints its own table.
OTHERS = {
    "tree of many devices": many.costs,
    "cost of recording": recording.costs,
    "interval of top": watching.costs,
    "reports and uevents": reports.costs,
    "growth with devices": growth.costs,
    "window of a day": recording.windows,
}


def main() -> int:
    options = argparse.ArgumentParser(description="What stackmap's commands cost.")
    options.add_argument("-n", type=int, default=21, metavar="RUNS", help="of each command")
    options.add_argument("names", nargs="*", help="only benchmarks whose name holds one of these")
    chosen = options.parse_args()
    if chosen.names == ["lab"]:  # on its own: a boot, and some minutes
        guest.many()
        return 0
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
    if rows:
        print(tabulate(rows, headers=heading, floatfmt=".1f"))
    chosen_streams = [
        stream
        for stream in STREAMS
        if not chosen.names or any(word in stream.name for word in chosen.names)
    ]
    failed |= not streamed(chosen_streams, min(chosen.n, MOST_RUNS))
    for name, measured in OTHERS.items():
        if not chosen.names or any(word in name for word in chosen.names):
            failed |= not measured()
    return int(failed)


def streamed(streams: list[Stream], runs: int) -> bool:
    """Measure *streams*, print what came of it, and return whether all are as they should be."""
    rows, fine = [], True
    with TemporaryDirectory() as directory:
        for stream in streams:
            log, part = (_log(stream, size, Path(directory)) for size in (stream.size, JC_HOLDS))
            commands = {"ours": [*stream.command, log]}
            if stream.times:
                commands["jc"] = [*JC, part]
            costs = compare(commands, runs)
            row, passed = judge_stream(stream, costs["ours"], costs.get("jc"))
            rows.append(row)
            fine &= passed
    if rows:
        heading = [
            "stream",
            "MB/s",
            "at least",
            "jc MB/s",
            "times jc",
            "at least",
            "RSS MB",
            "at most",
        ]
        print(tabulate(rows, headers=[*heading, "verdict"], floatfmt=".1f"))
    return fine


def _log(stream: Stream, size: int, directory: Path) -> Path:
    """Return a log of *size* bytes as *stream* wants it, made if there is none."""
    path = directory / f"iostat-x-{size // MB}-MB{'-varied' * stream.varied}.txt"
    if path.exists():
        return path
    if stream.varied:
        logs.write_varied(path, size)
    else:
        logs.write(path, SAMPLE, size)
    return path


def judge_stream(stream: Stream, ours: Cost, jc: Cost | None) -> tuple[list[object], bool]:
    """Return the row for *stream*, and whether it is as fast and as small as it should be."""
    speed = 1000 * stream.size / MB / ours.median
    theirs = None if jc is None else 1000 * JC_HOLDS / MB / jc.median
    times = None if theirs is None else speed / theirs
    fine = speed >= stream.least and ours.memory <= stream.most
    fine = fine and (times is None or times >= stream.times)
    row = [stream.name, speed, stream.least or None, theirs, times, stream.times or None]
    row += [ours.memory / MB, stream.most / MB]
    return [*row, "ok" if fine else "TOO SLOW OR TOO LARGE"], fine


def judge(bench: Benchmark, ours: Cost, theirs: Cost) -> tuple[list[object], bool]:
    """Return the row for *bench*, and whether it is within its budget."""
    ratio = ours.median / theirs.median
    fine = ratio <= bench.budget
    row = [bench.name, ours.median, ours.spread, bench.why, theirs.median, theirs.spread]
    return [*row, f"{ratio:.2f}x", f"{bench.budget:g}x", "ok" if fine else "TOO MUCH"], fine


if __name__ == "__main__":
    sys.exit(main())
