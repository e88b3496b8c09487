"""Old iostat and sar print one await for reads and writes together: every command uses it."""

from __future__ import annotations

import json

from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "mysql-raid"
TEXT = str(SAMPLE / "input" / "iostat-64-threads.txt")
ALONE = str(SAMPLE / "input" / "iostat-1-thread.txt")


def printed(*words):
    result = CliRunner().invoke(stackmap, ["--from", str(SAMPLE), *words], catch_exceptions=False)
    return result.stdout


def test_iostat_has_one_column():
    """108.72 ms; the columns for reads and writes apart would be empty."""
    heading, row = printed("iostat", "--input", TEXT).splitlines()[:2]

    assert "r_await" not in heading
    assert dict(zip(heading.split()[1:], row.split()[2:], strict=True))["await"] == "108.72"


def test_where_reads_and_writes_are_known_they_have_their_columns():
    """A newer iostat, also of idle devices."""
    sample = SAMPLE.parent / "laptop-luks-lvm"
    words = ["--from", str(sample), "iostat", "--input", str(sample / "input/iostat-worst.txt")]
    heading = next(
        line for line in CliRunner().invoke(stackmap, words).stdout.splitlines() if "DEVICE" in line
    )

    assert "r_await" in heading
    assert " await" not in heading


def test_layers_have_a_group_of_both():
    """Reads and writes keep their own rows."""
    out = printed("iostat", "-l", "--input", TEXT)
    group = out.partition("READS AND WRITES\n")[2].splitlines()[0]

    assert "READS\n" in out
    assert group.split()[5] == "108.72"


def test_fiojob_takes_the_queue_from_aqu_sz():
    """65.98 in flight, divided by the number of requests: 601.2 reads, 0.8 writes."""
    out = printed("fiojob", "mysql", "--input", TEXT)

    assert "iodepth=66\n" in out
    assert "iodepth: a default" not in out


def test_compare_has_it():
    """7.83 to 108.72 ms, and why they cannot be compared."""
    out = printed("compare", ALONE, TEXT)
    row = next(line.split() for line in out.splitlines() if "await, ms" in line)

    assert row[2:4] == ["7.83", "108.7"]
    assert "The change of await says nothing about the volume: the loads differ" in " ".join(
        out.split()
    )


def test_the_report_has_it():
    """The tile and the sentence on the load."""
    out = printed("report", "-m", "-o", "-", "--input", TEXT)

    assert "await of both 109 ms" in out
    assert "| wait of a request | 109 ms |" in out


def test_explain_judges_by_it():
    found = json.loads(printed("explain", "-J", "--input", TEXT, "--baseline", ALONE))["findings"]

    evidence = {each["name"]: each["value"] for each in found[0]["evidence"]}
    assert (found[0]["id"], round(evidence["await"], 2)) == ("SM401", 108.72)
