"""Names put into a text as it passes: the rows of devices change, and nothing else does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.text.annotate import Annotator, Style

NAMES = {"dm-2": "vg/root", "dm-89": "vghdd/vm-disk1", "sda": "sda"}
NUMBERS = {"253:2": "dm-2", "253:89": "dm-89", "8:0": "sda"}

IOSTAT = b"""\
Linux 6.1.0 (lab)  11/21/26  _x86_64_  (2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           2.00    3.00    5.00    7.00   11.00   13.00

Device            r/s     w/s     rkB/s     wkB/s
dm-2             2.00    3.00      5.00      7.00
dm-89           11.00   13.00     17.00     19.00
sda             23.00   29.00     31.00     37.00
sdz             41.00   43.00     47.00     53.00

"""
SAR = b"""\
07:10:01          DEV       tps     rkB/s     wkB/s
07:10:11     dev253-2      2.00      3.00      5.00
07:10:11    dev253-89      7.00     11.00     13.00
Average:    dev253-89     17.00     19.00     23.00
"""
PRETTY = b"""\
     r/s     rkB/s   rrqm/s Device
    2.00      3.00     5.00 dm-2
    7.00     11.00    13.00 dm-89

     w/s     wkB/s   wrqm/s Device
   17.00     19.00    23.00 dm-2
   29.00     31.00    37.00 dm-89
"""
OWN_LINE = b"""\
Device            r/s     w/s     rkB/s     wkB/s
dm-89
                 2.00    3.00      5.00      7.00
dm-2
                11.00   13.00     17.00     19.00
"""


def annotated(text: bytes, **style) -> bytes:
    annotator = Annotator(NAMES, NUMBERS, Style(**style))
    return annotator.feed(text) + annotator.finish()


def test_appended_and_aligned():
    """The name as printed stays in brackets; headings and rows are widened alike."""
    assert annotated(IOSTAT).splitlines()[5:10] == [
        b"Device                     r/s     w/s     rkB/s     wkB/s",
        b"vg/root (dm-2)            2.00    3.00      5.00      7.00",
        b"vghdd/vm-disk1 (dm-89)   11.00   13.00     17.00     19.00",
        b"sda                      23.00   29.00     31.00     37.00",
        b"sdz                      41.00   43.00     47.00     53.00",
    ]


def test_not_aligned():
    """A name takes the blanks after it; only where they are too few do the figures move."""
    assert annotated(IOSTAT, append=False, aligned=False).splitlines()[5:10] == [
        b"Device            r/s     w/s     rkB/s     wkB/s",
        b"vg/root          2.00    3.00      5.00      7.00",
        b"vghdd/vm-disk1  11.00   13.00     17.00     19.00",
        b"sda             23.00   29.00     31.00     37.00",
        b"sdz             41.00   43.00     47.00     53.00",
    ]
    assert b"\nvghdd/vm-disk1 (dm-89) 11.00   13.00" in annotated(IOSTAT, aligned=False)


def test_tabs_stay():
    """A table that was pasted from a spreadsheet keeps its tabs."""
    table = b"Device\tr/s\tw/s\ndm-2\t2.00\t3.00\nsdz\t5.00\t7.00\n"
    assert annotated(table, aligned=False) == table.replace(b"dm-2", b"vg/root (dm-2)")


def test_sar():
    """sar's dev253-89 is a device number; sar prints no name."""
    assert annotated(SAR).splitlines() == [
        b"07:10:01                           DEV       tps     rkB/s     wkB/s",
        b"07:10:11            vg/root (dev253-2)      2.00      3.00      5.00",
        b"07:10:11    vghdd/vm-disk1 (dev253-89)      7.00     11.00     13.00",
        b"Average:    vghdd/vm-disk1 (dev253-89)     17.00     19.00     23.00",
    ]


def test_name_last():
    """Where the name is the last word, nothing needs to be aligned."""
    assert annotated(PRETTY) == PRETTY.replace(b"dm-2\n", b"vg/root (dm-2)\n").replace(
        b"dm-89\n", b"vghdd/vm-disk1 (dm-89)\n"
    )


def test_name_on_its_own_line():
    """`iostat -N` of old put a name on a line of its own, and its figures on the next."""
    assert annotated(OWN_LINE, append=False, aligned=False) == OWN_LINE.replace(
        b"dm-89", b"vghdd/vm-disk1"
    ).replace(b"dm-2\n", b"vg/root\n")


def test_only_some():
    """Rows of other devices are left out; all that is no device's row stays."""
    lines = annotated(IOSTAT, only=frozenset({"dm-89"}), append=False, aligned=False).splitlines()
    assert lines == [
        *IOSTAT.splitlines()[:6],
        b"vghdd/vm-disk1  11.00   13.00     17.00     19.00",
        b"",
    ]


def test_only_some_with_names_on_their_own_line():
    """The figures below a name that is left out are left out too."""
    assert annotated(OWN_LINE, only=frozenset({"dm-2"}), append=False, aligned=False) == (
        b"Device            r/s     w/s     rkB/s     wkB/s\n"
        b"vg/root\n"
        b"                11.00   13.00     17.00     19.00\n"
    )


@pytest.mark.parametrize("text", [IOSTAT, PRETTY, OWN_LINE, SAR])
def test_order(text):
    """Rows of a report come in the order asked for, what is not in it after them; no row is lost."""
    plain = annotated(text)
    ordered = annotated(text, order={"sda": 0, "dm-89": 1, "dm-2": 2})
    assert sorted(ordered.splitlines()) == sorted(plain.splitlines())
    first = ordered.find(b"(d" if b"dev" not in text else b"(dev")
    assert ordered[first:].startswith((b"(dm-89)", b"(dev253-89)"))


def test_order_keeps_reports_apart():
    """sar prints report after report without a line between: its time tells them apart."""
    ordered = annotated(SAR, order={"dm-89": 1, "dm-2": 2})
    assert [line.split()[0] for line in ordered.splitlines()] == [
        b"07:10:01",
        b"07:10:11",
        b"07:10:11",
        b"Average:",
    ]


def test_unresolved_are_counted():
    """A name in no table stays as it was, and its rows are counted."""
    annotator = Annotator(NAMES, NUMBERS)
    annotator.feed(IOSTAT + IOSTAT + SAR.replace(b"253-2 ", b"253-7 "))
    assert annotator.unresolved == {"sdz": 2, "dev253-7": 1}


def test_json():
    """JSON stays JSON: only the values that are names change."""
    text = b'{"disk": [\n\t{"disk_device": "dm-89", "r/s": 2.00},\n\t{"disk_device": "sda"}]}\n'
    assert json.loads(annotated(text)) == {
        "disk": [
            {"disk_device": "vghdd/vm-disk1 (dm-89)", "r/s": 2.00},
            {"disk_device": "sda"},
        ]
    }


def test_sadf():
    """The tables that sadf makes for other programs have names too."""
    csv = b"# hostname;interval;timestamp;DEV;tps\nlab;10;2026-11-21 07:45:50 UTC;dev253-2;2.00\n"
    tabs = b"lab\t10\t1795247143\tdev253-2\ttps\t2.00\n"
    xml = b'<disk-device dev="dm-2" tps="2.00"/>\n'
    assert annotated(csv, append=False) == csv.replace(b"dev253-2", b"vg/root")
    assert annotated(tabs, append=False) == tabs.replace(b"dev253-2", b"vg/root")
    assert annotated(xml, append=False) == xml.replace(b"dm-2", b"vg/root")


def test_colours_stay():
    """A coloured row keeps its colours, and its figures their place below the heading."""
    row = b"\x1b[32;22mdm-2         \x1b[0m\x1b[34;1m    2.00\x1b[0m\x1b[34;1m    3.00\x1b[0m"
    row += b"\x1b[34;1m      5.00\x1b[0m\x1b[34;1m      7.00\x1b[0m\n"
    heading = b"Device            r/s     w/s     rkB/s     wkB/s\n"
    assert annotated(heading + row) == (
        b"Device        " + b" " * 13 + b"r/s     w/s     rkB/s     wkB/s\n"
        b"\x1b[32;22mvg/root (dm-2)        \x1b[0m" + row.partition(b"\x1b[0m")[2]
    )


@pytest.mark.parametrize(
    "line",
    [
        b"sda is slow\n",
        b"dm-2\n",  # not below a heading
        b"Device dm-89 was seen\n",
        b"dm-89 was suspended at 07:10:11\n",
        b"brw-rw---- 1 root disk 253, 2 Nov 21 dm-2\n",
        b"\r\n",
        b"\xff\xfe\x00 dm-2\n",
        b"07:10:11 all 2.00 3.00 5.00 7.00\n",
    ],
)
def test_other_lines_pass(line):
    """What is no row of a device passes byte for byte."""
    assert annotated(line + IOSTAT) == line + annotated(IOSTAT)
    assert annotated(IOSTAT + line, aligned=False) == annotated(IOSTAT, aligned=False) + line


@given(st.binary())
def test_any_bytes(text):
    """No bytes are too strange; without a name that is known they pass as they are."""
    assert Annotator({}, {}).feed(text + b"\n") == text + b"\n"
    annotated(text)


@given(
    st.lists(st.sampled_from(b"IOSTAT"), max_size=40),
    st.sampled_from([IOSTAT, SAR, PRETTY, OWN_LINE]),
)
def test_chunks_do_not_matter(cuts, text):
    """However a pipe cuts the text, the same comes out."""
    annotator = Annotator(NAMES, NUMBERS)
    out, rest = b"", text
    for cut in cuts:
        out += annotator.feed(rest[:cut])
        rest = rest[cut:]
    out += annotator.feed(rest) + annotator.finish()
    assert out == annotated(text)


def test_a_line_is_not_held_up():
    """Each line comes out as soon as it is complete."""
    annotator = Annotator(NAMES, NUMBERS)
    for line in IOSTAT.splitlines(keepends=True):
        assert annotator.feed(line).endswith(b"\n")


def test_quoted_rows():
    """Rows in a mail are the reader's rows: names are replaced, and unknown ones counted."""
    quoted = b"".join(b"> " + line for line in IOSTAT.splitlines(keepends=True))
    annotator = Annotator(NAMES, NUMBERS, Style(append=False, aligned=False))

    assert b"\n> vg/root          2.00" in annotator.feed(quoted)
    assert annotator.unresolved == {"sdz": 1}


def test_nuls_stay():
    """sysstat 11.5.7 printed NULs: they hide no row, and pass."""
    row = b"dm-2             2.00    3.00      5.00      7.00\0\n"
    heading = b"Device            r/s     w/s     rkB/s     wkB/s\0\n"

    assert annotated(heading + row, append=False, aligned=False) == heading + row.replace(
        b"dm-2   ", b"vg/root"
    )


def test_a_name_with_a_no_break_space_byte():
    """Names are text, not bytes: UTF-8 has bytes that are blanks in other encodings."""
    names = {"à": "vg/à"}
    text = "Device            r/s     w/s     rkB/s     wkB/s\nà 2.00 3.00 5.00 7.00\n".encode()

    assert "\nvg/à 2.00".encode() in Annotator(names, {}, Style(append=False, aligned=False)).feed(
        text
    )


@pytest.mark.parametrize(("columns", "is_row"), [(3, False), (4, True), (7, True)])
def test_a_row_without_a_heading_has_four_numbers(columns, is_row):
    """Fewer may be anything: "dm-89 2.00 3.00 5.00"."""
    line = " ".join(["dm-89", *("2.00",) * columns]) + "\n"
    annotator = Annotator(NAMES, NUMBERS)
    found = annotator.feed(line.encode()) + annotator.finish()
    assert (b"vghdd/vm-disk1" in found) is is_row
    assert is_row or found == line.encode()
