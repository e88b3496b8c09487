"""An hour of this machine under the commands that may run for days: memory stays flat, no descriptor is lost."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from stackmap.host.capture import CapturedHost
from tests.fuzz.running import Tally
from tests.fuzz.steady import grown, looks

HOUR = 3600  # seconds
STEP = 60  # seconds between two looks at memory
LATE = 10.0  # seconds between two samples of one per second, on a machine that is overloaded
COMMANDS = {
    "record": ("record", "OUT", "1"),
    "iostat": ("iostat", "1"),
    "iostat -l": ("iostat", "-l", "1"),
}


def hour(tally: Tally, folder: Path, seconds: int = HOUR) -> None:
    """Run ``COMMANDS`` beside each other for *seconds* while something is written to a disk each second."""
    out = folder / "hour"
    running = {
        name: _start(
            folder / f"{name}.err", [str(out) if word == "OUT" else word for word in words]
        )
        for name, words in COMMANDS.items()
    }
    for passed in range(seconds):
        if passed % STEP == 0 and all(process.poll() is None for process in running.values()):
            for name, process in running.items():
                _note(folder / name, passed, process.pid)
        _write(folder / "load")
        time.sleep(1)
    for name, process in running.items():
        early = process.poll()
        process.send_signal(signal.SIGINT)
        process.wait(60)
        tally.memory = max(tally.memory, *(memory >> 20 for _, memory, _ in looks(folder / name)))
        faults = grown(folder / name, seconds) if early is None else [f"ended with {early}"]
        faults += (folder / f"{name}.err").read_text().splitlines()[-1:] if early else []
        tally.case(
            f"{name}, {seconds} s", faults + (_lost(out, seconds) if name == "record" else [])
        )


def _start(errors: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    with errors.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "stackmap", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file,
        )  # fmt: skip


def _note(journal: Path, passed: int, process: int) -> None:
    """Add the time, the resident bytes and the number of descriptors of *process* to *journal*."""
    memory = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    with journal.open("a") as file:
        file.write(f"{passed} {memory} {len(os.listdir(f'/proc/{process}/fd'))}\n")


def _write(path: Path) -> None:
    with path.open("wb") as file:
        file.write(bytes(1 << 18))
        os.fsync(file.fileno())


def _lost(out: Path, seconds: int) -> list[str]:
    """Return what the recording lacks."""
    times = list(CapturedHost(str(out)).ticks(0, None))
    longest = max((b - a for a, b in pairwise(times)), default=seconds)
    if times and times[-1] - times[0] > seconds - STEP and longest < LATE:
        return []
    return [f"{len(times)} samples, at most {longest:.1f} s apart"]
