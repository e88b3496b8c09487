"""
sysstat's columns: the metric and the unit behind every name they ever had.

iostat, its JSON, sar and sadf print the same few metrics under a hundred names;
which ones, and in what order, depends on version and options. So headings are
looked up by name and become a ``TableLayout``, which turns rows into loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat, starmap
from math import isfinite
from operator import add, mul

from stackmap.model.load import NONE, Load, plus
from stackmap.model.load_table import FIGURES, Block, Columns, Row, load_of
from stackmap.model.units import GIB, KIB, MIB, SECTOR
from stackmap.sources.statistics.rounding import is_precise, refined, refined_columns

# Units in the names of size columns: rsec/s, rkB/s, Blk_read/s.
SIZES = {"sec": SECTOR, "Blk": SECTOR, "kB": KIB, "MB": MIB, "GB": GIB}

Figures = Sequence[float | None]  # of one column

READ, WRITE, DISCARD, FLUSH, COMBINED = "read", "write", "discard", "flush", "whole"
FLOWS = (READ, WRITE, DISCARD, FLUSH, COMBINED)
INITIALS = {"r": READ, "w": WRITE, "d": DISCARD}

# No device reaches this per second: a counter went back and the difference wrapped.
MAX_RATE = 1e9


@dataclass(frozen=True, slots=True)
class Column:
    """
    The metric of one column.

    ``flow``: a field of ``Load``. ``field``: a field of ``Flow``, or ``await`` (a mean,
    converted to ``wait``), or ``size`` (a mean, used if there are no bytes), or of the
    device (``aqu``, ``busy``); "" if the column adds nothing.
    """

    flow: str = ""
    field: str = ""
    unit: float = 1.0


IGNORED = Column()


def _named() -> dict[str, Column]:
    """Return the columns named by a direction's letter and a word: rkB/s, w_await, dareq-sz."""
    columns = {"f/s": Column(FLUSH, "ios"), "f_await": Column(FLUSH, "await")}
    for letter, flow in INITIALS.items():
        columns[f"{letter}/s"] = Column(flow, "ios")
        columns[f"{letter}rqm/s"] = Column(flow, "merges")
        columns[f"%{letter}rqm"] = IGNORED
        columns[f"{letter}_await"] = Column(flow, "await")
        columns[f"{letter}areq-sz"] = Column(flow, "size", KIB)
        for prefix, unit in SIZES.items():
            columns[f"{letter}{prefix}/s"] = Column(flow, "bytes", unit)
    return columns


def _totals() -> dict[str, Column]:
    """Return the columns of plain iostat: rates are used, totals since the last report are not."""
    columns = {}
    for prefix, unit in SIZES.items():
        columns[f"{prefix}/s"] = Column(COMBINED, "bytes", unit)
        for word, flow in (("read", READ), ("wrtn", WRITE), ("dscd", DISCARD), ("w+d", WRITE)):
            columns[f"{prefix}_{word}/s"] = Column(flow, "bytes", unit)
            columns[f"{prefix}_{word}"] = IGNORED
    return columns


COLUMNS = {
    **_named(),
    **_totals(),
    "tps": Column(COMBINED, "ios"),
    "rqm/s": Column(COMBINED, "merges"),
    "await": Column(COMBINED, "await"),
    "avgrq-sz": Column(COMBINED, "size", SECTOR),
    "areq-sz": Column(COMBINED, "size", KIB),
    "avgqu-sz": Column("", "aqu"),
    "aqu-sz": Column("", "aqu"),
    "%util": Column("", "busy"),
    "svctm": IGNORED,  # not measured: busy time divided by requests
    # sar
    "rd_sec/s": Column(READ, "bytes", SECTOR),
    "wr_sec/s": Column(WRITE, "bytes", SECTOR),
    "sect/s": Column(COMBINED, "bytes", SECTOR),
}

# Names in JSON and XML only; "rrqm" is a percentage except in sysstat 11.5.1 to 11.5.6.
KEYS = {
    **COLUMNS,
    "util": COLUMNS["%util"],
    "rrqm": IGNORED,
    "wrqm": IGNORED,
    "drqm": IGNORED,
    "util-percent": COLUMNS["%util"],
    "rd_sec": COLUMNS["rd_sec/s"],
    "wr_sec": COLUMNS["wr_sec/s"],
    "dc_sec": Column(DISCARD, "bytes", SECTOR),
    "rkB": COLUMNS["rkB/s"],
    "wkB": COLUMNS["wkB/s"],
    "dkB": COLUMNS["dkB/s"],
}

# JSON keys of sysstat 11.5.1 to 11.5.6, recognised by "r" or "kB_read_per_sec".
EARLY_KEYS = {
    **KEYS,
    "r": COLUMNS["r/s"],
    "w": COLUMNS["w/s"],
    "rrqm": COLUMNS["rrqm/s"],
    "wrqm": COLUMNS["wrqm/s"],
    "kB_read_per_sec": COLUMNS["kB_read/s"],
    "kB_wrtn_per_sec": COLUMNS["kB_wrtn/s"],
}


@dataclass(frozen=True, slots=True)
class FlowColumns:
    """The indexes in a row of one direction's figures; None for missing ones."""

    ios: int | None = None
    merges: int | None = None
    bytes: int | None = None
    await_: int | None = None
    size: int | None = None
    unit: float = 1.0  # of bytes
    size_unit: float = 1.0

    def figures(self, columns: Columns, absent: Figures, *, known: bool) -> list[Figures]:
        """Return requests, merges, bytes and wait of all rows; *known*: each has all figures."""
        places = self.ios, self.merges, self.bytes, self.await_, self.size
        ios, merges, size, wait, mean = (absent if i is None else columns[i] for i in places)
        sent = ios
        if size is not absent or (mean is not absent and ios is not absent):
            if known and absent not in (ios, size, mean):
                sent, size = refined_columns(ios, size, mean, self.unit, self.size_unit)
            else:
                pairs = map(_sent, ios, size, mean, repeat(self.unit), repeat(self.size_unit))
                sent, size = zip(*pairs, strict=True)
        if wait is not absent:
            wait = absent if ios is absent else [*map(mul if known else _product, sent, wait)]
        return [absent if ios is absent else sent, merges, size, wait]


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
            if (spots := self._columns_of(flow, index)) != FlowColumns()
        }
        found = map(self.spots.get, FLOWS)
        self._read, self._write, self._discard, self._flush, self._whole = found
        self._aqu = index.get(("", "aqu"))
        self._busy = index.get(("", "busy"))
        self.notes = self._notes()
        self.idle_load = self.load([0.0] * self.width)  # of most rows of most tables
        self._fields, self._idle_row = self._one([0.0] * self.width)

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
        """Return the columns of figures of all rows of tables."""
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
                wait = [_product(count, mean) if two is None else None for two, count, mean in each]
        return [ios, merges, size, wait]

    def _bytes_by_mean(
        self, ios: float | None, both: float | None, mean: float | None
    ) -> float | None:
        """Return the bytes of reads and writes by their mean size; None if their own columns are as precise."""
        mean_unit = self._whole.size_unit if self._whole else 1.0
        if both is None:
            return _product(_product(ios, mean), mean_unit)
        unit = self._read.unit if self._read else 1.0
        if ios is None or mean is None or self._discard is not None:  # its mean has discards, too
            return None
        if is_precise(ios, both / unit, mean):
            return None
        _, size = refined(ios, both / unit, mean, unit, mean_unit, terms=2)
        return None if size == both else size

    def _columns_of(self, flow: str, index: Mapping[tuple[str, str], int]) -> FlowColumns:
        size, mean = index.get((flow, "bytes")), index.get((flow, "size"))
        return FlowColumns(
            ios=index.get((flow, "ios")),
            merges=index.get((flow, "merges")),
            bytes=size,
            await_=index.get((flow, "await")),
            size=mean,
            unit=1.0 if size is None else self.columns[size].unit,
            size_unit=1.0 if mean is None else self.columns[mean].unit,
        )


@lru_cache(maxsize=100)
def layout_of_keys(keys: tuple[str, ...]) -> TableLayout:
    """Return the layout of a device's figures in JSON or XML."""
    early = "r" in keys or "kB_read_per_sec" in keys
    return TableLayout(keys, EARLY_KEYS if early else KEYS)


def is_plausible(load: Load) -> bool:
    """Whether a device can have this load: old sysstat printed counters that went back as 10¹⁸."""
    flows = (load.read, load.write, load.discard, load.flush, load.whole or NONE)
    figures = [flow.ios for flow in flows] + [flow.merges for flow in flows]
    figures += [load.aqu, load.busy]
    sizes = [flow.bytes for flow in flows] + [flow.wait for flow in flows]
    return all(x is None or (isfinite(x) and 0 <= x < MAX_RATE) for x in figures) and all(
        x is None or 0 <= x < MAX_RATE * MIB for x in sizes
    )


def _sent(
    ios: float | None, size: float | None, mean: float | None, unit: float, mean_unit: float
) -> tuple[float | None, float | None]:
    """Return requests and bytes of a row in which a figure may be missing."""
    if size is None:
        return ios, _product(_product(ios, mean), mean_unit)
    if ios is None or mean is None:
        return ios, size * unit
    return refined(ios, size, mean, unit, mean_unit)


def _product(one: float | None, other: float | None) -> float | None:
    """Return the product; None if a factor is."""
    return None if one is None or other is None else one * other
