"""
The lab: a fixture that boots a kernel, runs a scenario in it, and hands over what it left.

Which tests run is said by STACKMAP_LAB, as ``./run lab`` sets it: "short" (or
1), or "all" for those marked ``lab("all")`` too. A boot takes 10 to 60 s, so
without it none runs. Where STACKMAP_LAB_OUT names a folder, what scenarios
leave is kept there, and one that left something is not booted again. Several
workers (``-n 2 --dist loadfile``) share what each of them boots.
``./run lab all`` (``everything.py``) boots first and tests then: STACKMAP_LAB_BOOTS
is "list" while it asks which boots the tests need, and "none" while they run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

import pytest
from tabulate import tabulate

from tests.lab.boots import KERNELS, Boot
from tests.lab.inputs import BOOT
from tests.lab.judged import Figure, Verdict
from tests.lab.predicted import PREDICTED, PREDICTION

pytest.register_assert_rewrite("tests.lab.followed")  # so that a law that fails says what was there

Lab = Callable[..., Path]

VERDICT = (
    "verdict"  # a property of a test, a row of the table; it travels from worker to controller
)
HEADINGS = (
    "kernel", "workload", "top", "layer", "", "requests", "counted", "KiB", "counted",
    "×requests", "counted", "×bytes", "counted", "off %", "",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    scope = os.environ.get("STACKMAP_LAB", "")
    for item in items:
        marks = list(item.iter_markers("lab"))
        slow = any("all" in mark.args for mark in marks)
        if marks and not scope:
            item.add_marker(pytest.mark.skip(reason="boots a kernel: ./run lab"))
        elif slow and scope != "all":
            item.add_marker(pytest.mark.skip(reason="boots a kernel once more: ./run lab all"))


@pytest.fixture(scope="session", params=KERNELS)
def kernel(request) -> str:
    """Each kernel that the lab boots."""
    return request.param


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Lab:
    """
    ``lab("vghdd", disks=4, kernel="6.12")`` → what the scenario left in /out.

    Options are those of ``boot run``. The same scenario with the same options
    is booted once a session, and every test looks at the same outputs; one
    that failed is not tried again. Of a scenario of many cases ``case`` names the
    one. It is a boot of its own, or one of those ``among`` that share a boot, each
    in a folder of its name.
    """
    booting = os.environ.get("STACKMAP_LAB_BOOTS", "")
    done: dict[Boot, Path | str] = {}

    def run(
        scenario: str,
        case: str = "",
        *,
        among: tuple[str, ...] = (),
        kernel: str = "6.1",
        **options: object,
    ) -> Path:
        boot = Boot.of(scenario, kernel, " ".join(among) or case, options)
        if booting == "list":
            boot.append_to(Path(os.environ["STACKMAP_LAB_LIST"]))
            pytest.skip("lists which boots the tests need")
        if boot not in done:
            require_lab(kernel)
            out = _outputs(tmp_path_factory) / boot.name
            if booting == "none" and not boot.has_ended(out):
                pytest.skip(f"{boot.name} was not booted yet: ./run lab all")
            with boot.alone(out):
                done[boot] = boot.run(out) if booting != "none" else boot.outcome(out)
        outcome = done[boot]
        if isinstance(outcome, str):
            pytest.fail(outcome, pytrace=False)
        return outcome / case if among else outcome

    return run


@pytest.fixture
def tabulated(request) -> Callable[[str, Iterable[Verdict]], None]:
    """``tabulated(kernel, verdicts)``: they stand in the table that is printed when all have run."""

    def add(kernel: str, verdicts: Iterable[Verdict]) -> None:
        request.node.user_properties.extend((VERDICT, _row(kernel, each)) for each in verdicts)

    return add


def pytest_terminal_summary(terminalreporter):
    kinds = ("passed", "failed")
    reports = list(chain.from_iterable(terminalreporter.stats.get(kind, ()) for kind in kinds))
    rows = [row for report in reports for key, row in report.user_properties if key == VERDICT]
    if rows:
        terminalreporter.section("what stackmap says, and what the kernel counted")
        terminalreporter.write_line(tabulate(sorted(rows), HEADINGS, disable_numparse=True))
    foretold = [r for report in reports for key, r in report.user_properties if key == PREDICTION]
    if foretold:
        terminalreporter.section("what whatif predicts for each request at the volume")
        terminalreporter.write_line(tabulate(sorted(foretold), PREDICTED, disable_numparse=True))


def _row(kernel: str, verdict: Verdict) -> tuple[str, ...]:
    figures = (
        (verdict.requests, ".0f", 1),
        (verdict.bytes, ".0f", 1024),
        (verdict.iops_ratio, ".3f", 1),
        (verdict.bytes_ratio, ".3f", 1),
    )
    off = "-" if verdict.off is None else f"{verdict.off:.2%}"
    words = ["ok" if verdict.right(0.01) else "OFF"]
    words += ["estimated"] if verdict.estimated else []
    words += [verdict.reason] if verdict.reason else []
    return (
        kernel, verdict.workload, verdict.top, verdict.role, verdict.direction,
        *(text for figure, form, unit in figures for text in _both(figure, form, unit)),
        off, ", ".join(words),
    )  # fmt: skip


def _both(figure: Figure | None, form: str, unit: int) -> tuple[str, str]:
    if figure is None:
        return "", ""
    counted = format(figure.counted / unit, form)
    if figure.said is None:
        return "-", counted
    ends = dict.fromkeys(format(end / unit, form) for end in figure.ends or (figure.said,))
    return " to ".join(ends), counted


def require_lab(kernel: str) -> None:
    """Skip where this machine has no QEMU or no such kernel."""
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("no qemu-system-x86_64: tests/lab/boot setup")
    if subprocess.run([BOOT, "kernel", kernel], capture_output=True, check=False).returncode:
        pytest.skip(f"no kernel {kernel}: tests/lab/boot setup {kernel}")


def _outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for what scenarios leave: one for all workers of a run."""
    kept = os.environ.get("STACKMAP_LAB_OUT")
    if kept:
        return Path(kept)
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
