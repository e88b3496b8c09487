"""The loads of a device over many intervals: an array per figure, which takes 8 bytes where a load takes 1 KB."""

from array import array
from collections.abc import Sequence
from math import isnan, nan

from stackmap.model.load import IDLE, UNKNOWN_LOAD, Flow, Load

FLOWS = ("read", "write", "discard", "flush", "whole")

ColumnKey = tuple[str, str]  # a flow and its figure, or "" and a figure of the load
KEYS: Sequence[ColumnKey] = [
    *((f, g) for f in FLOWS for g in Flow._fields),
    ("", "aqu"),
    ("", "busy"),
]
IDLE_KEYS = frozenset(key for key in KEYS if key[0] != "whole")


class Columns:
    """The loads of one device: an array per figure that is known, NaN where it is not; none while it is 0."""

    def __init__(self, first: int) -> None:
        self.first = first  # the interval of the first value
        self._count = 0
        self._newest: list[Load | None] = []
        self._columns: dict[ColumnKey, array[float]] = {}
        # Figures that were 0 in all intervals so far.
        self._zeros: frozenset[ColumnKey] = frozenset()

    def add(self, load: Load | None) -> None:
        """Add the load of the next interval; None where the device is absent."""
        self._newest.append(load)

    def pad(self, count: int) -> None:
        """Add as many intervals without the device as *count* is more than it has."""
        for _ in range(count - self.first - self._count - len(self._newest)):
            self.add(None)

    def extend(self, columns: Sequence[Sequence[float | None] | None], count: int) -> None:
        """Add the loads of *count* intervals: the columns of a ``PrintedLoads``, None for one that is unknown."""
        self.flush()
        for key, values in zip(KEYS, columns, strict=True):
            self._append(key, [None] * count if values is None else values)
        self._count += count

    def figure(self, flow: str, figure: str) -> Sequence[float]:
        """Return the values of a figure, NaN where unknown; () if it is never known."""
        self.flush()
        if (flow, figure) in self._zeros:
            return array("d", bytes(8 * self._count))
        return self._columns.get((flow, figure), ())

    def load(self, place: int) -> Load | None:
        """Return the load of the interval *place*; None if the device was absent or has no figures."""
        self.flush()
        is_there = 0 <= place - self.first < self._count
        if is_there and self._zeros == IDLE_KEYS and not self._columns:
            return IDLE
        known = {
            key: value
            for key, column in self._columns.items()
            if 0 <= place - self.first < len(column)
            and not isnan(value := column[place - self.first])
        }
        if is_there:
            known |= dict.fromkeys(self._zeros, 0.0)
        if not known:
            return None
        flows = {
            flow: Flow(*(known.get((flow, figure)) for figure in Flow._fields))
            for flow in dict.fromkeys(flow for flow, _ in known if flow)
        }
        return Load(**flows, aqu=known.get(("", "aqu")), busy=known.get(("", "busy")))  # type: ignore[arg-type]  # flows has only flows

    def flush(self) -> None:
        """Put the newest loads into the columns."""
        if not self._newest:
            return
        is_idle = not self._columns and (self._zeros == IDLE_KEYS or not self._count)
        if is_idle and self._newest.count(IDLE) == len(self._newest):
            self._zeros = IDLE_KEYS  # one set for all devices
            self._count += len(self._newest)
            self._newest = []
            return
        loads = [UNKNOWN_LOAD if load is None else load for load in self._newest]
        self._newest = []
        *flows, aqu, busy, _ = zip(*loads, strict=True)
        for name, of_flow in zip(FLOWS, flows, strict=True):
            known = [Flow() if flow is None else flow for flow in of_flow]
            for figure, values in zip(Flow._fields, zip(*known, strict=True), strict=True):
                self._append((name, figure), values)
        self._append(("", "aqu"), aqu)
        self._append(("", "busy"), busy)
        self._count += len(loads)

    def _append(self, key: ColumnKey, values: Sequence[float | None]) -> None:
        column = self._columns.get(key)
        if column is None:
            if values.count(0.0) == len(values) and (key in self._zeros or not self._count):
                self._zeros |= {key}
                return
            if key in self._zeros:
                self._zeros -= {key}
                column = array("d", bytes(8 * self._count))
            elif values.count(None) == len(values):
                return
            else:
                column = array("d", [nan]) * self._count
            self._columns[key] = column
        if None in values:
            column.extend([nan if value is None else value for value in values])
        else:
            column.extend(values)  # type: ignore[arg-type]  # none is None
