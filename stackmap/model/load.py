"""
What a device did over an interval, a second: the one form that counters and texts are brought to.

Counters give everything; an ``iostat -x`` text most of it; ``sar -d`` only the
sum of reads and writes. So every figure may be None, "cannot be known", which
is never 0: a device that did nothing has zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Flow:
    """
    One kind of I/O on one device, a second.

    ``ios``: requests completed. ``merges``: requests that were merged into
    others on arrival (0 where the driver cannot merge, None where the source
    does not say). ``bytes``. ``wait``: milliseconds all its requests together
    took, so that ``wait / ios`` is await.
    """

    ios: float | None = None
    merges: float | None = None
    bytes: float | None = None
    wait: float | None = None

    @property
    def arrivals(self) -> float | None:
        """What was sent here from above: completions and those merged into them."""
        if self.ios is None or self.merges is None:
            return None
        return self.ios + self.merges

    @property
    def size(self) -> float | None:
        """Mean bytes a completed request; None when nothing completed."""
        return ratio(self.bytes, self.ios)

    @property
    def await_ms(self) -> float | None:
        """Mean milliseconds a request; None when nothing completed."""
        return ratio(self.wait, self.ios)

    # Written out: a log of hours scales and adds millions of flows.

    def scaled(self, factor: float) -> Flow:
        """Return this flow times *factor*."""
        if self is NONE or self is ZERO:
            return self
        return Flow(
            None if self.ios is None else self.ios * factor,
            None if self.merges is None else self.merges * factor,
            None if self.bytes is None else self.bytes * factor,
            None if self.wait is None else self.wait * factor,
        )

    def __add__(self, other: Flow) -> Flow:
        if self is NONE or other is NONE:
            return NONE
        if self is ZERO or other is ZERO:
            return other if self is ZERO else self
        return Flow(
            None if self.ios is None or other.ios is None else self.ios + other.ios,
            None if self.merges is None or other.merges is None else self.merges + other.merges,
            None if self.bytes is None or other.bytes is None else self.bytes + other.bytes,
            None if self.wait is None or other.wait is None else self.wait + other.wait,
        )

    def or_else(self, other: Flow) -> Flow:
        """Return this flow, with what it does not know from *other*."""
        return Flow(
            other.ios if self.ios is None else self.ios,
            other.merges if self.merges is None else self.merges,
            other.bytes if self.bytes is None else self.bytes,
            other.wait if self.wait is None else self.wait,
        )


DIRECTIONS = ("read", "write", "discard", "total")  # of a load; total is reads and writes

NONE = Flow()
ZERO = Flow(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Load:
    """
    All that a device did over an interval, a second.

    ``whole`` is reads and writes together where a source says only that
    (``sar -d``, ``iostat -d``); else it is None and ``total`` adds the two.
    ``aqu``: requests in flight on average; ``at_ends``: at its two ends,
    together, where a source says. ``busy``: the share of time with a
    request in flight, 0…1; never a capacity (the man page says why).
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
        both = self.read + self.write
        if self.whole is None:
            return both
        return self.whole.or_else(both)

    @property
    def idle(self) -> bool:
        """Nothing read or written; a load that says nothing is not idle."""
        if self is IDLE:
            return True
        return self.total.ios == 0 and not self.total.bytes

    def without_merges(self) -> Load:
        """Return this load of a device whose driver never merges (bio-based dm, md): merges are 0."""
        whole = None if self.whole is None else replace(self.whole, merges=0.0)
        return replace(
            self,
            read=replace(self.read, merges=0.0),
            write=replace(self.write, merges=0.0),
            whole=whole,
        )

    def scaled(self, factor: float) -> Load:
        """Return this load with its requests and bytes times *factor* (a correction)."""
        return replace(
            self,
            read=self.read.scaled(factor),
            write=self.write.scaled(factor),
            whole=None if self.whole is None else self.whole.scaled(factor),
        )


IDLE = Load(ZERO, ZERO, ZERO, ZERO, aqu=0.0, busy=0.0, in_flight_at_ends=0)


def ratio(above: float | None, below: float | None) -> float | None:
    """Return *above* ÷ *below*; None where either is unknown or *below* is 0."""
    if above is None or not below:
        return None
    return above / below


def plus(a: float | None, b: float | None) -> float | None:
    """Return the sum, unknown if either is."""
    return None if a is None or b is None else a + b


def sum_flows(flows: Iterable[Flow]) -> Flow:
    """Add flows up; a figure that one of them lacks is unknown in the sum."""
    total = ZERO
    for flow in flows:
        total = total + flow
    return total
