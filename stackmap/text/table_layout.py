"""
The columns of one table in their order, and the loads in its rows.

Loads are computed by column, for a log of hours has millions of rows. Where a text rounds requests,
bytes or their mean size, the least precise of the three follows from the other two: ``iostat -m``
prints 0.00 MB/s for one request of 3 KiB per second, beside a mean of 3.14 KiB.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count as count_up
from itertools import repeat
from math import inf, isclose, isfinite
from operator import add, mul
from typing import Any, NamedTuple

from stackmap.model.load import Flow, PrintedLoads, plus, total_of
from stackmap.model.units import SECTOR
from stackmap.text.columns import COLUMNS, EARLY_KEYS, FLOWS, IGNORED, KEYS, Column

Row = Sequence[float | None]  # the figures of a device; None is one that was cut off
Figures = Sequence[Any]  # of one column: floats, None where a row was cut
Columns = Sequence[Figures | None]  # of a flow's figures; None for those that no column has
ABSENT: Columns = (None,) * len(Flow._fields)

DIRECTIONS = FLOWS[:4]  # those of one direction each

# Half of the last digit: sysstat prints two decimals, with --dec fewer.
HALVES = {1: 0.5, 10: 0.05}
HALF = 0.005
ROUNDING = 0.006  # a little more than half of the last decimal
# What rounding leaves of a figure with one decimal, times ten: less than one, or more than the other.
CENTS, NO_CENTS = 1e-8, 1 - 1e-8
PRECISE = 2.5  # figures above it with two decimals are within 0.2 %


class Product(NamedTuple):
    """
    Requests per second and their bytes twice: as shown in ``unit``, and ``true_bytes`` by their mean size.

    ``error``: how far rounding may set the two apart, in bytes.
    """

    requests: float
    bytes: float
    unit: float
    true_bytes: float
    error: float


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

    def in_unit(self, unit: float) -> "TableLayout":
        """Return this layout with bytes in *unit*; the units in names are ignored."""
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

    def table(self, names: Sequence[str], figures: Sequence[float | None]) -> PrintedLoads:
        """Return the loads of *names*; *figures*: those of the first one's row, then of the second one's, …"""
        return PrintedLoads(names, figures, self._convert)

    def products(self, row: Row) -> Iterator[Product]:
        """Yield the pairs that are equal in a whole *row*: requests times mean size, and bytes; per direction and for all."""
        read, write, discard, whole = (
            self.spots.get(flow, FlowColumns()) for flow in ("read", "write", "discard", "whole")
        )
        sent = [whole] if whole.ios is not None else [read, write]
        sizes = [whole] if whole.bytes is not None else [read, write]
        checks = [([flow], [flow], flow) for flow in (read, write, discard)]
        for requests, moved, mean in (*checks, (sent, [*sizes, discard], whole)):
            counts = [row[spot.ios] for spot in requests if spot.ios is not None]
            shown = [row[spot.bytes] for spot in moved if spot.bytes is not None]
            count, size = total_of(counts), total_of(shown)
            printed = None if mean.size is None else row[mean.size]
            if printed is None or count is None or size is None or not (counts and shown):
                continue
            unit, true_size = max(spot.unit for spot in moved), printed * mean.size_unit
            error = len(shown) * unit + len(counts) * true_size + count * mean.size_unit
            yield Product(count, size * unit, unit, count * true_size, ROUNDING * error)

    def _convert(self, printed: Sequence[float | None]) -> list[Figures | None]:
        """Return the columns of rows of *printed* figures as ``PrintedLoads`` wants them."""
        columns = [printed[place :: self.width] for place in range(self.width)]
        read, write, discard, flush = (
            self.spots[flow].flows(columns) if flow in self.spots else ABSENT for flow in DIRECTIONS
        )
        whole = self._whole(columns, read, write) if "whole" in self.spots else ABSENT
        aqu, busy = (None if place is None else columns[place] for place in (self._aqu, self._busy))
        shares = busy and [None if figure is None else figure / 100 for figure in busy]
        return [*read, *write, *discard, *flush, *whole, aqu, shares]

    def _whole(self, columns: Sequence[Figures], read: Columns, write: Columns) -> Columns:
        """Return the figures of the columns that have both directions together."""
        spots = self.spots["whole"]
        ios, merges, size, wait = spots.flows(columns)
        sent = sums(read[0], write[0]) if ios is None else ios
        if spots.bytes is None and spots.size is not None:
            both, means = sums(read[2], write[2]), columns[spots.size]
            if both is None:
                size = times(times(sent, means), spots.size_unit)
            else:
                size = [*map(self._bytes_by_mean, sent or repeat(None), both, means)]
        if spots.await_ is not None:
            waits, wait = sums(read[3], write[3]), times(sent, columns[spots.await_])
            if wait is not None and waits is not None:  # only in rows that lack one of the two
                known = zip(wait, waits, strict=True)
                wait = [both if printed is None else None for both, printed in known]
        return ios, merges, size, wait

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
        if min(ios, both / unit, mean) > PRECISE and _has_cents(ios):
            return None
        _, size = refined(ios, both / unit, mean, unit, mean_unit, terms=2)
        # The product of two may differ in its last bit.
        return None if isclose(size, both) else size


@lru_cache(maxsize=100)
def layout_of_names(names: tuple[str, ...]) -> TableLayout:
    """Return the layout of a heading: the same one for each of a log, so that their rows are added up together."""
    return TableLayout(names)


@lru_cache(maxsize=100)
def layout_of_keys(keys: tuple[str, ...]) -> TableLayout:
    """Return the layout of a device's figures in JSON or XML."""
    early = "r" in keys or "kB_read_per_sec" in keys
    return TableLayout(keys, EARLY_KEYS if early else KEYS)


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

    @classmethod
    def of(
        cls, flow: str, index: Mapping[tuple[str, str], int], columns: Sequence[Column]
    ) -> "FlowColumns":
        """Return those of *flow* among *columns*; *index*: the place of each flow and field."""
        size, mean = index.get((flow, "bytes")), index.get((flow, "size"))
        return cls(
            ios=index.get((flow, "ios")),
            merges=index.get((flow, "merges")),
            bytes=size,
            await_=index.get((flow, "await")),
            size=mean,
            unit=1.0 if size is None else columns[size].unit,
            size_unit=1.0 if mean is None else columns[mean].unit,
        )

    def flows(self, columns: Sequence[Figures]) -> Columns:
        """Return the columns of a flow: requests, merges, bytes, milliseconds."""
        places = (self.ios, self.merges, self.bytes, self.await_, self.size)
        ios, merges, shown, wait, mean = (
            None if place is None else columns[place] for place in places
        )
        if shown is None:
            size = times(times(ios, mean), self.size_unit)
        elif ios is None or mean is None:
            size = times(shown, self.unit)
        else:
            ios, size = refined_columns(ios, shown, mean, self.unit, self.size_unit)
        return ios, merges, size, times(ios, wait)


def times(one: Figures | None, other: Figures | float | None) -> Figures | None:
    """Return the products of two columns, or of a column and a unit; None where a factor is."""
    if one is None or other is None:
        return None
    others = repeat(other) if isinstance(other, float | int) else other
    try:
        return [*map(mul, one, others)]
    except TypeError:  # a row that was cut
        return [*map(product, one, others)]


def sums(one: Figures | None, other: Figures | None) -> Figures | None:
    """Return the sums of two columns; None where a term is."""
    if one is None or other is None:
        return None
    try:
        return [*map(add, one, other)]
    except TypeError:  # a row that was cut
        return [*map(plus, one, other)]


def product(one: float | None, other: float | None) -> float | None:
    """Return the product; None if a factor is."""
    return None if one is None or other is None else one * other


def refined_columns(
    requests: Figures, shown: Figures, mean: Figures, unit: float, mean_unit: float
) -> tuple[Figures, Figures]:
    """Return requests and bytes of all rows (``refined``); in most, the figures are precise or agree as printed."""
    if None in requests or None in shown or None in mean:  # a row was cut
        pairs = map(_refined_if_whole, requests, shown, mean, repeat(unit), repeat(mean_unit))
        sent, moved = zip(*pairs, strict=True)
        return sent, moved
    if not (any(requests) or any(shown) or any(mean)):
        return requests, shown
    sizes = [size * unit for size in shown]
    rough = [
        place
        for place, count, size, printed in zip(count_up(), requests, shown, mean, strict=False)
        if not (
            count > PRECISE < size
            and printed > PRECISE
            and (
                CENTS < count * 10.0 % 1.0 < NO_CENTS
                or CENTS < size * 10.0 % 1.0 < NO_CENTS
                or CENTS < printed * 10.0 % 1.0 < NO_CENTS
            )
        )
        and (count or size)
    ]
    if not rough:
        return requests, sizes
    counts = [*requests]
    for place in rough:
        count, printed = counts[place], mean[place]
        if not (count > 0 and abs(sizes[place] / count / mean_unit - printed) <= HALF):
            counts[place], sizes[place] = refined(count, shown[place], printed, unit, mean_unit)
    return counts, sizes


def _refined_if_whole(
    requests: float | None, shown: float | None, mean: float | None, unit: float, mean_unit: float
) -> tuple[float | None, float | None]:
    if requests is not None and shown is not None and mean is not None:
        return refined(requests, shown, mean, unit, mean_unit)
    if shown is not None:
        return requests, shown * unit
    return requests, None if requests is None or mean is None else requests * mean * mean_unit


def refined(
    requests: float, shown: float, mean: float, unit: float, mean_unit: float, terms: int = 1
) -> tuple[float, float]:
    """
    Return requests and bytes per second, for *shown* in *unit* and *mean* in *mean_unit*.

    *terms*: how many printed figures *shown* is the sum of. Figures that agree stay, and so do
    figures in other units than their names say: one is replaced only within its rounding.
    """
    size = shown * unit
    half = _half(requests, shown, mean)
    if half == HALF and min(requests, shown, mean) > PRECISE:
        return requests, size
    if requests > 0 and abs(size / requests / mean_unit - mean) <= half:
        return requests, size
    errors = [half / x if x > 0 else inf for x in (requests, shown / terms, mean)]
    worst = max(errors)
    others = sum(errors) - worst if worst < inf else sum(e for e in errors if e < inf)
    # Beside a precise mean, either of two rough figures may move: the mean is then right.
    rough = others >= worst and errors[2] > worst / 10
    if errors.count(inf) > 1 or others >= 1 or rough:
        return requests, size
    mean_size = mean * mean_unit
    # The worst follows from the others. Where its rounding does not allow that, the next worst moves too.
    if worst == errors[0]:
        requests = _within(requests, half, size / mean_size, others)
        return requests, _within(size, half * unit * terms, requests * mean_size, 0.0)
    if worst == errors[1]:
        size = _within(size, half * unit * terms, requests * mean_size, others)
        return _within(requests, half, size / mean_size, 0.0), size
    return requests, size


def _has_cents(figure: float) -> bool:
    """Whether *figure* was surely printed with two decimals."""
    return CENTS < figure * 10.0 % 1.0 < NO_CENTS


def _half(*figures: float) -> float:
    """Return half of the last digit that *figures* were printed with."""
    if any(map(_has_cents, figures)):
        return HALF
    for factor, half in HALVES.items():
        scaled = [x * factor for x in figures]
        if all(isfinite(x) and abs(x - round(x)) < 1e-9 for x in scaled):
            return half
    return HALF


def _within(printed: float, half: float, exact: float, error: float) -> float:
    """Return *exact*, limited to what rounds to *printed*; *printed* if they differ by more than the relative *error*."""
    if abs(exact - printed) > half * 1.01 + exact * error:
        return printed
    return max(printed - half * 0.9999, min(exact, printed + half * 0.9999))
