"""Text from the system: escaped, measured, cut and aligned in columns. Names are untrusted."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import Self
from unicodedata import category, combining, east_asian_width

ELLIPSIS = "…"
_KERNEL_NAME = r" \([^ ()]+\)$"
_COUNTED = r"\d+ [a-z]"
_CODE = "`([^`]+)`"
# Letters, dashes, arrows, lines of a tree.
_NARROW = "[ -\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u257f]*"
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
    return "".join(
        c if c.isprintable() or category(c) == "Zs" else c.encode("unicode_escape").decode()
        for c in text
    )


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


# Stands for a leading space while tabulate strips cells: the way to keep spaces
# differs between tabulate 0.8 (a global) and 0.10 (a parameter).
INDENT = "\x01"
GAP, NARROW_GAP = "  ", " "
MIN_NAME = 14  # columns for a shortened text


class Coloured(str):
    """A cell that is shown in ``colour``; its width is that of the text."""

    __slots__ = ("colour",)
    colour: str

    def __new__(cls, text: str, colour: str) -> Self:
        """Return *text* in *colour*."""
        cell = super().__new__(cls, text)
        cell.colour = colour
        return cell


def aligned(
    rows: Sequence[Sequence[str]],
    *,
    words: int,
    columns: int,
    width: int,
    whole: bool = False,
) -> list[str]:
    """
    Return *rows* of at most *columns* cells as aligned lines.

    The first *words* columns are aligned to the left, the others to the right.
    Leading spaces of a cell are kept: they indent it. A row of one cell is a
    title, which widens no column. Where a line would exceed *width*, columns are
    one space apart instead of two; then, unless *whole*, texts are shortened in
    the middle, and at last the columns are divided over several tables.
    """
    widths = _widths([row for row in rows if len(row) > 1], columns)
    widest_title = widest([row[0] for row in rows if len(row) == 1])
    for gap in (GAP, NARROW_GAP):
        needed = max(sum(widths) + len(gap) * (len(widths) - 1), widest_title)
        if needed <= width or columns == 1 or (whole and gap == NARROW_GAP):
            return _coloured(_aligned(rows, words, columns, gap), rows)
    return _narrowed(rows, words, widths, width)


def _widths(rows: Sequence[Sequence[str]], columns: int) -> list[int]:
    """Return the width of each column; trailing empty ones are left out. tabulate pads by letters."""
    widths = []
    for place in range(columns):
        cells = [row[place] for row in rows if place < len(row)]
        wide = 0
        if not "".join(cells).isascii():
            wide = max(width(cell) - len(cell) for cell in cells)
        widths.append(max(map(len, cells), default=0) + max(0, wide))
    while widths and not widths[-1]:
        widths.pop()
    return widths


def _coloured(lines: list[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        _row_coloured(line, row) if any(isinstance(cell, Coloured) for cell in row) else line
        for line, row in zip(lines, rows, strict=True)
    ]


def _row_coloured(line: str, row: Sequence[str]) -> str:
    """Return *line* with coloured figures; cells are looked up from the right, where figures are."""
    end = len(line)
    for cell in reversed(row):
        if not cell.strip():
            continue
        start = line.rindex(cell, 0, end)
        if isinstance(cell, Coloured):
            line = f"{line[:start]}{cell.colour}{cell}{RESET}{line[start + len(cell) :]}"
        end = start
    return line


def _narrowed(
    rows: Sequence[Sequence[str]], words: int, widths: list[int], width: int
) -> list[str]:
    """Return *rows* with shortened texts, in several tables if the figures alone are too wide."""
    texts, figures = widths[:words], widths[words:]
    least = min(sum(texts), MIN_NAME * words)
    most = min(sum(texts), width - words - max(figures, default=0))
    divided = {
        room: list(_parts(figures, width - room - words + 1))
        for room in range(max(least, most), least - 1, -1)
    }
    room = min(divided, key=lambda room: len(divided[room]))  # the first: with the longest texts
    rows = [_with_short_texts(row, _reduced(texts, room)) for row in rows]
    lines: list[str] = []
    for start, end in divided[room]:
        part = [
            row if len(row) == 1 else [*row[:words], *row[words + start : words + end]]
            for row in rows
        ]
        part = [
            *dropwhile(lambda row: not "".join(row).strip(), part)
        ]  # a heading of two lines elsewhere
        lines += [""] * bool(lines)
        lines += _coloured(_aligned(part, words, words + end - start, NARROW_GAP), part)
    return lines


def _with_short_texts(row: Sequence[str], rooms: Sequence[int]) -> Sequence[str]:
    if len(row) == 1:
        return row
    # A heading is padded to the width of earlier reports, which is not kept where texts are shortened.
    texts = (cell.rstrip() for cell in row)
    return [*map(shortened, texts, rooms), *row[len(rooms) :]]


def _reduced(widths: Sequence[int], room: int) -> list[int]:
    """Return *widths*, the largest ones reduced until all are within *room*."""
    limit = max(widths)
    while sum(min(width, limit) for width in widths) > room:
        limit -= 1
    return [min(width, limit) for width in widths]


def _parts(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last column, exclusive, of each table that fits *room*; each has one at least."""
    start = used = 0
    for place, width in enumerate(widths):
        used += width + 1
        if used > room and place > start:
            yield start, place
            start, used = place, width + 1
    yield start, len(widths)


def _aligned(rows: Sequence[Sequence[str]], words: int, columns: int, gap: str) -> list[str]:
    if all(map(_are_narrow, rows)):
        return _padded(rows, words, columns, gap)
    return _tabulated(rows, words, columns, gap)


def _padded(rows: Sequence[Sequence[str]], words: int, columns: int, gap: str) -> list[str]:
    """Return cells without wide letters as ``_tabulated`` does, in a tenth of the time."""
    widths = _widths([row for row in rows if len(row) > 1 or columns == 1], columns)
    places = zip("<" * words + ">" * (len(widths) - words), widths, strict=False)
    line = gap.join(f"{{:{side}{width}}}" if width else "{}" for side, width in places)
    filler = ("",) * len(widths)
    return [
        row[0] if len(row) == 1 else line.format(*row, *filler[len(row) :]).rstrip() for row in rows
    ]


def _tabulated(rows: Sequence[Sequence[str]], words: int, columns: int, gap: str) -> list[str]:
    from tabulate import DataRow, TableFormat, tabulate  # 60 ms, for wide letters only

    line = DataRow("", gap, "")
    # Each has all columns: tabulate 0.8.9, of Debian 12, takes no alignment of a column that no row has.
    cells = [[] if len(row) == 1 < columns else [*map(_marked, row)] for row in rows]
    text = tabulate(
        [row + [""] * (columns - len(row)) for row in cells],
        tablefmt=TableFormat(None, None, None, None, line, line, 0, None),
        colalign=["left" if place < words else "right" for place in range(columns)],
        disable_numparse=True,
    )
    lines = text.replace(INDENT, " ").split("\n") if rows else []
    return [
        row[0] if len(row) == 1 else line.rstrip() for row, line in zip(rows, lines, strict=True)
    ]


def _marked(cell: str) -> str:
    return INDENT * (len(cell) - len(cell.lstrip(" "))) + cell.lstrip(" ")
