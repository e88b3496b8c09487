"""Real shells that run pasted lines, with every program replaced by one that tells its arguments."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

# A script does what a terminal does with a pasted line: bash also replaces "!".
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile"], "set -o history -H\nshopt -s extglob nullglob\n"),
    "dash": (["dash"], ""),
    "zsh": (["zsh", "-f"], "setopt extendedglob equals magicequalsubst braceccl nullglob\n"),
}
TELL = """tell() { for word do printf '%s\\0' "$word"; done; printf '\\001\\0'; }\n"""

# What udev, mdadm or LVM can carry, and what a hostile capture can claim.
NASTY = (
    "x; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    'it\'s "quoted" \\ here',
    "-rf",
    "--help",
    "=ls",
    "~root",
    "* ? [a-z] {a,b} !(x)",
    "!! !$ ^a^b^",
    "#not a comment",
    "a & b | c > pwned < passwd",
    "\\x20\\",
    "${HOME} $HOME $$",
    "ünïcödé-磁盘",
    "a=b",
    "a==ls:=ls",
    "%1",
    "''",
    "-",
)


def parametrized():
    """Run a test in each shell; one that is not installed is skipped."""
    return pytest.mark.parametrize(
        "shell",
        [
            pytest.param(
                name,
                marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is missing"),
            )
            for name in SHELLS
        ],
    )


def told(shell: str, lines: list[str], folder: Path) -> list[list[str]]:
    """
    Return the arguments that each of *lines* gives its program, run in the empty directory *folder*.

    Nothing else ran, or wrote a file or a message.
    """
    command, options = SHELLS[shell]
    folder.mkdir(parents=True)
    programs = {line.split()[0] for line in lines}
    functions = "".join(
        f'{name.replace(".", "_")}() {{ tell {name} "$@"; }}\n' for name in sorted(programs)
    )
    # A dot is not for the name of a function in dash.
    pasted = [line.replace(line.split()[0], line.split()[0].replace(".", "_"), 1) for line in lines]
    text = options + TELL + functions + "PATH=/nothing\n" + "\n".join(pasted) + "\n"
    done = subprocess.run(
        [shutil.which(command[0]), *command[1:], "/dev/stdin"],
        input=text.encode(),
        capture_output=True,
        cwd=folder,
        env={"LC_ALL": "C.UTF-8", "HOME": "/home/somebody"},
        check=False,
        timeout=60,
    )
    assert done.stderr == b""
    assert list(folder.iterdir()) == []
    calls = done.stdout.decode().split("\1\0")
    assert calls.pop() == ""
    return [call.split("\0")[:-1] for call in calls]
