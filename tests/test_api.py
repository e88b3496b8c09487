"""The Python API: what its page and its docstrings show is true, and importing stackmap stays cheap."""

from __future__ import annotations

import doctest
import importlib
import math
import re
import subprocess
import sys

import pytest

import stackmap
from stackmap.errors import InputError, NameNotFound
from stackmap.model.device import Role
from stackmap.rules.table import RULES
from tests.paths import ROOT

SAMPLE = "sample_topologies/vghdd"
PAGE = (ROOT / "man" / "stackmap-api.7").read_text()
EXAMPLES = [
    text.replace("\\-", "-")
    for text in re.findall(r"^\.EX\n(.*?)^\.EE$", PAGE, re.MULTILINE | re.DOTALL)
]
EXPECTED = [
    "vghdd/vm-disk1: 2.00",
    "vghdd/vm-disk1: ",
    "sda   2026-11-21T10:39:",
    "461 to 281 writes per second\nlook first at sda",
]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "stackmap").rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.fixture(autouse=True)
def _at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_are_true(name):
    """Every example in a docstring gives what it shows."""
    result = doctest.testmod(importlib.import_module(name))

    assert result.attempted
    assert result.failed == 0


@pytest.mark.parametrize(("example", "expected"), list(zip(EXAMPLES, EXPECTED, strict=True)))
def test_examples_of_the_page_run(example, expected, capsys):
    """Each is about ten lines and prints what it is for."""
    if "import pandas" in example:
        pytest.importorskip("pandas", reason="pandas is not installed")
    exec(compile(example, "stackmap-api.7", "exec"), {})  # noqa: S102 - our own page

    assert expected in capsys.readouterr().out
    assert 8 <= len(example.splitlines()) <= 12


def test_the_rules_that_examples_name_exist():
    named = re.findall(r'rule\.name == "([^"]+)"', "".join(EXAMPLES))
    assert named
    assert set(named) <= {rule.name for rule in RULES}


def test_the_page_has_every_name():
    """Nothing is public without being described."""
    assert {name for name in stackmap.__all__ if name not in PAGE} == set()


def test_dir_lists_the_api():
    """Also before anything of it was imported."""
    assert {*stackmap.__all__} == {name for name in dir(stackmap) if not name.startswith("__")}
    assert {"layers", "whatif", "StackmapError"} <= {*stackmap.__all__}


def test_importing_stackmap_imports_no_part_of_it():
    """The command line starts no slower for there being an API."""
    program = "import stackmap, sys; print([m for m in sys.modules if m.startswith('stackmap.')])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_a_text_has_the_names_of_its_machine():
    """With the machine it is of, LVs are known; without, its own names are all there is."""
    text = "sample_topologies/raid5-raid10-medusa/input/iostat-3.txt"
    machine = stackmap.open("sample_topologies/raid5-raid10-medusa")

    with stackmap.open(text, machine) as known, stackmap.open(text) as unknown:
        assert known.topology().edges != ()
        assert unknown.topology().unknown
        assert [len(i.loads) for _, i in known.intervals()] == [
            len(i.loads) for _, i in unknown.intervals()
        ]


def test_a_ticket_is_read_whole():
    """The stack that lsblk and LVM printed in it has the figures, and counts before another machine."""
    ticket, other = "tests/tickets/md-lvm.txt", stackmap.open(SAMPLE)

    for machine in (None, other):
        with stackmap.open(ticket, machine) as told:
            topology = told.topology()
            assert topology.used_by("md0", Role.DATA) == ["sda1", "sdb1", "sdc1"]
            assert topology["dm-0"].title == "vg-md/data"
            ((_, interval),) = told.intervals(which="average")
            assert interval.loads["md0"].write.ios == 100


def test_the_parts_of_a_capture_are_chosen_as_on_the_command_line():
    """Two of the five intervals."""
    assert len(list(stackmap.open(SAMPLE).intervals())) == 5
    assert len(list(stackmap.open(SAMPLE, until="+5s").intervals())) == 2
    assert len(list(stackmap.open(SAMPLE).intervals(count=3))) == 3


def test_errors_are_stackmap_errors():
    """What was asked for and is not there says so."""
    machine = stackmap.open(SAMPLE)
    with pytest.raises(NameNotFound, match="did you mean 'vm-disk1'"):
        stackmap.whatif(machine.intervals(), "vm-disk", "raid10")
    with pytest.raises(InputError):
        stackmap.findings([])
    with pytest.raises(AttributeError):
        stackmap.nothing  # noqa: B018 - the access is the test
    assert issubclass(NameNotFound, stackmap.StackmapError)


@pytest.mark.parametrize("path", ["", "/nosuch", "/nosuch.tar", "a\0b", 0, None])
def test_what_cannot_be_opened_is_said(path):
    """No bare error of the operating system or of Python."""
    with pytest.raises(stackmap.StackmapError):
        stackmap.open(path)


@pytest.mark.parametrize(
    ("seconds", "count"), [(-1, 2), (0, 2), (math.nan, 2), (math.inf, 2), (1, -2), (1, 0)]
)
def test_a_length_and_a_count_are_above_zero(seconds, count):
    """Also of a capture, which has lengths of its own."""
    with pytest.raises(stackmap.StackmapError, match="above 0"):
        next(stackmap.open(SAMPLE).intervals(seconds, count))
