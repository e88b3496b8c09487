"""Columns, and the forms of them that scripts read."""

import shlex

import pytest

from stackmap.model.device import Device, Kind, Role, Use
from stackmap.model.topology import Edge, Topology
from stackmap.render.columns import COLUMNS, USUAL, choose, render_pairs, render_raw
from stackmap.render.tree import UNICODE, render_tree

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
    look = UNICODE.within(room, colour=False)
    text = render_tree(TOPOLOGY, look, choose(name), heading=False, exact=True)
    column = COLUMNS[name]
    cells = [line.strip(" ├└─│") for line in text.splitlines()]

    assert len(cells) == len(TOPOLOGY)
    if room is None and name not in ("KERNEL", "STATE", "WHAT", "DEVICE", "SIZE"):
        assert cells == [column.of_device(device, exact=True) for device in TOPOLOGY]


def test_a_single_column_of_numbers_ends_in_one_place():
    text = render_tree(TOPOLOGY, UNICODE, choose("size"), exact=True)
    assert text.splitlines() == ["   SIZE", "3145728", "5242880"]
