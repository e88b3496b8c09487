"""Which change makes a boot out of date: of what ran in its guest, and of nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.lab import boots as lab_boots
from tests.lab import inputs
from tests.lab.boots import Boot

TREE = "stackmap/cli/tree.py"
FOLLOWED = "stackmap/features/plan/lab_results.py"


@pytest.fixture
def out(tmp_path, monkeypatch):
    """What a boot left that ran ``stackmap plan``; no kernel is asked for."""
    monkeypatch.setattr(inputs, "release", lambda kernel: kernel)
    (tmp_path / ".lab").mkdir()
    loaded = ["stackmap/features/plan/command.py", FOLLOWED, ".venv/lib/click/core.py"]
    text = "".join(f"{path}\n" for path in loaded)
    (tmp_path / ".lab" / "loaded").write_text(text)
    return tmp_path


def boot(scenario="plan-lvm", kernel="6.1", case="raid5-raid6", **options):
    return Boot.of(scenario, kernel, case, options)


@pytest.mark.parametrize(
    ("changed", "matters"),
    [
        ("stackmap/features/plan/command.py", True),
        (TREE, False),
        (FOLLOWED, False),  # it is written after the boot
        ("tests/lab/scenarios/plan-lvm.sh", True),
        ("tests/lab/scenarios/plan-md.sh", False),
        ("tests/lab/plans.sh", True),  # the scenario sources it
        ("tests/lab/guest.sh", True),  # as does that
        ("tests/lab/follow.py", True),
        ("tests/lab/make_all.py", False),
        ("tests/lab/test_plan.py", False),
        ("tests/lab/boot", True),
        ("stackmap/render/html/style.css", True),
        ("stackmap/ARCHITECTURE.md", False),
    ],
)
def test_what_ran_in_the_guest_matters(out, changed, matters):
    files = inputs.digests()
    before = boot().digest(out, files)
    assert (boot().digest(out, files | {changed: "another"}) != before) == matters


def test_without_a_list_every_module_matters(out):
    """A guest that did not end left none."""
    (out / ".lab" / "loaded").unlink()
    files = inputs.digests()
    assert boot().digest(out, files) != boot().digest(out, files | {TREE: "another"})


def test_the_time_limit_does_not_matter_and_other_options_do(out):
    files = inputs.digests()
    told = boot(timeout=300, disks=8).digest(out, files)
    assert told == boot(timeout=900, disks=8).digest(out, files)
    others = [boot(disks=9), boot(disks=8, kernel="6.12"), boot(disks=8, case="raid6-raid5")]
    assert told not in [each.digest(out, files) for each in others]


def test_a_process_tells_what_it_loads(tmp_path):
    """By the code that the guest runs: with the module that is imported, those it imports."""
    code = (inputs.HERE / "loaded" / "sitecustomize.py").read_text()
    listed = tmp_path / "loaded"
    listed.touch()
    (tmp_path / "site").mkdir()
    told = code.replace('"/run/loaded"', json.dumps(str(listed)))
    told = told.replace('f"{Path(__file__).parents[3]}/"', json.dumps(f"{inputs.ROOT}/"))
    (tmp_path / "site" / "sitecustomize.py").write_text(told)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'site'}:{inputs.ROOT}"}
    subprocess.run(
        [sys.executable, "-c", "import stackmap.model.raid"], env=environment, check=True
    )
    found = inputs.loaded(listed)
    assert {"stackmap/__init__.py", "stackmap/model/raid.py"} <= found
    assert TREE not in found


@pytest.mark.parametrize(
    ("console", "times"),
    [
        ("traps: PANIC: double fault, error_code: 0x0", 2),
        ("Oops: int3: 0000 [#1]", 2),
        ("Oops: 0000", 1),
    ],
)
def test_a_boot_whose_emulated_cpu_faulted_is_repeated_once(tmp_path, monkeypatch, console, times):
    """Any other end counts as it is: a kernel that died under a trace must not be overlooked."""
    program = tmp_path / "boot"
    program.write_text(
        f'#!/bin/sh\nmkdir -p "$4"\necho \'{console}\' > "$4/console.log"\necho >> {tmp_path}/boots\nexit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(lab_boots, "BOOT", program)
    monkeypatch.setattr(inputs, "release", lambda kernel: kernel)

    outcome = boot().run(tmp_path / "out")

    assert isinstance(outcome, str)
    assert console in outcome
    assert (tmp_path / "boots").read_text().count("\n") == times


def test_all_lists_the_boots_that_tests_ask_for(tmp_path):
    """``./run lab all --list``: pytest lists them, with the options of setup.cfg and without its processes."""
    words = ["-m", "tests.lab.everything", "--list", "--kernel", "6.12", "-k", "test_churn"]
    listed = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "STACKMAP_LAB_OUT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.stderr == ""
    assert "churn-6.12" in listed.stdout
