"""Whole tables below one heading, read at once rather than by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stackmap.model.load_table import LoadTable
from stackmap.text.columns import MAX_RATE
from stackmap.text.headings import MAX_DEVICES, Heading, may_name
from stackmap.text.numbers import is_number

MAX_IDLE = 10_000  # lines that are kept


class WholeTables:
    """
    The tables below *heading*, in blocks whose figures are computed together.

    What repeats from table to table is kept: the names of the devices, and the lines of idle ones.
    """

    def __init__(self, heading: Heading) -> None:
        self.heading = heading
        self._stride = heading.layout.width + 1
        self._block = heading.layout.block()
        self._idle: dict[str, str] = {}  # the name in a line without a figure but 0
        self._names: Sequence[str] = ()  # of the last table
        self._busy: Sequence[str] = ()  # those of them with figures
        self._places: Mapping[str, int] = {}
        self._ambiguous = False  # one of these names may be a figure
        self._dashes = 0  # in these names
        self._plain: set[str] = set()  # names that cannot be figures

    def read(self, text: str, count: int) -> LoadTable | None:
        """Return the loads in the *count* lines of *text* if each is an ordinary row of another device, else None."""
        if not text or self.heading.name_last:
            return None
        lines: list[str] = []
        if self._idle:
            lines = text.split("\n")
            busy = [line for line in lines if line not in self._idle]
            text, count = "\n".join(busy), len(busy)
        words = text.split()
        if not self._are_rows(words, text, count):
            return None
        del words[:: self._stride]
        figures = self._figures(words, text)
        names = self._all_names(lines)
        if figures is None or not self._are_devices(names):
            return None
        if 0.0 in figures[self._stride - 2 :: self._stride - 1] and len(self._idle) < MAX_IDLE:
            self._idle.update(_idle(text.split("\n")))
        if self._block.closed:
            self._block = self.heading.layout.block()
        rows = len(self._busy)
        return LoadTable(
            self._block, self._block.add(figures, rows), rows, self._names, self._places
        )

    def _are_rows(self, words: list[str], text: str, count: int) -> bool:
        """Whether each of the *count* lines of *text*, which has these *words*, may be a row; note their names."""
        busy = words[:: self._stride]
        if len(words) != count * self._stride:
            return False
        if busy == self._busy and not self._ambiguous:
            return True
        lines = text.split("\n")
        if not all(map(str.startswith, lines, busy)):
            return False
        new = {*busy} - self._plain
        if not all(map(may_name, new)):
            return False
        # Other words are figures. Where a name may be one too, count the words of each line.
        self._ambiguous = any(map(is_number, new))
        if len(self._plain) < MAX_DEVICES and not self._ambiguous:
            self._plain |= new
        if self._ambiguous and any(len(line.split()) != self._stride for line in lines):
            return False
        self._busy = busy
        self._places = dict(zip(busy, range(len(busy)), strict=True))
        self._dashes = "".join(busy).count("-")
        return True

    def _figures(self, words: list[str], text: str) -> list[float] | None:
        """Return the numbers of rows; None if they are not ordinary ones."""
        try:
            figures = [*map(float, words)]
        except ValueError:
            return None
        # float() also takes signs, "inf" and "nan"; the sum of those is never below the limit.
        ordinary = sum(figures) < MAX_RATE and text.count("-") == self._dashes
        return figures if ordinary else None

    def _all_names(self, lines: Sequence[str]) -> Sequence[str]:
        """Return the names in *lines*, with those of idle devices; no lines if none is idle."""
        others = iter(self._busy)
        return [self._idle.get(line) or next(others) for line in lines] or self._busy

    def _are_devices(self, names: Sequence[str]) -> bool:
        """Whether *names* can be of one table: all different, and not too many; note them."""
        if names == self._names:
            return True
        self._names = names if len(names) == len({*names}) <= MAX_DEVICES else ()
        return bool(self._names)


def _idle(lines: Iterable[str]) -> dict[str, str]:
    """Return the names in those of *lines* that have no figure but 0."""
    names = ((line, line.split(maxsplit=1)[0]) for line in lines)
    return {line: name for line, name in names if len(line.rstrip(" 0.")) <= len(name)}
