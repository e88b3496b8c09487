"""
What commands cost where there are 2,000 mapped devices: a guest of the lab, since this machine has hardly one.

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
MEASURE = "lsblk"  # what the others are measured against


def many() -> None:
    """Boot the guest, and print the median of each command's runs."""
    with TemporaryDirectory() as out:
        script = LAB / "scenarios" / "many.sh"
        command = [LAB / "boot", "run", script, "--out", out, "--disks", "1"]
        command += ["--icount", "0", "--timeout", "2400"]
        subprocess.run(command, check=True)
        times = {
            path.stem.replace("-", " "): [float(line) for line in path.read_text().split()]
            for path in sorted(Path(out).glob("*.seconds"))
        }
        memory = int((Path(out) / "tree.kib").read_text()) / 1000
    base = median(times[MEASURE])
    rows = []
    for name, seconds in sorted(times.items(), key=lambda pair: median(pair[1])):
        low, _, high = quantiles(seconds, n=4)
        rows.append([name, median(seconds), (high - low) / 2, f"{median(seconds) / base:.2f}x"])
    print(tabulate(rows, ["2,000 devices", "s", "±", f"against {MEASURE}"], floatfmt=".2f"))
    print(f"stackmap tree held {memory:.0f} MB")
