"""Whoever waits longer than two seconds on a terminal sees for what; nothing of it stays."""

from __future__ import annotations

import io
import sys
import time

import pytest

from stackmap.cli import progress
from stackmap.cli.output import CLEAR
from stackmap.cli.progress import Progress


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
