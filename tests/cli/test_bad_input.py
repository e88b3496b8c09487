"""Bad input: one clear line on stderr, a documented exit status, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SAMPLE = str(ROOT / "sample_topologies" / "vghdd")


def stackmap(*arguments, **more):
    """Run the real program, as a shell would."""
    environment = {**os.environ, "COLUMNS": "80", **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "stackmap", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
        timeout=60,
        **more,
    )


@pytest.fixture
def bad(tmp_path):
    """Files that are no captures and no statistics."""
    (tmp_path / "empty").write_text("")
    (tmp_path / "words").write_text("no table here\n" * 7)
    (tmp_path / "folder").mkdir()
    with tarfile.open(tmp_path / "hostile.tgz", "w:gz") as archive:
        link = tarfile.TarInfo("proc/diskstats")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with tarfile.open(tmp_path / "whole.tgz", "w:gz") as archive:
        archive.add(SAMPLE, "x")
    whole = (tmp_path / "whole.tgz").read_bytes()
    (tmp_path / "cut.tgz").write_bytes(whole[: len(whole) // 2])
    return tmp_path


CASES = [
    (["--from", "{bad}/none", "tree"], 1, "no such file"),
    (["--from", "{bad}/empty", "tree"], 1, "{bad}/empty"),
    (["--from", "{bad}/words", "tree"], 1, "no capture"),
    (["--from", "{bad}/folder", "tree"], 1, "not a capture"),
    (["--from", "{bad}/hostile.tgz", "tree"], 1, "refused"),
    (["--from", "{bad}/cut.tgz", "tree"], 1, "damaged"),
    (["--from", SAMPLE, "tree", "nothing-has-this"], 32, "nothing-has-this"),
    (["--from", SAMPLE, "iostat", "nothing-has-this"], 32, "nothing-has-this"),
    (["--from", SAMPLE, "iostat", "x"], 32, "x"),
    (["--from", SAMPLE, "iostat", "0"], 2, "INTERVAL"),
    (["--from", SAMPLE, "iostat", "-1"], 2, "-1"),
    (["--from", SAMPLE, "iostat", "nan"], 2, "INTERVAL"),
    (["--from", SAMPLE, "iostat", "inf"], 2, "INTERVAL"),
    (["--from", SAMPLE, "iostat", "1", "0"], 2, "COUNT"),
    (["--from", SAMPLE, "iostat", "1", "2.5"], 2, "COUNT"),
    (["--from", SAMPLE, "iostat", "--report", "0"], 2, "report"),
    (["--from", SAMPLE, "iostat", "--report", "99"], 1, "99"),
    (["--from", SAMPLE, "iostat", "--input", "{bad}/none"], 2, "none"),
    (["--from", SAMPLE, "iostat", "--input", "{bad}/empty"], 1, "empty"),
    (["--from", SAMPLE, "iostat", "--input", "{bad}/words"], 1, "no table of devices"),
    (["record", SAMPLE], 1, "not empty"),
    (["no-such-command"], 2, "no-such-command"),
]


@pytest.mark.parametrize(
    ("arguments", "status", "said"), CASES, ids=[" ".join(c[0][-3:]) for c in CASES]
)
def test_bad_input_is_told_in_a_line(bad, arguments, status, said):
    """What, where, what to do; the status that the man page names."""
    result = stackmap(*(a.format(bad=bad) for a in arguments))

    assert result.returncode == status
    assert said.format(bad=bad) in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    if status != 2:  # click prints the usage, too
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("stackmap: ")


def test_some_names_known_and_some_not():
    """What is known is shown; what is not is named; the status is lsblk's."""
    result = stackmap("--from", SAMPLE, "tree", "vm-disk1", "nothing-has-this")

    assert result.returncode == 64
    assert "vm-disk1" in result.stdout
    assert "nothing-has-this" in result.stderr


@pytest.mark.parametrize("arguments", [["tree"], ["iostat", "-x", "1", "5"], ["tree", "-J"]])
def test_a_closed_pipe_is_silent(arguments):
    """`stackmap … | head -1`: nobody reads on, and nobody is told."""
    with subprocess.Popen(
        [sys.executable, "-m", "stackmap", "--from", SAMPLE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_pipe_gets_no_colour():
    """Nor does NO_COLOR, even where colour could be."""
    for more in ({}, {"env": {"NO_COLOR": "1"}}):
        assert "\x1b" not in stackmap("--from", SAMPLE, "tree", **more).stdout


def test_a_narrow_terminal_is_respected():
    """At 60 columns sentences are wrapped, and no line of a tree is lost."""
    result = stackmap("--from", SAMPLE, "tree", "-i", env={"COLUMNS": "60"})

    assert result.returncode == 0
    for name in ("vghdd/vm-disk1", "sda", "sdd"):
        assert name in result.stdout


def test_names_cannot_control_a_terminal(tmp_path):
    """A dm name from somebody's capture may hold anything; escapes are spelled out."""
    disk = tmp_path / "sys/block/sda"
    (disk / "device").mkdir(parents=True)
    for name, text in {
        "dev": "8:0",
        "size": "1000",
        "device/model": "\x1b[2Jevil\x9b\u202e",
    }.items():
        (disk / name).write_text(text)
    for arguments in (["tree"], ["tree", "-J"], ["tree", "-P", "-O"]):
        result = stackmap("--from", tmp_path, *arguments)

        assert result.returncode == 0
        for unsafe in ("\x1b", "\x9b", "\u202e"):
            assert unsafe not in result.stdout
