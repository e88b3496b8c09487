"""
The commands in the advice of rules have the options that their tools have.

Asked of the tools themselves: `lvchange --regionsize` was advised for years, and only lvconvert has it.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from functools import cache

import pytest

from tests.paths import ROOT

OPTION = re.compile(r"(?<![\w-])(--[a-z][\w-]+|-[A-Za-z](?![\w-]))")
MDADM = ("--help-options", "--create --help", "--grow --help", "--manage --help", "--misc --help")
HELP = {
    **dict.fromkeys(("lvchange", "lvconvert", "lvcreate", "lvextend", "lvremove", "lvs", "pvcreate", "pvmove", "vgcreate"), ("--longhelp",)),
    "integritysetup": ("--help",),
    "mdadm": MDADM,
    "dmsetup": ("--help",),
    "losetup": ("--help",),
    "cryptsetup": ("--help",),
    "journalctl": ("--help",),
    "blockdev": ("--help",),
    "hdparm": ("-h",),
    "smartctl": ("-h",),
    "lsblk": ("--help",),
    "ps": ("--help all",),
}  # fmt: skip
UNLISTED = ("mdadm", "--write-mostly")  # in mdadm(8) and in none of its helps
COMMAND = re.compile(rf"\b({'|'.join(HELP)})((?: (?!(?:{'|'.join(HELP)})\b)[^\s`,;:()]+)+)")


def advised() -> dict[tuple[str, str], set[str]]:
    """Tool and option, with the modules of the core's rules that name them in a text."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in (ROOT / "stackmap" / "rules").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for tool, words in COMMAND.findall(node.value):
                    for option in OPTION.findall(words):
                        found.setdefault((tool, option), set()).add(path.name)
    return found


ADVISED = advised()


@cache
def help_of(tool: str) -> str:
    program = shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        pytest.skip(f"{tool} is not installed")
    said = [
        subprocess.run([program, *words.split()], capture_output=True, text=True, check=False)
        for words in HELP[tool]
    ]
    return "\n".join(each.stdout + each.stderr for each in said)


@pytest.mark.parametrize(("tool", "option"), sorted(ADVISED.keys() - {UNLISTED}))
def test_the_tool_has_the_option(tool, option):
    has = re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_of(tool))
    assert has, f"{tool} has no {option}: {ADVISED[tool, option]}"


def test_there_are_commands():
    assert len(ADVISED) > 20
    assert ("lvs", "-o") in ADVISED
