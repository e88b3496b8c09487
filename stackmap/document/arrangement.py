"""Which columns of a table are shown, and by which one its rows are sorted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from stackmap.document.blocks import Block, Rows, Table
from stackmap.errors import UsageError
from stackmap.model.load import on_one_line


class Arrangement(NamedTuple):
    """
    ``columns`` after the first one, in their order, () for all; ``sort``: a column, "" for none.

    A column is named by its heading, by a word of it, or by one of ``keys``:
    other names and the headings that they stand for. Case does not matter.
    """

    columns: tuple[str, ...] = ()
    sort: str = ""
    keys: Mapping[str, str] = MappingProxyType({})

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.columns or self.sort)

    def of(self, blocks: Iterable[Block]) -> Iterable[Block]:
        """Return *blocks* with arranged tables; ``UsageError`` for a column that no table has."""
        if not self:  # one at a time: a report of many stacks is not held in memory
            return (self._chosen(each) if isinstance(each, Table) else each for each in blocks)
        blocks = list(blocks)
        tables = [block for block in blocks if isinstance(block, Table)]
        for name in filter(None, (*self.columns, self.sort)):
            if tables and not any(self._places(table, name) for table in tables):
                known = dict.fromkeys(on_one_line(h) for t in tables for h in t.headings if h)
                raise UsageError(f"no column '{name}'; columns: {', '.join(known)}")
        return [self._arranged(each) if isinstance(each, Table) else each for each in blocks]

    def _arranged(self, table: Table) -> Table:
        return self._chosen(self._sorted(table))

    def _sorted(self, table: Table) -> Table:
        places = self._places(table, self.sort) if self.sort else []
        if not places:
            return table
        place = places[0]
        if place < table.words:
            groups = [Rows(_by_word(group.rows, place), group.title) for group in table.groups]
        else:
            groups = [Rows(_by_number(group.rows, place), group.title) for group in table.groups]
        return table._replace(groups=tuple(groups))

    def _chosen(self, table: Table) -> Table:
        found = [place for name in self.columns for place in self._places(table, name)]
        if self.columns and not found:
            return table
        places = list(dict.fromkeys([0, *found])) if found else _filled(table)
        if not found and len(places) == len(table.headings):
            return table
        groups = (
            Rows(tuple(tuple(row[p] for p in places if p < len(row)) for row in g.rows), g.title)
            for g in table.groups
        )
        return table._replace(
            headings=tuple(table.headings[place] for place in places),
            groups=tuple(groups),
            words=sum(place < table.words for place in places),
        )

    def _places(self, table: Table, name: str) -> list[int]:
        """Return where *table* has the column *name*; several for a word of several headings."""
        wanted = on_one_line(self.keys.get(name, name)).casefold()
        headings = [on_one_line(heading).casefold() for heading in table.headings]
        exact = [place for place, heading in enumerate(headings) if heading == wanted]
        return exact or [p for p, heading in enumerate(headings) if wanted in heading.split()]


def _filled(table: Table) -> list[int]:
    """Return the places of the columns, without those of words that no row has."""
    rows = [row for group in table.groups for row in group.rows]
    return [
        place
        for place in range(len(table.headings))
        if not 0 < place < table.words or any("".join(row[place : place + 1]) for row in rows)
    ]


def _by_word(rows: Sequence[tuple[str, ...]], place: int) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted(rows, key=lambda row: row[place]))


def _by_number(rows: Sequence[tuple[str, ...]], place: int) -> tuple[tuple[str, ...], ...]:
    """Return *rows* with the largest figure of a column first, unknown ones last."""
    return tuple(sorted(rows, key=lambda row: _figure(row[place]), reverse=True))


def _figure(cell: str) -> float:
    """
    Return the figure in a cell; below every figure if it is unknown.

    >>> _figure("~1,204.5"), _figure("3.1 %"), _figure("-")
    (1204.5, 3.1, -inf)
    """
    try:
        return float(cell.strip("~ %").replace(",", ""))
    except ValueError:
        return float("-inf")
