"""The columns of one table in their order, and the loads in its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import starmap
from math import isclose
from operator import add, mul

from stackmap.model.load import Load, plus
from stackmap.model.load_table import FIGURES, FLOWS, Block, Columns, Row, load_of
from stackmap.model.units import SECTOR
from stackmap.text.columns import COLUMNS, EARLY_KEYS, IGNORED, KEYS, Column
from stackmap.text.flow_columns import Figures, FlowColumns, product
from stackmap.text.rounding import is_precise, refined


class TableLayout:
    """The columns of a table, in order."""

    def __init__(self, names: Iterable[str], columns: dict[str, Column] = COLUMNS) -> None:
        self.names = tuple(names)
        self.columns = tuple(columns.get(name, IGNORED) for name in self.names)
        self.width = len(self.names)
        # The last of several: RHEL 4 prints both sectors and kB.
        index = {(column.flow, column.field): i for i, column in enumerate(self.columns)}
        self.spots = {
            flow: spots
            for flow in FLOWS
            if (spots := FlowColumns.of(flow, index, self.columns)) != FlowColumns()
        }
        found = map(self.spots.get, FLOWS)
        self._read, self._write, self._discard, self._flush, self._whole = found
        self._aqu = index.get(("", "aqu"))
        self._busy = index.get(("", "busy"))
        self.notes = self._notes()
        self._fields, self._idle_row = self._one([0.0] * self.width)
        self.idle_load = load_of(self._fields, self._idle_row)  # of most rows of most tables

    def in_unit(self, unit: float) -> TableLayout:
        """Return this layout with bytes in *unit*, whatever the names say."""
        return TableLayout(
            self.names,
            {
                name: replace(column, unit=unit) if column.field == "bytes" else column
                for name, column in zip(self.names, self.columns, strict=True)
            },
        )

    def _notes(self) -> tuple[str, ...]:
        """Return the caveats of these columns."""
        notes = []
        if any(flow_columns.unit == SECTOR for flow_columns in self.spots.values()):
            notes.append("the input has sizes in 512-byte sectors; here they are in KiB")
        if any("_w+d" in name for name in self.names):
            notes.append("bytes written include discards: the text has one column for both")
        return tuple(notes)

    def load(self, row: Row) -> Load:
        """Return the load in *row*; None in it is a figure that was cut off."""
        return load_of(*self._one(row))

    def block(self) -> Block:
        """Return a block for the rows of tables whose figures are all known."""
        return Block(self._fields, self._idle_row, self._of_tables, partial=self._whole is not None)

    def _one(self, row: Row) -> tuple[tuple[int, ...], Row]:
        """Return the places in a load of the figures in *row*, and these figures."""
        found = self._figures([(figure,) for figure in row], known=False)
        return tuple(found), [column[0] for column in found.values()]

    def _of_tables(self, printed: Sequence[float]) -> Columns:
        """Return the figures by column; *printed*: those of whole tables, row by row."""
        if not printed:
            return [()] * len(self._fields)
        columns = [printed[place :: self.width] for place in range(self.width)]
        return [*self._figures(columns, known=True).values()]

    def _figures(self, columns: Columns, *, known: bool) -> dict[int, Figures]:
        """Return the figures of all rows of *columns*, by their place in a load (``LoadTable``)."""
        absent: Figures = (None,) * (len(columns[0]) if columns else 1)
        each = [
            [absent] * len(FIGURES) if flow is None else flow.figures(columns, absent, known=known)
            for flow in (self._read, self._write, self._discard, self._flush)
        ]
        found = [column for flow in each for column in flow]
        found += self._combined(columns, absent, each[0], each[1], known=known)
        aqu, busy = (absent if i is None else columns[i] for i in (self._aqu, self._busy))
        found += [aqu, busy if busy is absent else [x if x is None else x / 100 for x in busy]]
        return {place: column for place, column in enumerate(found) if column is not absent}

    def _combined(
        self,
        columns: Columns,
        absent: Figures,
        read: Sequence[Figures],
        write: Sequence[Figures],
        *,
        known: bool,
    ) -> list[Figures]:
        """Return the figures that only the combined columns have."""
        whole = self._whole
        if whole is None:
            return [absent] * len(FIGURES)

        def both(figure: str) -> Figures:
            pair = [flow[FIGURES.index(figure)] for flow in (read, write)]
            return absent if absent in pair else [*map(add if known else plus, *pair)]

        ios, merges, size, wait = whole.figures(columns, absent, known=known)
        sent = both("ios") if ios is absent else ios
        if whole.bytes is None and whole.size is not None:
            of_each = zip(sent, both("bytes"), columns[whole.size], strict=True)
            size = [*starmap(self._bytes_by_mean, of_each)]
        if whole.await_ is not None:
            if both("wait") is not absent and known:
                wait = [None] * len(absent)
            elif known and sent is not absent:
                wait = [*map(mul, sent, columns[whole.await_])]
            else:
                each = zip(both("wait"), sent, columns[whole.await_], strict=True)
                wait = [product(count, mean) if two is None else None for two, count, mean in each]
        return [ios, merges, size, wait]

    def _bytes_by_mean(
        self, ios: float | None, both: float | None, mean: float | None
    ) -> float | None:
        """Return the bytes of reads and writes together, by the mean size; None if their own columns are as precise."""
        mean_unit = self._whole.size_unit if self._whole else 1.0
        if both is None:
            return product(product(ios, mean), mean_unit)
        unit = self._read.unit if self._read else 1.0
        if ios is None or mean is None or self._discard is not None:  # its mean has discards, too
            return None
        if is_precise(ios, both / unit, mean):
            return None
        _, size = refined(ios, both / unit, mean, unit, mean_unit, terms=2)
        return (
            None if isclose(size, both) else size
        )  # the product of two may differ in its last bit


@lru_cache(maxsize=100)
def layout_of_keys(keys: tuple[str, ...]) -> TableLayout:
    """Return the layout of a device's figures in JSON or XML."""
    early = "r" in keys or "kB_read_per_sec" in keys
    return TableLayout(keys, EARLY_KEYS if early else KEYS)
