"""--columns and --sort, and iostat's own options: what people type out of habit."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from click.testing import CliRunner

from stackmap.cli import COMMANDS, iostat, stackmap
from stackmap.cli.options import split_words
from stackmap.discover import discover
from stackmap.document import blame
from stackmap.host.capture import CapturedHost
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


def test_a_plus_adds_columns_to_the_usual_ones():
    """As -o of lsblk and tree; blame shows all its columns already."""
    usual = rows("iostat", "sda")[0]

    assert rows("iostat", "--columns", "+busy%,tps", "sda")[0] == [*usual, "busy%", "tps"]
    assert rows("iostat", "--columns", "+w/s", "sda")[0] == usual
    assert run("blame", "sda", "--columns", "+await").stdout == run("blame", "sda").stdout
    assert "no column 'nope'" in str(run("blame", "sda", "--columns", "+nope").exception)


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


def test_names_are_sorted_upwards_and_sums_stay_below(monkeypatch):
    """--totals stays the last rows, whatever the order."""
    monkeypatch.setenv("COLUMNS", "120")  # long names are shortened on narrower terminals
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


def test_options_of_iostat_that_change_nothing():
    """What they ask for is so already; -o JSON is -J."""
    plain = run("iostat", "sda").stdout

    assert run("iostat", "-dk", "-N", "-y", "sda").stdout == plain
    assert run("iostat", "-o", "JSON", "sda").stdout == run("iostat", "-J", "sda").stdout


@pytest.mark.parametrize("option", ["-c", "-g", "-H", "-j", "-s", "--compact", "--dec", "--pretty"])
def test_options_of_iostat_that_stackmap_has_not(option):
    """They are refused with what to use instead."""
    result = run("iostat", option, "sda")

    assert (result.exit_code, result.stdout) == (2, "")
    assert f"no option {option} here: " in result.stderr


def test_mib_divides_rates_and_not_sizes():
    """624.79 KiB read per second are 0.61 MiB; the mean size stays in KiB, and JSON and CSV in bytes."""
    kib, mib = (rows("iostat", *words, "sda") for words in ([], ["-m"]))

    assert kib[1][3] == "624.79"
    assert mib[0][3:7] == ["rMiB/s", "wMiB/s", "rKiB", "wKiB"]
    assert mib[1][3:5] == ["0.61", "1.53"]
    assert mib[1][5:] == kib[1][5:]
    assert run("iostat", "-m", "--csv", "sda").stdout == run("iostat", "--csv", "sda").stdout


def test_human_has_a_unit_beside_each_figure():
    assert re.search(r" 624\.8 KiB +1\.5 MiB ", run("iostat", "--human", "sda").stdout)
    assert " 2.4 MiB " in run("iostat", "-l", "--human").stdout


def test_a_kernel_name_means_this_device_alone():
    """As in iostat; a volume is shown with its stack."""
    assert [row[0] for row in rows("iostat", "sda", "sdd")[1:]] == ["sda", "sdd"]
    assert [row[0] for row in rows("iostat", "/dev/sdb", "sd[cd]")[1:]] == ["sdb", "sdc", "sdd"]
    assert len(rows("iostat", "vghdd/vm-disk1")) > 9


@pytest.mark.parametrize(
    ("disks", "shown"),
    [
        (("nvme0n1",), {"nvme0n1p1", "nvme0n1p2", "nvme0n1p3", "nvme0n1"}),
        (("nvme0n1", "sdb"), {"nvme0n1p1", "nvme0n1p2", "nvme0n1p3", "nvme0n1", "sdb"}),
        (("ALL",), {"nvme0n1p1", "nvme0n1p2", "nvme0n1p3", "nvme0n1", "sdb"}),
    ],
)
def test_partitions_of_a_disk(disks, shown):
    """What -p shows of a laptop with LVM on a partition."""
    topology = discover(CapturedHost(str(SAMPLES / "laptop-luks-lvm")))
    names = tuple(name for name in disks if name != "ALL")

    assert set(iostat.part(topology, names, disks).devices) == shown


def test_columns_keep_their_width_from_report_to_report():
    """The widest figure so far decides, so that magnitudes are compared at a glance."""
    printed = run("iostat", "--report", "all", "sda").stdout
    headings = [line for line in printed.splitlines() if line.startswith("DEVICE")]
    ends = [[m.end() for m in re.finditer(r"\S+", line)] for line in headings]

    assert len(ends) == 5
    assert all(
        later >= earlier for a, b in pairwise(ends) for earlier, later in zip(a, b, strict=True)
    )
    assert ends[-1] == ends[-2]


def test_the_numbers_may_come_first():
    """As in "5 3 sda", which sar takes."""
    assert split_words(("5", "3", "sda")) == (("sda",), 5.0, 3)
    assert split_words(("5", "sda")) == (("sda",), 5.0, None)
    assert split_words(("sda", "5")) == (("sda",), 5.0, None)


def test_global_options_may_follow_the_command():
    sample = str(SAMPLES / "vghdd")
    words = ["iostat", "-J", "sda"]
    first = CliRunner().invoke(stackmap, ["--from", sample, *words]).stdout

    assert CliRunner().invoke(stackmap, [*words, "--from", sample]).stdout == first
    assert CliRunner().invoke(stackmap, [*words, f"--from={sample}"]).stdout == first
    assert (
        CliRunner().invoke(stackmap, ["iostat", "--from", sample, "--", "sda", "-J"]).exit_code != 0
    )


def test_names_as_people_type_them():
    """The name of the mapping, and a layout in capitals."""
    by_mapping = run("tree", "vghdd-vm--disk1").stdout

    assert by_mapping == run("tree", "vghdd/vm-disk1").stdout != ""
    for form in ("raid10", "RAID10"):
        assert run("whatif", "vghdd/vm-disk1", "--to", form, "--csv").exit_code == 0


def test_record_without_a_directory():
    result = CliRunner().invoke(stackmap, ["record", "1", "5"])

    assert result.exit_code == 2
    assert "missing OUT: which new directory? 1 is a number" in result.stderr
