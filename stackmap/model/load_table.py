"""
The loads of many devices as columns of figures: what a text of hours has too many of for an object each.

Tables with the same columns share a block, whose figures are computed together when one is needed.
A ``Load`` is made when one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

from stackmap.model.load import NONE, Flow, Load, plus

FLOWS = ("read", "write", "discard", "flush", "whole")
FIGURES = ("ios", "merges", "bytes", "wait")
Row = Sequence[float | None]
Columns = Sequence[Sequence[float | None]]

# The places of a load's figures: four of each flow, then these two.
AQU = len(FLOWS) * len(FIGURES)
BUSY = AQU + 1
PLACES = BUSY + 1

MAX_ROWS = 10_000  # of a block: some 10 MB


class Block:
    """
    Rows of several tables that have the same columns.

    ``fields``: the place in a load of each column. ``idle``: a row without I/O. A figure can be
    None only if ``partial``. *compute* returns the columns of the printed figures of all rows.
    """

    def __init__(
        self,
        fields: tuple[int, ...],
        idle: Row,
        compute: Callable[[Sequence[float]], Columns],
        *,
        partial: bool,
    ) -> None:
        self.fields = fields
        self.idle = idle
        self.partial = partial
        self._compute = compute
        self._printed: list[float] = []
        self._rows = 0
        self._columns: Columns | None = None

    @property
    def closed(self) -> bool:
        """Whether no more rows can be added."""
        return self._columns is not None or self._rows >= MAX_ROWS

    def add(self, printed: Sequence[float], rows: int) -> int:
        """Add so many *rows* of *printed* figures; return the number of the first one."""
        first = self._rows
        self._printed += printed
        self._rows += rows
        return first

    @property
    def columns(self) -> Columns:
        """The figures of each field, computed once."""
        if self._columns is None:
            self._columns = self._compute(self._printed)
            self._printed = []
        return self._columns


class LoadTable(Mapping[str, Load]):
    """
    The loads of *names*: rows of *block*, from row *first* on.

    ``places``: which of its ``width`` rows is whose; a name without one is idle. Tables of the
    same devices share the object.
    """

    def __init__(
        self, block: Block, first: int, width: int, names: Sequence[str], places: Mapping[str, int]
    ) -> None:
        self.block = block
        self.first = first
        self.width = width
        self.names = names
        self.places = places

    @cached_property
    def rows(self) -> dict[str, Row]:
        """The figures at the places ``block.fields``, by device name."""
        rows = dict.fromkeys(self.names, self.block.idle)
        if self.places:
            part = slice(self.first, self.first + self.width)
            each = [*zip(*(column[part] for column in self.block.columns), strict=True)]
            rows.update((name, each[place]) for name, place in self.places.items())
        return rows

    def __getitem__(self, name: str) -> Load:
        return load_of(self.block.fields, self.rows[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def with_names(self, names: Sequence[str], places: Mapping[str, int]) -> LoadTable:
        """Return this table with its rows under other *names*, or only some of them."""
        return LoadTable(self.block, self.first, self.width, names, places)


def load_of(fields: Sequence[int], row: Row) -> Load:
    """Return the load whose figures at *fields* are in *row*."""
    figures: list[float | None] = [None] * PLACES
    for place, figure in zip(fields, row, strict=True):
        figures[place] = figure
    read, write, discard, flush, whole = (_flow(figures[i : i + 4]) for i in range(0, AQU, 4))
    combined = None if whole is NONE else whole
    return Load(read, write, discard, flush, combined, figures[AQU], figures[BUSY])


def _flow(figures: Row) -> Flow:
    return NONE if figures == _UNKNOWN else Flow(*figures)


_UNKNOWN: Row = [None] * len(FIGURES)


Part = tuple[LoadTable, float]  # and its weight
Totals = list[list[float | None]]


def sum_of_tables(parts: Sequence[Part]) -> LoadTable | None:
    """
    Return the sum of tables times their weights; None if the tables have different fields.

    A device that a table lacks is idle there.
    """
    first = parts[0][0].block
    partial = any(table.block.partial for table, _ in parts)
    lists = {id(table.names): table.names for table, _ in parts}
    if any(table.block.fields != first.fields for table, _ in parts):
        return None
    names = [*dict.fromkeys(name for each in lists.values() for name in each)]
    if partial and any(len(each) != len(names) for each in lists.values()):
        return None
    spots = {name: spot for spot, name in enumerate(names)}
    totals: Totals = [[0.0] * len(names) for _ in first.fields]
    for run in _runs(parts):
        _add(totals, spots, run)
    block = Block(first.fields, first.idle, lambda _: totals, partial=partial)
    return LoadTable(block, 0, len(names), names, spots)


def _runs(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Yield *parts* in order: together those of the same devices that follow each other in a block, unweighted."""
    run: list[Part] = []
    for table, weight in parts:
        if run:
            last, last_weight = run[-1]
            follows = table.block is last.block and table.first == last.first + last.width
            if not (follows and table.places is last.places and weight == last_weight == 1.0):
                yield run
                run = []
        run.append((table, weight))
    yield run


def _add(totals: Totals, spots: Mapping[str, int], run: Sequence[Part]) -> None:
    """Add tables of the same devices to *totals*, which has a device at its spot in each column."""
    (table, weight), (last, _) = run[0], run[-1]
    block, places = table.block, table.places
    if block.partial and len(places) < len(table.names):
        idle = [spots[name] for name in table.names if name not in places]
        for total, figure in zip(totals, block.idle, strict=True):
            for spot in idle:
                total[spot] = plus(total[spot], figure)
    found = [(spots[name], table.first + place) for name, place in places.items()]
    if not found:
        return
    end = last.first + last.width
    for total, column in zip(totals, block.columns, strict=True):
        if len(run) > 1 and not block.partial:
            known = cast("Sequence[float]", column)
            for spot, row in found:
                total[spot] = sum(known[row : end : table.width], total[spot])
        elif len(run) > 1:
            for spot, row in found:
                total[spot] = _plus_all(total[spot], column[row : end : table.width])
        elif block.partial or weight != 1.0:
            for spot, row in found:
                figure = column[row]
                total[spot] = plus(total[spot], None if figure is None else figure * weight)
        else:
            for spot, row in found:
                total[spot] += column[row]  # type: ignore[operator]  # none is unknown


def _plus_all(total: float | None, figures: Sequence[float | None]) -> float | None:
    """Return *total* plus all *figures*; None if one of them is unknown."""
    if total is None or None in figures:
        return None
    return sum(cast("Sequence[float]", figures), total)
