"""
Replaces device names in a stream of ``iostat``, ``sar`` or ``sadf`` text and keeps all else.

Bytes in, bytes out, line by line: a live pipe is not delayed and a log may have
any length. A row is a line with as many words as the heading above it; nothing
else is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stackmap.text.headings import MAX_PREFIX_WORDS
from stackmap.text.name_fields import (
    IOSTAT_WIDTH,
    MIN_COLUMNS,
    SAR_NAME,
    Heading,
    NameTable,
    Style,
    count_quote_marks,
    find_heading,
    is_number,
    replace_name,
)

MAX_LINE = 1 << 20  # bytes; a longer line is written in parts
MAX_HEADINGS = 100  # remembered; a text repeats a few

HIDDEN, LAST = -1.0, float("inf")  # ranks of rows to omit, and of rows without a rank

QUOTED_NAME = re.compile(rb'("disk[_-]device"\s*:\s*"|<disk-device\s+dev=")([^"]*)(?=")')
SADF_ROW = re.compile(rb"[^;\t]+([;\t])-?\d+\1[^;\t]+\1(?P<name>[^;\t]+)\1")
ESCAPES = re.compile(rb"\x1b\[[0-9;:]*m")


class Annotator:
    """
    Takes a text in chunks and returns it with names.

    *names*: the name to show for each name that a text may use.
    *numbers*: kernel names by device number ("253:89"), which sar prints.
    """

    def __init__(
        self, names: Mapping[str, str], numbers: Mapping[str, str], style: Style | None = None
    ) -> None:
        self._style = style or Style()
        self._names = NameTable(names, numbers, self._style)
        self._widths = self._names.widths() if self._style.aligned else (0, 0)
        self._partial: list[bytes] = []  # of a line without its end
        self._size = 0
        self._heading = Heading()
        self._prefixes: dict[bytes, bytes] = {}  # first columns of ordinary rows, old → new
        self._length = -1  # of ordinary rows, the same as of their heading
        self._headings: dict[bytes, Heading] = {}
        self._rows: list[tuple[float, bytes]] = []  # of this report, to be sorted
        self._time: list[bytes] = []  # of those rows, in sar
        self._rank: float | None = None  # of a name alone on its line; its figures follow
        self._adjacent = False  # the last line was a heading or a row

    @property
    def unresolved(self) -> Mapping[str, int]:
        """Rows per unknown name."""
        return self._names.unresolved

    @property
    def found_table(self) -> bool:
        """Whether the text had a heading of a device table or a device name."""
        return bool(self._headings) or self._names.named_any

    def feed(self, chunk: bytes) -> bytes:
        """Take *chunk* and return all complete lines with names."""
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            return self._keep(chunk)
        lines = b"".join((*self._partial, chunk[:cut])).split(b"\n")
        lines.pop()
        self._partial, self._size = [], 0
        return self._annotated(lines) + self._keep(chunk[cut:])

    def finish(self) -> bytes:
        """Return the rest at the end of the text."""
        rest = b"".join(self._partial)
        self._partial, self._size = [], 0
        if not rest:
            return b"".join(row + b"\n" for row in self._sorted_rows())
        return b"\n".join([*self._line(rest, rest.split()), *self._sorted_rows()])

    def _keep(self, part: bytes) -> bytes:
        """Keep the beginning of a line; return most of it if it is too long for a table."""
        if part:
            self._partial.append(part)
            self._size += len(part)
        if self._size <= MAX_LINE:
            return b""
        text = b"".join(self._partial)
        cut = text.rfind(b"}") + 1 or text.rfind(b" ") + 1 or len(text)
        self._partial, self._size = [text[cut:]], len(text) - cut
        return b"".join(row + b"\n" for row in self._sorted_rows()) + self._structured(text[:cut])

    def _annotated(self, lines: Iterable[bytes]) -> bytes:
        """
        Return complete lines with names.

        Fast path: most lines of a long log are as long as their heading and
        begin with a known name in a column of the usual width.
        """
        out: list[bytes] = []
        prefixes, length = self._prefixes, self._length
        for line in lines:
            prefix = prefixes.get(line[:IOSTAT_WIDTH])
            if prefix is not None and len(line) == length:
                out.append(prefix + line[IOSTAT_WIDTH:])
            else:
                out += self._line(line, line.split())
                length = self._length
        out.append(b"")
        return b"\n".join(out)

    def _line(self, line: bytes, words: list[bytes]) -> list[bytes]:
        if b"\x1b" in line:
            words = ESCAPES.sub(b"", line).split()
        index = self._name_index(words) if words else None
        if index is not None:
            self._adjacent = True
            return self._row(line, words, index)
        if self._rank is not None and words and all(is_number(word) for word in words):
            return self._emit(line, self._rank)
        self._rank = None
        heading = self._headings.get(line) or find_heading(words)
        self._adjacent = heading is not None
        if heading is None:
            return [*self._sorted_rows(), self._structured(line)]
        if len(self._headings) < MAX_HEADINGS:
            self._headings[line] = heading
        self._heading = heading
        simple = heading.columns and not (heading.last or heading.sar or heading.lead)
        self._length = len(line) if simple else -1
        return [*self._sorted_rows(), self._widened(line, heading)]

    # Rows

    def _name_index(self, words: list[bytes]) -> int | None:
        """Return the index of the device name, None if this is no row."""
        index = self._heading.name_index(words)
        if index is not None or self._heading.last:
            return index
        first = count_quote_marks(words)
        if len(words) == first + 1:  # a name alone on its line
            follows = self._heading.columns and self._adjacent
            return first if follows and self._names.knows(words[first]) else None
        least = 1 if self._heading.columns else MIN_COLUMNS  # a wrapped row, or one without heading
        for index in range(first, min(len(words) - least, first + MAX_PREFIX_WORDS)):
            may_name = b"." not in words[index] and is_number(words[index + 1])
            if may_name and is_number(words[-1]) and self._names.knows(words[index]):
                return index
        return None

    def _row(self, line: bytes, words: list[bytes], index: int) -> list[bytes]:
        name = words[index]
        label, device = self._names.lookup(name)
        if self._style.only is not None and device not in self._style.only:
            self._rank = HIDDEN
            return []
        start = _position(line, words[:index], name, last=self._heading.last)
        sar = self._heading.sar or SAR_NAME.match(name) is not None
        heading = Heading(1, last=self._heading.last, sar=sar)
        if start >= 0:
            new = replace_name(line, start, name, label, heading, self._widths[sar])
        else:
            new = line
        usual = self._style.only is None and self._style.order is None and self._names.knows(name)
        prefix, width = line[:IOSTAT_WIDTH], self._widths[0]
        padded = width and prefix == name.ljust(IOSTAT_WIDTH)
        if usual and padded and not start and not sar:  # for the fast path
            self._prefixes[prefix] = label.ljust(width)
        time = words[: len(words) - self._heading.columns - 1] if self._heading.sar else []
        before = self._sorted_rows() if time != self._time else []
        self._time = time
        order = self._style.order
        rank = 0.0 if order is None else order.get(device, LAST)
        return [*before, *self._emit(new, rank)]

    def _emit(self, line: bytes, rank: float) -> list[bytes]:
        """Return the row, or nothing if it is hidden or waits to be sorted."""
        self._rank = rank
        if rank == HIDDEN:
            return []
        if self._style.order is None:
            return [line]
        self._rows.append((rank, line))
        return []

    def _sorted_rows(self) -> list[bytes]:
        """Return the waiting rows in order; figures stay below their name."""
        rows, self._rows = self._rows, []
        return [line for _, line in sorted(rows, key=lambda row: row[0])]

    def _widened(self, line: bytes, heading: Heading) -> bytes:
        """Return a heading line as wide as its rows."""
        width, start = self._widths[heading.sar], line.find(heading.title)
        if heading.last or not heading.columns or not width or start < 0:
            return line
        return replace_name(line, start, heading.title, heading.title, heading, width)

    # Names

    def _structured(self, line: bytes) -> bytes:
        """Return a line of JSON, XML, CSV or tab-separated values with names; others unchanged."""
        if b"disk-device" in line or b"disk_device" in line:
            return QUOTED_NAME.sub(lambda m: m[1] + self._names.lookup(m[2])[0], line)
        if b";" in line or b"\t" in line:
            row = SADF_ROW.match(line)
            if row is not None and self._names.knows(row["name"]):
                start, end = row.span("name")
                return line[:start] + self._names.lookup(row["name"])[0] + line[end:]
        return line


def _position(line: bytes, before: list[bytes], name: bytes, *, last: bool) -> int:
    """Return where *name* begins after the words *before* it; -1 if colour codes split a word."""
    if last:
        return line.rfind(name)
    start = 0
    for word in before:
        start = line.find(word, start) + len(word)
    return line.find(name, start)
