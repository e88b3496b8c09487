"""Notes on a text whose names are looked up."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from stackmap.model.topology import NO_TOPOLOGY
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
DOUBLING = ROOT.parent / "shared/captures/vghdd-6.12/capture.tar.gz"
STACKMAP = (sys.executable, "-m", "stackmap")
TABLE = "Device            r/s     w/s     rkB/s     wkB/s   await  %util\n"
ROWS = "sda 2.00 3.00 5.00 7.00 11.00 13.00\nvdx 2.00 3.00 5.00 7.00 11.00 13.00\n\n"
BANNER = "Linux {} ({}) \t11/21/26 \t_x86_64_\t(4 CPU)\n\n"
COMMANDS = (["iostat", "--input", "-"], ["blame", "--input", "-"], ["annotate"])


def said(command, text):
    """Return the messages of the real program on stderr."""
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
    """The note names the difference, once, even if the text has a second run."""
    text = BANNER.format("6.12.3", "web1") + TABLE + ROWS

    told = said(command, text + text)

    assert told.count("the text is from host web1, not lab; kernel 6.12.3, not 6.1.0-56-amd64") == 1
    assert "1 device name in the text is unknown here" in told
    assert "vdx" in told


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_text_of_this_machine_is_not(command):
    """The same host and kernel, or a text that does not say."""
    for banner in (BANNER.format("6.1.0-56-amd64", "lab"), ""):
        assert "the text is of" not in said(command, banner + TABLE + ROWS)


def test_a_text_of_two_hosts_is_that_of_the_first():
    """Both have a sda; "web1.example.com" is web1, whatever kernel it boots."""
    since_boot, row = (f"sda {n}.00 3.00 5.00 7.00 11.00 13.00\n\n" for n in (99, "{}"))
    run = BANNER.format("6.12.3", "{}") + TABLE + since_boot + TABLE + row
    first, again = run.format("web1", 2), run.format("web1.example.com", 4)
    text = first + run.format("web2", 30) + again.replace("6.12.3", "6.12.4")
    result = subprocess.run(
        [*STACKMAP, "iostat", "--input", "-", "--report", "average", "-J"],
        cwd=ROOT, input=text, capture_output=True, check=True, timeout=60, text=True,
    )  # fmt: skip

    (sda,) = [d for d in json.loads(result.stdout)["devices"] if d["name"] == "sda"]
    assert sda["reads"] == 3  # not a row of web2 among them: (2 + 4) / 2
    told = "the text is from web1 and web2: only web1 is used; give one text per host"
    assert result.stderr.count(told) == 1


def test_devices_below_a_banner_are_known_though_the_first_table_has_none():
    """A table without a banner may be of the host that a later one names."""
    row = "{} 2.00 3.00 5.00 7.00 11.00 13.00\n\n"
    later = BANNER.format("6.12.3", "web1") + TABLE + row.format("sdb") + TABLE + row.format("sdb")
    result = subprocess.run(
        [*STACKMAP, "iostat", "--input", "-", "--report", "average", "-J"],
        cwd=ROOT, input=TABLE + row.format("sda") + later, capture_output=True, check=True, timeout=60, text=True,
    )  # fmt: skip
    assert {d["name"] for d in json.loads(result.stdout)["devices"]} == {"sda", "sdb"}
    assert "unknown here" not in result.stderr


def test_where_no_topology_is_at_hand_names_group_the_rows():
    """No name is the sample's: LVs are above their sub-LVs by name, and a note says so."""
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
    assert "no topology for this text; devices are shown by their own names" in result.stderr


UNKNOWN_HOST = (
    BANNER.format("6.12.3", "web1")
    + "2026-11-21T07:43:44+0000\n"
    + TABLE
    + "vg--a-lv 2.00 13.00 5.00 52.00 11.00 13.00\n\n"
)
EVERY_COMMAND = {
    "iostat": ["iostat", "vg--a-lv"],
    "layers": ["iostat", "--per-layer", "vg--a-lv"],
    "blame": ["blame", "vg--a-lv"],
    "explain": ["explain", "vg--a-lv"],
    "whatif": ["whatif", "vg--a-lv", "--to", "raid10"],
    "report": ["report", "-m", "-o", "-", "vg--a-lv"],
    "fiojob": ["fiojob", "vg--a-lv"],
    "export": ["export", "--openmetrics", "vg--a-lv"],
}


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_command_reads_a_text_of_an_unknown_host_by_its_names(name):
    """The LV of the text is found, no command takes it for a device of the sample, and each says so once."""
    words = ["--from", str(SAMPLE), *EVERY_COMMAND[name], "--input", "-"]
    result = subprocess.run(
        [sys.executable, "-m", "stackmap", *words],
        cwd=ROOT,
        input=UNKNOWN_HOST,
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
    )

    notes = result.stderr.splitlines()
    assert notes.count(f"stackmap: {NO_TOPOLOGY}") == 1
    assert "no device named" not in result.stderr
    assert "names may mean other devices" not in result.stderr
    assert result.returncode == 0
    assert name == "explain" or "vg-a/lv" in result.stdout  # nothing is wrong with it


@pytest.mark.skipif(
    not DOUBLING.exists(), reason="needs ../shared/captures (a kernel that counts twice)"
)
def test_only_corrections_of_the_shown_devices_are_printed():
    """Linux 6.12 counts the writes of both RAID volumes twice; a table of one does not name the other."""
    rows = "".join(f"dm-{n} 0.00 50.00 0.00 200.00 0.00 50.00\n" for n in (8, 17))
    printed = subprocess.run(
        [*STACKMAP, "--from", str(DOUBLING), "iostat", "--input", "-", "vghdd/vm-disk1"],
        input=TABLE + rows + "\n",
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    ).stdout

    assert [line for line in printed.splitlines() if line.startswith("corrected:")] == [
        "corrected: dm-raid-doubled: dm-8"
    ]


def test_a_text_that_cannot_be_read_is_named_with_the_reason():
    """The kernel refuses to read at the beginning of a process's memory."""
    refused = subprocess.run(
        [*STACKMAP, "iostat", "--input", "/proc/self/mem"],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
    )

    assert refused.stderr == "stackmap: /proc/self/mem: Input/output error\n"
    assert refused.returncode == 1
