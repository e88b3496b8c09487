"""Texts made to hang a reader: time must grow with their length, not its square."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest

from stackmap.errors import InputError
from stackmap.text import intervals
from stackmap.text.annotate import Annotator
from stackmap.text.text_lines import Lines

HEADING = b"Device r/s w/s rkB/s wkB/s await %util\n"
JSON = b'{"sysstat": {"hosts": [{"statistics": [\n'
SIZE = 100_000

PIECES = {
    "a word": b"x ",
    "headings in one line": b"Device ",
    "headings": HEADING,
    "columns in one line": b"r/s w/s ",
    "command lines": b"iostat ",
    "options": b"iostat -a",
    "a figure": b"2.00 ",
    "digits": b"2",
    "names": b"sda\n",
    "rows": b"sda 2 3 5 7 11 13\n",
    "rows in one line": b"sda 2 3 5 7 11 13 ",
    "cut rows": b"sda 2.00 3.00\n",
    "times": b"07:10:11 ",
    "quotes": b"> ",
    "dots": b". ",
    "open braces": b'{"disk_device": ',
    "open braces, a line each": b'{"disk_device": \n',
    "closed braces": b"}",
    "devices": b'{"disk_device": "sda"},',
    "keys": b'"timestamp": "',
    "open tags": b"<disk-device ",
    "open tags, a line each": b"<disk-device \n",
    "tabs": b"a\t1\t07:10:11\tb\t",
    "blanks": b" ",
    "blank tabs": b"\t",
    "semicolons": b";",
    "escapes": b"\x1b]",
    "brackets": b"\x1b[3",
    "NULs": b"\0",
    "line ends": b"\n",
    "copies": b"8 0 sda 2 3 5 7 11 13 17 19 0 23 29\n",
    "numbers": b"8 0 ",
}
BEGINNINGS = {"nothing": b"", "a heading": HEADING, "JSON": JSON, "XML": b"<sysstat>\n"}


def seconds(text: bytes) -> float:
    """Return the seconds to read and annotate *text*."""
    start = process_time()
    with suppress(InputError):
        list(intervals([text], "text"))
    annotator = Annotator({"sda": "a"}, {})
    annotator.feed(text)
    annotator.finish()
    return process_time() - start


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_time_is_linear(piece, beginning):
    """Input that could cause backtracking is read in less than 5 seconds."""
    assert seconds(beginning + piece * (SIZE // len(piece)) + b"\nx\n") < 5


def test_headings_without_a_blank_line(monkeypatch):
    """A whole table is looked for once a paragraph: not the rest of a text for each of its headings."""
    searched = []
    following = Lines.following
    monkeypatch.setattr(Lines, "following", lambda self: searched.append(1) or following(self))

    list(intervals([(HEADING + b"sda 2 3 5 7 11 13\n") * 99 + b"\n" + HEADING], "text"))

    assert len(searched) == 2
