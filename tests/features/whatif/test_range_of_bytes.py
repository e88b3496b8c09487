"""Where no counter tells how much is sequential, bytes have the range of full stripes to single pages."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

VGHDD = ["--from", str(ROOT / "sample_topologies" / "vghdd")]


def run(*words: str) -> str:
    return CliRunner().invoke(stackmap, [*VGHDD, "whatif", *words], catch_exceptions=False).stdout


@pytest.mark.parametrize(
    ("layout", "full", "pages"), [("raid5", 4 / 3, 4.0), ("raid6:members=5", 5 / 3, 5.0)]
)
def test_small_writes_may_fill_stripes(layout, full, pages):
    """4 KiB writes to RAID10: on parity, full stripes cost least, pages one by one most (stackmap-kernel(7))."""
    told = json.loads(run("vm-disk1-r10", "--to", layout, "-J"))
    written = told["load"]["write"]["bytes"]
    members = told["projected"]["members"]
    moved = members["bytes_range"]

    assert moved["low"] == pytest.approx(full * written, rel=0.01)
    assert moved["low"] < moved["likely"] <= moved["high"]
    assert moved["likely"] == pytest.approx(members["bytes"])
    assert moved["high"] == pytest.approx(pages * written, rel=0.01)
    assert told["projected"]["disks"]["bytes_range"]["high"] >= moved["high"]


def test_the_headline_has_both_ends():
    """And a layout whose cost does not depend on it has one figure, and no range in JSON."""
    assert "costs 1.33 to 4.00 disk bytes instead of 2.00" in " ".join(
        run("vm-disk1-r10", "--to", "raid5").split()
    )
    told = json.loads(run("vm-disk1", "--to", "raid10", "-J"))
    assert "bytes_range" not in told["projected"]["members"]
