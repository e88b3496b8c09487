"""Lines of a text, however it reached us."""

from __future__ import annotations

import gzip
import html
import tracemalloc
from itertools import repeat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stackmap.errors import InputError
from stackmap.host.sar_file import SADC
from stackmap.text import intervals, text_lines
from stackmap.text.text_lines import MAX_LINE, Lines


@given(st.lists(st.binary(max_size=9), max_size=9))
@example([b"\x80", b"\n", b"\xc2\x80\n"])
def test_chunks_do_not_matter(chunks):
    """With any chunks of a text, its lines are the same; a compressed or binary file begins with its magic."""
    if not b"".join(chunks).startswith((b"\x1f\x8b", *SADC)):
        assert list(Lines(chunks)) == list(Lines([b"".join(chunks)]))


def test_put_back():
    """A line that is pushed back is returned next, with the same number."""
    lines = Lines([b"two\nthree\nfive\n"])
    for line in lines:
        if line == "three":
            lines.push_back()
            break
    assert lines.number == 1
    assert list(lines) == ["three", "five"]
    assert lines.number == 3


def test_the_lines_up_to_a_blank_one():
    """Of the next lines; none if no blank one has come, wherever the last line is pushed back to."""
    lines = Lines([b"two\nthree\n\nfive\n\nseven\neleven\n"])
    told = []
    for line in lines:
        told.append((line, lines.following()))
        lines.push_back()
        told.append(("", lines.following()))
        next(iter(lines))
    assert told == [
        ("two", ["three"]), ("", ["two", "three"]), ("three", []), ("", ["three"]), ("", ["five"]), ("", []),
        ("five", []), ("", ["five"]), ("", []), ("", []), ("seven", []), ("", []), ("eleven", []), ("", []),
    ]  # fmt: skip


def test_gzip():
    """Packed files, one after the other or cut short, are read as far as they go."""
    packed = gzip.compress(b"two\n") + gzip.compress(b"three\n")
    assert list(Lines([packed])) == ["two", "three"]
    assert list(Lines([packed[n : n + 1] for n in range(len(packed))])) == ["two", "three"]
    assert next(iter(Lines([packed[:-9]]))) == "two"


@pytest.mark.parametrize("end", ["cut", "written over"])
def test_a_gzip_that_ends_early_is_said(end):
    """Once, at its end; one that is whole needs no word."""
    packed = gzip.compress(b"".join(b"%d\n" % (number**7) for number in range(9999)))
    told = []
    assert len(list(Lines([packed], told.append))) == 9999
    assert told == []

    damaged = packed[:-900] + (b"" if end == "cut" else bytes(900))
    chunks = [damaged[place : place + 500] for place in range(0, len(damaged), 500)]
    assert len(list(Lines(chunks, told.append))) > 9000
    (line,) = told
    assert "gzip file" in line


def test_not_gzip():
    """A text that only begins like gzip is refused."""
    with pytest.raises(InputError, match="not a gzip file"):
        list(Lines([b"\x1f\x8bhello world"]))


def test_what_means_nothing_is_taken_out():
    """Colours, orders to the terminal, and the NULs of sysstat 11.5.7."""
    assert list(Lines([b"\x1b[32;22msda\x1b[0m \x1b]0;title\x07 2.00\0\n"])) == ["sda  2.00"]


def test_encodings():
    """Legacy encodings do not stop the figures from being read."""
    assert list(Lines(["Média: sda 2.00\n".encode("latin-1")])) == ["Média: sda 2.00"]


def test_memory_is_bounded():
    """A line without an end passes in parts."""
    tracemalloc.start()
    assert all(len(line) <= 3 * MAX_LINE for line in Lines(b"x" * 65536 for _ in range(999)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * MAX_LINE


@pytest.mark.parametrize("part", [b"\0", b"x", b"\n"])
def test_an_endless_text_without_statistics_is_refused(part, monkeypatch):
    """Endless text without statistics is refused."""
    monkeypatch.setattr(text_lines, "MAX_UNUSED", 3 << 20)
    with pytest.raises(InputError, match="3 MiB in a row"):
        list(intervals(repeat(part * (1 << 20)), "endless"))


BANNER = "Linux 6.1.0 (db1) \t11/23/26 \t_x86_64_\t(2 CPU)\n\n"
TABLE = "Device r/s w/s\nsda 2.00 3.00\n\n"


@pytest.mark.parametrize(
    "raw",
    [
        ("\ufeff" + BANNER + TABLE).encode(),
        ("\ufeff" + BANNER + TABLE).encode("utf-16-le"),  # of PowerShell's >
        ("\ufeff" + BANNER + TABLE).encode("utf-16-be"),
        (BANNER + TABLE).replace(" ", "\u00a0").encode(),  # of a web page
    ],
)
def test_banner_in_any_encoding(raw):
    """The banner is found, so the report below it is known to be since boot."""
    (report,) = intervals([raw[:1], raw[1:2], raw[2:]], "-")
    assert report.machine.host == "db1"
    assert report.since_boot


def test_byte_order_mark_before_csv():
    """The first heading of sadf -d is read behind a byte order mark."""
    text = "\ufeff# hostname;interval;timestamp;DEV;tps\ndb1;10;2026-11-21 07:45:50 UTC;sda;2.00\n"
    (report,) = intervals([text.encode()], "-")
    assert report.loads["sda"].whole.ios == 2


def test_a_text_without_statistics_is_refused_at_its_limit(monkeypatch):
    """Each chunk counts; what a reader uses begins the count again."""
    monkeypatch.setattr(text_lines, "MAX_UNUSED", 100)
    chunk = b"not a table\n" * 4
    assert len(list(Lines(iter([chunk] * 2)))) == 8
    with pytest.raises(InputError, match="no device statistics"):
        list(Lines(iter([chunk] * 3)))

    lines, count = Lines(iter([chunk] * 9)), 0
    for _ in lines:
        lines.unused, count = 0, count + 1
    assert count == 36


def test_marks_of_a_quoting_mail_are_no_time():
    """The time is that of the row, whatever it is quoted with."""
    rows = [
        f"10:00:0{n} {name}"
        for n, name in (
            (1, "DEV tps rkB/s wkB/s"),
            (2, "sda 2.00 5.00 7.00"),
            (3, "sda 3.00 5.00 7.00"),
        )
    ]
    plain = [interval.stamp for interval in intervals(["\n".join([*rows, ""]).encode()], "text")]
    for mark in ("> ", ">> ", "> > ", "| "):
        quoted = "\n".join([*(mark + row for row in rows), ""]).encode()
        assert (
            [interval.stamp for interval in intervals([quoted], "text")]
            == plain
            == ["10:00:02", "10:00:03"]
        )


TABLE = "Device   r/s   w/s  rkB/s  wkB/s\nsda     2.00  3.00   5.00   7.00\nmd_x&y  1.00  0.00   4.00   0.00\n"


@pytest.mark.parametrize("times", [1, 2])
def test_a_page_of_a_tracker_around_a_table_changes_nothing(times):
    """Entities, perhaps escaped twice, blanks that do not break, and tags at the ends of lines."""
    text = TABLE
    for _ in range(times):
        text = html.escape(text)
    page = "".join(
        f"&gt; <code>{line.replace('  ', '&nbsp; ')}</code><br>\n" for line in text.splitlines()
    )
    (plain,), (found,) = (
        list(intervals([each.encode()], "x")) for each in (TABLE, f"<pre>\n{page}</pre>\n")
    )
    assert dict(found.loads) == dict(plain.loads)
    assert {*found.loads} == {"sda", "md_x&y"}
