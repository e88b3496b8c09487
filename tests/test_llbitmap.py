"""
md's bitmap without locks, on arrays of mdadm 4.6 and Linux 7.3.

Debian builds none: md-mod was built from its linux-source with CONFIG_MD_LLBITMAP. ``llbitmap.tar.gz``: random
writes of 4 KiB on RAID5 and RAID10. The truths: what the kernel counted of 300 such writes, on clean bits, then on dirty ones.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.lab import truth
from tests.paths import ROOT

RECORDED = ROOT / "tests" / "streams" / "7.3"
DISKS = [f"8:{16 * place}" for place in range(4, 8)]
BLOCK = 512  # what a write of a bitmap's block has, says the kernel


def said(*words):
    done = CliRunner().invoke(stackmap, ["--from", str(RECORDED / "llbitmap.tar.gz"), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(("name", "blocks"), [("ten-first", 104), ("ten-again", 0)])
def test_only_first_writes_write_the_bitmap(name, blocks):
    """26 blocks on each of four members, then none."""
    counted = truth.read(RECORDED / f"{name}.truth")
    sizes = [counted.sizes(disk, "W") for disk in DISKS]

    assert counted.arrived("9:126", "W").count == 300
    assert sum(each.get(BLOCK, 0) for each in sizes) == blocks
    assert sum(each.get(4096, 0) for each in sizes) == 600


@pytest.mark.parametrize("name", ["md126", "md127"])
def test_the_tree_names_it(name):
    (array,) = [each for each in json.loads(said("tree", "-J"))["devices"] if each["name"] == name]

    assert array["facts"]["bitmap"] == "llbitmap"
    assert array["facts"]["consistency"] == "bitmap"


def test_its_cost_is_the_bitmaps():
    """What RAID10 wrote beyond two copies are blocks of 512 bytes."""
    (stack,) = json.loads(said("iostat", "--per-layer", "-J", "md126"))["stacks"]
    beyond = stack["disk_requests_per_write"] - 2

    assert beyond > 0.1
    array = stack["layers"][0]
    share = array["write"]["bytes"] / (array["write"]["bytes"] + array["read"]["bytes"])
    assert stack["causes"]["bitmap"] == pytest.approx(beyond * BLOCK / 4096 * share, rel=0.01)


def test_on_parity_levels_its_cost_is_a_range():
    """An empty flush of a member looks like a block of the bitmap: all of them may be either."""
    counted = truth.read(RECORDED / "five-first.truth")
    sizes = [counted.sizes(f"8:{16 * place}", "W") for place in range(4)]
    pages, blocks = (sum(each.get(size, 0) for each in sizes) for size in (4096, BLOCK))
    samples = str(RECORDED / "five-first.diskstats")
    found = json.loads(said("iostat", "--per-layer", "-J", "--input", samples, "md127"))
    (stack,) = found["stacks"]
    low, high = (each * found["seconds"] for each in stack["layers"][1]["write"]["range"]["bytes"])

    assert (pages, blocks) == (600, 52)
    assert low == pytest.approx(pages * 4096)
    assert high == pytest.approx(pages * 4096 + blocks * BLOCK)


def test_on_bits_that_are_set_parity_alone_is_written():
    """RAID5's members wrote as many pages as requests: none of them can be a block of 512 bytes."""
    (stack,) = json.loads(said("iostat", "--per-layer", "-J", "md127"))["stacks"]

    assert stack["disk_bytes_per_byte_range"] is None
    assert stack["parity"]["write_amplification"] == pytest.approx(2.0)
    assert stack["parity"]["full_stripe"] == {"low": 0.0, "high": 0.0}


def test_an_array_without_a_bitmap_is_reported():
    """mdadm 4.6 made it without one. Those with llbitmap are in order."""
    checks = json.loads(said("check", "-J"))["checks"]

    assert {each["device"]: each["severity"] for each in checks if each["id"] == "SM913"} == {
        "md125": "info",
        "md126": "ok",
        "md127": "ok",
    }


def test_counters_in_a_text_do_not_replace_the_machine_of_from(tmp_path):
    """/proc/diskstats names devices only: how they lie on each other is in the capture."""
    sample = "TS {} 2026-11-23 22:59:0{}\n   9 127 md127 0 0 0 0 {} 0 {} 40 0 40 40 0 0 0 0 0 0\n"
    text = tmp_path / "counters"
    text.write_text(sample.format("100.0", 1, 3, 24) + sample.format("110.0", 2, 7, 56))

    (stack,) = json.loads(said("iostat", "-l", "-J", "--input", str(text), "md127"))["stacks"]

    assert stack["layout"]["level"] == "raid5"
    assert stack["layers"][0]["write"]["iops"] == pytest.approx(0.4)
