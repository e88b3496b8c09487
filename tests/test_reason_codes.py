"""A reason in JSON has a code beside it, which a rewording of the sentence does not change."""

from __future__ import annotations

import ast
import json
from copy import deepcopy

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.ledger.amplification import LayerReport
from stackmap.ledger.device_state import WORK
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.raid import layout
from stackmap.model.reason import Reason
from stackmap.model.topology import Edge, Topology
from stackmap.render.figures_json import layers_json
from stackmap.render.json import reason_json
from tests.drawn import did, disk, moved
from tests.paths import ROOT
from tests.test_man import page, plain

SAMPLES = ROOT / "sample_topologies"
CORE = ("ledger", "rules")


def codes():
    """Return the codes of all reasons that the core gives."""
    calls = [
        node
        for folder in CORE
        for path in (ROOT / "stackmap" / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reason"
    ]
    first = [call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)]
    return {*first, *WORK, "state"} - {""}


def test_codes_are_documented():
    """The page of iostat, or that of findings, has each."""
    findings = plain((ROOT / "man/stackmap-findings.7").read_text())
    words = set(
        f"{page('iostat')} {findings}".replace(",", " ").replace(".", " ").replace(":", " ").split()
    )

    assert codes() - words == set()


def raid5(state):
    """Return an array of three disks in *state*, written to and read."""
    shape = layout("raid5", 3, 65536)
    array = Device("md0", Kind.ARRAY, "9:0", layout=shape, state=state)
    names = ("sda", "sdb", "sdc")
    topology = Topology(
        [array, *map(disk, names)], [Edge("md0", name, Role.DATA) for name in names]
    )
    loads = {
        "md0": moved(did(10, 4096), did(20, 4096)),
        **{name: moved(did(20, 4096), did(20, 4096)) for name in names},
    }
    return topology, Interval(loads, seconds=1.0)


@pytest.mark.parametrize("work", sorted(WORK.keys() - {"merging"}))
def test_background_work_is_the_code(work):
    """Of the layer whose ratios mean nothing, and of the parity cost."""
    report = LayerReport(*raid5(f"{work} 12.5 %"), (), skip_idle=False)
    (stack,) = layers_json(report.stacks, report.interval)["stacks"]

    assert [(layer["reason"] is None, layer["reason_code"]) for layer in stack["layers"]] == [
        (True, None),
        (False, work),
    ]
    assert stack["parity"]["reason_code"] == work
    assert work in stack["parity"]["reason"]


def test_a_reason_is_its_sentence():
    """It is compared, copied and printed as text; JSON has null for none."""
    reason = Reason("idle", "no device had I/O")

    assert deepcopy(reason).code == "idle"
    assert f"{reason}." == "no device had I/O."
    assert reason_json(reason) == {"reason": "no device had I/O", "reason_code": "idle"}
    assert reason_json("") == {"reason": None, "reason_code": None}


def reasons(value):
    """Yield the objects in *value* that have a reason."""
    if isinstance(value, dict):
        if "reason" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from reasons(each)


@pytest.mark.parametrize("command", [["iostat", "-l"], ["explain"]], ids=" ".join)
@pytest.mark.parametrize("text", sorted(SAMPLES.glob("*/input/*")), ids=lambda path: path.name)
def test_every_reason_has_a_code(command, text):
    """In each report of each text: a code where there is a sentence, and null without one."""
    words = [
        "--from",
        str(text.parents[1]),
        *command,
        "--input",
        str(text),
        "--report",
        "all",
        "-J",
    ]
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    found = [each for line in result.stdout.splitlines() for each in reasons(json.loads(line))]

    assert {bool(each["reason"]) == (each["reason_code"] in codes()) for each in found} <= {True}
    assert found or command == ["explain"]
