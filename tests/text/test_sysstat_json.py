"""JSON of iostat and sadf: every generation of keys, and the damage it comes with."""

from __future__ import annotations

import json

import pytest

from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Machine
from stackmap.text import intervals
from stackmap.text.report_builder import SINCE_BOOT

DEVICE = {
    "disk_device": "vg-lv",
    "r/s": 2.0,
    "w/s": 3.0,
    "rkB/s": 10.0,
    "wkB/s": 21.0,
    "rrqm/s": 11.0,
    "wrqm/s": 13.0,
    "rrqm": 17.0,
    "wrqm": 19.0,
    "r_await": 23.0,
    "w_await": 29.0,
    "rareq-sz": 5.0,
    "wareq-sz": 7.0,
    "aqu-sz": 31.0,
    "util": 37.0,
}
LOAD = Load(Flow(2, 11, 10 * 1024, 2 * 23), Flow(3, 13, 21 * 1024, 3 * 29), aqu=31, busy=0.37)


def document(*reports: dict) -> str:
    """Return the output of `iostat -o JSON`: one line per device."""
    text = json.dumps({"sysstat": {"hosts": [{"nodename": "lab", "statistics": reports}]}})
    return text.replace('{"disk_device"', '\n{"disk_device"')


def report(*devices: dict, **more) -> dict:
    return {**more, "avg-cpu": {"user": 2.0}, "disk": list(devices)}


def read(text: str) -> list[Interval]:
    return list(intervals([text.encode()], "text"))


def test_iostat():
    """Keys are read by name; the first report is since boot."""
    first, second = read(document(report(DEVICE, timestamp="21/11/26 07:43:36"), report(DEVICE)))
    assert first == Interval(
        {"vg-lv": LOAD},
        stamp="21/11/26 07:43:36",
        since_boot=True,
        notes=(SINCE_BOOT,),
        machine=Machine(host="lab"),
    )
    assert second == Interval({"vg-lv": LOAD}, machine=Machine(host="lab"))


def test_how_it_is_written_does_not_matter():
    """One line or many, with sorted keys, in a ticket: the same reports."""
    reports = report(DEVICE, timestamp="a"), report(DEVICE, timestamp="b")
    text = document(*reports)
    meant = read(text)
    assert len(meant) == 2
    assert read(json.dumps(json.loads(text))) == meant
    assert read(json.dumps(json.loads(text), indent=4)) == meant
    assert read(json.dumps(json.loads(text), indent=1, sort_keys=True)) == meant
    assert read(f"What is this?\n```\n{text}\n```\nThanks\n") == meant


def test_report_is_known_when_it_closes():
    """Of a document that is still being written, each complete report is read."""
    text = document(report(DEVICE), report(DEVICE))
    cut = text.index('{"avg-cpu"', text.index("vg-lv"))
    assert len(read(text[:cut])) == 1


def test_cut_within_a_device():
    """The figures that are whole count."""
    text = document(report(DEVICE), report(DEVICE))
    second = read(text[: text.rindex('"rkB/s"')])[1]
    assert second.loads == {"vg-lv": Load(Flow(2), Flow(3))}
    assert second.notes == ("cut off: the last device lacks figures",)


@pytest.mark.parametrize(
    ("damaged", "note"),
    [
        (lambda t: t.replace('"statistics": [', '"statistics": [\n,'), "a comma before the first"),
        (lambda t: t.replace("37.0}, ", "37.0} "), "a comma was missing between devices"),
        (lambda t: t.replace("2.0,", "2,0,"), "names or numbers were not JSON's"),
    ],
)
def test_repaired(damaged, note):
    """All figures are read despite sysstat's mistakes, and notes name the repairs."""
    text = document(report(DEVICE, DEVICE | {"disk_device": "sda"}))
    (interval,) = read(damaged(text))
    assert interval.loads == {"vg-lv": LOAD, "sda": LOAD}
    assert any(note in said for said in interval.notes)


def test_raw_escape():
    r"""`my lv` is called my\x20lv by udev; sysstat prints that as it is, which is no JSON."""
    (interval,) = read(document(report(DEVICE)).replace("vg-lv", r"vg-my\x20lv"))
    assert interval.loads == {r"vg-my\x20lv": LOAD}


@pytest.mark.parametrize(("unit", "size"), [("kB", 1024), ("MB", 1024**2)])
def test_sectors_under_another_name(unit, size):
    """sysstat 12.1.2 to 12.2.0 printed sectors under any key: 2 or 2048 times too large."""
    keys = {"rkB/s": f"r{unit}/s", "wkB/s": f"w{unit}/s"}
    right = {keys.get(k, k): v * 1024 / size if k in keys else v for k, v in DEVICE.items()}
    wrong = {keys.get(k, k): v * 2 if k in keys else v for k, v in DEVICE.items()}
    right |= {"r/s": 200.0, f"r{unit}/s": 1000 * 1024 / size}
    assert not any("corrected" in note for i in read(document(report(right))) for note in i.notes)
    (interval,) = read(document(report(wrong)))
    assert interval.loads == {"vg-lv": LOAD}
    assert any("in sectors" in note for note in interval.notes)


def test_early_keys():
    """sysstat 11.5.1 to 11.5.6: "rrqm" is a rate, and "rkB" may have any unit."""
    early = {
        "disk_device": "sda", "rrqm": 2.0, "wrqm": 3.0, "r": 5.0, "w": 7.0, "rkB": 11.0, "wkB": 13.0,
        "avgrq-sz": 4.0, "avgqu-sz": 17.0, "r_await": 19.0, "w_await": 23.0, "util": 29.0,
    }  # fmt: skip
    (kilobytes,) = read(document(report(early)))
    assert kilobytes.loads == {
        "sda": Load(Flow(5, 2, 11 * 1024, 5 * 19), Flow(7, 3, 13 * 1024, 7 * 23), aqu=17, busy=0.29)
    }
    (megabytes,) = read(document(report(early | {"avgrq-sz": 4096.0})))
    assert megabytes.loads["sda"].read.bytes == 11 * 1024**2
    assert any(note.startswith("corrected") for note in megabytes.notes)


def test_missing_keys():
    """Large machines lose keys at random (sysstat#396): missing figures are unknown."""
    (interval,) = read(document(report({k: DEVICE[k] for k in ("disk_device", "r/s", "util")})))
    assert interval.loads == {"vg-lv": Load(Flow(2), busy=0.37)}


def test_sadf():
    """sadf says when, for how long, and a size in two units: the kB is meant."""
    text = """{"sysstat": {"hosts": [{"statistics": [
        {"timestamp": {"date": "2026-11-21", "time": "07:45:50", "tz": "UTC", "interval": 10},
         "disk": [{"disk-device": "dev8-0", "tps": 2.00, "rd_sec": 6.00, "wr_sec": 10.00,
                   "rkB": 3.00, "wkB": 5.00, "await": 7.00, "util-percent": 11.00}]}]}]}}"""
    load = Load(
        Flow(bytes=3 * 1024), Flow(bytes=5 * 1024), whole=Flow(ios=2, wait=2 * 7), busy=0.11
    )
    assert read(text) == [
        Interval({"dev8-0": load}, 1795247150.0, 10.0, stamp="2026-11-21 07:45:50 UTC")
    ]
