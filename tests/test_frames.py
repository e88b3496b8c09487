"""Results of the Python API as data frames: the columns and values of ``--csv``, unknown values null."""

from __future__ import annotations

import csv
import io
import math
import subprocess
import sys

import pytest
from click.testing import CliRunner

import stackmap
from stackmap.cli import stackmap as program
from stackmap.document.blocks import RANGE, Column, Label, Rows, Table, Value, with_columns
from stackmap.errors import InputError
from stackmap.render.csv import fields
from stackmap.render.frames import NEEDED, Results, frame
from tests.paths import ROOT

SAMPLE = str(ROOT / "sample_topologies/vghdd")
COMMANDS = {
    "loads": ("iostat", "-x", "vm-disk1"),
    "layers": ("iostat", "-l", "vm-disk1"),
    "blame": ("blame", "sda"),
    "whatif": ("whatif", "vm-disk1", "--to", "raid10"),
}
HOSTILE = Table(
    "one",
    (
        Column("DEVICE", "name", ("label",), is_text=True),
        Column("await", "await_ms", (*RANGE, "estimated")),
    ),
    (
        Rows((
            (Label("", ("sda", "a\x1b[2J")), Value(None, str)),
            (Label("", ("sdb", "b")), Value(2.5, str, 1.0, 4.0, estimated=True)),
            (Label("", ("sdc", "c")), ""),
        )),
    ),
)  # fmt: skip


def result_of(name):
    machine = stackmap.open(SAMPLE)
    if name == "whatif":
        return stackmap.whatif(machine.intervals(), "vm-disk1", "raid10")
    topology, interval = next(machine.intervals(which="average"))
    return getattr(stackmap, name)(topology, interval, COMMANDS[name][1 if name == "blame" else 2])


def written(name):
    """The first table that the command writes as CSV; of whatif, that of requests and bytes."""
    words = ["--from", SAMPLE, *COMMANDS[name], "--csv"]
    if name != "whatif":
        words += ["--report", "average"]
    done = CliRunner().invoke(program, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    tables = done.stdout.split("\n\n")
    wanted = next((each for each in tables if ",unit,now,projected," in each), tables[0])
    return list(csv.DictReader(io.StringIO(wanted)))


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    return request.param


def plain(value):
    return str(value).lower() if isinstance(value, bool) else value


def dicts(shown, library):
    """The rows, with None for what is null or NaN."""
    rows = shown.to_dict("records") if library == "pandas" else shown.to_dicts()
    missing = __import__(library).isna if library == "pandas" else lambda value: value is None
    return [{key: None if missing(value) else value for key, value in row.items()} for row in rows]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_frame_has_the_values_of_csv(name, library):
    """The same names, rows, texts and numbers; nothing in CSV is null."""
    shown = dicts(result_of(name).frame(library), library)
    expected = written(name)

    assert len(shown) == len(expected) > 3
    for row, line in zip(shown, expected, strict=True):
        assert list(row) == list(line)
        for key, text in line.items():
            value = row[key]
            if isinstance(value, float):
                assert math.isclose(value, float(text), rel_tol=1e-9)
            else:
                assert text == ("" if value is None else plain(value))


def test_findings_are_rows(library):
    """One per finding, with the names that blame and iostat use."""
    found = stackmap.findings(stackmap.open(SAMPLE).intervals(), "vm-disk1")

    rows = dicts(found.frame(library), library)

    assert [(r["severity"], r["rule"], r["name"]) for r in rows] == [
        (str(each.severity), each.rule.name, each.device) for each in found
    ]
    assert all(row["sentence"].count("{") == 0 for row in rows)


def test_unknown_is_null_and_names_are_escaped(library):
    """A number, the ends of a range, a flag: none becomes 0, False or text."""
    sda, sdb, sdc = dicts(frame([HOSTILE], library), library)

    assert sda["label"] == "a\\x1b[2J"
    assert (sda["await_ms"], sda["await_ms_low"], sda["await_ms_estimated"]) == (None, None, False)
    assert sdb["await_ms"] == 2.5
    assert sdb["await_ms_high"] == 4.0
    assert (sdc["await_ms"], sdc["await_ms_estimated"]) == (None, None)


def test_tables_with_other_columns_are_one_frame(library):
    """What a table lacks is null in its rows."""
    other = with_columns(HOSTILE, [0])._replace(about=(("disk", "sdz"),))

    rows = dicts(frame([HOSTILE, other], library), library)

    assert [row["disk"] for row in rows] == [None, None, None, "sdz", "sdz", "sdz"]
    assert rows[4]["await_ms"] is None


def test_without_results_there_are_no_rows(library):
    """As of idle stacks."""
    assert len(Results([], list).frame(library)) == 0


def test_columns_hold_one_kind():
    """Text, numbers and flags: so a column without any value has a type, too."""
    assert fields(HOSTILE) == {
        "name": str, "label": str, "await_ms": float,
        "await_ms_low": float, "await_ms_high": float, "await_ms_estimated": bool,
    }  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_library_is_named_with_its_package(name, monkeypatch):
    """It is an error of stackmap; for pandas it has the package's name in Debian."""
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(stackmap.StackmapError, match=f"python3-{name}|pip install {name}"):
        result_of("blame").frame(name)


def test_another_library_is_refused():
    """The two that there are are named."""
    with pytest.raises(InputError, match="'pandas' or 'polars'"):
        result_of("whatif").frame("numpy")


def test_results_import_neither_library():
    """Only a frame does."""
    text = (
        "import stackmap, sys\n"
        f"topology, interval = next(stackmap.open({SAMPLE!r}).intervals(which='average'))\n"
        "stackmap.layers(topology, interval)\n"
        "print({'pandas', 'polars'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
