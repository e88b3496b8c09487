"""A live host, asked for what any Linux has."""

import contextlib
import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackmap.errors import SourceDenied, SourceError, SourceMissing, SourceTimeout
from stackmap.host import live
from stackmap.host.live import LiveHost


def test_files_and_listings_are_read():
    """The text is that of open(), for any number of reads."""
    host = LiveHost()

    assert host.read("/proc/version").startswith("Linux version")
    assert "diskstats" in host.names_in("/proc")
    assert host.link("/proc/self/exe") == os.readlink("/proc/self/exe")


def test_a_file_longer_than_a_read_is_whole(tmp_path):
    """Several reads are joined to one answer."""
    text = "0123456789abcdef" * 10_007
    (tmp_path / "long").write_text(text)

    assert text == LiveHost().read(str(tmp_path / "long"))


@pytest.mark.parametrize("question", ["read", "names_in", "link"])
def test_what_is_not_there_is_missing(question):
    """And the answer names the path."""
    with pytest.raises(SourceMissing, match="/nowhere"):
        getattr(LiveHost(), question)("/nowhere")


def test_what_may_not_be_read_is_denied():
    """By the error's number, so that root's tests hold too."""
    refusal = live.refusal("/x", OSError(errno.EACCES, "Permission denied"))

    assert type(refusal) is SourceDenied


def test_commands_run_in_the_c_locale(monkeypatch):
    """With any locale of the user, the parsed text is the same."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    assert "LC_ALL=C\n" in LiveHost().run("env")


def test_a_command_that_fails_says_what_it_said():
    """The last line of its complaint; a denial is known as one."""
    with pytest.raises(SourceError, match="No such file"):
        LiveHost().run("ls", "/nowhere")
    with pytest.raises(SourceMissing, match="no-such-command"):
        LiveHost().run("no-such-command")


def test_a_command_that_hangs_is_left(monkeypatch):
    """Within the limit, though the child may not die: a dead path must not hang the tool."""
    monkeypatch.setattr(live, "DEFAULT_TIMEOUT", 0.2)
    start = time.monotonic()

    with pytest.raises(SourceTimeout, match="no answer"):
        LiveHost().run("sleep", "30")
    assert time.monotonic() - start < 5


def test_a_command_that_prints_without_end_is_stopped():
    """Long before its time is over."""
    before, begun = children(), time.monotonic()
    with pytest.raises(SourceError, match="stopped: it printed more than 32 MiB"):
        LiveHost().run("sh", "-c", "yes & wait")

    assert time.monotonic() - begun < 4
    assert not children() - before


def test_what_a_command_began_ends_with_it(monkeypatch, tmp_path):
    """The whole group: a program of its own that hangs, too."""
    monkeypatch.setattr(live, "DEFAULT_TIMEOUT", 0.3)
    number = tmp_path / "number"
    with pytest.raises(SourceTimeout):
        LiveHost().run("sh", "-c", f"sleep 77 & echo $! > {number}; wait")
    time.sleep(0.1)

    status = Path(f"/proc/{number.read_text().strip()}/stat")
    assert not status.exists() or status.read_text().rpartition(") ")[2].startswith("Z")


def test_a_command_begun_works_meanwhile():
    """A started command runs at once: its second is waited for once."""
    host = LiveHost()
    host.start("sleep", "0.5")
    time.sleep(0.5)
    start = time.monotonic()

    assert "" == host.run("sleep", "0.5")
    assert time.monotonic() - start < 0.4


def test_a_command_begun_is_not_late_for_what_we_did(monkeypatch):
    """The time limit counts from the question, not from the start."""
    monkeypatch.setattr(live, "DEFAULT_TIMEOUT", 0.2)
    host = LiveHost()
    host.start("echo", "done")
    time.sleep(0.4)

    assert "done\n" == host.run("echo", "done")


def test_a_command_begun_is_refused_when_it_is_asked_for():
    """A missing program is an error of ``run``, not of ``start``."""
    host = LiveHost()
    host.start("no-such-command")
    with pytest.raises(SourceMissing, match="no-such-command"):
        host.run("no-such-command")


def test_what_a_command_prints_is_whole():
    """Also if stdout or stderr is larger than a pipe's buffer."""
    both = "for i in 1 2 3 4 5; do head -c 100003 /dev/zero | tr '\\0' x; head -c 70001 /dev/zero >&2; done"

    assert 5 * 100003 == len(LiveHost().run("sh", "-c", both))


def test_a_command_leaves_no_child_and_no_file():
    """
    After any number of questions, answered or not.

    A process of its own asks: the garbage of earlier tests may hold files, and closes them at any moment.
    """
    asked = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, timeout=60, check=True
    )

    before, after = asked.stdout.splitlines()
    assert before == after
    assert "1" in json.loads(after)["files"]


def left_behind():
    """Return the open files and the children of this process as JSON."""
    return json.dumps(
        {"files": sorted(os.listdir("/proc/self/fd")), "children": sorted(children())}
    )


def children():
    """Return the child processes, zombies included."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if f"\nPPid:\t{os.getpid()}\n" in status.read_text():
                found.add(status.parent.name)
    return found


def ask():
    """Ask many questions, and print what was there before and what is there after them."""
    host = LiveHost()
    before = left_behind()
    for _ in range(5):
        host.run("true")
        with contextlib.suppress(SourceError):
            host.run("false")
        with contextlib.suppress(SourceMissing):
            host.run("no-such-command")
    print(before, left_behind(), sep="\n")


def test_ticks_keep_their_distance():
    """Time spent between them is not added."""
    seen, begun = [], time.time()
    for tick in LiveHost().ticks(0.25, 4):
        seen.append(tick)
        time.sleep(0.2)

    assert 0.74 < seen[-1] - begun  # the first may be late
    assert seen[-1] - seen[0] < 1.2  # added, they would be 1.35 apart
    assert len(seen) == 4


if __name__ == "__main__":
    ask()
