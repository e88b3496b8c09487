"""
The loads of many devices as rows of figures: what a text of hours has too many of for an object each.

A row has the figures of ``LoadTable.fields``; a ``Load`` is made when one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from stackmap.model.load import NONE, Flow, Load, total_of

FLOWS = ("read", "write", "discard", "flush", "whole")
FIGURES = ("ios", "merges", "bytes", "wait")
Row = Sequence[float | None]

# The places of a load's figures: four of each flow, then these two.
AQU = len(FLOWS) * len(FIGURES)
BUSY = AQU + 1
PLACES = BUSY + 1


class LoadTable(Mapping[str, Load]):
    """
    ``rows`` by device name: the figures at the places ``fields``; the other figures are unknown.

    A figure can be None only if ``partial``.
    """

    def __init__(self, fields: tuple[int, ...], rows: dict[str, Row], *, partial: bool) -> None:
        self.fields = fields
        self.rows = rows
        self.partial = partial

    def __getitem__(self, name: str) -> Load:
        return load_of(self.fields, self.rows[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def renamed(self, names: Iterable[str]) -> LoadTable:
        """Return this table with its rows under *names*."""
        rows = dict(zip(names, self.rows.values(), strict=True))
        return LoadTable(self.fields, rows, partial=self.partial)


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


def sum_of_tables(parts: Sequence[tuple[LoadTable, float]]) -> LoadTable | None:
    """
    Return the sum of tables times their weights; None if the tables have different fields.

    A device that a table lacks is idle there.
    """
    first = parts[0][0]
    partial = any(table.partial for table, _ in parts)
    if any(table.fields != first.fields for table, _ in parts):
        return None
    if partial and any(table.rows.keys() != first.rows.keys() for table, _ in parts):
        return None
    found: dict[str, list[Row]] = {}
    for table, weight in parts:
        for name, row in table.rows.items():
            part = row if weight == 1.0 else [x if x is None else x * weight for x in row]
            found.setdefault(name, []).append(part)
    total: Callable[..., float | None] = total_of if partial else sum
    sums: dict[str, Row] = {
        name: [*map(total, zip(*rows, strict=True))] for name, rows in found.items()
    }
    return LoadTable(first.fields, sums, partial=partial)
