"""Text from the system on its way to people: names are untrusted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import combining, east_asian_width

# C0 and C1 controls, DEL, and the marks that reorder what follows (bidi): each could rewrite a terminal.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

ELLIPSIS = "…"
WIDTH = 80  # columns, where no terminal tells


def safe(text: str) -> str:
    r"""
    Return *text* with what could control a terminal spelled out.

    >>> safe("disk\x1b[2J")
    'disk\\x1b[2J'
    """
    if text.isprintable():  # as nearly all are: a table has thousands of cells
        return text
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def width(text: str) -> int:
    """
    Return how many columns of a terminal *text* takes: two for a wide character, none for a combining one.

    >>> width("disk"), width("磁盘")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def widest(texts: Sequence[str]) -> int:
    """Return the width of the widest of *texts*."""
    return max(map(len if "".join(texts).isascii() else width, texts))


def padded_to(space: int, text: str, *, right: bool) -> str:
    """
    Return *text* in just *space* columns, to the left or to the *right*.

    >>> padded_to(4, "a", right=True), padded_to(3, "disk", right=False)
    ('   a', 'di…')
    """
    if text.isascii() and len(text) <= space:
        return text.rjust(space) if right else text.ljust(space)
    text = cut(text, space)
    blank = " " * (space - width(text))
    return blank + text if right else text + blank


def cut(text: str, room: int) -> str:
    """
    Return *text* in at most *room* columns, its end replaced by "…" where it does not fit.

    >>> cut("vghdd/vm-disk1", 8)
    'vghdd/v…'
    """
    if width(text) <= room:
        return text
    kept = ""
    for letter in text:
        if width(kept + letter) >= room:
            break
        kept += letter
    return kept + ELLIPSIS if room > 0 else ""
