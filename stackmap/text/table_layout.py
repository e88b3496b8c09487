"""The columns of one table in their order, and the load in a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import repeat
from math import isclose

from stackmap.model.load import NONE, Flow, Load, plus
from stackmap.model.units import SECTOR
from stackmap.text.columns import COLUMNS, EARLY_KEYS, FLOWS, IGNORED, KEYS, Column
from stackmap.text.flow_columns import Figures, FlowColumns, product
from stackmap.text.rounding import is_precise, refined

Row = Sequence[float | None]  # the figures of a device; None is one that was cut off

DIRECTIONS = FLOWS[:4]  # those of one direction each


_load = partial(tuple.__new__, Load)  # see flow_columns


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
        self._aqu = index.get(("", "aqu"))
        self._busy = index.get(("", "busy"))
        self.notes = self._notes()

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
        return self.loads([(figure,) for figure in row], 1)[0]

    def loads(self, columns: Sequence[Figures], rows: int) -> list[Load]:
        """Return the load in each of the *rows* of a table. A log of hours has millions: they are computed by column."""
        absent = [None] * rows
        read, write, discard, flush = (
            self.spots[flow].flows(columns) if flow in self.spots else [NONE] * rows
            for flow in DIRECTIONS
        )
        whole: Figures = absent
        spots = self.spots.get("whole")
        if spots is not None:
            combined = spots.flows(columns)
            means = (
                absent if place is None else columns[place] for place in (spots.size, spots.await_)
            )
            whole = [*map(self._combined, combined, read, write, *means)]
        aqu, busy = (
            absent if place is None else columns[place] for place in (self._aqu, self._busy)
        )
        shares = [None if figure is None else figure / 100 for figure in busy]
        in_flight = repeat(None)
        return [
            *map(
                _load, zip(read, write, discard, flush, whole, aqu, shares, in_flight, strict=False)
            )
        ]

    def _combined(
        self, whole: Flow, read: Flow, write: Flow, mean: float | None, await_: float | None
    ) -> Flow | None:
        """Return *whole* with what only the columns of both directions together say; None if they say nothing."""
        spots = self.spots["whole"]
        ios, merges, size, wait = whole
        sent = plus(read.ios, write.ios) if spots.ios is None else ios
        if spots.bytes is None and spots.size is not None:
            size = self._bytes_by_mean(sent, plus(read.bytes, write.bytes), mean)
        if spots.await_ is not None:
            both = plus(read.wait, write.wait)
            wait = product(sent, await_) if both is None else None
        flow = Flow(ios, merges, size, wait)
        return None if flow == NONE else flow

    def _bytes_by_mean(
        self, ios: float | None, both: float | None, mean: float | None
    ) -> float | None:
        """Return the bytes of reads and writes together, by the mean size; None if their own columns are as precise."""
        mean_unit = self.spots["whole"].size_unit
        if both is None:
            return product(product(ios, mean), mean_unit)
        unit = self.spots["read"].unit
        if ios is None or mean is None or "discard" in self.spots:  # its mean has discards, too
            return None
        if is_precise(ios, both / unit, mean):
            return None
        _, size = refined(ios, both / unit, mean, unit, mean_unit, terms=2)
        # The product of two may differ in its last bit.
        return None if isclose(size, both) else size


@lru_cache(maxsize=100)
def layout_of_keys(keys: tuple[str, ...]) -> TableLayout:
    """Return the layout of a device's figures in JSON or XML."""
    early = "r" in keys or "kB_read_per_sec" in keys
    return TableLayout(keys, EARLY_KEYS if early else KEYS)
