"""
When requests arrived at volumes, and what was pending then: events of the block layer beside the histograms.

Histograms have no order. To say how long requests take on another layout, their order is needed: whether the
next one waits for the end of an earlier one, how many come together, where on the volume they are.

A text of a line per event, oldest first: "Q NUMBER MICROSECONDS OPERATION SECTOR SECTORS THREAD", with " B" behind
it for a write that no program waits for, and "C NUMBER MICROSECONDS OPERATION END 0 0" when the request that ends
at that sector is done.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from stackmap.errors import ParseError
from stackmap.features.trace.tracefs import EVENTS, INSTANCE, MAX_FILTERED, filter_of
from stackmap.host.tracing import LiveTracingHost
from stackmap.ledger.layers import spreads
from stackmap.model.topology import Topology
from stackmap.model.units import SECTOR
from stackmap.sources import trace_text
from stackmap.sources.trace_text import BlockEvent, Step, device_of, integer

MOST = 200_000  # events; enough for a 99th percentile, and 10 MB of text
BUFFER = 4096  # KiB per CPU: 40,000 events between two looks
AT_ONCE = 32 << 20  # bytes of text per look
STEPS = {Step.QUEUE: "Q", Step.BIO_DONE: "C"}
FIELDS, BACKGROUND = 7, "B"  # words of a line; behind them, as above
DATA = frozenset({"read", "write", "flush"})


class TracedRequest(NamedTuple):
    """
    A request of a volume: seconds since the first event, "read", "write" or "flush", bytes.

    ``done``: when it ended, None if that was not seen. ``thread``: the one that submitted it. ``background``: a
    write that no program waits for, as the kernel's flags say.
    """

    time: float
    operation: str
    offset: int
    size: int
    thread: int
    done: float | None
    background: bool = False


def watched(topology: Topology, names: Collection[str]) -> tuple[list[str], str]:
    """
    Return the numbers of the devices whose layout ``whatif`` can change, as far as a filter has room.

    With a sentence on those for which it has none, "" if all are watched.
    """
    chosen = (topology[name] for name in names)
    numbers = [d.number for d in chosen if spreads(d) or not topology.above(d.name)]
    left_out = len(numbers) - MAX_FILTERED
    note = f"no times of arrival at {left_out} of {len(numbers)} volumes: the kernel filters {MAX_FILTERED} at a time"
    return numbers[:MAX_FILTERED], note if left_out > 0 else ""


class ArrivalStream:
    """Events of the devices *numbers* in stackmap's instance, until there are ``MOST``."""

    def __init__(self, host: LiveTracingHost, numbers: Collection[str]) -> None:
        self._host = host
        self._numbers = numbers
        self._lines: list[str] = []
        self._is_on = False

    def start(self) -> None:
        """Begin to record; ``SourceError`` where the kernel has no such events."""
        if not self._numbers or len(self._lines) >= MOST:
            return
        chosen = filter_of(map(device_of, self._numbers))
        self._host.write(f"{INSTANCE}/buffer_size_kb", str(BUFFER))
        for step in STEPS:
            self._host.write(f"{EVENTS}/block/block_{step}/filter", chosen)
            self._host.write(f"{EVENTS}/block/block_{step}/enable", "1")
        self._is_on = True

    @property
    def count(self) -> int:
        """How many events were read."""
        return len(self._lines)

    def look(self) -> None:
        """Read what is new; stop at ``MOST``."""
        if not self._is_on:
            return
        self._read()
        if len(self._lines) >= MOST:
            self.stop()

    def _read(self) -> None:
        text = self._host.drain(f"{INSTANCE}/trace_pipe", AT_ONCE)
        events = trace_text.parse_events(text.split("\n"))
        self._lines += filter(None, map(line_of, events))

    def stop(self) -> None:
        """Stop recording."""
        if self._is_on:
            self._is_on = False
            for step in STEPS:
                self._host.write(f"{EVENTS}/block/block_{step}/enable", "0")

    def text(self) -> str:
        """Stop; return all that was read."""
        self.look()
        self.stop()
        # Events of several CPUs come one CPU after the other.
        return "\n".join(sorted(self._lines, key=lambda line: int(line.split(" ", 3)[2])))


def line_of(event: BlockEvent) -> str:
    """Return *event* of a volume as a line; "" for what is no part of a request."""
    if event.operation not in DATA:
        return ""
    begin = f"{event.number} {event.time * 1e6:.0f} {event.operation}"
    if event.step is Step.QUEUE:
        mark = f" {BACKGROUND}" if event.operation == "write" and not event.is_waited_for else ""
        return f"Q {begin} {event.sector} {event.sectors} {event.pid}{mark}"
    if event.step is Step.BIO_DONE:
        return f"C {begin} {event.sector + event.sectors} 0 0"
    return ""


def requests_of(text: str) -> Mapping[str, tuple[TracedRequest, ...]]:
    """Return the requests in *text* by device, in their order; ``ParseError`` for another text."""
    requests: defaultdict[str, list[TracedRequest]] = defaultdict(list)
    flying: defaultdict[tuple[str, str, int], deque[int]] = defaultdict(deque)
    start: int | None = None
    for words in _lines(text):
        kind, number, operation = words[0], words[1], words[3]
        micros, sector, sectors, thread = map(integer, (words[2], *words[4:7]))
        start = micros if start is None else start
        time = (micros - start) / 1e6
        if kind == "Q":
            own = requests[number]
            flying[number, operation, sector + sectors].append(len(own))
            own.append(
                TracedRequest(
                    time,
                    operation,
                    sector * SECTOR,
                    sectors * SECTOR,
                    thread,
                    None,
                    background=len(words) > FIELDS,
                )
            )
        elif waiting := flying.get((number, operation, sector)):
            own, place = requests[number], waiting.popleft()
            own[place] = own[place]._replace(done=time)
    return {number: tuple(own) for number, own in requests.items()}


def _lines(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        words = line.split(" ")
        whole = len(words) == FIELDS or words[FIELDS:] == [BACKGROUND]
        if not whole or words[0] not in STEPS.values() or words[3] not in DATA:
            raise ParseError(f"trace: not an event: {line[:40]!r}")
        yield words
