"""
The lab: a fixture that boots a kernel, runs a scenario in it, and hands over what it left.

Which tests run is said by STACKMAP_LAB, as ``./run lab`` sets it: "short" (or
1), or "all" for those marked ``lab("all")`` too. A boot takes 10 to 60 s, so
without it none runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BOOT = HERE / "boot"
SCENARIOS = HERE / "scenarios"

Lab = Callable[..., Path]


def pytest_collection_modifyitems(items):
    scope = os.environ.get("STACKMAP_LAB", "")
    for item in items:
        marks = list(item.iter_markers("lab"))
        slow = any("all" in mark.args for mark in marks)
        if marks and not scope:
            item.add_marker(pytest.mark.skip(reason="boots a kernel: ./run lab"))
        elif slow and scope != "all":
            item.add_marker(pytest.mark.skip(reason="boots a kernel once more: ./run lab all"))


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Lab:
    """
    ``lab("vghdd", disks=4, kernel="6.12")`` → what the scenario left in /out.

    Options are those of ``boot run``. The same scenario with the same options
    is booted once a session, and every test looks at the same outputs; one
    that failed is not tried again.
    """
    done: dict[tuple[str, ...], Path | str] = {}

    def run(scenario: str, **options: object) -> Path:
        script = SCENARIOS / f"{scenario}.sh"
        arguments = [f(x) for k, v in options.items() for f, x in ((_option, k), (str, v))]
        key = (scenario, *arguments)
        if key not in done:
            require_lab(str(options.get("kernel", "6.1")))
            out = tmp_path_factory.mktemp(scenario)
            done[key] = _boot(script, out, arguments)
        outcome = done[key]
        if isinstance(outcome, str):
            pytest.fail(outcome, pytrace=False)
        return outcome

    return run


def require_lab(kernel: str) -> None:
    """Skip where this machine has no QEMU or no such kernel."""
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("no qemu-system-x86_64: tests/lab/boot setup")
    if subprocess.run([BOOT, "kernel", kernel], capture_output=True, check=False).returncode:
        pytest.skip(f"no kernel {kernel}: tests/lab/boot setup {kernel}")


def _option(name: str) -> str:
    return f"--{name}"


def _boot(script: Path, out: Path, arguments: list[str]) -> Path | str:
    """Return *out*, or why there is nothing to look at in it."""
    command = [BOOT, "run", script, "--out", out, *arguments]
    boot = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if boot.returncode == 0:
        return out
    said = [f"{script.name} ended with {boot.returncode}: {boot.stderr.strip()}"]
    for log in (out / "console.log", out / "script.log"):
        text = log.read_text(errors="replace") if log.exists() else "(not there)"
        said += [f"--- the end of {log.name}", *text.splitlines()[-20:]]
    return "\n".join(said)
