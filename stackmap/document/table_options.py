"""The options of tables: columns, sort column and legend."""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackmap.document.blocks import Block, Cell, Part, Row, Table, Terms, Value, with_columns
from stackmap.document.wording import KIB, divided, size
from stackmap.errors import UsageError
from stackmap.model.load import on_one_line


class Arrangement(NamedTuple):
    """
    ``columns`` after the first one, in their order, () for all; "+" before the first adds them to all; ``sort``: a column, "" for none.

    ``unit`` of bytes: "" as in the headings, "MiB" for rates, or "B" with a unit beside each figure. A column is named by its heading, by a word of it, or by one of ``keys``:
    other names and the headings that they stand for. Case does not matter.
    """

    columns: tuple[str, ...] = ()
    sort: str = ""
    keys: Mapping[str, str] = MappingProxyType({})
    unit: str = ""

    @property
    def adds(self) -> bool:
        """Whether ``columns`` are shown beside the usual ones."""
        return bool(self.columns) and self.columns[0].startswith("+")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of ``columns``."""
        return tuple(name.removeprefix("+") for name in self.columns)

    def __bool__(self) -> bool:
        return bool(self.columns or self.sort or self.unit)

    def of(self, blocks: Iterable[Block]) -> Iterable[Block]:
        """Return *blocks* with arranged tables; ``UsageError`` for a column that no table has."""
        if not self:  # one at a time: a report of many stacks is not held in memory
            return blocks
        blocks = list(blocks)
        tables = [block for block in blocks if isinstance(block, Table)]
        for name in filter(None, (*self.names, self.sort)):
            if tables and not any(self._places(table, name) for table in tables):
                known = dict.fromkeys(on_one_line(h) for t in tables for h in t.headings if h)
                raise UsageError(f"no column '{name}'; columns: {', '.join(known)}")
        return [
            self._in_unit(self._chosen(self._sorted(block))) if isinstance(block, Table) else block
            for block in blocks
        ]

    def _in_unit(self, table: Table) -> Table:
        """Return *table* with bytes in ``unit``; the figures themselves stay in bytes."""
        old = {"": None, "MiB": "KiB/s", "B": "KiB"}[self.unit]
        if old is None:
            return table
        places = {n for n, heading in enumerate(table.headings) if old in heading}
        write = size if self.unit == "B" else divided(KIB**2)
        columns = tuple(
            column._replace(heading=column.heading.replace("KiB", self.unit))
            if n in places
            else column
            for n, column in enumerate(table.columns)
        )
        groups = tuple(
            group._replace(rows=tuple(_written(row, places, write) for row in group.rows))
            for group in table.groups
        )
        return table._replace(columns=columns, groups=groups)

    def _sorted(self, table: Table) -> Table:
        """Return *table* with words in their order, and the largest figures first, unknown ones last."""
        places = self._places(table, self.sort) if self.sort else []
        if not places:
            return table
        place = places[0]
        is_text = table.columns[place].is_text

        def key(row: Row) -> tuple[str, float]:
            return (str(row[place]), 0.0) if is_text else ("", -_figure(row[place]))

        groups = (group._replace(rows=tuple(sorted(group.rows, key=key))) for group in table.groups)
        return table._replace(groups=tuple(groups))

    def _chosen(self, table: Table) -> Table:
        if self.adds:
            return table
        places = [place for name in self.columns for place in self._places(table, name)]
        return with_columns(table, list(dict.fromkeys([0, *places]))) if places else table

    def _places(self, table: Table, name: str) -> list[int]:
        """Return where *table* has the column *name*; several for a word of several headings."""
        wanted = on_one_line(self.keys.get(name, name)).casefold()
        headings = [on_one_line(heading).casefold() for heading in table.headings]
        exact = [place for place, heading in enumerate(headings) if heading == wanted]
        return exact or [p for p, heading in enumerate(headings) if wanted in heading.split()]


def _written(row: Row, places: Collection[int], write: Callable[[float | None], str]) -> Row:
    return tuple(
        cell._replace(write=write) if n in places and isinstance(cell, Value) else cell
        for n, cell in enumerate(row)
    )


def _figure(cell: Cell) -> float:
    """Return the figure in a cell; below every figure if it is unknown."""
    number = cell.number if isinstance(cell, Value) else None
    return float("-inf") if number is None else number


SIGNS = {
    "-": "Unknown, or nothing to divide.",
    "~": "Estimate.",
}
WORDS = {
    "top": "Device with nothing above it.",
    "layer": "The devices of a stack at one level.",
    "member": "Device that holds data of an array or a RAID volume.",
    "metadata": "Device for a bitmap, journal, checksums, or thin or cache metadata.",
    "arrivals": "Requests sent to a device from above: completed + merged.",
    "chunk": "Consecutive bytes on one member.",
    "stripe": "One chunk on every data member.",
    "row": "One page (4 KiB) on every member, the unit in which md computes parity.",
    "full-stripe write": "All data pages of a row are written: nothing is read.",
    "partial-stripe write": "Some data pages of a row are written: old pages are read.",
    "read-modify-write": "md reads the old data and parity, then writes data and parity.",
    "reconstruct-write": "md reads the data pages that are not written, then writes data and parity.",
    "stripe cache": "md's memory for rows: a page in it need not be read again.",
    "bitmap": "One bit per region that md writes before the first write to the region.",
}


def legend(columns: Mapping[str, Mapping[str, str]]) -> list[Part]:
    """Return the meanings of words: the *columns* by title, then the terms of the field."""
    parts = {**columns, "Signs": SIGNS, "Words": WORDS}
    return [Part(title, (Terms(tuple(words.items())),)) for title, words in parts.items()]
