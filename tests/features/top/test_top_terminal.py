"""``top`` in a real terminal: tmux presses keys, resizes, suspends and kills; the terminal is as it was afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.features.top.watched import SAMPLES

TMUX = shutil.which("tmux")
STACKMAP = Path(sys.executable).with_name("stackmap")
VGHDD = SAMPLES / "vghdd"
PATIENCE = 30  # seconds; the machine may be busy with other tests
PROMPT = "READY>"

pytestmark = pytest.mark.skipif(TMUX is None, reason="no tmux: ./run install tmux")


class Window:
    """A shell in a tmux window of its own server."""

    def __init__(self, folder, size=(120, 35)):
        self._socket = folder / "tmux"
        self._asked = 0
        width, height = map(str, size)
        environment = {**os.environ, "PS1": PROMPT, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        subprocess.run(
            [TMUX, "-S", self._socket, "-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height,
             "bash", "--norc", "--noprofile"],
            env=environment, check=True, cwd=folder,
        )  # fmt: skip
        self.wait(PROMPT)

    def tmux(self, *words):
        return subprocess.run(
            [TMUX, "-S", self._socket, *words], capture_output=True, text=True, check=False
        ).stdout

    def press(self, *keys):
        for key in keys:
            self.tmux("send-keys", *(("-l", "--") if len(key) == 1 else ()), key)

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)
        self.press("Enter")

    def run(self, *words):
        self.type(" ".join(map(str, words)))

    @property
    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, *texts, gone=(), seconds=PATIENCE):
        """Wait until the screen has *texts* and lacks *gone*; return it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            screen = self.screen
            if all(t in screen for t in texts) and not any(t in screen for t in gone):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"no {texts!r} within {seconds} s, or still {gone!r}:\n{self.screen}")

    def modes(self):
        """
        Return the settings of the terminal, as the shell has them.

        Each answer ends with its own number: a program that ends brings back the screen that was
        there before it, with the answer before.
        """
        self._asked += 1
        self.type(f"clear; stty -g; echo END {self._asked}")
        screen = self.wait(f"\nEND {self._asked}\n{PROMPT}")
        return next(line for line in screen.splitlines() if line.count(":") > 10)

    def close(self):
        self.tmux("kill-server")


@pytest.fixture
def window(tmp_path):
    made = Window(tmp_path)
    yield made
    made.close()


def pid_of(window):
    """Return the process id of the program in *window*."""
    shell = window.tmux("display-message", "-p", "#{pane_pid}").strip()
    return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[-1])


def test_every_key_of_a_recording(window, tmp_path):
    """Each key changes the screen as the help says."""
    before = window.modes()
    window.run("clear;", STACKMAP, "--from", VGHDD, "top")
    window.wait("stackmap top", "10:39:04", "vghdd/vm-disk1-r10", "? help")
    for key, *texts in (
        ("2", "LOADED BY", "53%"),
        ("3", "USER", "KIND"),
        ("4", "SEVERITY", "Not judged yet"),
        ("5", "EVENT", "no device came"),
        ("1", "STACK", "4 members"),
        ("t", "10:39:06"), ("t", "10:39:08", "WARNING: sda"), ("T", "10:39:06"), ("t", "10:39:08"),
        ("r", "stack order, reads"), ("w", "stack order, writes"), ("b", "stack order, both"),
        ("s", "sorted by IOPS"), ("s", "sorted by bytes"), ("s", "sorted by await"),
        ("s", "sorted by cost"), ("s", "stack order"),
        ("z", "PAUSED"),
        ("?", "KEYS", "this help"), ("Escape", "STACK"), ("h", "KEYS"), ("q", "STACK"),
    ):  # fmt: skip
        window.press(key)
        window.wait(*texts)
    window.press("z", "Down", "j", "k")
    window.wait("? help", gone=["PAUSED"])
    window.press("y")
    window.wait("stackmap iostat -l vghdd/vm-disk1 1")
    window.press("Space")
    window.wait("+ vghdd/vm-disk1")
    window.press("Space", "Enter")
    window.wait("disk bytes per byte written: 4.01")
    window.press("NPage", "End", "q", "e")
    window.wait("SM202 slow-member")
    window.press("q", "/")
    window.wait("filter (name, VM, mount):")
    window.type("r10")
    window.wait("/r10", gone=["- vghdd/vm-disk1 "])
    window.press("n", "/")
    window.type("")
    window.wait("- vghdd/vm-disk1 ")
    window.press("B")
    window.type("-1s")
    window.wait("10:39:12")
    window.press("B")
    window.type("yesterday")
    window.wait("'yesterday' is not a time")
    window.press("B")
    window.type("@0")
    window.wait("10:39:04")
    window.press(".")
    window.wait("10:39:12", "end of the recording")
    window.press("W")
    window.wait("lab-20261121T103912Z")
    window.press("Enter")
    window.wait("written: lab-20261121T103912Z")
    window.press("W", "Enter")
    window.wait("exists; give a new directory")
    window.press("Home", "End", "PPage", "q")
    window.wait(PROMPT, gone=["STACK"])
    assert window.modes() == before
    written, wanted = figures(tmp_path / "lab-20261121T103912Z"), figures(VGHDD)
    # The log has instants in microseconds.
    near = [{name: pytest.approx(row, rel=1e-5) for name, row in each.items()} for each in wanted]
    assert written == near


def figures(capture):
    """Return the rates of each device in each interval of *capture*."""
    told = CliRunner().invoke(stackmap, ["--from", str(capture), "iostat", "-J", "--report", "all"])
    assert told.exit_code == 0, told.output
    lines = (json.loads(line)["devices"] for line in told.stdout.splitlines())
    keys = ("tps", "read_bytes", "write_bytes", "aqu")
    return [{d["name"]: [d[key] for key in keys] for d in devices} for devices in lines]


def test_this_machine(window, tmp_path):
    """It runs live: the interval changes, the last minutes are written and can be read."""
    window.run("clear;", STACKMAP, "top")
    window.wait("stackmap top", "every 1 s", "STACK")
    for view in ("DISK", "USER", "SEVERITY", "EVENT"):
        window.press(str(("DISK", "USER", "SEVERITY", "EVENT").index(view) + 2))
        window.wait(view)
    window.press("i")
    window.type("0.2")
    window.wait("every 0.2 s")
    window.press("i")
    window.type("often")
    window.wait("INTERVAL is a number of seconds")
    window.press("t", "W", *["BSpace"] * 60)
    window.type(str(tmp_path / "capture"))
    window.wait("written: ")
    window.press("q")
    window.wait(PROMPT, gone=["EVENT"])
    assert len(figures(tmp_path / "capture")) > 1


def test_a_new_size_while_it_plays(window):
    """Every size from 60×15 to 400×100 is filled, whenever the terminal changes."""
    window.run("clear;", STACKMAP, "top", "0.1")
    window.wait("every 0.1 s")
    for width, height in ((60, 15), (400, 100), (80, 24), (61, 16), (30, 6), (200, 50)) * 3:
        window.tmux("resize-window", "-x", str(width), "-y", str(height))
        time.sleep(0.05)
    end = time.monotonic() + PATIENCE  # the newest size may not be drawn yet, or only in part
    while (
        len((screen := window.wait("every 0.1 s", "await ms")).splitlines()) != 50
        or "? help" not in screen.splitlines()[-1]
    ):
        assert time.monotonic() < end, screen
    window.press("q")
    window.wait(PROMPT, gone=["STACK"])


@pytest.mark.parametrize("signal", ["TERM", "HUP", "INT", "QUIT", "USR1", "ALRM"])
def test_a_signal_leaves_the_terminal_as_it_was(window, signal):
    """Whatever ends it, the shell gets its screen and its modes back."""
    before = window.modes()
    window.run("clear;", STACKMAP, "top", "0.2;", "echo status $?")
    window.wait("every 0.2 s")
    subprocess.run(["kill", f"-{signal}", str(pid_of(window))], check=True)
    number = {"TERM": 143, "HUP": 129, "INT": 0, "QUIT": 131, "USR1": 138, "ALRM": 142}[signal]
    window.wait(f"status {number}", gone=["STACK", "Traceback"])
    assert window.modes() == before


def test_suspended_and_resumed(window):
    """Ctrl-Z gives the shell its terminal; fg shows the screen again, in the size of now."""
    before = window.modes()
    window.run("clear;", STACKMAP, "top", "0.2")
    window.wait("every 0.2 s")
    for size in ("100", "120"):
        window.press("C-z")
        window.wait("Stopped", gone=["STACK"])
        assert window.modes() == before
        window.tmux("resize-window", "-x", size, "-y", "30")
        window.run("fg")
        assert len(window.wait("every 0.2 s", "STACK").splitlines()) == 30
        window.press("2")
        window.wait("LOADED BY")
        window.press("1")
        window.wait("STACK")
    window.press("q")
    window.wait(PROMPT, gone=["STACK"])
    assert window.modes() == before


def test_an_error_leaves_the_terminal_as_it_was(window, tmp_path):
    """An exception ends it like any program, with its message on the restored screen."""
    program = tmp_path / "broken.py"
    program.write_text(
        "from stackmap.cli import main\n"
        "from stackmap.features.top import program\n"
        "def fail(self, *_): raise RuntimeError('broken on purpose')\n"
        "program.Watcher.take = fail\n"
        "main()\n"
    )
    before = window.modes()
    window.run("clear;", sys.executable, program, "top")
    window.wait("broken on purpose", PROMPT)
    assert window.modes() == before


@pytest.mark.parametrize(
    ("setting", "plain"),
    [("LC_ALL=C", True), ("TERM=linux", True), ("NO_COLOR=1", False), ("TERM=screen", False), ("TERM=vt100", False)],
)  # fmt: skip
def test_terminals_and_locales(window, setting, plain):
    """ASCII by locale and on the console; any terminal that can move the cursor will do."""
    window.run("clear;", setting, STACKMAP, "--from", VGHDD, "top")
    window.wait("STACK", "4 members")
    window.press("t", "t")
    screen = window.wait("10:39:08", "WARNING")
    assert screen.isascii() == plain
    coloured = (
        "\x1b[31m" in (styled := window.tmux("capture-pane", "-p", "-e")) or "\x1b[33" in styled
    )
    assert coloured == (setting not in ("NO_COLOR=1", "TERM=vt100"))
    window.press("q")
    # The console and a vt100 have no second screen: the prompt is below the last one.
    kept = setting in ("TERM=linux", "TERM=vt100")
    screen = window.wait(PROMPT, gone=[] if kept else ["STACK"])
    assert screen.rstrip().endswith(PROMPT)


@pytest.mark.parametrize("term", ["dumb", "no-such-terminal", ""])
def test_a_terminal_that_cannot_show_it(window, term):
    window.run(f"clear; TERM={term}", STACKMAP, "top;", "echo status $?")
    window.wait("stackmap iostat -l 1", "status 2", gone=["Traceback"])


def test_without_a_terminal():
    """One line names the command for a pipe; the status is that of wrong usage."""
    told = CliRunner().invoke(stackmap, ["top"])
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1
    assert "stackmap iostat -l 1" in told.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [(["top", "1", "5"], "takes no COUNT"), (["top", "0"], "above 0")],
)
def test_wrong_usage(words, message):
    told = CliRunner().invoke(stackmap, words)
    assert told.exit_code == 2
    assert message in told.stderr
