"""What ``whatif`` says on a recorded machine, and how it refuses."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import StackmapError
from stackmap.features.whatif.json import _stream
from stackmap.features.whatif.quantities import Stream
from tests.test_expected import SAMPLES

SAMPLE = str(SAMPLES / "vghdd")
MEDUSA = SAMPLES / "raid5-raid10-medusa"


def run(*words, sample=SAMPLE):
    return CliRunner().invoke(stackmap, ["--from", sample, "whatif", *words])


def said(*words):
    result = run(*words, "-J")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_members_are_a_number_and_projected_disks_a_band():
    """So are those of one of them; now, all are numbers."""
    (found,) = said("vm-disk1", "--to", "raid10")
    now, then = found["now"], found["projected"]

    for figures in (now["members"], now["disks"], then["members"]):
        assert figures["per_disk"] == pytest.approx(figures["iops"] / 4)
    assert set(then["disks"]["iops"]) == {"low", "likely", "high"} == set(then["disks"]["per_disk"])
    assert then["disks"]["iops"]["low"] <= then["disks"]["iops"]["high"]


def test_a_byte_written_costs_the_same_at_twice_the_load():
    once, twice = (
        run("vm-disk1", "--to", "raid10", "--load", factor).output for factor in ("1x", "2x")
    )

    assert (words := re.findall(r"written costs ([\d.]+ disk bytes instead of [\d.]+)", once))
    assert re.findall(r"written costs ([\d.]+ disk bytes instead of [\d.]+)", twice) == words


def test_each_volume_of_a_group_is_an_object():
    """The one that is laid out so already is a check."""
    found = {each["label"]: each for each in said("vghdd", "--to", "raid10")}

    assert found["vghdd/vm-disk1"]["check"] is False
    assert found["vghdd/vm-disk1-r10"]["check"] is True


@pytest.mark.parametrize(("volume", "level"), [("vm-disk1", "raid5"), ("vm-disk1-r10", "raid10")])
def test_the_present_layout_is_near_what_was_measured(volume, level):
    """Members within 1 %, and what the disks did within the band."""
    (found,) = said(volume, "--to", level)
    now, then = found["now"], found["projected"]

    assert then["members"]["iops"] == pytest.approx(now["members"]["iops"], rel=0.01)
    assert then["disks"]["iops"]["low"] <= now["disks"]["iops"] <= then["disks"]["iops"]["high"]


def test_the_bitmap_is_written_no_more_often_than_the_disks_write():
    """The text has no figures of the bitmap; its four disks write 240 requests per second."""
    (found,) = (
        json.loads(line)
        for line in run(
            "vm-disk1-r10", "--to", "raid10", "--input", str(MEDUSA / "input" / "iostat-2.txt"), "-J",
            sample=str(MEDUSA),
        ).stdout.splitlines()
    )  # fmt: skip

    assert 0 < found["projected"]["disks"]["metadata"]["iops"]["high"] <= 240.0 + 1e-6


def test_a_recording_is_projected_whole(tmp_path):
    """All its samples, a second apart, however many."""
    counters = (SAMPLES / "vghdd" / "proc" / "diskstats").read_text()
    samples = tmp_path / "samples"
    samples.write_text("".join(f"TS {1700000000 + n}.5\n{counters}" for n in range(38)))
    (found,) = said("vm-disk1", "--to", "raid10", "--input", str(samples))

    assert found["intervals"] == 37
    assert found["seconds"] == 37


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["vm-disk1", "--load", "none"], 2, "2x"),
        (["vm-disk1", "--disks", "tape:1s"], 2, "ssd:100us"),
        (["--to", "raid10"], 2, "NAME"),
        (["vm-disk1", "--to", "raid7"], 2, "raid7"),
        (["vm-disk1", "--to", "raid10:members=5"], 2, "a multiple of"),
        (["no-such-volume", "--to", "raid10"], 32, "no-such-volume"),
    ],
)
def test_what_cannot_be_is_refused(words, status, says):
    """With the status of a usage error, or lsblk's for an unknown name."""
    result = run(*words)
    error = result.exception

    code = error.exit_code if isinstance(error, StackmapError) else result.exit_code
    assert status == code
    assert says in (str(error) if isinstance(error, StackmapError) else result.output)


def test_a_text_without_separate_reads_and_writes_gives_a_range():
    """sar -d has requests of both: 1440 at the members become 534 if all have one size, as the article expects."""
    text = str(MEDUSA / "input" / "sar-0710.txt")
    words = ["vm-disk1", "--to", "raid10", "--input", text]
    (found,) = map(json.loads, run(*words, "-J", sample=str(MEDUSA)).stdout.splitlines())
    said = " ".join(run(*words, sample=str(MEDUSA)).stdout.split())

    assert found["load"]["write"]["iops"] is None
    assert found["load"]["write"]["bytes"] == pytest.approx(2559.05 * 512)
    assert found["load"]["total"]["iops"] == pytest.approx(375.29)
    then = found["projected"]["members"]
    assert then["iops"] == pytest.approx(534, abs=1)
    assert then["low"] < then["iops"] < then["high"]
    assert "1440 → 534 member requests/s (-63 %, range 377 to 749)" in said
    assert "each byte written costs 2.00 disk bytes instead of 3.12" in said
    assert "`iostat -dxy 1 60`" in said
    assert "at most 2.8 TiB free each" in said
    assert "run `stackmap plan --to raid10 vghdd/vm-disk1` as root" in said


def test_the_headline_comes_before_the_table_unless_headings_are_off():
    """Times, requests at the disks, and what a written byte costs."""
    said = run("vm-disk1", "--to", "raid10").stdout
    assert "\nWrites: 54.0 ms → " in said
    line = "774 → 334 disk requests/s (-57 %, range 305 to 375); with raid10, each byte"

    assert line in said.splitlines()[1:8]  # after what to do first, and the times
    assert line not in run("vm-disk1", "--to", "raid10", "-n").stdout


def test_a_text_will_do():
    """iostat -x has what it takes: reads of 64 KiB stay what they are, where md had cut them to pages."""
    text = str(MEDUSA / "input" / "iostat-2.txt")
    result = run("vm-disk1", "--to", "raid10", "--input", text, "-J", sample=str(MEDUSA))
    members = json.loads(result.stdout)["projected"]["members"]

    assert members["read"]["iops"] == pytest.approx(363.2, abs=0.1)


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (
            "raid1",
            "needs larger members for 600 MiB: 2 × 600 MiB. With members of the present size it holds 200 MiB",
        ),
        ("raid0", "4 members of 200 MiB hold 800 MiB, enough for the present 600 MiB."),
        (
            "linear",
            "linear needs 600 MiB of disk space for the same 600 MiB (now 800 MiB): 3 members of 200 MiB or 1 of 600 MiB.",
        ),
        (
            "raid10",
            "RAID10 needs 1.2 GiB of disk space for the same 600 MiB (now 800 MiB): 6 members of 200 MiB or 4 of 300 MiB.",
        ),
    ],
)
def test_what_the_layout_takes_is_said(wish, says):
    """The volume's 600 MiB are on members of 200."""
    text = " ".join(run("vm-disk1", "--to", wish).stdout.split())

    assert says in text


def test_what_the_disks_did_is_one_figure_wherever_it_is_shown():
    """Where others share them it is an estimate: the same as a layer's, disk by disk."""
    (found,) = said("vm-disk1", "--to", "raid10")
    now = found["now"]["disks"]
    layers = CliRunner().invoke(stackmap, ["--from", SAMPLE, "iostat", "-l", "vm-disk1", "-J"])
    (disks,) = json.loads(layers.stdout)["stacks"][0]["layers"][-1:]

    assert now["metadata"]["iops"] == 0
    for direction in ("read", "write"):
        assert now[direction]["iops"] == pytest.approx(disks[direction]["iops"])


def test_a_direction_has_a_size_in_json_if_it_has_requests():
    """8 KiB each, in both directions; without requests there is no size."""
    (found,) = said("vm-disk1", "--to", "raid10")
    sizes = {name: found["load"][name]["size"] for name in ("read", "write", "total")}

    assert sizes == dict.fromkeys(sizes, pytest.approx(8192.0))
    assert _stream(Stream(0.0, 0.0)) == {"iops": 0.0, "bytes": 0.0, "size": None}
