"""
``./run lab all``: boot every scenario on every kernel, then test what they left.

It may be ended and started again at any time: a boot is kept until something
that ran in its guest changes. Those that were never booted come first, then
the oldest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tabulate import tabulate

from tests.lab.boots import Boot, listed, seconds_of
from tests.lab.inputs import HERE

KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stackmap-lab" / "all"


def main() -> int:
    """Return the exit status of the tests; 75 if boots are left for the next run."""
    options, words = _parser().parse_known_args()
    out = Path(os.environ.get("STACKMAP_LAB_OUT") or KEPT)
    if options.kernel:
        os.environ["STACKMAP_LAB_KERNELS"] = options.kernel
    wanted = [b for b in _wanted(words) if options.kernel in (None, b.kernel)]
    boots = sorted(wanted, key=lambda boot: _last_booted(boot, out))
    if not boots:
        print("lab: no test of this selection needs a boot", file=sys.stderr)
        return _tests(words, out)
    if options.list:
        print(_table(boots, out))
        return 0
    interrupted = False
    try:
        _boot(boots, out, time.monotonic() + options.minutes * 60)
    except KeyboardInterrupt:
        interrupted = True
    print(_table(boots, out), flush=True)
    if interrupted:
        return 130
    status = _tests(words, out)
    left = sum(not boot.has_ended(out / boot.name) for boot in boots)
    if left:
        print(
            f"lab: {left} of {len(boots)} boots are left; run ./run lab all again", file=sys.stderr
        )
    return status or (75 if left else 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./run lab all", description=__doc__, epilog="Other words go to pytest."
    )
    parser.add_argument(
        "--list", action="store_true", help="show what would be booted, and for how long"
    )
    parser.add_argument(
        "--kernel", metavar="VERSION", help="boot this kernel only: 6.1, 6.12, newest …"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=140,
        help="start no boot that would end later (default %(default)s)",
    )
    return parser


def _wanted(words: list[str]) -> list[Boot]:
    """Return the boots that the selected tests ask for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "boots"
        asking = {"STACKMAP_LAB_BOOTS": "list", "STACKMAP_LAB_LIST": str(path)}
        done = _pytest([*words, "-q", "--no-header", "-p", "no:xdist"], asking, quiet=True)
        if done.returncode not in (0, 5):
            sys.exit(f"lab: the tests cannot be listed:\n{done.stdout}")
        return listed(path)


def _tests(words: list[str], out: Path) -> int:
    """Test what the boots left."""
    kept = {"STACKMAP_LAB_BOOTS": "none", "STACKMAP_LAB_OUT": str(out)}
    return _pytest(words, kept).returncode


def _pytest(
    words: list[str], variables: dict[str, str], *, quiet: bool = False
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", str(HERE), *words],
        env={**os.environ, "STACKMAP_LAB": "all", **variables},
        stdout=subprocess.PIPE if quiet else None,
        text=True,
        check=False,
    )


def _boot(boots: Iterable[Boot], out: Path, deadline: float) -> None:
    """Boot one after another what is not kept, with a line for each."""
    todo = [boot for boot in boots if not boot.has_ended(out / boot.name)]
    for number, boot in enumerate(todo, 1):
        place = out / boot.name
        with boot.alone(place):
            if time.monotonic() + _expected(boot, out) > deadline:
                continue
            print(f"{number}/{len(todo)} {boot.name} ...", end=" ", flush=True)
            boot.run_again(place)
            print(f"{_clock(seconds_of(place))} {_state(boot, place)}", flush=True)


def _table(boots: Iterable[Boot], out: Path) -> str:
    rows = [(b.name, _state(b, out / b.name), _clock(seconds_of(out / b.name))) for b in boots]
    left = [b for b in boots if not b.has_ended(out / b.name)]
    expected = sum(_expected(b, out) for b in left)
    table = tabulate(sorted(rows), ("boot", "state", "last boot"))
    return f"{table}\n{len(left)} of {len(rows)} boots are left: about {expected / 60:.0f} minutes"


def _state(boot: Boot, out: Path) -> str:
    if not boot.has_ended(out):
        return "to boot"
    return "booted" if isinstance(boot.outcome(out), Path) else "failed"


def _expected(boot: Boot, out: Path) -> float:
    """Return the seconds of the last boot; of the scenario's longest, or half the limit, if there was none."""
    if seconds := seconds_of(out / boot.name):
        return seconds
    others = (seconds_of(path) for path in out.glob(f"{boot.scenario}-6.*"))
    return max((each for each in others if each), default=boot.timeout / 2)


def _clock(seconds: int | None) -> str:
    return "-" if seconds is None else f"{seconds // 60}:{seconds % 60:02}"


def _last_booted(boot: Boot, out: Path) -> float:
    path = out / boot.name / ".lab" / "seconds"
    return path.stat().st_mtime if path.exists() else 0.0


if __name__ == "__main__":
    sys.exit(main())
