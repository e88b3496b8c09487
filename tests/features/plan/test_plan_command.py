"""``stackmap plan``: a plan on a recorded machine, and what it says where there is none."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
import subprocess
from collections import Counter

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import PlanRefused
from stackmap.host import live
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
VGHDD = str(SAMPLES / "vghdd")
REFUSED = 3


def said(*words, sample=VGHDD):
    return CliRunner().invoke(stackmap, ["--from", sample, "plan", *words])


def refused(*words, sample=VGHDD):
    """Why, and with which status."""
    error = said(*words, sample=sample).exception
    assert isinstance(error, PlanRefused)
    return str(error), error.exit_code


def test_a_plan_for_the_article():
    """A RAID10 beside the RAID5 on the same four disks, each of which has room for it."""
    result = said("vm-disk1", "--to", "raid10", "-J")
    plan = json.loads(result.stdout)
    way = plan["ways"][0]
    command = way["steps"][1]["command"]

    assert 0 == result.exit_code
    assert ("stackmap.plan/1", "copy", False, True) == (
        plan["schema"], way["way"], way["online"], way["redundant"]
    )  # fmt: skip
    assert ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd"] == sorted(command[-4:])
    assert "150" == command[command.index("--extents") + 1]
    # Both LVs were made with --nosync, and lvconvert would refuse in the middle of the way.
    assert "--nosync" in next(w for w in plan["ways"] if w["way"] == "convert")["refused"]


def test_a_line_is_its_words():
    """The command line for a shell has the words that -J lists."""
    steps = json.loads(said("vm-disk1", "--to", "raid10", "-J").stdout)["ways"][0]["steps"]
    text = [line.strip() for line in said("vm-disk1", "--to", "raid10").stdout.splitlines()]

    for step in steps[1:]:
        behind_guard = [word for check in step["guard"] for word in (*check, "&&")]
        assert [*behind_guard, *step["command"]] == shlex.split(step["line"])
    undo = [command for step in steps for command in step["undo_commands"]]
    lines = [line for step in steps for line in step["undo_lines"]]
    assert undo == [shlex.split(line.rpartition(" && ")[2]) for line in lines]
    assert Counter(step["line"] for step in steps[1:]) + Counter(lines) <= Counter(text)


def test_each_step_says_what_it_does():
    """In the text each command stands alone on its line, below what it does."""
    lines = said("vm-disk1", "--to", "raid10").stdout.splitlines()
    text = [line.strip() for line in lines]
    steps = json.loads(said("vm-disk1", "--to", "raid10", "-J").stdout)["ways"][0]["steps"]

    place = 0
    for number, step in enumerate(steps, 1):
        place = text.index(step["line"].partition("\n")[0], place + 1)
        assert any(line.startswith(f"{number}. ") for line in text[place - 3 : place])
    commands = {line.strip() for step in steps for line in step["line"].split("\n")} | {
        line for step in steps for line in step["undo_lines"]
    }
    assert max(len(line) for line in lines if line.strip() not in commands) <= 80


def test_the_present_layout_is_nothing_to_do():
    result = said("vm-disk1", "--to", "raid5")

    assert (0, "Nothing to do: vghdd/vm-disk1 (dm-8) is already raid5 3+1, 64 KiB.\n") == (
        result.exit_code, result.stdout
    )  # fmt: skip
    assert json.loads(said("vm-disk1", "--to", "raid5", "-J").stdout)["nothing_to_do"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["vm-disk1", "--to", "raid6"], "PVs on separate disks"),
        (["vm-disk1", "--to", "raid10:members=6"], "PVs on separate disks"),
        (["vm-disk1", "--to", "raid10", "--way", "grow"], "method grow does not apply to"),
        (["vghdd", "--to", "raid10"], "not 2"),
        (["sda", "--to", "raid10"], "neither an LV"),
        (["vm-disk1", "--to", "raid10", "--onto", "sda"], "free extents each"),
    ],
)
def test_what_is_refused_says_why(words, why):
    message, status = refused(*words)

    assert why in message
    assert REFUSED == status


def test_each_reason_has_its_line():
    """With one method asked for there is one reason, in the line of the error."""
    several = said("vm-disk1", "--to", "raid6").exception.lines
    one = said("vm-disk1", "--to", "raid10", "--way", "mirror").exception.lines

    assert several[0] == "vghdd/vm-disk1 (dm-8) to raid6: no method fits"
    assert [line.partition(":")[0] for line in several[1:]] == ["mirror", "convert", "copy"]
    assert len(one) == 1
    assert "raid10: mirror: supports only" in one[0]


def test_without_lvms_report_it_is_refused():
    """A machine that was recorded as a user sees it tells no free space."""
    message, _ = refused("ubuntu-vg/root", "--to", "raid1", sample=str(SAMPLES / "laptop-luks-lvm"))

    assert "free space" in message or "state" in message


@pytest.mark.parametrize("layout", ["", "raid7", "raid10:members=0", "raid5:chunk=3k"])
def test_a_layout_that_cannot_be_is_wrong_usage(layout):
    error = said("vm-disk1", "--to", layout).exception

    assert 2 == error.exit_code


def test_a_capture_of_ours_holds_what_a_plan_needs(tmp_path):
    """What was recorded again plans the same, word for word."""
    again = str(tmp_path / "again")
    recorded = CliRunner().invoke(stackmap, ["--from", VGHDD, "record", again, "1", "1"])

    assert 0 == recorded.exit_code, recorded.output
    words = ("vm-disk1", "--to", "raid10", "-J")
    first, second = (json.loads(said(*words, sample=each).stdout) for each in (VGHDD, again))
    assert ("vghdd", "again") == (first["for"].pop("source"), second["for"].pop("source"))
    # One interval is kept: too little for the other figures of a finding, but not for the commands.
    assert first["decision"]["why"] == second["decision"]["why"]
    steps = [[way["steps"] for way in plan["ways"]] for plan in (first, second)]
    assert steps[0] == steps[1]


def test_a_plan_begins_with_its_host_time_and_source():
    """A capture is named loudly, and an old one as such; JSON has the same facts."""
    words = ("vm-disk1", "--to", "raid10")
    text = " ".join(said(*words).stdout.split())
    plan = json.loads(said(*words, "-J").stdout)

    assert "For host lab, from the capture vghdd of 2026-11-21 10:39:02 UTC." in text
    assert "NOT MADE ON THE HOST:" in text
    assert "OLD: the input is older than a day" in text
    assert {"host", "machine_id", "time", "source", "old"} == {*plan["for"]}
    assert ("lab", None, "vghdd") == tuple(plan["for"][k] for k in ("host", "machine_id", "source"))
    guard = plan["ways"][0]["guard"]
    assert guard["function"] in plan["ways"][0]["steps"][0]["line"]
    assert ["planned", "lv", "vghdd/vm-disk1"] == guard["checks"][0][:3]


@pytest.mark.parametrize(("hours", "old"), [(23, False), (25, True)])
def test_a_capture_is_old_after_a_day(hours, old, monkeypatch):
    """The plan of a capture of today is not marked."""
    monkeypatch.setattr("time.time", lambda: 1_795_257_542.0 + hours * 3600)
    plan = json.loads(said("vm-disk1", "--to", "raid10", "-J").stdout)

    assert plan["for"]["old"] is old


def test_a_capture_holds_a_hash_and_not_the_machine_id(tmp_path, monkeypatch):
    """The id is confidential: machine-id(5). The hash is the one that the guard makes in a shell."""
    machine_id = "4a1c0c0f5cdb4a29a9c3f8a1ef6d5b77"
    (tmp_path / "machine-id").write_text(f"{machine_id}\n")
    monkeypatch.setattr(live, "MACHINE_ID", str(tmp_path / "machine-id"))
    out = tmp_path / "out"
    with RecordingHost(live.LiveHost(), str(out)) as host:
        host.machine_id()
        for _ in host.ticks(0.01, 1):
            host.machine_id()
    kept = b"".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    )

    assert machine_id.encode() not in kept
    shell = f"printf 'stackmap %s' {machine_id} | sha256sum | cut -c 1-64"
    digest = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)
    assert digest.stdout.strip().encode() in kept
    assert digest.stdout.strip() == CapturedHost(str(out)).machine_id()


def test_a_suspect_disk_is_chosen_last_and_named():
    """sda has 12.9 times the await of its peers; the four PVs of the article are all that there are."""
    told = " ".join(said("vm-disk1", "--to", "raid10").stdout.split())
    plan = json.loads(said("vm-disk1", "--to", "raid10", "-J").stdout)
    way = next(each for each in plan["ways"] if each["way"] == "copy")

    assert "Do first: sda is 12.9× as slow as its peers." in told
    assert "SUSPECT DISK: Step 2 uses sda." in told
    assert way["steps"][1]["command"][-1] == "/dev/sda"
    assert way["suspects"] == [{"step": 2, "disk": "sda"}]
    assert plan["samples"]
    assert plan["decision"]["why"] == {"id": "SM202", "device": "sda", "outcome": "sick"}


def test_without_samples_the_disks_are_not_checked(tmp_path):
    """One sample makes no rate: a slow disk cannot be known, and the plan says so first."""
    once = str(tmp_path / "once")
    shutil.copytree(VGHDD, once, symlinks=True)
    shutil.rmtree(f"{once}/frames")
    result = said("vm-disk1", "--to", "raid10", sample=once)
    told = " ".join(result.stdout.split())

    assert "NOT CHECKED: disks:" in told
    assert "SUSPECT DISK" not in told
