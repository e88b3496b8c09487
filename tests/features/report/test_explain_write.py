"""``report --explain-write``: one write by member, in bytes and requests, as the kernel counted them."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.report.explain_write import _sentence, example
from stackmap.model.layout_request import parse
from stackmap.model.raid import PAGE, Layout, layout
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
VGHDD = ["--from", str(SAMPLES / "vghdd")]
KIB = 1024
RAID5 = Layout("raid5", 4, 3, 1, 1, 64 * KIB, "ls")
WIDE = Layout("raid5", 8, 7, 1, 1, 64 * KIB, "ls")
RAID6 = Layout("raid6", 6, 4, 2, 1, 64 * KIB, "ls")
MIRROR = Layout("raid1", 3, 1, 0, 3, None)
RAID10 = Layout("raid10", 4, 2, 0, 2, 64 * KIB, "near")


def report(*words, markdown=True):
    form = ["-m"] if markdown else []
    return CliRunner().invoke(stackmap, [*VGHDD, "report", "-o", "-", *form, *words])


def section(*words):
    text = report(*words).stdout
    return text.partition("## One write of ")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("layout", "length", "read", "written", "requests"),
    [
        # Of 3 data pages, 2 are read (the tie of reconstruct-write) or, of 7, the old page and parity.
        (RAID5, 4 * KIB, 8 * KIB, 8 * KIB, 4),
        (WIDE, 4 * KIB, 8 * KIB, 8 * KIB, 4),
        (RAID6, 4 * KIB, 12 * KIB, 12 * KIB, 6),
        (RAID5, 192 * KIB, 0, 256 * KIB, 64),
        (MIRROR, 8 * KIB, 0, 24 * KIB, 3),
        (RAID10, 8 * KIB, 0, 16 * KIB, 2),
        (RAID10, 96 * KIB, 0, 192 * KIB, 4),
    ],
)
def test_what_a_write_does(layout, length, read, written, requests):
    """Bytes read first, bytes written, and requests before merging."""
    assert example(layout, length).totals == (read, written, requests)


def test_members_have_their_parts():
    """Left-symmetric RAID5 of 4: the first stripe has its data on 0, 1, 2 and its parity on 3."""
    parts = example(RAID5, 8 * KIB).parts
    wide = example(WIDE, 8 * KIB).parts

    assert {m: p.holds for m, p in parts.items()} == {
        0: "data", 1: "other data", 2: "other data", 3: "parity",
    }  # fmt: skip
    assert {m: (p.holds, p.read, p.written) for m, p in wide.items()} == {
        0: ("data", 8 * KIB, 8 * KIB), 7: ("parity", 8 * KIB, 8 * KIB),
    }  # fmt: skip


@pytest.mark.parametrize("text", ["raid5", "raid6", "raid10", "raid1"])
def test_a_whole_stripe_costs_the_layouts_ideal(text):
    """Bytes written per byte, and nothing is read."""
    levels = {"raid5": RAID5, "raid6": RAID6, "raid10": RAID10, "raid1": MIRROR}
    layout = levels[text]
    read, written, _ = example(layout, layout.stripe or PAGE).totals

    assert parse(text).level == text
    assert read == 0
    assert written / (layout.stripe or PAGE) == layout.ideal_write


def test_the_example_agrees_with_the_kernels_counters():
    """The recorded load of vm-disk1 was random writes of 8 KiB: each caused what the example says, within 1 %."""
    shown = CliRunner().invoke(
        stackmap, [*VGHDD, "iostat", "-l", "-J", "--report", "average", "vm-disk1"]
    )
    (stack,) = json.loads(shown.stdout)["stacks"]
    top, members, _ = stack["layers"]
    read, written, requests = example(RAID5, 8 * KIB).totals

    assert top["write"]["size"] == pytest.approx(8 * KIB, rel=0.01)
    caused = members["read"]["bytes"] - top["read"]["bytes"]
    assert caused / top["write"]["iops"] == pytest.approx(read, rel=0.01)
    assert members["write"]["bytes"] / top["write"]["iops"] == pytest.approx(written, rel=0.01)
    assert members["write"]["arrivals"] / top["write"]["iops"] == pytest.approx(
        requests / 2, rel=0.01
    )


def test_the_section_has_a_sentence_a_table_and_the_full_stripe():
    """Members have their names; those that a write does not touch are listed."""
    raid5, raid10 = (
        section("--explain-write", "8k", name) for name in ("vm-disk1", "vm-disk1-r10")
    )

    assert "8 requests, 4.00 disk bytes per byte" in raid5
    assert "A full stripe of 192 KiB reads nothing and writes 256 KiB: 1.33" in raid5
    assert len(re.findall(r"^\| vghdd/vm-disk1\\_rimage", raid5, re.MULTILINE)) == 4
    assert raid10.count("not touched") == 2


def test_html_draws_it():
    """A box for the write and one per member that it touches; none without the option."""
    drawn = report("--explain-write", "8k", "vm-disk1", markdown=False).stdout
    part = drawn.partition('id="write"')[2].partition("</section>")[0]

    assert part.count("<rect ") == 5
    assert 'aria-label="One write of 8 KiB"' in part
    assert 'id="write"' not in report("vm-disk1", markdown=False).stdout


@pytest.mark.parametrize("text", ["8", "512", "1k", "17M", "x", ""])
def test_another_size_is_refused(text):
    """Smaller than a page, or more than 16 MiB."""
    refused = report("--explain-write", text, "vm-disk1")

    assert 2 in (refused.exit_code, getattr(refused.exception, "exit_code", None))


def test_a_volume_without_raid_has_no_example():
    sample = ["--from", str(SAMPLES / "laptop-luks-lvm")]
    text = SAMPLES / "laptop-luks-lvm" / "input" / "iostat-worst.txt"
    words = [*sample, "report", "-o", "-", "-m", "--input", str(text), "--explain-write", "8k"]

    assert "has no RAID" in CliRunner().invoke(stackmap, words).stdout


@pytest.mark.parametrize(
    ("level", "reads", "ratio"),
    [("raid5", True, "4.00"), ("raid6", True, "6.00"), ("raid10", False, "2.00")],
)
def test_only_parity_is_read_before_a_small_write(level, reads, ratio):
    """Of six members a page reads as much as it writes: data and each parity. A mirror writes its copies."""
    said = _sentence(example(layout(level, 6, 65536), 4096), "vg/lv", level)
    assert (" first" in said) is reads
    assert f" {ratio} disk bytes" in said
