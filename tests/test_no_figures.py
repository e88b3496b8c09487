"""
No figure at all, rather than a wrong one: a recorded kernel, and what may come between two samples of it.

Beside these: a device that is replaced while stackmap looks (tests/lab,
states), two volumes over one striped table (tests/lab, stacks).
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import InputError
from tests.paths import ROOT

VGHDD = ROOT.parent / "shared" / "captures" / "vghdd"
LOAD = VGHDD / "load" / "r5-rand4k-write"
VOLUME = "vm-disk1"

if not VGHDD.exists():
    pytest.skip("the recorded kernels are not beside this checkout", allow_module_level=True)


@pytest.fixture
def samples():
    """The counters before and after the load, each a text with its time above."""
    texts = [f"TS {each}" for each in LOAD.with_suffix(".diskstats").read_text().split("TS ")[1:]]
    return texts[0], texts[-1]


def layers(tmp_path, text, *more):
    """Return the sentences on the volume, one per report."""
    path = tmp_path / "text"
    path.write_text(text)
    words = ["--from", str(VGHDD / "capture.tar.gz"), "iostat", "--per-layer", "-J"]
    words += ["--input", str(path), *more, VOLUME]
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_counters_since_boot_are_no_interval(tmp_path, samples):
    """One sample has totals since boot only: no sentence is printed."""
    with pytest.raises(InputError):
        layers(tmp_path, samples[0])


def test_a_first_report_since_boot_is_left_out(tmp_path):
    """iostat's first report is an average since boot: with it, the rate would be another."""
    text = LOAD.with_suffix(".iostat.txt").read_text()
    reports = layers(tmp_path, text, "--report", "all")
    (told,) = layers(tmp_path, text)
    rates = [report["stacks"][0]["layers"][0]["write"]["iops"] for report in reports]
    assert reports[0]["since_boot"]
    assert not any(report["since_boot"] for report in (told, *reports[1:]))
    mean = sum(rates[1:]) / len(rates[1:])
    assert told["stacks"][0]["layers"][0]["write"]["iops"] == pytest.approx(mean)
    assert abs(sum(rates) / len(rates) - mean) > 0.01 * mean


@pytest.mark.parametrize("field", [7, 9], ids=["writes", "sectors"])
@pytest.mark.parametrize("name", ["dm-8", "dm-1", "sda"])
def test_a_counter_that_wrapped_leaves_its_device_without_figures(tmp_path, samples, name, field):
    """Volume, member or disk: its layer has none, and an event says why."""
    before, after = samples
    (report,) = layers(tmp_path, ahead(before, name, field) + after)
    assert any(name in event and "went back" in event for event in report["events"])
    (stack,) = report["stacks"] or [{"layers": []}]
    mine = [layer for layer in stack["layers"] if name in layer["devices"]]
    for layer in mine:
        assert layer["closure"]["write"] is None or name == "dm-8"
        if name != "sda":  # what was sent to a disk is told by the members, which are right
            assert layer["write"]["bytes"] is None
            assert layer["amplification"]["bytes"]["write"] is None
        assert layer["coalescing"]["write"] is None


def test_a_volume_that_appeared_has_no_figures_yet(tmp_path, samples):
    """All that it did since it is there is no rate; nor is what its members did a ratio to it."""
    before, after = samples
    gone = "".join(line for line in before.splitlines(True) if " dm-8 " not in line)
    (report,) = layers(tmp_path, gone + after)
    assert any("dm-8" in event and "appeared" in event for event in report["events"])
    volume, *below = report["stacks"][0]["layers"]
    assert [volume["write"][what] for what in ("iops", "arrivals", "bytes")] == [None] * 3
    assert [layer["amplification"]["bytes"]["write"] for layer in below] == [None] * len(below)


def ahead(sample, name, field):
    """Return a sample in which a counter of one device is as high as 32 bits can be."""
    lines = sample.splitlines(keepends=True)
    for place, line in enumerate(lines):
        words = line.split()
        if len(words) > 13 and words[2] == name:
            words[field] = str(2**32 - 7)
            lines[place] = " ".join(words) + "\n"
    changed = "".join(lines)
    assert changed != sample
    return changed
