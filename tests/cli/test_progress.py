"""Whoever waits longer than two seconds on a terminal sees for what; nothing of it stays."""

from __future__ import annotations

import io
import sys
import time

import pytest
from click.testing import CliRunner

from stackmap.cli import progress, stackmap
from stackmap.cli.output import CLEAR
from stackmap.cli.progress import Progress, waiting
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"


def slow(count, seconds):
    for number in range(count):
        time.sleep(seconds)
        yield number


class Terminal(io.StringIO):
    def isatty(self):
        return True


def impatient(monkeypatch):
    """Make stderr a terminal that waits for a moment only. Not a fixture: pytest resets stderr after the setup."""
    monkeypatch.setattr(progress, "PATIENCE", 0.2)
    monkeypatch.setattr(progress, "STEP", 0.05)
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    return shown


def test_a_terminal_sees_it_and_it_goes(monkeypatch):
    """What is done and how long it takes; the last thing printed removes the line."""
    terminal = impatient(monkeypatch)
    assert list(Progress("measuring", 10)(slow(1, 0.5))) == [0]
    shown = terminal.getvalue()

    assert f"{CLEAR}measuring: 0 of 10 s" in shown
    assert shown.endswith(CLEAR)


def test_what_is_quick_shows_nothing(monkeypatch):
    terminal = impatient(monkeypatch)
    assert list(Progress("measuring")(slow(3, 0.0))) == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_names_are_escaped(monkeypatch):
    """A capture's path may hold anything."""
    terminal = impatient(monkeypatch)
    list(Progress("reading a\x1b[2J")(slow(1, 0.4)))

    assert "reading a\\x1b[2J: 0 s" in terminal.getvalue()


def test_an_error_passes_and_the_line_goes(monkeypatch):
    terminal = impatient(monkeypatch)

    def fails():
        yield from slow(1, 0.4)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(Progress("measuring")(fails()))
    assert terminal.getvalue().endswith(CLEAR)


def test_a_pipe_gets_nothing(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "STEP", 0.01)

    assert list(Progress("measuring")(slow(2, 0.1))) == [0, 1]
    assert capsys.readouterr().err == ""


def test_work_after_the_last_interval_is_shown(monkeypatch):
    """The result comes back, an error too, and the line goes."""
    terminal = impatient(monkeypatch)

    assert waiting("examining", lambda: list(slow(1, 0.5))) == [0]
    assert f"{CLEAR}examining: 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith(CLEAR)
    with pytest.raises(ZeroDivisionError):
        waiting("examining", lambda: 1 / 0)


@pytest.mark.parametrize(
    ("command", "what"), [(["explain"], "examining"), (["report", "-o", "-"], "making the page")]
)
def test_commands_show_it(command, what, monkeypatch):
    """Reading takes no time here, judging and drawing do."""
    seen = []
    monkeypatch.setattr(
        progress.Progress, "__call__", lambda self, items: (seen.append(self), items)[1]
    )
    text = SAMPLES / "laptop-luks-lvm/input/iostat-worst.txt"
    words = ["--from", str(SAMPLES / "laptop-luks-lvm"), *command, "--input", str(text)]
    CliRunner().invoke(stackmap, words, catch_exceptions=False)

    assert seen[-1]._line(3.0) == f"{what}: 3 s"
