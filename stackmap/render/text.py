"""Text from the system: escaped, measured and cut. Names are untrusted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from unicodedata import category, combining, east_asian_width

ELLIPSIS = "…"
_KERNEL_NAME = r" \([^ ()]+\)$"
_COUNTED = r"\d+ [a-z]"
_CODE = "`([^`]+)`"
_NARROW = (
    "[ -\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u257f]*"  # letters, dashes, arrows, lines of a tree
)
WIDTH = 80  # columns, unless a terminal has another width
RESET = "\x1b[0m"
BOLD, DIM, RED, YELLOW = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m"


def safe(text: str) -> str:
    r"""
    Return *text* with every character escaped that is neither visible nor a space.

    Controls, line separators, bidi marks and zero-width characters rewrite a line or hide in a name.

    >>> safe("disk\x1b[2J")
    'disk\\x1b[2J'
    """
    if text.isprintable():  # fast path: a table has thousands of cells
        return text
    return "".join(letter if _is_visible(letter) else _escaped(letter) for letter in text)


def _is_visible(letter: str) -> bool:
    return letter.isprintable() or category(letter) == "Zs"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def code_spans(text: str) -> list[str]:
    """
    Return *text* split at its code spans: every second part is code.

    >>> code_spans("Run `lvs`.")
    ['Run ', 'lvs', '.']
    """
    return re.split(_CODE, text)


def width(text: str) -> int:
    """
    Return the terminal columns of *text*: two per wide character, none per combining one.

    >>> width("disk"), width("磁盘")
    (4, 4)
    """
    if _are_narrow([text]):
        return len(text)
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def widest(texts: Sequence[str]) -> int:
    """Return the width of the widest of *texts*, 0 of none."""
    return max(map(len if _are_narrow(texts) else width, texts), default=0)


def _are_narrow(texts: Iterable[str]) -> bool:
    """Whether every letter of *texts* takes one column."""
    text = "".join(texts)
    return text.isascii() or re.fullmatch(_NARROW, text) is not None


def padded_to(space: int, text: str, *, right: bool) -> str:
    """
    Return *text* padded or cut to *space* columns.

    >>> padded_to(4, "a", right=True), padded_to(3, "disk", right=False)
    ('   a', 'di…')
    """
    return all_padded(space, [text], right=right)[0]


def all_padded(space: int, texts: Sequence[str], *, right: bool) -> list[str]:
    """Return each of *texts* padded or cut to *space* columns."""
    if widest(texts) > space:
        texts = [cut(text, space) for text in texts]
    if _are_narrow(texts):
        pad = str.rjust if right else str.ljust
        return [pad(text, space) for text in texts]
    blanks = [" " * (space - width(text)) for text in texts]
    pairs = zip(blanks, texts, strict=True) if right else zip(texts, blanks, strict=True)
    return [before + after for before, after in pairs]


def shortened(text: str, room: int) -> str:
    """
    Return *text* in at most *room* columns: without a kernel name in brackets, then with "…" in the middle.

    A count of something has it at the end.

    >>> shortened("vghdd/vm-disk1 (dm-8)", 20), shortened("vghdd/vm-disk1 (dm-8)", 10)
    ('vghdd/vm-disk1', 'vghd…disk1')
    >>> shortened("2 cdata members", 14)
    '2 cdata membe…'
    """
    if width(text) <= room:
        return text
    text = re.sub(_KERNEL_NAME, "", text)
    if width(text) <= room or re.match(_COUNTED, text):
        return cut(text, room)
    end = ""
    for letter in reversed(text):
        if width(end + letter) > room // 2:
            break
        end = letter + end
    return cut(text, room - width(end)) + end


def cut(text: str, room: int) -> str:
    """
    Return *text* in at most *room* columns; "…" replaces what does not fit.

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
