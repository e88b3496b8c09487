"""What commands cost with 16,000 devices beside 1,000: at most ``GROWTH`` times as much, so work grows with devices."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from measure import cpu  # noqa: E402 - beside this file
from tabulate import tabulate  # noqa: E402

from tests.fuzz.large import COMMANDS, GROWTH, machine, volumes  # noqa: E402

STACKMAP = Path(sys.executable).with_name("stackmap")
FEW, MANY = 1000, 16000


def costs() -> bool:
    """Print what each command costs; the small machine is measured before and after the large one."""
    rows, fine = [], True
    with TemporaryDirectory() as directory:
        few, many = (
            machine(Path(directory) / f"{count}.tar", volumes, count) for count in (FEW, MANY)
        )
        for command in COMMANDS:
            taken = [cpu([STACKMAP, "--from", path, *command]) for path in (few, few, many, few)]
            (before, _), (large, memory), (after, _) = taken[1:]  # the first run was for the caches
            growth = 2 * large / (before + after)
            fine &= growth <= GROWTH
            verdict = "ok" if growth <= GROWTH else "TOO MUCH"
            rows.append(
                [" ".join(command), (before + after) / 2000, large / 1000, memory / 1e6, growth]
            )
            rows[-1] += [GROWTH, verdict]
    heading = [f"{FEW} to {MANY} volumes", "CPU s", "CPU s", "RSS MB", "times", "at most", ""]
    print(tabulate(rows, heading, floatfmt=(None, ".2f", ".2f", ".0f", ".1f")))
    return fine
