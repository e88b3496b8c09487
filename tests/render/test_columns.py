"""Columns, and the forms of them that scripts read."""

import re
import shlex

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Device, Kind, Role, Use
from stackmap.model.topology import Edge, Topology
from stackmap.render.columns import COLUMNS, USUAL, Bytes, choose, render_pairs, render_raw
from stackmap.render.tree import UNICODE, render_tree
from tests.paths import ROOT

TOPOLOGY = Topology(
    [
        Device("dm-7", Kind.VOLUME, "254:7", size=3 << 20, label="vg/my lv", target="linear"),
        Device("sda", Kind.DISK, "8:0", size=5 << 20, uses=(Use("mount", "/a b", "mountinfo"),)),
    ],
    [Edge("dm-7", "sda", Role.DATA)],
)


def names(columns):
    return [column.name for column in columns]


def test_columns_are_named_as_people_type():
    """In any case, by lsblk's names too, each once."""
    assert ["SIZE", "DEVICE", "DEV"] == names(choose("size,NAME,device,maj:min"))


def test_plus_adds_to_the_usual():
    assert [*USUAL, "LEVEL"] == names(choose("+level,size"))


def test_no_wish_is_the_usual():
    assert list(USUAL) == names(choose(""))


def test_an_unknown_column_is_named():
    with pytest.raises(KeyError, match="NOPE"):
        choose("size,nope")


def test_every_column_has_a_value_of_every_device():
    """None of them stops at a device that knows next to nothing."""
    bare = Topology([Device("x", Kind.DM, "")])
    text = render_tree(bare, UNICODE, choose("", everything=True))
    assert len(COLUMNS) == len(text.splitlines()[0].split())


def test_a_shell_reads_pairs():
    """Names are names, and nothing in a value is more than text."""
    bad = Topology([Device("x", Kind.DM, "", label='$(rm) `x` "q" \\')])
    (line,) = render_pairs(bad, choose("name,used-by")).splitlines()
    pairs = dict(word.split("=", 1) for word in shlex.split(line))

    assert {"DEVICE", "USED_BY"} == set(pairs)
    assert not set('$`"') & set(pairs["DEVICE"].replace("\\x", ""))


def test_words_by_blanks():
    r"""A blank in a value is ``\x20``, an unknown value ``-``: as many words as columns."""
    text = render_raw(TOPOLOGY, choose("name,size,level,used-by"), exact=True)

    assert text.splitlines() == [
        "DEVICE SIZE LEVEL USED-BY",
        r"vg/my\x20lv 3145728 - -",
        r"sda 5242880 - /a\x20b",
    ]


def test_wished_columns_stay_though_empty():
    """The usual ones that say nothing here are left out; those asked for are not."""
    usual = render_tree(TOPOLOGY).splitlines()[0].split()
    wished = render_tree(TOPOLOGY, UNICODE, choose("name,level")).splitlines()[0].split()
    assert "LEVEL" not in usual
    assert ["DEVICE", "LEVEL"] == wished


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("room", [None, 1, 8, 40])
def test_a_single_column_has_a_line_for_each_row(name, room):
    """The only column of a table, too, is padded, aligned and cut."""
    look = UNICODE._replace(width=room)
    text = render_tree(TOPOLOGY, look, choose(name), heading=False, exact=True)
    column = COLUMNS[name]
    cells = [line.strip(" ├└─│") for line in text.splitlines()]

    assert len(cells) == len(TOPOLOGY)
    if room is None and name not in ("KERNEL", "STATE", "WHAT", "DEVICE", "SIZE"):
        assert cells == [column.of_device(device, exact=True) for device in TOPOLOGY]


def test_a_single_column_of_numbers_ends_in_one_place():
    text = render_tree(TOPOLOGY, UNICODE, choose("size"), exact=True)
    assert text.splitlines() == ["   SIZE", "3145728", "5242880"]


MACHINES = sorted(path for path in (ROOT / "sample_topologies").iterdir() if path.is_dir())
# No sample machine has these; any other column that is always empty reads an attribute that is never set.
IN_NO_SAMPLE = {"WWN", "ERRORS"}


def values(machine, *options):
    """Return the lines of ``tree --pairs`` of a sample machine."""
    words = ["--from", str(machine), "tree", "--pairs", *options]
    return CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout.splitlines()


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_alone_has_its_values(name):
    """What a column needs is read for it: it shows no less than among all others."""
    variable = re.sub(r"[^A-Z0-9]", "_", name)
    shown = [line for machine in MACHINES for line in values(machine, "--output", name)]
    among = [line for machine in MACHINES for line in ALL[machine]]

    assert [f" {line} " in f" {whole} " for line, whole in zip(shown, among, strict=True)] == [
        True
    ] * len(among)
    assert (set(shown) == {f'{variable}=""'}) == (name in IN_NO_SAMPLE)


ALL = {machine: values(machine, "--output-all") for machine in MACHINES}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_bytes_have_their_unit_in_csv(column):
    """The name of a column ends in its unit."""
    devices = [
        d for machine in MACHINES for d in discover(CapturedHost(str(machine)), geometry=True)
    ]
    sizes = {isinstance(value, Bytes) for d in devices if (value := column.value(d)) is not None}

    assert sizes <= {column.csv_name.endswith("_bytes")}
