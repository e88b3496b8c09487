"""A command pays for what it uses: the heavy packages are imported by those that need them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
FROM_SAMPLE = ["--from", str(SAMPLE)]

# networkx takes 100 to 200 ms to import, tabulate 20 to 60, pyudev and gi 35 to 60 each, as much as
# all the rest of a command. A capture is read without libudev and GObject being there at all.
# Only top needs curses.
HEAVY = {"networkx", "tabulate", "pyudev", "gi", "curses", "_curses"}

MAIN = """
import sys
from stackmap.cli import main
try:
    main()
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, *sys.modules, file=sys.stderr)
"""


def imported_by(*arguments: str) -> set[str]:
    """Return the packages and modules that ``stackmap`` with *arguments* had imported when it was done."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["tree", "--help"],
        ["top", "--help"],
        [*FROM_SAMPLE, "tree"],
        [*FROM_SAMPLE, "tree", "-J"],
        [*FROM_SAMPLE, "iostat", "-J"],
        [*FROM_SAMPLE, "iostat", "--per-layer", "-J"],
        [*FROM_SAMPLE, "report", "-o", "-"],
        [*FROM_SAMPLE, "fiojob", "vm-disk1"],
        ["compare", str(SAMPLE), str(SAMPLE), "-J"],
    ],
    ids=lambda arguments: " ".join(a for a in arguments if a not in FROM_SAMPLE),
)
def test_no_heavy_package_for(arguments):
    """Trees and JSON need no tables, no graph algorithms, and captures no library of this machine."""
    assert not HEAVY & imported_by(*arguments)


@pytest.mark.parametrize("command", ["iostat", "explain", "blame", "tree"])
def test_a_capture_without_a_trace_needs_no_tracing(command):
    """Its readers and probes are for ``trace``, and for captures of ``record --trace``."""
    modules = imported_by(*FROM_SAMPLE, command)
    assert not {m for m in modules if m.startswith("stackmap.") and "trac" in m} - {
        f"stackmap.features.trace{name}" for name in ("", ".additions", ".traced_topology")
    }


# A dataclass writes and compiles its methods at import; the others take 2 to 15 ms.
DEAR = {"dataclasses", "subprocess", "tempfile", "shutil", "logging", "statistics", "pathlib"}


@pytest.mark.parametrize("arguments", [FROM_SAMPLE, []], ids=["capture", "live"])
def test_a_tree_starts_without_dear_modules(arguments):
    """A cold tree costs at most 1.6 times click. A capture without a log needs no reader of logs."""
    modules = imported_by(*arguments, "tree")
    assert not modules & {*DEAR, "stackmap.host.log"}


def test_a_table_needs_tabulate_alone():
    """The graph is not networkx's until an algorithm is asked for."""
    heavy = HEAVY & imported_by(*FROM_SAMPLE, "iostat")
    assert heavy <= {"tabulate"}


def test_a_live_tree_asks_this_machine_without_graph_or_table():
    heavy = HEAVY & imported_by("tree")
    assert heavy <= {"pyudev", "gi"}


def test_check_needs_no_arithmetic_of_loads():
    """It has no load: importing what calculates with one costs a third of its time."""
    modules = imported_by(*FROM_SAMPLE, "check")
    assert not {
        m for m in modules if m.startswith(("stackmap.ledger.ampl", "stackmap.rules.table"))
    }
