"""
Device names in a text of ``iostat``, ``sar`` or ``sadf``, replaced as it passes; all else stays.

Bytes in, bytes out, a line at a time, so that a live pipe is not held up and a
log of any length fits. Nothing is parsed that need not be: a row is a line
with as many words as the heading above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stackmap.model.table_headings import MAX_PREFIX_WORDS
from stackmap.render.name_fields import (
    FEWEST_COLUMNS,
    IOSTAT_WIDTH,
    Place,
    Style,
    find_heading,
    is_number,
    replaced,
    unquoted,
)
from stackmap.render.naming import SAR_NAME, Naming

LONGEST = 1 << 20  # a line beyond this passes in parts
MOST_HEADINGS = 100  # a text repeats a few

HIDDEN, LAST = -1.0, float("inf")  # ranks of rows that are not wanted, and not in the order

QUOTED_NAME = re.compile(rb'("disk[_-]device"\s*:\s*"|<disk-device\s+dev=")([^"]*)(?=")')
SADF_ROW = re.compile(rb"[^;\t]+([;\t])-?\d+\1[^;\t]+\1(?P<name>[^;\t]+)\1")
ESCAPES = re.compile(rb"\x1b\[[0-9;:]*m")


class Annotator:
    """
    Feed it chunks of a text and write what it returns.

    *names*: what to call each device, by every name a text may have for it.
    *numbers*: kernel names by device number ("253:89"), for sar has only these.
    """

    def __init__(
        self, names: Mapping[str, str], numbers: Mapping[str, str], style: Style | None = None
    ) -> None:
        self._style = style or Style()
        self._naming = Naming(names, numbers, self._style)
        self._widths = self._naming.widths() if self._style.aligned else (0, 0)
        self._held: list[bytes] = []  # of a line whose end has not come
        self._size = 0
        self._place = Place()
        self._edits: dict[bytes, bytes] = {}  # how ordinary rows begin, and how they should
        self._length = -1  # of ordinary rows: that of their heading
        self._headings: dict[bytes, Place] = {}
        self._rows: list[tuple[float, bytes]] = []  # of this report, to be put in order
        self._time: list[bytes] = []  # sar's, of those rows
        self._rank: float | None = None  # of a name on its own line: its figures are on the next
        self._adjacent = False  # the last line was a heading or a row

    @property
    def unresolved(self) -> Mapping[str, int]:
        """How many rows bore a name that nobody knows, by name."""
        return self._naming.unresolved

    def feed(self, chunk: bytes) -> bytes:
        """Take *chunk*; return all lines that are complete, with names."""
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            return self._hold(chunk)
        lines = b"".join((*self._held, chunk[:cut])).split(b"\n")
        lines.pop()
        self._held, self._size = [], 0
        return self._annotated(lines) + self._hold(chunk[cut:])

    def finish(self) -> bytes:
        """Return what is left when the text has ended."""
        rest = b"".join(self._held)
        self._held, self._size = [], 0
        if not rest:
            return b"".join(row + b"\n" for row in self._ordered())
        return b"\n".join([*self._slowly(rest, rest.split()), *self._ordered()])

    def _hold(self, part: bytes) -> bytes:
        """Keep the beginning of a line; return most of it if it is too long to be a table's."""
        if part:
            self._held.append(part)
            self._size += len(part)
        if self._size <= LONGEST:
            return b""
        text = b"".join(self._held)
        cut = text.rfind(b"}") + 1 or text.rfind(b" ") + 1 or len(text)
        self._held, self._size = [text[cut:]], len(text) - cut
        return b"".join(row + b"\n" for row in self._ordered()) + self._marked(text[:cut])

    def _annotated(self, lines: Iterable[bytes]) -> bytes:
        """
        Return the lines with names, each ended.

        Most lines of a long log are as long as their heading and begin with a
        name that was met before, in a field of the usual width.
        """
        out: list[bytes] = []
        edits, length = self._edits, self._length
        for line in lines:
            begins = edits.get(line[:IOSTAT_WIDTH])
            if begins is not None and len(line) == length:
                out.append(begins + line[IOSTAT_WIDTH:])
            else:
                out += self._slowly(line, line.split())
                length = self._length
        out.append(b"")
        return b"\n".join(out)

    def _slowly(self, line: bytes, words: list[bytes]) -> list[bytes]:
        """Return what to write for a line that needs a closer look."""
        if b"\x1b" in line:
            words = ESCAPES.sub(b"", line).split()
        spot = self._spot(words) if words else None
        if spot is not None:
            self._adjacent = True
            return self._row(line, words, spot)
        if self._rank is not None and words and all(is_number(word) for word in words):
            return self._shown(line, self._rank)
        self._rank = None
        place = self._headings.get(line) or find_heading(words)
        self._adjacent = place is not None
        if place is None:
            return [*self._ordered(), self._marked(line)]
        if len(self._headings) < MOST_HEADINGS:
            self._headings[line] = place
        self._place = place
        simple = place.columns and not (place.last or place.sar or place.lead)
        self._length = len(line) if simple else -1
        return [*self._ordered(), self._heading(line, place)]

    # Rows

    def _spot(self, words: list[bytes]) -> int | None:
        """Return which word is a device's name, None if this is no row."""
        spot = self._place.spot(words)
        if spot is not None or self._place.last:
            return spot
        first = unquoted(words)
        if len(words) == first + 1:  # a name on a line of its own, where the heading had others
            follows = self._place.columns and self._adjacent
            return first if follows and self._naming.knows(words[first]) else None
        least = (
            1 if self._place.columns else FEWEST_COLUMNS
        )  # a row that was wrapped, or has no heading
        for index in range(first, min(len(words) - least, first + MAX_PREFIX_WORDS)):
            may_name = b"." not in words[index] and is_number(words[index + 1])
            if may_name and is_number(words[-1]) and self._naming.knows(words[index]):
                return index
        return None

    def _row(self, line: bytes, words: list[bytes], spot: int) -> list[bytes]:
        name = words[spot]
        shown, device = self._naming.shown(name)
        if self._style.only is not None and device not in self._style.only:
            self._rank = HIDDEN
            return []
        start = _position(line, words[:spot], name, last=self._place.last)
        sar = self._place.sar or SAR_NAME.match(name) is not None
        place = Place(1, last=self._place.last, sar=sar)
        new = replaced(line, start, name, shown, place, self._widths[sar]) if start >= 0 else line
        usual = self._style.only is None and self._style.order is None and self._naming.knows(name)
        if usual and not start and not sar:
            self._remember(line, name, shown)
        time = words[: len(words) - self._place.columns - 1] if self._place.sar else []
        waited = self._ordered() if time != self._time else []
        self._time = time
        return [*waited, *self._shown(new, self._rank_of(device))]

    def _remember(self, line: bytes, name: bytes, shown: bytes) -> None:
        """Keep how rows of this device begin, where blanks fill the field of its name."""
        begins = line[:IOSTAT_WIDTH]
        width = self._widths[0]
        if width and begins == name.ljust(IOSTAT_WIDTH):
            self._edits[begins] = shown.ljust(width)

    def _rank_of(self, device: str) -> float:
        order = self._style.order
        return 0.0 if order is None else order.get(device, LAST)

    def _shown(self, line: bytes, rank: float) -> list[bytes]:
        """Return the row, or nothing if it waits to be put in order or is not wanted."""
        self._rank = rank
        if rank == HIDDEN:
            return []
        if self._style.order is None:
            return [line]
        self._rows.append((rank, line))
        return []

    def _ordered(self) -> list[bytes]:
        """Return the rows that waited, in order; a figure line stays below its name."""
        rows, self._rows = self._rows, []
        return [line for _, line in sorted(rows, key=lambda row: row[0])]

    def _heading(self, line: bytes, place: Place) -> bytes:
        """Return a heading as wide as its rows."""
        width, start = self._widths[place.sar], line.find(place.title)
        if place.last or not place.columns or not width or start < 0:
            return line
        return replaced(line, start, place.title, place.title, place, width)

    # Names

    def _marked(self, line: bytes) -> bytes:
        """Return a line of JSON, XML, CSV or tabs with names; any other as it is."""
        if b"disk-device" in line or b"disk_device" in line:
            return QUOTED_NAME.sub(lambda m: m[1] + self._naming.shown(m[2])[0], line)
        if b";" in line or b"\t" in line:
            row = SADF_ROW.match(line)
            if row is not None and self._naming.knows(row["name"]):
                start, end = row.span("name")
                return line[:start] + self._naming.shown(row["name"])[0] + line[end:]
        return line


def _position(line: bytes, before: list[bytes], name: bytes, *, last: bool) -> int:
    """Return where *name* begins, after the words before it; -1 if colours cut a word in two."""
    if last:
        return line.rfind(name)
    start = 0
    for word in before:
        start = line.find(word, start) + len(word)
    return line.find(name, start)
