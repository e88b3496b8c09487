"""Completion in bash, zsh and fish themselves: commands, options, names, columns, layouts and files."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackmap import completion
from stackmap.completion import Table, read_line
from tests.paths import ROOT

SCRIPTS = ROOT / "packaging/completion"
OPTIONS = ROOT / "stackmap/completion/options.txt"
SAMPLE = "sample_topologies/vghdd"
FROM = f"--from {SAMPLE}"
LONGEST = 20.0  # seconds; a machine may have other work
HOSTILE = 'it\'s $(touch pwned) `touch pwned` "x" -r'

# A line, and how it looks after the tab, by one candidate that is left.
LINES = {
    "a command": ("stackmap ios", "stackmap iostat "),
    "an option": ("stackmap tree --inv", "stackmap tree --inverse "),
    "an option after a name": ("stackmap iostat vghdd --per", "stackmap iostat vghdd --per-layer "),
    "a volume group": (f"stackmap {FROM} tree vgh", f"stackmap {FROM} tree vghdd"),
    "a volume": (f"stackmap {FROM} tree vm-disk1-", f"stackmap {FROM} tree vm-disk1-r10 "),
    "a path of a volume": (
        f"stackmap {FROM} iostat -l vghdd/vm-disk1-",
        f"stackmap {FROM} iostat -l vghdd/vm-disk1-r10 ",
    ),
    "a name without a command": (f"stackmap {FROM} vm-disk1-", f"stackmap {FROM} vm-disk1-r10 "),
    "a device": (f"stackmap {FROM} blame dm-17", f"stackmap {FROM} blame dm-17 "),
    "a layout": ("stackmap whatif x --to raid10", "stackmap whatif x --to raid10 "),
    "a layout after =": ("stackmap plan x --to=lin", "stackmap plan x --to=linear "),
    "a second column": ("stackmap tree -o KERNEL,MODE", "stackmap tree -o KERNEL,MODEL "),
    "a column to sort by": ("stackmap iostat --sort r_aw", "stackmap iostat --sort r_await "),
    "a word of a choice": ("stackmap --color alw", "stackmap --color always "),
    "a file": ("stackmap --from sample_topologies/laptop", "sample_topologies/laptop-luks-lvm/"),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """PATH with a ``stackmap`` that is this checkout's."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "stackmap"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m stackmap "$@"\n')
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def typed(command: list[str], setup: str, keys: str, path: str, folder: Path, until: str) -> str:
    """Return what an interactive shell shows after *setup* and *keys*, up to *until*."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        fixed = {"HOME": "/nonexistent", "TERM": "dumb", "LC_ALL": "C.UTF-8", "COLUMNS": "200"}
        os.execve(command[0], command, {**fixed, "PATH": path, "PYTHONPATH": str(ROOT)})  # noqa: S606 - it is the shell
    try:
        os.write(terminal, f"{setup}; echo se''t\n".encode())
        _shown(terminal, b"set\r")
        os.write(terminal, keys.encode())
        return _shown(terminal, until.encode()).decode(errors="replace")
    finally:
        os.kill(child, 9)
        os.close(terminal)
        os.waitpid(child, 0)


def _shown(terminal: int, until: bytes) -> bytes:
    """Return the output until *until* is in it."""
    seen, end = b"", time.monotonic() + LONGEST
    while until not in seen and (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            seen += os.read(terminal, 65536)
    return seen


def missing(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is missing")


def completed(shell: str, line: str, path: str, until: str, folder: Path = ROOT) -> str:
    """Return the line as *shell* completes it; fish prints one line per candidate."""
    if shell == "bash":
        setup = f"bind 'set bell-style none'; . {SCRIPTS}/stackmap"
        return typed(
            ["/bin/bash", "--norc", "--noprofile", "-i"], setup, line + "\t", path, folder, until
        )
    if shell == "zsh":
        setup = f"unsetopt beep; fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D"
        return typed([shutil.which("zsh"), "-f", "-i"], setup, line + "\t", path, folder, until)
    script = f"source {SCRIPTS}/stackmap.fish; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=folder, env={"PATH": path, "HOME": "/tmp", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    words = [row.partition("\t")[0] for row in done.stdout.splitlines()]
    front = line[: line.rindex(" ") + 1]
    return "\n".join(f"{front}{word} " for word in words)


SHELLS = [pytest.param(shell, marks=missing(shell)) for shell in ("bash", "zsh", "fish")]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", LINES)
def test_a_tab_completes(shell, name, path):
    """What is left of one candidate is written, as in any other command."""
    line, whole = LINES[name]
    assert whole in completed(shell, line, path, whole)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_name_runs_nothing(shell, path, tmp_path):
    """A mount point with quotes and substitutions is quoted, and completing it runs none of them."""
    proc = tmp_path / "host/proc"
    (proc / "self").mkdir(parents=True)
    (proc / "diskstats").write_text(" 8 0 sda " + "1 " * 17 + "\n")
    mount = HOSTILE.replace(" ", r"\040")
    (proc / "self/mountinfo").write_text(f"9 1 8:0 / /{mount} rw - ext4 /dev/sda rw\n")
    (tmp_path / "host/sys/block/sda").mkdir(parents=True)

    line = "stackmap --from host tree /it"
    shown = completed(shell, line, path, "-r", tmp_path)

    assert "touch" in shown
    assert [entry.name for entry in tmp_path.iterdir()] == ["host"]


def test_no_option_breaks_the_table():
    """A help text has no tab and no line end."""
    assert {line.count("\t") for line in OPTIONS.read_text().splitlines()} == {3}


@pytest.mark.parametrize(
    ("words", "command", "arguments", "awaited", "capture"),
    [
        ([], "", 0, None, ""),
        (["--from"], "", 0, "files", ""),
        (["--from", "c", "tree"], "tree", 0, None, "c"),
        (["--from", "=", "c", "tree", "a"], "tree", 1, None, "c"),
        (["--from=c", "vg"], "tree", 1, None, "c"),
        (["compare", "a", "b"], "compare", 2, None, "a"),
        (["whatif", "--to", "="], "whatif", 0, "linear", ""),
        (["tree", "-io"], "tree", 0, ",DEVICE", ""),
        (["iostat", "--unknown", "vg"], "iostat", 1, None, ""),
    ],
)
def test_words_before(words, command, arguments, awaited, capture):
    line = read_line(Table.read(), words)

    assert line[:2] == (command, arguments)
    assert line.capture == capture
    assert (line.awaited or "").startswith(awaited or "")
    assert (line.awaited is None) == (awaited is None)


@pytest.mark.parametrize(
    "words", [["--from", "/no/such/file", "tree"], ["--from", "/dev/null", "tree"]]
)
def test_no_names_of_what_is_no_capture(words):
    """Nothing is offered, and nothing is printed on the command line."""
    assert completion.complete(words, "v") == ("words", [])


def test_names_of_a_sample(monkeypatch):
    """VGs, LVs with and without their VG, devices; sub-LVs have kernel names only."""
    monkeypatch.chdir(ROOT)
    _, found = completion.complete(["--from", SAMPLE, "tree"], "")
    names = [name for name, _ in found]

    assert names[:2] == ["vghdd", "vghdd/vm-disk1"]
    assert {"vm-disk1-r10", "sda", "dm-0"} <= {*names}
    assert not [name for name in names if "rimage" in name]
    assert len(names) == len({*names})


def test_it_imports_no_command():
    """A tab costs less than a command: neither click nor a scan of the machine is imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "stackmap", "--from", SAMPLE, "tree", "v"],
        env={**os.environ, completion.VARIABLE: "bash"},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert "vghdd\t\n" in done.stdout
    assert not imported & {"click", "stackmap.cli", "stackmap.discover", "tabulate", "pyudev", "gi"}
