"""
The loads of many devices as columns of figures: what a text of hours has too many of for an object each.

Tables with the same columns share a block, whose figures are computed together when one is needed.
A ``Load`` is made when one is asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter, mul
from typing import Any

from stackmap.model.load import NONE, Flow, Load, plus, sum_in_order

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
    """Yield *parts* in order: together those of one block that follow each other."""
    for _, run in groupby(parts, key=lambda part: id(part[0].block)):
        yield [*run]


def _add(totals: Totals, spots: Mapping[str, int], run: Sequence[Part]) -> None:
    """Add the tables of one block to *totals*, which has a device at its spot in each column."""
    block = run[0][0].block
    if block.partial:
        _add_idle(totals, spots, [table for table, _ in run])
    found = [(spots[name], _getter(rows), weights) for name, (rows, weights) in _rows(run).items()]
    if not found:
        return
    for total, column in zip(totals, block.columns, strict=True):
        for spot, figures_of, weights in found:
            before, figures = total[spot], figures_of(column)
            if block.partial and (before is None or None in figures):
                total[spot] = None
            else:
                terms = map(mul, figures, weights) if weights else figures
                total[spot] = sum_in_order(terms, before or 0.0)


def _add_idle(totals: Totals, spots: Mapping[str, int], tables: Sequence[LoadTable]) -> None:
    """Add the rows without I/O, in which a figure may be unknown."""
    idle = {name for table in tables for name in table.names if name not in table.places}
    for total, figure in zip(totals, tables[0].block.idle, strict=True):
        for name in idle:
            total[spots[name]] = plus(total[spots[name]], figure)


def _rows(run: Sequence[Part]) -> Mapping[str, tuple[Sequence[int], Sequence[float]]]:
    """Return the rows of each device in the block of *run*, with their weights; no weights if all are 1."""
    tables = [table for table, _ in run]
    weights = [weight for _, weight in run]
    weighted = any(weight != 1.0 for weight in weights)
    if all(_follows(*pair) for pair in pairwise(tables)):
        one, last = tables[0], tables[-1]
        end = last.first + last.width
        return {
            name: (range(one.first + place, end, one.width), weights if weighted else ())
            for name, place in one.places.items()
        }
    rows = defaultdict[str, list[int]](list)
    each = defaultdict[str, list[float]](list)
    for table, weight in run:
        first = table.first
        for name, place in table.places.items():
            rows[name].append(first + place)
        if weighted:
            for name in table.places:
                each[name].append(weight)
    return {name: (theirs, each[name]) for name, theirs in rows.items()}


def _follows(table: LoadTable, following: LoadTable) -> bool:
    """Whether *following* is of the same devices, and its rows come next."""
    return following.places is table.places and following.first == table.first + table.width


def _getter(rows: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return what takes the figures in *rows* out of a column."""
    if isinstance(rows, range):
        return itemgetter(slice(rows.start, rows.stop, rows.step))
    return itemgetter(*rows) if len(rows) > 1 else itemgetter(slice(rows[0], rows[0] + 1))
