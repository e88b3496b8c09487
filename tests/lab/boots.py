"""
One boot of the lab: a scenario on a kernel, and the folder of its outputs.

A boot is *current* if nothing that ran in its guest has changed since
(``inputs.py``): that digest is kept beside the outputs, with the seconds that
it took. What judges the outputs may have changed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.lab import inputs
from tests.lab.inputs import BOOT, SCENARIOS

# What every scenario of "all" is booted on; ``./run lab all --kernel V`` sets another.
KERNELS = tuple(os.environ.get("STACKMAP_LAB_KERNELS", "6.1 6.12 newest").split())
LAST_LINES = 20  # of each log of a boot that failed
# A CPU that QEMU emulates ran code while the kernel patched it (seen on 6.12, once before any script began).
FAULTS = ("double fault", "Oops: int3")
PATIENCE = "timeout"  # the option on which no output depends


class Boot(NamedTuple):
    """A scenario, the kernel, the case where a scenario has many, and the options of ``boot run``."""

    scenario: str
    kernel: str
    case: str
    options: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, scenario: str, kernel: str, case: str, options: Mapping[str, object]) -> Boot:
        return cls(scenario, kernel, case, tuple(sorted((k, str(v)) for k, v in options.items())))

    @property
    def name(self) -> str:
        """The scenario, the kernel, and the case, or the first of several and how many more."""
        first, *more = self.case.split() or [""]
        others = f"+{len(more)}" if more else ""
        return "-".join(filter(None, (self.scenario, self.kernel, first + others)))

    @property
    def timeout(self) -> int:
        """Seconds after which it is ended."""
        return int(dict(self.options).get("timeout", "300"))

    def append_to(self, path: Path) -> None:
        """Add a line to a list that :func:`listed` reads."""
        with path.open("a", encoding="utf-8") as file:
            print(json.dumps(self), file=file)

    def digest(self, out: Path, files: Mapping[str, str]) -> str:
        """Return what the outputs in *out* depend on, by the digests of *files*."""
        modules = inputs.loaded(out / ".lab" / "loaded")
        options = [each for each in self.options if each[0] != PATIENCE]
        return inputs.digest(self.scenario, self.kernel, f"{self.case} {options}", files, modules)

    @contextmanager
    def alone(self, out: Path) -> Iterator[None]:
        """Wait while another process boots what leaves *out*."""
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.with_name(f"{out.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def has_ended(self, out: Path) -> bool:
        """Whether it was booted, well or not, with all that runs in its guest as it is today."""
        return _text(out / ".lab" / "digest") == self.digest(out, _files())

    def outcome(self, out: Path) -> Path | str:
        """Return *out*, or why there is nothing to look at in it."""
        if _text(out / ".lab" / "status") == "0\n":
            return out
        said = [f"{self.name} failed: {_text(out / '.lab' / 'said').strip()}"]
        for log in (out / "console.log", out / "script.log"):
            said += [f"--- the end of {log.name}", *_text(log).splitlines()[-LAST_LINES:]]
        return "\n".join(said)

    def run(self, out: Path) -> Path | str:
        """Boot, unless *out* holds what a boot left that went well; return the outcome."""
        if _text(out / ".lab" / "status") != "0\n":
            self.run_again(out)
        return self.outcome(out)

    def run_again(self, out: Path) -> None:
        """
        Boot; what was in *out* is removed.

        Once more if the emulated CPU faulted; the first console is kept beside *out*.
        """
        self._run(out)
        console = _text(out / "console.log")
        if not _text(out / ".lab" / "status") and any(fault in console for fault in FAULTS):
            (out / "console.log").rename(out.with_name(f"{out.name}.crashed.log"))
            self._run(out)

    def _run(self, out: Path) -> None:
        shutil.rmtree(out, ignore_errors=True)
        words = [word for name, value in self.options for word in (f"--{name}", value)]
        if self.case:
            words += ["--env", f"CASE={self.case}"]
        command = [
            BOOT,
            "run",
            SCENARIOS / f"{self.scenario}.sh",
            "--out",
            out,
            "--kernel",
            self.kernel,
        ]
        files, began = inputs.digests(), time.monotonic()
        ended = subprocess.run(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        lab = out / ".lab"
        lab.mkdir(parents=True, exist_ok=True)
        (lab / "said").write_text(f"status {ended.returncode}: {ended.stderr}")
        (lab / "seconds").write_text(f"{time.monotonic() - began:.0f}\n")
        (lab / "digest").write_text(self.digest(out, files))


def listed(path: Path) -> list[Boot]:
    """Return each boot of a list once, in its order."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = (json.loads(line) for line in lines)
    return list(dict.fromkeys(Boot(a, b, c, tuple(map(tuple, d))) for a, b, c, d in found))


def seconds_of(out: Path) -> int | None:
    """Return how long the last boot that left *out* took; None if it is not known."""
    text = _text(out / ".lab" / "seconds").strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


@cache
def _files() -> dict[str, str]:
    return inputs.digests()
