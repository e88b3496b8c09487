"""What is said of a text whose names are looked up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "sample_topologies" / "vghdd"
TABLE = "Device            r/s     w/s     rkB/s     wkB/s   await  %util\n"
ROWS = "sda 2.00 3.00 5.00 7.00 11.00 13.00\nvdx 2.00 3.00 5.00 7.00 11.00 13.00\n\n"
BANNER = "Linux {} ({}) \t11/21/26 \t_x86_64_\t(4 CPU)\n\n"
COMMANDS = (["iostat", "--input", "-"], ["blame", "--input", "-"], ["annotate"])


def said(command, text):
    """Return what the real program says on stderr."""
    result = subprocess.run(
        [sys.executable, "-m", "stackmap", "--from", str(SAMPLE), *command],
        cwd=ROOT,
        input=text,
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    )
    return result.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_text_of_another_machine_is_warned_of_once(command):
    """What gave it away is said; a second run in the text says nothing more."""
    text = BANNER.format("6.12.3", "web1") + TABLE + ROWS

    told = said(command, text + text)

    assert told.count("the text is of host web1, not lab; kernel 6.12.3, not 6.1.0-56-amd64") == 1
    assert "of 1 names that no device bears" in told
    assert "vdx" in told


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_text_of_this_machine_is_not(command):
    """The same host and kernel, or a text that does not say."""
    for banner in (BANNER.format("6.1.0-56-amd64", "lab"), ""):
        assert "the text is of" not in said(command, banner + TABLE + ROWS)


def test_where_no_topology_is_at_hand_names_group_the_rows():
    """None of the names is the sample's: LVs stand over what LVM named after them, and it is said."""
    rows = "".join(
        f"vg--a-lv{part} 2.00 {writes}.00 5.00 {4 * writes}.00 11.00 13.00\n"
        for part, writes in (
            ("", 13),
            *((f"_rimage_{n}", 13) for n in range(2)),
            *((f"_rmeta_{n}", 1) for n in range(2)),
        )
    )
    result = subprocess.run(
        [
            *(sys.executable, "-m", "stackmap", "--from", str(SAMPLE)),
            *("iostat", "--per-layer", "-J", "--input", "-", "vg-a/lv"),
        ],
        cwd=ROOT,
        input=TABLE + rows + "\n",
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    )
    (stack,) = json.loads(result.stdout)["stacks"]

    assert stack["top"] == "vg-a/lv"
    assert stack["layers"][1]["devices"] == ["vg--a-lv_rimage_0", "vg--a-lv_rimage_1"]
    assert stack["layers"][1]["metadata"] == ["vg--a-lv_rmeta_0", "vg--a-lv_rmeta_1"]
    assert stack["layers"][1]["amplification"]["bytes"]["write"] == 2
    assert "the text's names are all there is" in result.stderr
