"""Errors that a kernel counted while disks failed on request: what stackmap says, against the kernel's own counts."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

pytestmark = pytest.mark.lab("all")


@pytest.fixture(scope="module")
def out(lab):
    """Linux 6.12 alone: scsi_debug fails single commands from 6.7 on."""
    return lab("faults", kernel="6.12", disks=4, size="512M", timeout=900)


# The recording, a device's key, where the kernel shows the count, and the rule that reports it.
COUNTED = [
    ("corrected", "command_errors", r"ioerr_cnt:(\w+)", "SM322"),
    ("corrected", "corrected_sectors", r"dev-sde/errors:(\d+)", "SM324"),
    ("timeout", "timeouts", r"iotmo_cnt:(\w+)", "SM321"),
    ("bad-blocks", "bad_sectors", r"dev-sde/bad_blocks:\d+ (\d+)", "SM325"),
    ("mismatch", "mismatched_sectors", r"mismatch_cnt:(\d+)", "SM326"),
    ("btrfs", "btrfs_io_errors", r"(?:write_io|read_io|flush_io)_errs +(\d+)", "SM329"),
    ("integrity", "checksum_errors", r" integrity (\d+) ", "SM327"),
]


@pytest.mark.parametrize(("name", "key", "pattern", "rule"), COUNTED)
def test_what_the_kernel_counted(out, name, key, pattern, rule):
    """The tree has the kernel's count, the finding has its growth, and the growth is an event."""
    before, after = (
        sum(int(text, 0) for text in re.findall(pattern, (out / f"{name}.{end}").read_text()))
        for end in ("before", "after")
    )
    devices = json.loads((out / f"{name}.tree.json").read_text())["devices"]
    shown = [device["errors"][key] for device in devices if device["errors"].get(key)]
    found = [each for each in explained(out, name) if each["id"] == rule]

    assert after > before
    assert after in shown
    evidence = {each["name"]: each["value"] for each in found[0]["evidence"]}
    assert (evidence["count"], evidence["grown"]) == (after, after - before)
    assert any(f"(now {after})" in event for event in events(out, name)), events(out, name)


def explained(out, name):
    return json.loads(run(out, name, "explain", "-J"))["findings"]


def events(out, name):
    reports = run(out, name, "iostat", "--report", "all", "-J").splitlines()
    return [event for report in reports for event in json.loads(report)["events"]]


def run(out, name, *words):
    command = ["--from", str(out / f"{name}.tar"), *words]
    return CliRunner().invoke(stackmap, command, catch_exceptions=False).stdout
