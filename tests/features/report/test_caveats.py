"""What a report says of its figures: corrections, estimates, and what is not known, for the volume that it is about."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stackmap.features.report.figures import Measuring
from stackmap.features.report.page import _caveats, _corrected, _estimates, _left_out
from stackmap.features.report.proposals import _fixes
from stackmap.ledger.corrections import RULES
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE
from stackmap.model.topology import Edge, Topology
from stackmap.rules.rule import Finding, Severity, observe
from stackmap.rules.table import RULES as RULES_OF_LOAD
from tests.drawn import did, disk, moved, passing

SIZE = 4096
TREE = Topology(
    [
        *map(disk, ("sda", "sdb", "sdc")),
        *(passing(name, label=f"vg/{name}") for name in ("alone", "one", "other")),
    ],
    [
        Edge("alone", "sdb", Role.DATA),
        Edge("one", "sda", Role.DATA),
        Edge("other", "sda", Role.DATA),
    ],
)


def reported(merges=0.0):
    """A volume on a disk of its own, and two on one that merges their writes."""
    loads = {
        "alone": did(7.0, SIZE),
        "sdb": did(7.0, SIZE),
        "one": did(11.0, SIZE),
        "other": did(13.0, SIZE),
    }
    loads["sda"] = did(24.0 - merges, SIZE, merges)
    measuring = Measuring(TREE)
    measuring.add(
        Interval({n: moved(None, flow) for n, flow in loads.items()} | {"sdc": IDLE}, 1e9, 7.0)
    )
    return measuring.report()


def test_completions_of_a_shared_disk_are_estimates():
    """Of each of the two volumes that share it, and not of the third."""
    found = list(_estimates(reported(merges=5.0)))

    assert len(found) == 2
    for name, said in zip(("vg/other", "vg/one"), found, strict=True):
        assert said.startswith(f"{name} (")
        assert "the disks have other users" in said
        assert "divided in proportion to what each user sent" in said


def test_idle_devices_are_named():
    (said,) = _left_out(reported())
    assert said == "Idle devices have no section: sdc."
    assert list(_left_out(SimpleNamespace(left_out=("x",), idle=()))) == ["x"]


def test_each_correction_has_its_device_and_its_reason():
    """A device that went has its name alone."""
    rule = RULES[0]
    corrections = (f"{rule.name}: one", f"{rule.name}: sdz")
    report = SimpleNamespace(topology=TREE, interval=SimpleNamespace(corrections=corrections))
    why = rule.why[0].upper() + rule.why[1:]

    assert [*_corrected(report)] == [
        f"vg/one (one): {rule.name}. {why.rstrip('.')}.",
        f"sdz: {rule.name}. {why.rstrip('.')}.",
    ]


def test_what_has_no_figures_has_the_reason():
    """Only where there is one; a report with findings says what they are worth."""
    layer = SimpleNamespace(word="disks")
    figures = SimpleNamespace(
        layer=layer, share=SimpleNamespace(reason=""), background="", diagnosis=""
    )
    reasons = {"background": "resync 5 %", "diagnosis": "skew"}
    parity = SimpleNamespace(reason="degraded")

    def said(found=(), parity=None, **more):
        one = SimpleNamespace(**{**vars(figures), **more})
        stack = SimpleNamespace(
            top=SimpleNamespace(full_title="vg/lv"), layers=[one], parity=parity
        )
        return [*_caveats(SimpleNamespace(stacks=[stack], findings=found))]

    assert said() == []
    assert said(share=SimpleNamespace(reason="shared")) == ["vg/lv, disks: not divided: shared."]
    assert said(**reasons) == [
        "vg/lv, disks: no ratios: resync 5 %.",
        "vg/lv, disks: requests not accounted for: skew.",
    ]
    assert said(parity=parity) == ["vg/lv: unknown cost of parity: degraded."]
    assert len(said(found=("x",))) == 1


class Layout:
    """A proposal that mends the findings on sda, and whose load per disk is not projected."""

    top, at_disks = "one", None

    def mends(self, finding):
        return finding.device == "sda"


@pytest.mark.parametrize(
    ("devices", "fixed", "left"),
    [(("sda", "sdb"), 1, 1), (("sda",), 1, 0), (("sdb",), 0, 1), ((), 0, 0)],
)
def test_what_a_layout_fixes_and_what_it_leaves(devices, fixed, left):
    """Each finding is named once; only what is left is to be looked at first. Findings that are not grave are none."""
    rule = next(each for each in RULES_OF_LOAD if each.id == "SM401")
    found = [Finding(rule, observe(name)._replace(severity=Severity.CRITICAL)) for name in devices]
    found.append(Finding(rule, observe("sdb")._replace(severity=Severity.INFO)))
    report = SimpleNamespace(topology=TREE, findings_of=lambda _: found)
    blocks = list(_fixes(report, Layout(), ""))

    assert len(blocks) == bool(devices)
    for block in blocks:
        assert block.text.count('"') == 2 * (fixed + left)
        assert ("none of the findings" in block.text) is not bool(fixed)
        assert ("does not fix" in block.text) is bool(left)
        assert ("Look at these findings first" in block.text) is bool(left)
