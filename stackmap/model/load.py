"""
The load of a device over an interval, per second, from counters or from texts.

Counters give every figure, ``iostat -x`` most of them, ``sar -d`` only the sum
of reads and writes. None means unknown and is never 0; an idle device has zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from itertools import chain, repeat
from operator import add, mul
from typing import Any, NamedTuple


class Flow(NamedTuple):
    """
    One direction of I/O on one device, per second.

    ``ios``: completed requests. ``merges``: requests merged into others on arrival
    (0 where the driver cannot merge, None where the source does not say).
    ``bytes``. ``wait``: milliseconds of all its requests together; ``wait / ios`` is await.
    """

    ios: float | None = None
    merges: float | None = None
    bytes: float | None = None
    wait: float | None = None

    @property
    def arrivals(self) -> float | None:
        """Requests that arrived from above: completions plus merges."""
        if self.ios is None or self.merges is None:
            return None
        return self.ios + self.merges

    @property
    def size(self) -> float | None:
        """Mean bytes per completed request; None if none completed."""
        return ratio(self.bytes, self.ios)

    @property
    def await_ms(self) -> float | None:
        """Mean milliseconds per request; None if none completed."""
        return ratio(self.wait, self.ios)

    # Written out for speed: a log of hours scales and adds millions of flows.

    def scaled(self, factor: float) -> Flow:
        """Return all figures times *factor*."""
        if self is NONE or self is ZERO:
            return self
        ios, merges, size, wait = self
        return make_flow(
            (
                None if ios is None else ios * factor,
                None if merges is None else merges * factor,
                None if size is None else size * factor,
                None if wait is None else wait * factor,
            )
        )

    def __add__(self, other: Flow) -> Flow:  # type: ignore[override]  # a sum, no longer tuple
        if self is NONE or other is NONE:
            return NONE
        if self is ZERO or other is ZERO:
            return other if self is ZERO else self
        # Rules ask for this sum of each load of hours: one tuple is unpacked, and one is made.
        ios, merges, size, wait = self
        other_ios, other_merges, other_size, other_wait = other
        return make_flow(
            (
                None if ios is None or other_ios is None else ios + other_ios,
                None if merges is None or other_merges is None else merges + other_merges,
                None if size is None or other_size is None else size + other_size,
                None if wait is None or other_wait is None else wait + other_wait,
            )
        )

    def without_merges(self) -> Flow:
        """Return this flow with 0 merges."""
        ios, _, size, wait = self
        return make_flow((ios, 0.0, size, wait))


DIRECTIONS = ("read", "write", "discard", "total")  # of a load; total is reads and writes

NONE = Flow()
ZERO = Flow(0.0, 0.0, 0.0, 0.0)


class Load(NamedTuple):
    """
    The load of a device over an interval, per second.

    ``whole``: reads and writes together where a source has only their sum
    (``sar -d``, ``iostat -d``), else None. ``aqu``: mean requests in flight.
    ``in_flight_at_ends``: requests in flight at both ends, added up, if known.
    ``busy``: share of time with a request in flight, 0…1; it is not utilisation of capacity.
    """

    read: Flow = NONE
    write: Flow = NONE
    discard: Flow = NONE
    flush: Flow = NONE
    whole: Flow | None = None
    aqu: float | None = None
    busy: float | None = None
    in_flight_at_ends: int | None = None

    def flow(self, direction: str) -> Flow:
        """Return the flow in one of ``DIRECTIONS``."""
        flow: Flow = getattr(self, direction)
        return flow

    @property
    def flows(self) -> tuple[tuple[str, Flow], ...]:
        """Reads, writes and both together, each with its direction."""
        return ("read", self.read), ("write", self.write), ("total", self.total)

    @property
    def total(self) -> Flow:
        """Reads and writes together."""
        whole, read, write = self.whole, self.read, self.write
        if whole is None:
            return read + write
        if read is NONE:
            return whole
        # In a text with the await of both, each load has a whole: one flow is made.
        ios, merges, size, wait = whole
        return make_flow(
            (
                plus(read.ios, write.ios) if ios is None else ios,
                plus(read.merges, write.merges) if merges is None else merges,
                plus(read.bytes, write.bytes) if size is None else size,
                plus(read.wait, write.wait) if wait is None else wait,
            )
        )

    @property
    def idle(self) -> bool:
        """Whether nothing was read or written; an unknown load is not idle."""
        if self is IDLE:
            return True
        if self.whole is not None:
            total = self.total
            return total.ios == 0 and not total.bytes
        return self.read.ios == 0 == self.write.ios and not (self.read.bytes or self.write.bytes)

    def without_merges(self) -> Load:
        """Return this load with 0 merges, for drivers that never merge (bio-based dm, md)."""
        read, write, discard, flush, whole, *others = self
        none = whole if whole is None else whole.without_merges()
        return make_load(
            (read.without_merges(), write.without_merges(), discard, flush, none, *others)
        )

    def scaled(self, factor: float) -> Load:
        """Return this load with requests and bytes times *factor*."""
        read, write, discard, flush, whole, *others = self
        scaled = None if whole is None else whole.scaled(factor)
        return make_load(
            (read.scaled(factor), write.scaled(factor), discard, flush, scaled, *others)
        )


IDLE = Load(ZERO, ZERO, ZERO, ZERO, aqu=0.0, busy=0.0, in_flight_at_ends=0)
# The same of kernels that count no flushes, or neither discards nor flushes.
IDLE_WITHOUT_FLUSHES = IDLE._replace(flush=NONE)
IDLE_WITHOUT_DISCARDS = IDLE_WITHOUT_FLUSHES._replace(discard=NONE)


def is_shared_idle(load: Load | None) -> bool:
    """Whether *load* is one of the three above, which idle devices share. An identity test, for millions of rows."""
    return load is IDLE or load is IDLE_WITHOUT_FLUSHES or load is IDLE_WITHOUT_DISCARDS


UNKNOWN_LOAD = Load()  # of a device without figures

# What Flow() and Load() do, without a step in Python for each of the millions of rows of a log.
make_flow = partial(tuple.__new__, Flow)
make_load = partial(tuple.__new__, Load)

Column = Sequence[Any]  # of the rows of a table: floats, and None where a row lacks the figure


class PrintedLoads(Mapping[str, Load]):
    """
    The loads of *names*, the rows of a table in a text. They are made when one is asked for.

    *printed*: the figures of the first row, then of the second one, and so on. *convert* returns from
    such figures the columns of a load: the four of reads, writes, discards, flushes and of all together,
    the queue depth, the busy share. None for one that the table lacks.
    """

    def __init__(
        self,
        names: Sequence[str],
        printed: Sequence[float | None],
        convert: Callable[[Sequence[float | None]], Sequence[Column | None]],
    ) -> None:
        self.names = names
        self.printed = printed
        self.convert = convert

    def __getitem__(self, name: str) -> Load:
        return self._loads[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _loads(self) -> dict[str, Load]:
        return _loads_in(self.convert(self.printed), self.names)

    def forget(self) -> None:
        """Free the loads that were made: each takes 1 KB, its figures a tenth. They are made again for who asks."""
        vars(self).pop("_loads", None)

    def known_figures(self) -> tuple[bool, ...]:
        """Which figures of a load the table has."""
        return tuple(column is not None for column in self.convert(self.printed))

    def is_like(self, other: PrintedLoads) -> bool:
        """Whether both have the same rows and columns."""
        return self.convert == other.convert and self.names == other.names


def joined_loads(parts: Sequence[Mapping[str, Load]]) -> Mapping[str, Load]:
    """Return the loads of all *parts*, which are of different devices; as one table if they have the same columns."""
    tables = [loads for loads in parts if isinstance(loads, PrintedLoads)]
    if len(tables) == len(parts) and all(table.convert == tables[0].convert for table in tables):
        names = tuple(chain.from_iterable(table.names for table in tables))
        printed = tuple(chain.from_iterable(table.printed for table in tables))
        return PrintedLoads(names, printed, tables[0].convert)
    return {name: load for loads in parts for name, load in loads.items()}


def sum_tables(
    tables: Sequence[PrintedLoads], weights: Sequence[float], before: Mapping[str, Load] | None
) -> dict[str, Load]:
    """
    Return *before* plus those of *tables* times their *weights* (none: 1); all have the same rows and columns.

    A figure that one of them lacks is unknown. *before*: None for nothing. A log of hours has millions of
    rows: their columns are added up without a ``Load`` for each row.
    """
    names, convert = tables[0].names, tables[0].convert
    columns = convert([*chain.from_iterable(table.printed for table in tables)])
    starts = zip(
        *(_figures(IDLE if before is None else before[name]) for name in names), strict=True
    )
    return _loads_in(
        [
            column
            and [sum_or_none(column[n :: len(names)], weights, start[n]) for n in range(len(names))]
            for column, start in zip(columns, starts, strict=True)
        ],
        names,
    )


def _figures(load: Load) -> tuple[float | None, ...]:
    """Return the figures of *load* in the order of the columns of a ``PrintedLoads``."""
    whole = load.whole or (ZERO if load is IDLE else NONE)
    flows = (load.read, load.write, load.discard, load.flush, whole)
    return (*chain.from_iterable(flows), load.aqu, load.busy)


def _loads_in(columns: Sequence[Column | None], names: Sequence[str]) -> dict[str, Load]:
    """Return the load of each row, by its name."""
    flows = (_flows_in(columns[first : first + len(NONE)]) for first in range(0, 20, len(NONE)))
    read, write, discard, flush, both = flows
    whole = (None if flow == NONE else flow for flow in both)
    aqu, busy = (repeat(None) if column is None else column for column in columns[20:])
    rows = zip(read, write, discard, flush, whole, aqu, busy, repeat(None), strict=False)
    return dict(zip(names, map(make_load, rows), strict=False))


def _flows_in(columns: Sequence[Column | None]) -> Iterable[Flow]:
    if columns.count(None) == len(columns):
        return repeat(NONE)
    rows = zip(*(repeat(None) if column is None else column for column in columns), strict=False)
    return map(make_flow, rows)


def sum_or_none(figures: Column, weights: Sequence[float], start: float | None) -> float | None:
    """Return *start* plus the figures times their *weights* (none: 1); None if one is unknown."""
    try:
        if start is None:
            return None
        return sum_in_order(map(mul, figures, weights) if weights else figures, start)
    except TypeError:  # one is None
        return None


def ratio(above: float | None, below: float | None) -> float | None:
    """Return *above* ÷ *below*; None if either is unknown or *below* is 0."""
    if above is None or not below:
        return None
    return above / below


def plus(a: float | None, b: float | None) -> float | None:
    """Return the sum; None if either is unknown."""
    return None if a is None or b is None else a + b


def total_of(figures: Iterable[float | None]) -> float | None:
    """Return the sum; None if one figure is unknown."""
    total = 0.0
    for figure in figures:
        if figure is None:
            return None
        total += figure
    return total


def sum_in_order(figures: Iterable[float], start: float = 0.0) -> float:
    """
    Return *start* plus the figures, rounded after each.

    From Python 3.12 on, sum() compensates for rounding. Its last digit would depend on how many
    figures are added at a time, and two commands would differ in it. Before, sum() does as this.
    """
    return sum(figures, start) if SUM_ROUNDS else reduce(add, figures, start)


SUM_ROUNDS = sum([1.0, 2.0**-53, 2.0**-53]) == 1.0  # after each figure


def sum_flows(flows: Iterable[Flow]) -> Flow:
    """Return the sum; a figure unknown in one flow is unknown in the sum."""
    return sum(flows, start=ZERO)


def sum_loads(loads: Sequence[Load]) -> Load:
    """Return the sum; its queue depth is the sum of theirs, and its busy time is unknown."""
    read, write, discard, flush = (
        sum_flows(load.flow(kind) for load in loads)
        for kind in ("read", "write", "discard", "flush")
    )
    whole = sum_flows(load.total for load in loads) if any(load.whole for load in loads) else None
    aqu = total_of(load.aqu for load in loads)
    return Load(read, write, discard, flush, whole=whole, aqu=aqu)


class Metric(NamedTuple):
    """
    ``key`` in JSON, in the unit ``unit`` there; ``heading`` in tables.

    ``divisor`` converts the value to the unit of the heading (KiB). ``extended``:
    only with --extended.
    """

    key: str
    heading: str
    unit: str
    help: str
    value: Callable[[Load], float | None]
    divisor: float = 1
    extended: bool = False


METRICS = (
    Metric("reads", "r/s", "requests/s", "Reads completed.", lambda load: load.read.ios),
    Metric("writes", "w/s", "requests/s", "Writes completed; an empty flush counts as one.", lambda load: load.write.ios),
    Metric("read_bytes", "rKiB/s", "bytes/s", "Bytes read.", lambda load: load.read.bytes, 1024),
    Metric("write_bytes", "wKiB/s", "bytes/s", "Bytes written.", lambda load: load.write.bytes, 1024),
    Metric("read_size", "rKiB", "bytes", "Mean size of a completed read.", lambda load: load.read.size, 1024),
    Metric("write_size", "wKiB", "bytes", "Mean size of a completed write.", lambda load: load.write.size, 1024),
    Metric("read_await", "r_await", "ms", "Mean time per read, queueing included.", lambda load: load.read.await_ms),
    Metric("write_await", "w_await", "ms", "Mean time per write, queueing included.", lambda load: load.write.await_ms),
    Metric("aqu", "aqu", "requests", "Requests in flight, on average.", lambda load: load.aqu),
    Metric("tps", "tps", "requests/s", "Reads and writes completed together.", lambda load: load.total.ios, extended=True),
    Metric("await", "await", "ms", "Mean time per read or write.", lambda load: load.total.await_ms, extended=True),
    Metric("read_merges", "rmrg/s", "requests/s", "Reads merged into others on arrival.", lambda load: load.read.merges, extended=True),
    Metric("write_merges", "wmrg/s", "requests/s", "Writes merged into others on arrival.", lambda load: load.write.merges, extended=True),
    Metric("discards", "d/s", "requests/s", "Discards completed.", lambda load: load.discard.ios, extended=True),
    Metric("discard_bytes", "dKiB/s", "bytes/s", "Bytes discarded.", lambda load: load.discard.bytes, 1024, extended=True),
    Metric("discard_await", "d_await", "ms", "Mean time per discard.", lambda load: load.discard.await_ms, extended=True),
    Metric("flushes", "f/s", "requests/s", "Flush requests completed by the disk.", lambda load: load.flush.ios, extended=True),
    Metric("flush_await", "f_await", "ms", "Mean time per flush.", lambda load: load.flush.await_ms, extended=True),
    Metric(
        "busy", "busy%", "share", "Time with a request in flight: busy, not saturated.",
        lambda load: load.busy, 0.01, extended=True,
    ),
)  # fmt: skip
# Of reads and writes together, for a source that has no others, such as `iostat -xs`.
TOGETHER = (
    Metric("bytes", "KiB/s", "bytes/s", "Bytes read and written together.", lambda load: load.total.bytes, 1024, extended=True),
    Metric("size", "KiB", "bytes", "Mean size of a completed read or write.", lambda load: load.total.size, 1024, extended=True),
)  # fmt: skip
# iostat's headings of the same figures, for the names of columns; its kB are KiB.
SYSSTAT_HEADINGS = {
    "Device": "DEVICE", "rkB/s": "rKiB/s", "wkB/s": "wKiB/s", "dkB/s": "dKiB/s", "rareq-sz": "rKiB", "wareq-sz": "wKiB",
    "aqu-sz": "aqu", "avgqu-sz": "aqu", "rrqm/s": "rmrg/s", "wrqm/s": "wmrg/s", "%util": "busy%", "util": "busy%",
}  # fmt: skip


def on_one_line(heading: str) -> str:
    r"""
    Return a heading of two lines as one.

    >>> on_one_line("size\nKiB")
    'size KiB'
    """
    return heading.replace("\n", " ")
