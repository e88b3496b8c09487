"""``--csv``: the tables of a command for programs, over all samples."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from stackmap.cli import COMMANDS, load, stackmap
from stackmap.document.blocks import Column, Headline, Label, Rows, Table, Value
from stackmap.document.wording import rate
from stackmap.render import terminal
from stackmap.render.csv import CsvWriter
from stackmap.render.markdown import render_blocks
from tests.features.fleet.stub import ask, serving, small_fleet, vector
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
WITH_TABLES = {"tree", "iostat", "blame", "trace", "whatif", "compare", "fleet"}
KIB, PERCENT, PLAIN = 1 / 1024, 100.0, 1.0

Record = dict[str, str]


def per_kib(key: str) -> float:
    """The factor from a figure of iostat to what its table shows."""
    return KIB if "bytes" in key or "size" in key else PERCENT if key.endswith("_share") else PLAIN


def of_unit(record: Record) -> float:
    """The factor for a table whose rows have their own units: bytes are shown in KiB."""
    return KIB if record["unit"].startswith("bytes") else PLAIN


class Printed(NamedTuple):
    """A table: the heading that only it has, the names in CSV of some columns, and where these begin."""

    heading: str
    keys: tuple[str, ...]
    start: int = 1
    factor: Callable[[str, Record], float] = lambda key, _: per_kib(key)


FIGURES = ("requests_per_s", "bytes_per_s", "mean_bytes", "await_ms", "iops_amplification",
           "byte_amplification", "shrink", "coalescing", "closure")  # fmt: skip
TIMES = tuple(f"{share}_ms" for share in ("p50", "p90", "p99", "p999", "max"))
TABLES = (
    Printed("aqu", ()),  # all of its figures
    Printed("accounted", FIGURES, factor=lambda key, _: KIB if key in ("bytes_per_s", "mean_bytes") else PLAIN),
    Printed("SOURCE", ("sent_per_s", "bytes_per_s", "await_ms", "request_share", "byte_share"), 2),
    Printed("DISK", ("sent_per_s", "bytes_per_s", "share_of_volume", "share_of_disk"),
            factor=lambda key, _: PERCENT if key.startswith("share") else per_kib(key)),
    Printed("Per second", ("now", "projected", "low", "high"), factor=lambda _, record: of_unit(record)),
    Printed("simulated", ("measured_ms", "simulated_ms"), factor=lambda *_: PLAIN),
    Printed("Requests/s", ("p50_per_s", "p95_per_s", "peak_per_s"), factor=lambda *_: PLAIN),
    Printed("95 % interval", ("before", "after"), factor=lambda _, record: of_unit(record)),
    Printed("sequential %", ("requests", *TIMES, "size_p50_bytes", "size_max_bytes", "sequential_share")),
)  # fmt: skip


def run(*words: str) -> str:
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout_bytes.decode()  # with the ends of lines as they are


def records(text: str) -> Iterator[Record]:
    """Yield the lines of CSV by column; an empty line precedes a header, and every line has all columns."""
    assert "\r" not in text
    header: list[str] = []
    for line in csv.reader(io.StringIO(text, newline="")):
        if not header:
            header = line
            assert len(header) == len(set(header))
        elif line:
            assert len(line) == len(header)
            yield dict(zip(header, line, strict=True))
        else:
            header = []


@pytest.fixture
def printed(monkeypatch):
    """A function: the rows of the tables that a command prints, as Markdown has them."""

    def rows(*words: str) -> Iterator[tuple[Printed, list[str]]]:
        with monkeypatch.context() as patch:
            patch.setattr(terminal, "rendered", lambda blocks, _: iter([render_blocks(blocks)]))
            text = run(*words)
        table = None
        for line in text.splitlines():
            cells = re.split(r" \| ", line.removeprefix("| ").removesuffix(" |"))
            if not line.startswith("|"):
                table = None
            elif table is None:
                (table,) = (each for each in TABLES if each.heading in cells)
            elif not line.startswith(("|---", "| **")):
                end = table.start + len(table.keys) if table.keys else None
                yield table, cells[table.start : end]

    return rows


def agree(shown: str, number: str, factor: float) -> bool:
    """Whether a cell shows *number*, rounded to its digits."""
    text = shown.strip("~% ")
    if not number or text in ("", "-"):
        return not number and text in ("", "-")
    if shown.startswith((r"\<", ">")):
        return True
    _, _, decimals = text.partition(".")
    return abs(float(number) * factor - float(text)) <= 0.5001 * 10.0 ** -len(decimals)


def assert_same(rows: Iterable[tuple[Printed, list[str]]], as_csv: str) -> int:
    """Compare a command's tables with its CSV; return the number of rows."""
    count = 0
    for row, record in zip_longest(rows, records(as_csv)):
        assert row is not None, record
        assert record is not None, row
        table, cells = row
        keys = table.keys or [key for key in record if key not in ("time", "name", "label")]
        for key, cell in zip(keys, cells, strict=True):
            assert agree(cell, record[key], table.factor(key, record)), (key, cell, record)
        count += 1
    return count


def inputs() -> Iterator[list[str]]:
    """Yield the options for each sample with counters, and for each text of one."""
    for sample in sorted(path for path in SAMPLES.iterdir() if path.is_dir()):
        if (sample / "frames").exists() or (sample / "log").exists():
            yield ["--from", str(sample)]
        for text in sorted(sample.glob("input/*")):
            yield ["--from", str(sample), "--input", str(text), "--report", "all"]


INPUTS = list(inputs())
IDS = [words[-3] if "--input" in words else words[-1] for words in INPUTS]
IDS = [name.removeprefix(f"{SAMPLES}/") for name in IDS]


@pytest.mark.parametrize("words", INPUTS, ids=IDS)
@pytest.mark.parametrize(
    "command", [["iostat"], ["iostat", "-x", "--totals"], ["iostat", "-l"], ["blame"]], ids="_".join
)
def test_csv_has_the_rows_and_numbers_of_the_table(printed, words, command):
    """Every sample and every text: as many rows, and each number is that of the table before rounding."""
    given = [*words[:2], *command, *words[2:]]

    rows = assert_same(printed(*given), run(*given, "--csv"))

    assert rows or "-l" in command or command == ["blame"]


@pytest.mark.parametrize(
    "words",
    [
        ["--from", f"{SAMPLES}/vghdd", "blame", "sda", "vm-disk1"],
        ["--from", f"{SAMPLES}/vghdd", "whatif", "vm-disk1", "--to", "raid10"],
        ["--from", f"{SAMPLES}/vghdd", "whatif", "vm-disk1", "--to", "raid5", "--report", "all"],
        ["compare", f"{SAMPLES}/vghdd", f"{SAMPLES}/vghdd", "-m", "vm-disk1=vm-disk1-r10"],
        ["--from", str(ROOT / "tests/traces/lvm-raid5-6.1.tar.gz"), "trace"],
    ],
    ids=["blame", "whatif", "model", "compare", "trace"],
)
def test_csv_of_a_volume(printed, words):
    assert assert_same(printed(*words), run(*words, "--csv")) > 3


@pytest.mark.parametrize("sample", sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()))
def test_csv_of_a_tree(sample):
    """A line per device, with the values of lines of pairs."""
    given = ["--from", str(SAMPLES / sample), "tree", "-O"]
    lines = run(*given, "-b", "--pairs").splitlines()
    pairs = [dict(re.findall(r'(\w+)="(.*?)"', line)) for line in lines]
    names = [
        name.removesuffix("_bytes").upper()
        for name in next(csv.reader(run(*given, "--csv").splitlines()))
    ]

    assert [list(record.values()) for record in records(run(*given, "--csv"))] == [
        list(values.values()) for values in pairs
    ]
    assert list(pairs[0]) == names[: len(pairs[0])]


def test_csv_of_a_fleet():
    """The columns of -o, in bytes per second; a line per volume."""
    with serving(small_fleet) as (server, _):
        lines = ask(server, "-n", "-o", "host,volume,cost,wasted").stdout.splitlines()
        text = ask(server, "--csv", "-o", "host,volume,cost,wasted").stdout_bytes.decode()

    table = lines[lines.index("") + 1 :]  # below what is wrong now
    assert len(table) == len(list(records(text))) > 0
    for line, record in zip(table, records(text), strict=True):
        host, volume, cost, wasted = line.split()
        assert [record["host"], record["volume"]] == [host, volume]
        assert agree(cost, record["cost"], 1)
        assert agree(wasted, record["wasted_bytes_per_s"], 1 / 2**20)


@pytest.mark.parametrize("label", ["rack", "level", "model"])
def test_csv_of_the_sums_of_a_fleet(label):
    """The columns of the table, with names that say their units; it was empty once."""

    def answer(query):
        if f"by ({label})" in query:
            return 200, vector(({label: "r1"}, 3e6 if "bytes" in query else 40))
        return small_fleet(query)

    with serving(answer) as (server, _):
        (line,) = ask(server, "-n", "--by", label).stdout.splitlines()[2:3]
        (record,) = records(ask(server, "--by", label, "--csv").stdout_bytes.decode())

    values = line.split()
    assert [*record][:2] == [label, "hosts"]
    assert len(values) == len(record)
    for shown, (key, value) in [*zip(values, record.items(), strict=True)][1:]:
        assert agree(shown.replace(",", ""), value, 1 / 2**20 if "bytes" in key else 1)


def test_each_command_with_a_table_has_the_option():
    """And no other: it prints tables, and nothing where there is none."""
    having = {
        name for name in COMMANDS if any("--csv" in option.opts for option in load(name).params)
    }

    assert having == WITH_TABLES


@pytest.mark.parametrize("words", [["--csv", "-J"], ["--csv", "-o", "JSON"]], ids=" ".join)
def test_csv_and_json_are_two_forms(words):
    result = CliRunner().invoke(stackmap, ["--from", f"{SAMPLES}/vghdd", "iostat", *words])

    assert result.exit_code == 2
    assert "choose one form of output: --csv or --json" in result.stderr


def test_reports_share_a_header_and_another_table_has_its_own():
    """A time tells reports apart; no empty line is between tables of the same columns."""
    table = Table("t", (Column("A", "name", is_text=True), Column("B", "rate_per_s", ("low",))), ())
    one = table._replace(groups=(Rows((("sda", Value(1.25, rate, low=1.0)),)),))
    other = Table("u", (Column("", "key", is_text=True),), (Rows((("x",),)),))
    writer = CsvWriter(heading=True)
    lines = [*writer.lines([Headline(("sda",)), one]), *writer.lines([one, other])]

    assert lines == [
        "name,rate_per_s,rate_per_s_low\n",
        "sda,1.25,1.0\n",
        "sda,1.25,1.0\n",
        "\n",
        "key\n",
        "x\n",
    ]


def test_names_that_a_spreadsheet_would_run_are_text():
    columns = (Column("A", "name", ("label",), is_text=True),)
    names = ["=1+1", "+x", "-x", "@x", "a,b", 'a"b', "a\nb"]
    rows = tuple((Label(name, (name, "")),) for name in names)
    text = "".join(CsvWriter(heading=True).lines([Table("t", columns, (Rows(rows),))]))

    assert [record["name"] for record in records(text)] == [
        "'=1+1", "'+x", "'-x", "'@x", "a,b", 'a"b', r"a\nb",
    ]  # fmt: skip
