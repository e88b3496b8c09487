"""
Hostile names that a real kernel and real tools accept: what the printed commands for them address, when they are run.

``pasted_names.py`` makes them, ``pasted_plans.py`` plans and runs. A plan is refused with the reason, or each of its
commands reaches the object that has the name, and no other.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter

import pytest

from stackmap.features.plan.plan import mangled
from stackmap.host.dm_ioctl import mangled as libdevmapper_name
from tests.fuzz.pasted import COMPLAINTS, _command_faults, _commands

pytestmark = pytest.mark.lab("all")

KINDS = ("LV", "VG", "PV", "array", "mount point", "LUKS mapping", "VM", "udev property")


@pytest.fixture
def told(lab, kernel):
    out = lab("pasted", kernel=kernel, disks=9, mem=4096, timeout=3600)
    return json.loads((out / "values.json").read_text())


@pytest.fixture
def run(told):
    """The values whose plan was not refused."""
    return [value for value in told["values"] if not value["refused"]]


def test_the_tools_made_300(told):
    counts = Counter(value["kind"] for value in told["values"])
    assert sum(counts.values()) >= 300
    assert set(KINDS) <= {*counts}


def test_most_are_planned_and_run(run):
    counts = Counter(value["kind"] for value in run)
    assert sum(counts.values()) >= 200
    assert not [value for value in run if not value["ran"]]


def _is_stopped(value):
    """Whether the guard found another array under a name that udev was told: nothing was changed."""
    return value["kind"] == "udev property" and [
        "STOP: array" in r["said"] for r in value["ran"]
    ] == [True]


def test_every_command_succeeds(run):
    """LVM's in its test mode; each behind its guard, which compares UUIDs."""
    failed = [
        (v["kind"], v["name"], r)
        for v in run
        for r in v["ran"]
        if r["status"] and not _is_stopped(v)
    ]
    assert [] == failed


def test_no_tool_takes_a_name_for_an_option(run):
    assert [] == [r for v in run for r in v["ran"] if COMPLAINTS.search(r["said"])]


def test_the_lines_are_parsed_back(run):
    faults = [
        (value["name"], fault)
        for value in run
        for line in value["lines"]
        if "\n" not in line
        for command in _commands(shlex.split(line))
        for fault in _command_faults(command)
    ]
    assert [] == faults


def _expected(value):
    """What is addressed by the commands for *value*, which was then put back."""
    kind, name = value["kind"], value["name"]
    if kind == "LUKS mapping":  # libdevmapper leaves hexadecimal words as they are
        return [os.fsdecode(libdevmapper_name(os.fsencode(name)))]
    if kind == "VM":
        return ["shutdown", f"--domain={name}"]
    if kind in ("LV", "VG"):
        return [value["target"], *value["addressed"][1:]]  # the PV has a plain name
    if kind == "PV":
        return [value["target"], f"/dev/mapper/{mangled(name)}"]
    [addressed] = value["addressed"] or [""]
    if kind == "mount point":
        escaped = re.sub(r"[ \t\n\\]", lambda found: f"\\{ord(found[0]):03o}", name)
        return [addressed] if addressed.endswith(f" / {escaped}") else [escaped]
    return [addressed] if addressed.startswith(f"{value['target']} ") else [value["target"]]


def test_the_object_with_the_name_is_addressed(run):
    wrong = [
        (v["kind"], v["name"], v["addressed"])
        for v in run
        if v["addressed"] != ([] if _is_stopped(v) else _expected(v))
    ]
    assert [] == wrong


def test_nothing_else_is_changed(told):
    """UUIDs, mappings, mounts, and members of arrays are those of the beginning."""
    assert told["before"] == told["last"]
