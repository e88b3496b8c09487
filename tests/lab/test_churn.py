"""Fifty LVs come and go under repeating reports: each change is an event, and no rate is another device's."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.lab("all")

LVS = 50
LONGEST_LOOK = 30  # seconds, in an emulated guest


class Volume(NamedTuple):
    """An LV that was: when, under which number, and how many bytes the kernel had counted at its end."""

    label: str
    device: str
    began: float
    ended: float
    written: int


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("churn", kernel=kernel, disks=2, timeout=1200)


@pytest.fixture(scope="module")
def volumes(out):
    rows = [line.split() for line in (out / "lvs.txt").read_text().splitlines()]
    return [Volume(label, dev, float(a), float(b), int(n)) for label, dev, a, b, n in rows]


@pytest.fixture(scope="module", params=["iostat", "replayed"])
def reports(out, request):
    """Each interval of the live report, and of the replay of what was recorded meanwhile."""
    lines = (out / f"{request.param}.jsonl").read_text().splitlines()
    return [report for report in map(json.loads, lines) if not report["summary"]]


def end(report):
    return datetime.fromisoformat(report["time"]).timestamp()


def test_all_came_and_went(volumes):
    """And the same numbers were used again, with counters that had not gone back."""
    assert len(volumes) == LVS
    assert len({volume.device for volume in volumes}) < LVS / 2
    assert volumes[-1].written > volumes[0].written + 3_000_000


@pytest.mark.parametrize("command", ["iostat", "layers", "record"])
def test_it_ended_well(out, command):
    """Interrupted, with nothing to complain of."""
    assert (out / f"{command}.status").read_text() == "0\n"
    assert "Traceback" not in (out / f"{command}.err").read_text()


def test_no_volume_has_more_than_it_wrote(reports, volumes):
    """The kernel's own count of each, read just before it went: nobody else's bytes are under its name."""
    written = {volume.label: volume.written for volume in volumes}
    said = defaultdict(float)
    for report in reports:
        for row in report["devices"]:
            said[row["label"]] += (row["write_bytes"] or 0.0) * report["seconds"]
    assert {
        label for label in said if label in written and said[label] > written[label] + 1
    } == set()


def test_the_steady_load_is_never_wrong(out, reports):
    """A volume that stays has its rate in every interval: never another's, never below nothing."""
    rates = [row["writes"] for r in reports for row in r["devices"] if row["label"] == "vg/steady"]
    said = (out / "fio.json").read_text()  # after the line that it was ended
    fio = json.loads(said[said.index("{") :])["jobs"][0]["write"]["iops"]
    assert len(rates) == len(reports)
    assert all(0 <= rate < 3 * fio for rate in rates)
    total = sum(rate * r["seconds"] for rate, r in zip(rates, reports, strict=True))
    assert total / sum(r["seconds"] for r in reports) == pytest.approx(fio, rel=0.15)


def test_every_change_is_an_event(reports, volumes):
    """
    Of each LV's life, what is said next names it.

    It is said when the topology was read, and that takes some intervals here.
    """
    for volume in volumes:
        during = [
            number
            for number, report in enumerate(reports)
            if end(report) > volume.began and end(report) - report["seconds"] < volume.ended
        ]
        if not during or during[-1] + 2 >= len(reports):
            continue
        late = [n for n in range(during[-1], len(reports)) if reports[n]["events"]]
        near = reports[max(0, during[0] - 1) : (late or during)[0] + 2]
        assert not late or end(reports[late[0]]) < volume.ended + LONGEST_LOOK
        seen = [event for report in near for event in report["events"]]
        assert any(volume.device in event or volume.label in event for event in seen), volume


def test_layers_are_of_the_stack_that_stays(out):
    """What comes and goes beside it leaves its amplification: a linear volume's is 1."""
    lines = (out / "layers.jsonl").read_text().splitlines()
    for report in map(json.loads, lines):
        (stack,) = report["stacks"]
        assert stack["top"] == "vg/steady"
        ratio = stack["layers"][-1]["amplification"]["iops"]["write"]
        assert ratio is None or ratio == pytest.approx(1, abs=0.05)
