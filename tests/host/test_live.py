"""A live host, asked for what any Linux has."""

import errno
import os
import time

import pytest

from stackmap.errors import SourceDenied, SourceError, SourceMissing, SourceTimeout
from stackmap.host import live
from stackmap.host.live import LiveHost


def test_files_and_listings_are_read():
    """What open() gives, in however many reads the kernel takes."""
    host = LiveHost()

    assert host.read("/proc/version").startswith("Linux version")
    assert "diskstats" in host.names_in("/proc")
    assert host.link("/proc/self/exe") == os.readlink("/proc/self/exe")


def test_a_file_longer_than_a_read_is_whole(tmp_path):
    """Several reads make one answer."""
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
    refusal = live._refusal("/x", OSError(errno.EACCES, "Permission denied"))

    assert type(refusal) is SourceDenied


def test_commands_run_in_the_c_locale(monkeypatch):
    """Whatever the user's: what is parsed is always the same."""
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
    monkeypatch.setattr(live, "COMMAND_SECONDS", 0.2)
    start = time.monotonic()

    with pytest.raises(SourceTimeout, match="no answer"):
        LiveHost().run("sleep", "30")
    assert time.monotonic() - start < 5


def test_ticks_keep_their_distance():
    """Time spent between them is not added."""
    seen = []
    for tick in LiveHost().ticks(0.05, 4):
        seen.append(tick)
        time.sleep(0.02)

    assert seen[-1] - seen[0] == pytest.approx(0.15, abs=0.1)
    assert len(seen) == 4
