"""The conclusion that a command prints before its table: once per run, and not where headings are off."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
SAMPLE = str(SAMPLES / "vghdd")
LAPTOP = SAMPLES / "laptop-luks-lvm"
MEDUSA = SAMPLES / "raid5-raid10-medusa"


def said(*words, sample=SAMPLE):
    result = CliRunner().invoke(stackmap, ["--from", sample, *words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        (
            ["blame", "sda"],
            "vghdd/vm-disk1 sends 53.6 % of the requests and 54.5 % of the bytes of sda.",
        ),
        (
            ["blame"],
            "vghdd/vm-disk1 sends 53.5 % of the requests and 54.4 % of the bytes of sda, sdb, sdc and sdd.",
        ),
        (
            ["blame", "vm-disk1"],
            "vghdd/vm-disk1 loads 4 disks: sda gets most, 25.1 % of its requests, which are 53.6 % of that disk's.",
        ),
    ],
)
def test_a_headline_is_printed_unless_headings_are_off(words, headline):
    """It stands before the table; -n and -J have none."""
    text = " ".join(said(*words).split())

    assert 0 <= text.index(headline) < 120
    assert headline not in " ".join(said(*words, "-n").split())
    assert headline not in said(*words, "-J")


def test_of_many_intervals_only_the_first_has_a_headline():
    """Each of the five intervals has a table."""
    text = said("blame", "sda", "--report", "all")

    assert text.count("SOURCE") == 5
    assert text.count("vghdd/vm-disk1 sends") == 1


def test_compare_has_what_changed_most_as_its_headline():
    """Without headings the other conclusions remain."""
    words = ["compare", SAMPLE, SAMPLE, "--map", "vm-disk1=vm-disk1-r10"]
    line = "Disk requests per write, with reads: 5.39 → 1.66 (-69.3 %)."

    assert said(*words).splitlines()[1] == line
    assert line not in said(*words, "-n")
    assert "Disk requests per request: 4.46 → 1.66 (-62.9 %)." in said(*words, "-n")


def test_a_disk_that_is_read_directly():
    """The article's disk has no volume: dd read it."""
    words = ["blame", "sdb", "--input", str(LAPTOP / "input" / "iostat-worst.txt")]
    text = " ".join(said(*words, sample=str(LAPTOP)).split())

    assert text.startswith("100 % of the requests and 100 % of the bytes of sdb do not come from")


def test_plan_says_what_it_risks_first():
    """Its length, the time offline, which steps have a risk; and each of these steps is marked."""
    text = said("plan", "vm-disk1", "--to", "raid10:members=4")
    first = " ".join(text.split("\nMethod copy:")[0].split())

    assert first.endswith(
        "13 steps. The volume is OFFLINE in steps 4 to 12 and as redundant as before throughout. "
        "Risks: steps 2, 7, 12 and 13; step 13 cannot be undone."
    )
    marked = [line.partition(":")[0] for line in text.splitlines() if "RISK:" in line]
    assert marked == [
        "2. ONLINE, RISK",
        "7. OFFLINE, RISK",
        "12. OFFLINE, RISK",
        "13. DAYS LATER, RISK",
    ]


def test_blame_without_figures_says_so():
    """A text without rows of disks has an answer too."""
    text = said("blame", "--input", str(MEDUSA / "input" / "sar-0710.txt"), sample=str(MEDUSA))

    assert text.startswith("No disk with I/O has figures here.")


def test_an_unknown_source_is_called_unknown():
    """Where the text lacks the devices above, nothing says that the load is not theirs."""
    text = said("blame", "--input", str(MEDUSA / "input" / "iostat-1.txt"), sample=str(MEDUSA))

    assert text.startswith("The source of 100 % of the requests")
    assert "not from any device above" not in text
    assert "USED BY" not in text  # nothing uses them


def test_compare_names_a_side_without_figures():
    """The first sentence says that there is nothing to compare."""
    texts = [str(MEDUSA / "input" / name) for name in ("iostat-2.txt", "iostat-3.txt")]

    assert "Nothing to compare: the volume has no figures after." in said(
        "compare", *texts, "vm-disk1", sample=str(MEDUSA)
    )


def test_no_command_prints_the_help():
    """As wrong usage, on stderr, with its line breaks."""
    result = CliRunner().invoke(stackmap, [])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "\nLook:\n" in result.stderr


def test_totals_are_not_headed_as_rates(tmp_path):
    """One copy of the counters has no length: its requests and KiB are totals in both forms of iostat."""
    text = tmp_path / "diskstats.txt"
    text.write_text("   8       0 sda 1009 0 8072 503 2003 0 16024 1009 0 700 1512\n")
    flat, layers = (
        CliRunner().invoke(stackmap, ["iostat", *words, "--input", str(text)]).stdout
        for words in ((), ("-l",))
    )

    assert "r-total" in flat
    assert re.search(r"^ +requests +KiB +KiB", layers, re.MULTILINE)
    assert "IOPS  KiB/s" not in layers
