"""
What a command costs: CPU seconds (user and system), the median of several runs.

CPU and not wall time, so that a machine busy with other things does not decide;
from ``os.wait4``, which counts the command's own children too. Each command runs
once unmeasured first, for the caches. The commands of a comparison take turns, so
that whatever changes meanwhile changes for all.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Command = Sequence[str | os.PathLike[str]]

# Without .pyc files each run would measure the compiler, which no installed stackmap does.
UNWANTED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPROFILEIMPORTTIME")


@dataclass(frozen=True)
class Cost:
    """CPU milliseconds of each run; ``memory``: the most bytes that any of them held."""

    runs: tuple[float, ...]
    memory: int

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles."""
        low, _, high = statistics.quantiles(self.runs, n=4)
        return (high - low) / 2


def compare(commands: Mapping[str, Command], runs: int) -> dict[str, Cost]:
    """Run each of *commands* *runs* times, in turns, and return what each cost."""
    for command in commands.values():
        cpu(command)
    taken: dict[str, list[tuple[float, int]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(cpu(command))
    return {
        name: Cost(tuple(time for time, _ in costs), max(memory for _, memory in costs))
        for name, costs in taken.items()
    }


def cpu(command: Command) -> tuple[float, int]:
    """Run *command*, return the CPU milliseconds it took and the bytes it held; it must succeed."""
    environment = {k: v for k, v in os.environ.items() if k not in UNWANTED}
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    said = process.stderr.read()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        words = " ".join(map(str, command))
        raise RuntimeError(f"{words}: exit {process.returncode}: {said.decode().strip()}")
    return (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss * 1024


def in_own_mounts(script: str) -> bool:
    """Run *script* where what it mounts is its own; whether all was within bounds."""
    command = ["unshare", "--mount", sys.executable, script]
    return subprocess.run(command, check=False).returncode == 0
