"""
What commands cost where there are 2,000 and 8,000 mapped devices: in a guest of the lab, which can have them.

The lab's scenario ``many`` times them by hyperfine, in turns, with every program in the guest's memory. The
guest's clock goes by its instructions, one a nanosecond, on one CPU: by this machine's, an emulated CPU is twenty
times as slow at Python, which jumps from place to place, as in the kernel.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from tabulate import tabulate

LAB = Path(__file__).parents[1] / "lab"
DEVICES = (2000, 8000)
MEASURE = "lsblk"  # what the others are measured against


def many() -> None:
    """Boot a guest for each number of devices, and print the median of each command's runs."""
    for devices in DEVICES:
        with TemporaryDirectory() as out:
            _boot(Path(out), devices)
            print(_table(Path(out), devices), flush=True)


def _boot(out: Path, devices: int) -> None:
    command = [LAB / "boot", "run", LAB / "scenarios" / "many.sh", "--out", out, "--disks", "1"]
    command += ["--icount", "0", "--timeout", "7200", "--env", f"DEVICES={devices}"]
    subprocess.run(command, check=True)


def _table(out: Path, devices: int) -> str:
    times = {
        path.stem.replace("-", " "): [float(line) for line in path.read_text().split()]
        for path in sorted(out.glob("*.seconds"))
    }
    base = median(times[MEASURE])
    rows = []
    for name, seconds in sorted(times.items(), key=lambda pair: median(pair[1])):
        low, _, high = quantiles(seconds, n=4)
        rows.append([name, median(seconds), (high - low) / 2, f"{median(seconds) / base:.2f}x"])
    heads = [f"{devices:,} devices", "s", "±", f"against {MEASURE}"]
    memory = int((out / "tree.kib").read_text()) / 1000
    return f"{tabulate(rows, heads, floatfmt='.2f')}\nstackmap tree held {memory:.0f} MB\n"
