"""
``./run systems``: demo and tests in a clean root of each Debian release, with its own Python.

Arguments are names of releases; others go to pytest.
Each root begins with nothing but apt, so that ``./run demo`` must install Python itself. The roots
have packages of Debian and of PyPI only. The lab and the packages have their own steps and are
left out: a chroot has this machine's kernel, and the packages are built on Debian 12.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.packaging.roots import ROOT, CleanRoot, checkout

SUITES = ("bookworm", "trixie", "sid")  # Debian 12, 13, and what becomes a release
UNSTABLE = ("sid",)  # its packages may be broken for a day: a failure is reported only
PROGRAMS = (ROOT / "tests/programs.txt").read_text().split()
LEFT_OUT = ("tests/lab", "tests/packaging")
STEPS = (
    "./run demo",
    f"./run install {' '.join(PROGRAMS)}",
    shlex.join(["./run", "test", "-q", "-n", "2", *(f"--ignore={name}" for name in LEFT_OUT)]),
)
LIMIT = 1200  # seconds per step
HERE = "/srv/stackmap"  # the checkout in a root; every user may read it
# Before anything is installed: each must fail, with the command that an administrator runs.
REFUSED = (
    "chown -R nobody . && setpriv --reuid=nobody --regid=nogroup --clear-groups ./run demo",
    "unshare --net ./run test",
)
ADVICE = "apt-get update && apt-get install -y --no-install-recommends python3 python3-venv"


def why_not() -> str:
    """The reason why no root can be made here; "" if there is none."""
    if os.geteuid():
        return "needs root, to make a root with mmdebstrap and to enter it"
    return "" if shutil.which("mmdebstrap") else "needs mmdebstrap: ./run install mmdebstrap"


def first_failure(suite: str, folder: Path, kept: Path, options: str) -> str:
    """
    Run all steps in a new root, with their output; return the step that failed, "" if none.

    *options* are pytest's.
    """
    try:
        root = CleanRoot(suite, folder, kept)
    except (AssertionError, subprocess.TimeoutExpired) as error:  # of mmdebstrap, tar or apt-get
        return f"no root: {error}"
    checkout(root.path / HERE[1:])
    for step in (*REFUSED, *STEPS[:-1], f"{STEPS[-1]} {options}"):
        print(f"\n== {suite}: {step} ==", flush=True)
        command = root.entering("bash", "-euo", "pipefail", "-c", f"cd {HERE} && {step}")
        errors = subprocess.PIPE if step in REFUSED else None
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stderr=errors,
                text=True,
                check=False,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return f"{step}: not done in {LIMIT} s"
        if step in REFUSED:
            print(done.stderr, end="", flush=True)
            if done.returncode != 1 or not done.stderr.endswith(f"{ADVICE}\n"):
                return f"{step}: exit status {done.returncode}, without the command to run"
        elif done.returncode:
            return f"{step}: exit status {done.returncode}"
    return ""


def main(words: list[str]) -> int:
    """Print the result of each root at the end; fail if a stable release fails."""
    if reason := why_not():
        print(f"systems: skipped: {reason}")
        return 0
    kept = Path(os.environ.get("STACKMAP_PACKAGING") or ROOT / "build/packaging")
    suites = [word for word in words if word in SUITES]
    options = shlex.join(word for word in words if word not in SUITES)
    results = []
    status = 0
    for suite in suites or SUITES:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            failure = first_failure(suite, Path(folder), kept, options)
        seconds = time.monotonic() - begin
        if failure and suite not in UNSTABLE:
            status = 1
        verdict = f"FAILED: {failure}" if failure else "passed"
        allowed = " (reported only)" if failure and suite in UNSTABLE else ""
        results.append(f"systems: {suite}: {verdict}{allowed}, {seconds:.0f} s")
    print("", *results, f"systems: left out: {', '.join(LEFT_OUT)}", sep="\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
