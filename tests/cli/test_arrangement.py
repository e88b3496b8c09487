"""--columns and --sort, and iostat's own options: what people type out of habit."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import COMMANDS, stackmap
from stackmap.document import blame
from stackmap.ledger.amplification import COLUMNS
from stackmap.model.load import METRICS, on_one_line
from tests.test_man import SAMPLES


def run(*words):
    return CliRunner().invoke(stackmap, ["--from", str(SAMPLES / "vghdd"), *words])


def rows(*words):
    """Return the table that is printed: its headings and its rows, as words."""
    lines = run(*words).stdout.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("DEVICE"))
    return [line.split() for line in lines[start:] if line]


def test_columns_in_their_order():
    """Headings and JSON keys, in any case; extended ones need no -x."""
    assert rows("iostat", "--columns", "BUSY%,read_await,w/s", "sda")[0] == [
        "DEVICE", "busy%", "r_await", "w/s",
    ]  # fmt: skip


@pytest.mark.parametrize("column", ["w_await", "write_await", "tps", "busy"])
def test_rows_are_sorted_by_the_figures(column):
    """The largest first, as JSON has them; unknown ones last. Names are whole without the tree."""
    key = {"w_await": "write_await"}.get(column, column)
    devices = json.loads(run("iostat", "-J").stdout)["devices"]
    by_label = {each["label"]: each for each in devices}
    printed = [row[0] for row in rows("iostat", "--sort", column, "--columns", column)[1:]]
    values = [by_label[name][key] for name in printed]
    known = [value for value in values if value is not None]

    assert len(printed) == len(devices)
    assert known == sorted(known, reverse=True)
    assert values[len(known) :] == [None] * (len(values) - len(known))


def test_names_are_sorted_upwards_and_sums_stay_below():
    """--totals stays the last rows, whatever the order."""
    printed = rows("iostat", "--sort", "device", "--totals")[1:]
    names = [row[0] for row in printed]

    assert names[-2:] == ["sum", "sum"]
    assert names[:-2] == sorted(names[:-2])


def test_columns_of_blame():
    """A word of a heading is enough."""
    text = run("blame", "sda", "--columns", "bytes", "--sort", "requests").stdout

    assert "sent/s" not in text
    assert text.index("vm-disk1 ") < text.index("vm-disk1-r10 ")


def test_columns_of_layers():
    text = run("iostat", "-l", "--columns", "shrink", "vm-disk1").stdout

    assert "shrink" in text
    assert "coalescing" not in text.splitlines()[1]


@pytest.mark.parametrize("words", [["iostat", "--columns", "r/s,foo"], ["blame", "--sort", "foo"]])
def test_an_unknown_column(words):
    error = run(*words).exception

    assert "no column 'foo'; columns: " in str(error)
    assert error.exit_code == 2


HEADINGS = {
    "iostat": [*(m.heading for m in METRICS), *(m.title for m in COLUMNS)],
    "blame": [on_one_line(column.heading) for column in (*blame.COLUMNS, *blame.VOLUME_COLUMNS)],
    "whatif": ["members", "disks"],
    "compare": ["change", "95 % interval"],
}


@pytest.mark.parametrize("command", HEADINGS)
def test_the_legend_explains_columns_and_words(command):
    """Each heading, and the terms that the sentences use; nothing is measured."""
    result = run(command, "--legend")
    explained = {line.strip() for line in result.stdout.splitlines()}

    assert result.exit_code == 0
    for word in (*HEADINGS[command], "stripe cache", "row", "read-modify-write"):
        assert any(line.startswith(f"{word} ") for line in explained), word


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_the_words_of_the_list_of_commands(name):
    """One sentence, the same everywhere; the usage names what is required."""
    text = CliRunner().invoke(stackmap, [name, "--help"]).stdout
    usage, _, first = text.splitlines()[:3]

    assert first.strip() == f"{COMMANDS[name].help}."
    assert len(usage) <= 80


def test_options_of_iostat():
    """They are accepted and change nothing; -o JSON is -J."""
    plain = run("iostat", "sda").stdout

    assert run("iostat", "-dkm", "-p", "sda", "-N", "-H", "-y").stdout == plain
    assert run("iostat", "-o", "JSON", "sda").stdout == run("iostat", "-J", "sda").stdout
