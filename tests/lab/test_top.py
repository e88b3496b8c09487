"""``top`` in a guest: forty LVs come and go, a device is suspended, and no key waits for either."""

from __future__ import annotations

import json
import re

import pytest

from tests.features.top.watched import rows_as_iostat

pytestmark = pytest.mark.lab("all")

LONGEST = 20_000  # ms until a key is answered, in an emulated guest on a busy machine
LVS = 40


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("top", kernel=kernel, disks=3, timeout=3000)


def screens(out):
    parts = (out / "screens.txt").read_text().split("== ")[1:]
    return {name: screen for name, _, screen in (part.partition("\n") for part in parts)}


def test_every_key_is_answered(out):
    """While LVs come and go and while a device is suspended."""
    waits = [int(line.split()[1]) for line in (out / "answers.txt").read_text().splitlines()]
    assert len(waits) >= LVS + 30
    assert max(waits) < LONGEST


def test_events_are_shown(out):
    """Each LV that came or went is a line of view 5, until the screen is full."""
    events = screens(out)["events"]
    assert "EVENT" in events
    assert (
        sum(
            "vg/t" in line or "appeared" in line or "went away" in line
            for line in events.splitlines()
        )
        > 10
    )


def test_the_load_is_shown(out):
    """The steady volume has its 50 writes per second, before and while a device is suspended."""
    for name in ("suspended", "written", "recorded"):
        line = next(line for line in screens(out)[name].splitlines() if "vg/steady" in line)
        assert 20 < float(line.split()[2]) < 80, line


def test_a_signal_ends_it_well(out):
    """The terminal is as it was, the shell has its screen, and nothing was printed."""
    assert (out / "top.status").read_text() == "143\n"
    assert (out / "modes.after").read_text() == (out / "modes.before").read_text()
    assert "STACK" not in screens(out)["end"]
    assert (out / "top.err").read_text() == ""


def test_the_last_minutes_can_be_read(out):
    """W wrote a capture with intervals of the steady volume."""
    reports = [json.loads(line) for line in (out / "replayed.jsonl").read_text().splitlines()]
    rates = [d["writes"] for r in reports for d in r["devices"] if d["label"] == "vg/steady"]
    assert len(reports) > 10
    assert 20 < sorted(rates)[len(rates) // 2] < 80
    assert "vg/steady" in (out / "tree.txt").read_text()


def test_figures_equal_those_of_iostat(out):
    """The rows of the paused screen are those of ``iostat -l -J`` for that interval of the capture."""
    screen = screens(out)["paused"]
    time = re.search(r"(\S+) (\S+) UTC", screen)
    reports = map(json.loads, (out / "layers.jsonl").read_text().splitlines())
    shown = next(r for r in reports if r["time"].startswith(f"{time[1]}T{time[2]}"))
    assert rows_as_iostat(screen, shown["stacks"]) >= 2
