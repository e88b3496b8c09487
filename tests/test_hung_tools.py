"""No slow tool delays a counter: with lvm, dmsetup and mdadm that hang, the first sample is taken at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackmap.discover import discover
from stackmap.errors import NO_ANSWER
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import LATE
from stackmap.model.exported import TIMESTAMP
from tests.fuzz.processes import unpack
from tests.paths import ROOT

# What waits for dmsetup takes longer than AT_ONCE; what does not takes less, on a busy machine too.
AT_ONCE, TOOL_SECONDS, FEW_SECONDS = 25, 50, 3

# A process of the sample machine, whose tools are stubs; libblockdev, which has no time limit, runs them too.
RUN = """
import sys, time
from pathlib import Path
from stackmap.model.exported import TIMESTAMP
from tests.fuzz.processes import DISKSTATS, machine_of
from stackmap import cli
from stackmap.cli import check, record
from stackmap.host import live

root, programs, patience, *commands = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
machine_of(root, programs, lambda: (root / DISKSTATS[1:]).read_text())
live.DEFAULT_TIMEOUT, record.LINGER, check.REPORT_SECONDS = float(patience), 1.0, 1.0
live.COMMAND_TIMEOUTS = {"lvm": 60.0, "mdadm": 60.0}
asked = {"volumes": ("lvm", "lvs"), "arrays": ("mdadm", "--detail")}
live.LiveHost.metadata = lambda self, of: self.run(*asked[of]) and []
sys.argv = ["stackmap", *commands]
cli.main()
"""


def run(
    tmp_path: Path, body: str, *words: str, patience: float = TOOL_SECONDS
) -> tuple[float, subprocess.CompletedProcess[str]]:
    """
    Run a command with tools that run *body*; return when it began, and what became of it.

    *patience*: seconds until dmsetup is given up.
    """
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("lvm", "lvs", "dmsetup", "mdadm"):
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    command = [sys.executable, "-c", RUN, str(unpack(tmp_path)), str(programs), str(patience)]
    begun = time.time()
    return begun, subprocess.run(
        [*command, *words], cwd=ROOT, capture_output=True, text=True, timeout=90, check=False
    )


def test_record_takes_its_first_sample_at_once(tmp_path):
    """And says what did not come: on stderr, and whenever the recording is read."""
    out = str(tmp_path / "out")
    begun, done = run(tmp_path, "exec sleep 80", "record", out, "1", "6")
    assert done.returncode == 0, done.stderr

    said: list[str] = []
    host = CapturedHost(out, said.append)
    first, last = host.span() or (0.0, 0.0)
    assert first - begun < AT_ONCE
    assert 6 - 0.5 < last - first < AT_ONCE  # a busy machine may miss a tick
    missing = ["LVM's metadata", "LVM's report", "md's metadata"]
    assert said == [f"{out}: {what}: no answer while it was recorded" for what in missing]
    assert any(NO_ANSWER in each for each in discover(host).unknown)
    for what in (*missing, "tables of mapped devices"):
        assert what in done.stderr


def test_what_comes_late_is_among_the_first_answers(tmp_path):
    """A minute of waiting before is now a recording that has it, and says when it came."""
    out = str(tmp_path / "out")
    body = f'case "$0" in *dmsetup) exit 1;; *) sleep {LATE + 1}; echo "{{}}";; esac'
    _, done = run(tmp_path, body, "record", out, "1", "8")
    assert done.returncode == 0, done.stderr

    said: list[str] = []
    host = CapturedHost(out, said.append)
    assert [line.partition("answered")[0] for line in said] == [
        f"{out}: {what}: " for what in ("LVM's metadata", "LVM's report", "md's metadata")
    ]
    assert host.metadata("volumes") == host.metadata("arrays") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may ask LVM")
def test_check_gives_lvm_up(tmp_path):
    """It says so, and ends."""
    begun, done = run(tmp_path, "exec sleep 80", "check", patience=FEW_SECONDS)
    assert done.returncode == 0, done.stderr
    assert "LVM's and md's metadata: no answer" in done.stderr
    assert time.time() - begun < 30


@pytest.mark.parametrize(
    "words", [["iostat", "1", "2"], ["iostat", "-l", "1", "2"], ["blame", "1", "2"]]
)
def test_a_measurement_begins_at_once(words, tmp_path):
    begun, done = run(tmp_path, "exec sleep 80", *words)
    assert done.returncode == 0, done.stderr
    assert time.time() - begun < AT_ONCE
    assert "dmsetup" in done.stderr


def test_the_counters_of_a_textfile_are_read_before_a_tool_is_asked(tmp_path):
    out = tmp_path / "textfile"
    out.mkdir()
    _, done = run(tmp_path, "exec sleep 80", "export", "--textfile", str(out), patience=FEW_SECONDS)
    ended = time.time()
    assert done.returncode == 0, done.stderr
    lines = (out / "stackmap.prom").read_text().splitlines()
    (stamp,) = [float(line.split()[-1]) for line in lines if line.startswith(f"{TIMESTAMP} ")]
    assert ended - stamp > FEW_SECONDS
