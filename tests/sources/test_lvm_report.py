"""``lvm fullreport``: VGs with what is free on each PV, from one answer."""

from __future__ import annotations

import json

import pytest

from stackmap.errors import ParseError
from stackmap.sources import lvm_report

NAMES = {"8:0": "sda", "8:16": "sdb"}

# As lvm2 2.03.16 prints it; counts are primes.
REPORT = {
    "vg": [{"vg_name": "vg", "vg_extent_size": "4194304", "vg_attr": "wz--n-", "vg_lock_type": ""}],
    "pv": [
        {"pv_name": "/dev/sda", "pv_major": "8", "pv_minor": "0", "pv_pe_count": "255",
         "pv_pe_alloc_count": "17", "pv_allocatable": "1", "pv_missing": "0"},
        {"pv_name": "[unknown]", "pv_major": "-1", "pv_minor": "-1", "pv_pe_count": "127",
         "pv_pe_alloc_count": "13", "pv_allocatable": "1", "pv_missing": "1"},
    ],
    "lv": [
        {"lv_name": "lv", "lv_attr": "rwi-a-r---", "lv_size": "46137344", "pool_lv": "", "origin": ""},
        {"lv_name": "[lv_rimage_0]", "lv_attr": "iwi-aor---", "lv_size": "46137344", "pool_lv": "",
         "origin": ""},
    ],
    "seg": [
        {"lv_name": "lv", "segtype": "raid1", "region_size": "2097152"},
        {"lv_name": "[lv_rimage_0]", "segtype": "linear", "region_size": "0"},
        {"lv_name": "[lv_rimage_0]", "segtype": "linear", "region_size": "0"},
    ],
    "pvseg": [
        {"pv_name": "/dev/sda", "lv_name": "[lv_rimage_0]", "pvseg_size": "7"},
        {"pv_name": "/dev/sda", "lv_name": "[lv_rimage_0]", "pvseg_size": "3"},
        {"pv_name": "/dev/sda", "lv_name": "", "pvseg_size": "238"},
    ],
}  # fmt: skip


def parsed(report):
    return lvm_report.parse(json.dumps({"report": [report]}), NAMES)


def test_what_is_free_and_where():
    """Free extents are those that are not allocated; a PV that is missing may not be used."""
    group = parsed(REPORT)["vg"]
    here, gone = group.pvs

    assert (4194304, False) == (group.extent, group.shared)
    assert ("sda", 255, 238, True) == (here.device, here.extents, here.free, here.usable)
    assert ("", False) == (gone.device, gone.usable)


@pytest.mark.parametrize("printed", [r"/dev/mapper/a\x20b", r"/dev/mapper/a\\x20b"])
def test_a_pv_whose_path_has_a_backslash(printed):
    """LVM does not escape it, so its report is no JSON; one that does is read as well. Seen in the lab."""
    text = json.dumps({"report": [REPORT]}).replace("/dev/sda", printed)
    group = lvm_report.parse(text, NAMES)["vg"]

    assert group.pvs[0].path == r"/dev/mapper/a\x20b"
    assert {group.pvs[0].path: 10} == dict(group.volumes["lv_rimage_0"].on)


def test_segments_of_an_lv_are_added():
    """Seven extents and three on one PV are ten; the LV's name has no brackets."""
    image = parsed(REPORT)["vg"].volumes["lv_rimage_0"]

    assert ("linear", {"/dev/sda": 10}) == (image.segtype, dict(image.on))
    assert (11, 2097152) == (
        parsed(REPORT)["vg"].volumes["lv"].extents, parsed(REPORT)["vg"].volumes["lv"].region
    )  # fmt: skip


def test_segments_of_several_types_have_no_one_type():
    mixed = {**REPORT, "seg": [*REPORT["seg"], {**REPORT["seg"][1], "segtype": "striped"}]}

    assert "" == parsed(mixed)["vg"].volumes["lv_rimage_0"].segtype


@pytest.mark.parametrize(("field", "value"), [("vg_lock_type", "sanlock"), ("vg_attr", "wz--nc")])
def test_a_vg_that_hosts_share(field, value):
    assert parsed({**REPORT, "vg": [{**REPORT["vg"][0], field: value}]})["vg"].shared


def test_pvs_without_a_vg_are_no_vg():
    """The report of orphans has no vg, or one without a name."""
    assert {} == parsed({"pv": REPORT["pv"]})
    assert {} == parsed({**REPORT, "vg": []})
    assert {} == parsed({**REPORT, "vg": [{**REPORT["vg"][0], "vg_name": ""}]})


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"report": 3}', '{"report": [{"vg": [{"vg_name": "vg"}]}]}', "[" * 100_000],
)
def test_another_form_is_said(text):
    with pytest.raises(ParseError, match="lvm fullreport"):
        lvm_report.parse(text, NAMES)


@pytest.mark.parametrize("field", ["pv_pe_count", "pv_pe_alloc_count"])
def test_a_count_that_is_none_is_said(field):
    broken = {**REPORT, "pv": [{**REPORT["pv"][0], field: "many"}]}

    with pytest.raises(ParseError):
        parsed(broken)
