"""
Replaces device names in a stream of ``iostat``, ``sar`` or ``sadf`` text and keeps all else.

Bytes in, bytes out, line by line: a live pipe is not delayed and a log may have any length. Headings
and rows are recognised as the reader of tables does; in other lines only a known name with figures
after it counts, for rows that are wrapped or have no heading.

iostat left-aligns the name in 13 columns before the figures. sar right-aligns it in 9 columns after
the time. ``--pretty`` prints it after the figures.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stackmap.model.topology import same_host
from stackmap.sources.printed.columns import ESCAPES, clean
from stackmap.sources.printed.hosts import HostNames, may_name_host
from stackmap.text.columns import is_number
from stackmap.text.headings import (
    MAX_HEADING_WORDS,
    MAX_PREFIX_WORDS,
    TITLES,
    Heading,
    heading,
    without_quotes,
)
from stackmap.text.line_prefixes import before_heading, prefix_pattern
from stackmap.text.text_lines import NUMBERED, is_other_heading

MAX_LINE = 1 << 20  # bytes; a longer line is written in parts
MAX_HEADINGS = 100  # remembered; a text repeats a few
MAX_UNRESOLVED = 10_000  # unknown names that are counted

IOSTAT_WIDTH, SAR_WIDTH = 13, 9
MAX_WIDTH = 64  # of the name column; longer names push their figures
MIN_COLUMNS = 4  # of a row without a heading above it

HIDDEN, LAST = -1.0, float("inf")  # ranks of rows to omit, and of rows without a rank

QUOTED_NAME = re.compile(r'("disk[_-]device"\s*:\s*"|<disk-device\s+dev=")([^"]*)(?=")')
SADF_ROW = re.compile(r"[^;\t]+([;\t])-?\d+\1[^;\t]+\1(?P<name>[^;\t]+)\1")
# What is within words, but not seen: colours, and the NULs of sysstat 11.5.7.
INVISIBLE = re.compile(rf"{ESCAPES.pattern}|\0")
SAR_NAME = re.compile(r"dev(\d{1,9})-(\d{1,9})$")


class Style(NamedTuple):
    """
    How to show names.

    ``append``: add the printed name in brackets. ``aligned``: widen the name
    column for the longest name; without it a long name uses the spaces that
    follow and then shifts the figures. ``only``: the devices to show.
    ``order``: the position of each device in its report.
    """

    append: bool = True
    aligned: bool = True
    only: frozenset[str] | None = None
    order: Mapping[str, int] | None = None


class Annotator:
    """
    Takes a text in chunks and returns it with names.

    *names*: the name to show for each name that a text may use.
    *numbers*: kernel names by device number ("253:89"), which sar prints. *host*: theirs; lines of another one
    are kept as they are. "" is all hosts.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        numbers: Mapping[str, str],
        style: Style | None = None,
        host: str = "",
    ) -> None:
        self._style = style or Style()
        self._names = NameTable(names, numbers, self._style)
        self._widths = self._names.widths() if self._style.aligned else (0, 0)
        self._partial: list[bytes] = []  # of a line without its end
        self._size = 0
        self._heading: Heading | None = None  # of a device table
        self._prefixes: dict[str, str] = {}  # first columns of ordinary rows, old → new
        self._length = -1  # of ordinary rows, the same as of their heading
        self._headings: dict[str, Heading] = {}  # by their line
        self._rows: list[tuple[float, str]] = []  # of this report, to be sorted
        self._time: tuple[str, ...] = ()  # of those rows, in sar
        self._rank: float | None = None  # of a name alone on its line; its figures follow
        self._adjacent = False  # the last line was a heading or a row
        self.host = host
        self._prefix: re.Pattern[str] | None = None  # what precedes the table
        self._hosts = HostNames()
        self._is_of_another = False  # the line
        self.other_hosts: dict[str, None] = {}  # that have tables

    @property
    def unresolved(self) -> Mapping[str, int]:
        """Rows per unknown name."""
        return self._names.unresolved

    @property
    def found_table(self) -> bool:
        """Whether the text had a heading of a device table or a device name."""
        return bool(self._headings or self._names.known or self._names.unresolved)

    def feed(self, chunk: bytes) -> bytes:
        """Take *chunk* and return all complete lines with names."""
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            return self._keep(chunk)
        lines = _text(b"".join((*self._partial, chunk[:cut]))).split("\n")
        lines.pop()
        self._partial, self._size = [], 0
        out: list[str] = []
        prefixes, length = self._prefixes, self._length
        for line in lines:
            if self.host and may_name_host(line) and self._hosts.take(clean(line)):
                host = self._hosts.own(self._hosts.name)
                self._is_of_another = bool(host) and not same_host(host, self.host)
                if self._is_of_another:
                    self._heading, self._length = None, -1
            if self._is_of_another:
                if any(title in line for title in TITLES) and heading(line.split()):
                    self.other_hosts[self._hosts.name] = None
                out.append(line)
                continue
            # Most lines of a long log are as long as their heading, and begin with a known name in a usual column.
            prefix = prefixes.get(line[:IOSTAT_WIDTH])
            if prefix is not None and len(line) == length:
                out.append(prefix + line[IOSTAT_WIDTH:])
            else:
                out += self._line(line)
                length = self._length
        out.append("")
        return _raw("\n".join(out)) + self._keep(chunk[cut:])

    def finish(self) -> bytes:
        """Return the rest at the end of the text."""
        rest = _text(b"".join(self._partial))
        self._partial, self._size = [], 0
        if not rest:
            return _raw("".join(row + "\n" for row in self._sorted_rows()))
        return _raw("\n".join([*self._line(rest), *self._sorted_rows()]))

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
        before = "".join(row + "\n" for row in self._sorted_rows())
        return _raw(before + self._structured(_text(text[:cut])))

    def _line(self, line: str) -> list[str]:
        if numbered := NUMBERED.match(line):
            return [f"{numbered[0]}{part}" for part in self._line(line[numbered.end() :])]
        if before := before_heading(line):
            self._prefix = prefix_pattern(before)
        if self._prefix and (preceded := self._prefix.match(line)):
            return [f"{preceded[0]}{part}" for part in self._plain(line[preceded.end() :])]
        return self._plain(line)

    def _plain(self, line: str) -> list[str]:
        hidden = "\x1b" in line or "\0" in line
        words = (INVISIBLE.sub("", line) if hidden else line).split()
        index = self._name_index(words) if words else None
        if index is not None:
            self._adjacent = True
            return self._row(line, words, index)
        if self._rank is not None and words and all(map(is_number, words)):
            return self._emit(line, self._rank)
        self._rank = None
        head = self._headings.get(line) or heading(words[:MAX_HEADING_WORDS])
        self._adjacent = head is not None
        if head is None or head.rest:  # a heading with its rows on one line: nothing to align
            if is_other_heading(without_quotes(words)):
                self._heading, self._length = None, -1
            return [*self._sorted_rows(), self._structured(line)]
        if len(self._headings) < MAX_HEADINGS:
            self._headings[line] = head
        self._heading = head
        simple = head.named and not (head.name_last or head.sar or head.prefix_words)
        self._length = len(line) if simple else -1
        return [*self._sorted_rows(), self._widened(line, words, head)]

    # Rows

    def _name_index(self, words: list[str]) -> int | None:
        above = self._heading
        row = None if above is None else above.row(words)
        if row is not None and above is not None:
            return len(words) - 1 if above.name_last else len(row.before)
        if above is not None and above.name_last:
            return None
        first = len(words) - len(without_quotes(words))
        if len(words) == first + 1:  # a name alone on its line
            follows = above is not None and self._adjacent
            return first if follows and self._names.knows(words[first]) else None
        least = MIN_COLUMNS if above is None else 1  # a row without a heading, or a wrapped one
        for index in range(first, min(len(words) - least, first + MAX_PREFIX_WORDS)):
            may_name = "." not in words[index] and is_number(words[index + 1])
            if may_name and is_number(words[-1]) and self._names.knows(words[index]):
                return index
        return None

    def _row(self, line: str, words: list[str], index: int) -> list[str]:
        name, above = words[index], self._heading
        label, device = self._names.lookup(name)
        if self._style.only is not None and device not in self._style.only:
            self._rank = HIDDEN
            return []
        last = above is not None and above.name_last
        start = _position(line, words[:index], name, last=last)
        sar = (above is not None and above.sar) or SAR_NAME.match(name) is not None
        new = line
        if start >= 0:
            new = replace_name(line, start, name, label, self._widths[sar], last=last, sar=sar)
        usual = self._style.only is None and self._style.order is None and self._names.knows(name)
        prefix, width = line[:IOSTAT_WIDTH], self._widths[0]
        padded = width and prefix == name.ljust(IOSTAT_WIDTH)
        if usual and padded and not start and not sar:  # for the fast path
            self._prefixes[prefix] = label.ljust(width)
        time: tuple[str, ...] = ()
        if above is not None and above.sar:
            time = tuple(words[: max(0, len(words) - above.layout.width - 1)])
        before = self._sorted_rows() if time != self._time else []
        self._time = time
        order = self._style.order
        rank = 0.0 if order is None else order.get(device, LAST)
        return [*before, *self._emit(new, rank)]

    def _emit(self, line: str, rank: float) -> list[str]:
        """Return the row, or nothing if it is hidden or waits to be sorted."""
        self._rank = rank
        if rank == HIDDEN:
            return []
        if self._style.order is None:
            return [line]
        self._rows.append((rank, line))
        return []

    def _sorted_rows(self) -> list[str]:
        """Return the waiting rows in order; figures stay below their name."""
        rows, self._rows = self._rows, []
        return [line for _, line in sorted(rows, key=lambda row: row[0])]

    def _widened(self, line: str, words: Sequence[str], head: Heading) -> str:
        """Return a heading line as wide as its rows."""
        width = self._widths[head.sar]
        title = next((word for word in words if word in TITLES), "")
        start = line.find(title)
        if head.name_last or not (title and width) or start < 0:
            return line
        return replace_name(line, start, title, title, width, sar=head.sar)

    # Names

    def _structured(self, line: str) -> str:
        """Return a line of JSON, XML, CSV or tab-separated values with names; others unchanged."""
        if "disk-device" in line or "disk_device" in line:
            return QUOTED_NAME.sub(lambda m: m[1] + self._names.lookup(m[2])[0], line)
        if ";" in line or "\t" in line:
            row = SADF_ROW.match(line)
            if row is not None and self._names.knows(row["name"]):
                start, end = row.span("name")
                return line[:start] + self._names.lookup(row["name"])[0] + line[end:]
        return line


def _position(line: str, before: list[str], name: str, *, last: bool) -> int:
    """Return where *name* begins after the words *before* it; -1 if colour codes split a word."""
    if last:
        return line.rfind(name)
    start = 0
    for word in before:
        start = line.find(word, start) + len(word)
    return line.find(name, start)


def replace_name(
    line: str,
    start: int,
    name: str,
    label: str,
    width: int,
    *,
    last: bool = False,
    sar: bool = False,
) -> str:
    """
    Return *line* with *label* instead of *name* at *start*.

    *width*: of the name column; 0 keeps the position of the figures. *last*: the name is the last word.
    """
    end = start + len(name)
    before, after = line[:start], line[end:]
    if last:
        return before + label + after
    if sar:
        return before.rstrip(" ") + label.rjust(_sar_width(before, name, label, width)) + after
    if width:
        field = line[end : start + IOSTAT_WIDTH]
        rest = after if field.strip(" ") else line[max(end, start + IOSTAT_WIDTH) :]
        return before + label.ljust(width) + rest
    figures = after.lstrip(" ")
    if not figures.strip():
        return before + label + after
    gap = len(after) - len(figures)
    blanks = max(gap + len(name) - len(label), min(gap, 1))
    return before + label + " " * blanks + figures


def _sar_width(before: str, name: str, label: str, width: int) -> int:
    """Return the width of the spaces after the time and the label together."""
    blanks = len(before) - len(before.rstrip(" "))
    run = blanks + len(name)
    if width:
        run += width - max(SAR_WIDTH, len(name))
    return max(run, len(label) + min(blanks, 1))


class NameTable:
    """
    The names to show, as given to ``Annotator``.

    ``known``: label and kernel name of those that were looked up; ``unresolved``: rows per name that is not in the table.
    """

    def __init__(self, names: Mapping[str, str], numbers: Mapping[str, str], style: Style) -> None:
        self.unresolved: dict[str, int] = {}
        self._names = names
        self._numbers = numbers
        self._style = style
        self.known: dict[str, tuple[str, str]] = {}

    def knows(self, name: str) -> bool:
        """Whether *name* is a device's."""
        return name in self.known or self._kernel_name(name) in self._names

    def lookup(self, name: str) -> tuple[str, str]:
        """Return the label for *name* and the kernel name; an unknown name is kept and counted."""
        known = self.known.get(name)
        if known is not None:
            return known
        device = self._kernel_name(name)
        label = self._names.get(device)
        if label is None:
            if name in self.unresolved or len(self.unresolved) < MAX_UNRESOLVED:
                self.unresolved[name] = self.unresolved.get(name, 0) + 1
            return name, device
        known = self.known[name] = self._labelled(label, name), device
        return known

    def widths(self) -> tuple[int, int]:
        """Return the width of the name column in iostat and in sar."""
        only = self._style.only
        labels = {
            name: self._names[name]
            for name in self._numbers.values() or self._names
            if name in self._names and (only is None or name in only)
        }
        iostat = [len(self._labelled(label, name)) for name, label in labels.items()]
        sar = [
            len(self._labelled(labels[device], f"dev{number.replace(':', '-')}"))
            for number, device in self._numbers.items()
            if device in labels
        ]
        return (
            min(MAX_WIDTH, max([IOSTAT_WIDTH, *iostat])),
            min(MAX_WIDTH, max([SAR_WIDTH, *iostat, *sar])),
        )

    def _labelled(self, label: str, name: str) -> str:
        return f"{label} ({name})" if self._style.append and label != name else label

    def _kernel_name(self, name: str) -> str:
        number = SAR_NAME.match(name)
        if number is None:
            return name.removeprefix("/dev/")
        return self._numbers.get(f"{int(number[1])}:{int(number[2])}", name)


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


def _raw(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
