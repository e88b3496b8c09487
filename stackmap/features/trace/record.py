"""
A trace as the kernel printed it, and the counts by device and direction in its texts.

``record --trace`` keeps the texts in a capture as one JSON object, so that a replay and a test parse what the
kernel printed.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from stackmap.errors import CaptureError, InputError, ParseError, SourceMissing
from stackmap.features.trace import dm_stats, probes
from stackmap.features.trace.arrivals import TracedRequest, requests_of
from stackmap.host import Host
from stackmap.host.capture_format import TRACE, loaded_json
from stackmap.model.units import SECTOR
from stackmap.sources import diskstats, trace_text
from stackmap.sources.trace_text import LIMIT, Entry, Histogram, number_of

READ, WRITE, BOTH = "read", "write", "both"

# Device as "major:minor", and direction; BOTH where a source does not tell them apart.
Key = tuple[str, str]
# Requests by bucket: the lowest value, and the first above it.
Counts = Mapping[tuple[int, int], int]
# Row updates by data pages written and whether the row was reconstructed.
Rows = Mapping[tuple[int, bool], int]


FORMAT = 1
BACKWARDS = 1 << 63  # ns: a bio's address was in use again, and its end came "before" its start


@dataclass(slots=True)
class TraceRecord:
    """
    What the kernel printed during a trace, and the CPU time of the trace.

    ``texts``: histograms by event. ``slices``: those of latency at instants during the trace, each without the
    entries that are as in the one before. ``dm_stats``: by device number.
    ``counters``: /proc/diskstats before and after, at ``times``. ``dm_major``: the major number of dm devices.
    ``hits``: how often probes fired; without probes, the requests. ``missed``: hits that the kernel skipped.
    ``cost``: mean CPU time per hit, in seconds. ``peak``: the highest share of all CPU time in any second.
    ``switching``: seconds that it took to let all histograms count, and to let none, together.
    ``added``: CPU time per request at each device, and in addition at a disk, in seconds.
    ``arrivals``: requests of the volumes one by one; see ``arrivals``. ``notes``: what is missing, and why.
    """

    times: tuple[float, float] = (0.0, 0.0)
    cpus: int = 1
    cost: float | None = None
    hits: int = 0
    missed: int = 0
    peak: float | None = None
    switching: float = 0.0
    added: tuple[float, float] | None = None
    dm_major: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    slices: list[str] = field(default_factory=list)
    dm_stats: dict[str, str] = field(default_factory=dict)
    counters: tuple[str, str] = ("", "")
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    arrivals: str = ""

    @property
    def seconds(self) -> float:
        """The length of the trace."""
        return max(self.times[1] - self.times[0], 0.001)

    @property
    def overhead(self) -> float | None:
        """The share of all CPU time that the probes took; None if the cost of a hit is unknown."""
        if self.cost is None:
            return None
        return self.hits * self.cost / self.seconds / self.cpus

    def in_flight(self, number: str) -> int:
        """Return how many requests the device *number* had in flight at the start and at the end together."""
        return sum(
            int(words[diskstats.GAUGE])
            for text in self.counters
            for words in map(str.split, text.splitlines())
            if len(words) > diskstats.GAUGE and ":".join(words[:2]) == number
        )

    def to_json(self) -> str:
        """Return the record as text."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "TraceRecord":
        """Return the record in a text of ``to_json``; ``CaptureError`` for any other text."""
        try:
            fields = loaded_json(text, TRACE)
            if fields.pop("format") != FORMAT:
                raise CaptureError(f"{TRACE}: of another version of stackmap")
            record = cls(**fields)
            record.times = (float(record.times[0]), float(record.times[1]))
            if record.added is not None:
                record.added = (float(record.added[0]), float(record.added[1]))
            record.counters = (str(record.counters[0]), str(record.counters[1]))
            record._require_types()
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise CaptureError(f"{TRACE}: damaged: {error}") from error
        return record

    def _require_types(self) -> None:
        whole = (self.cpus, self.hits, self.missed, self.dm_major)
        texts = (*self.texts.items(), *self.dm_stats.items(), self.slices, self.sources, self.notes)
        known = (share for share in (self.cost, self.peak, self.switching) if share is not None)
        shares = (*self.times, *known, *(self.added or ()))
        if not (
            all(type(number) is int and 0 <= number < LIMIT for number in whole)
            and self.cpus
            and isinstance(self.arrivals, str)
            and all(0 <= number < LIMIT for number in shares)
            and all(isinstance(part, (list, tuple)) for part in texts)
            and all(isinstance(text, str) for part in texts for text in part)
        ):
            raise ValueError("a value of the wrong kind")


def from_capture(host: Host) -> TraceRecord:
    """Return the trace in a capture; ``InputError`` if it has none."""
    try:
        text = host.read(TRACE)
    except SourceMissing as error:
        raise InputError(
            "the capture has no trace; record one with `stackmap record --trace`"
        ) from error
    return TraceRecord.from_json(text)


@dataclass(frozen=True, slots=True)
class Trace:
    """
    What was counted in ``seconds``; a device or direction that is absent was not counted.

    ``latency``: in nanoseconds. ``queued``, ``served``: its parts at a disk, until the dispatch to the driver and
    after it. ``sizes``: of requests on arrival, in bytes. ``dispatched``: sizes after merging in a disk's queue.
    ``sequential``: requests that began where the previous one of the device ended, ``rows``: row updates by
    parity array; None if they were not traced. ``member_bytes``: data and parity that md wrote, by member.
    ``dropped``: hits without room in a map; ``full``: the events with such maps. ``slices``: for each part of the time, the latencies that changed in
    it, counted from the start of the trace. ``record``: what was counted from; it has the cost of the trace too.
    """

    seconds: float
    latency: Mapping[Key, Counts] = field(default_factory=dict)
    queued: Mapping[Key, Counts] = field(default_factory=dict)
    served: Mapping[Key, Counts] = field(default_factory=dict)
    sizes: Mapping[Key, Counts] = field(default_factory=dict)
    dispatched: Mapping[Key, Counts] = field(default_factory=dict)
    sequential: Mapping[Key, int] | None = None
    rows: Mapping[str, Rows] | None = None
    member_bytes: Mapping[str, int] = field(default_factory=dict)
    dropped: int = 0
    full: frozenset[str] = frozenset()
    slices: tuple[Mapping[Key, Counts], ...] = ()
    record: TraceRecord = field(default_factory=TraceRecord)

    def requests(self, number: str) -> Sequence[TracedRequest]:
        """Return the requests of the volume *number* one by one; () if they were not kept."""
        return requests_of(self.record.arrivals).get(number, ())


OPERATIONS = {probes.READ_OP: READ, probes.WRITE_OP: WRITE}


def parse(record: TraceRecord) -> Trace:
    """Return the counts in *record*; ``ParseError`` if its texts are not the kernel's."""
    histograms = {event: trace_text.parse_histograms(text) for event, text in record.texts.items()}
    latencies, rows, gaps = (
        histograms.get(event)
        for event in (probes.LATENCY_EVENT, probes.ROW_EVENT, probes.GAP_EVENT)
    )
    return Trace(
        record.seconds,
        latency=_dm_latency(record.dm_stats) if latencies is None else _latency(latencies),
        queued=_latency(histograms.get(probes.QUEUED_EVENT, ())),
        served=_latency(histograms.get(probes.SERVED_EVENT, ())),
        sizes=_sizes(histograms.get(probes.QUEUE_EVENT, ())),
        dispatched=_sizes(histograms.get(probes.ISSUE_EVENT, ())),
        sequential=None if gaps is None else {key_of(e): e.hits for e in entries_of(gaps)},
        rows=None if rows is None else _rows(rows, record.dm_major),
        member_bytes={
            number_of(entry.number("dev")): entry.sums["size"]
            for entry in entries_of(histograms.get(probes.SUBMIT_EVENT, ()))
            if "size" in entry.sums
        },
        dropped=sum(histogram.dropped for group in histograms.values() for histogram in group),
        full=frozenset(e for e, group in histograms.items() if any(h.dropped for h in group)),
        slices=tuple(_latency(trace_text.parse_histograms(text)) for text in record.slices),
        record=record,
    )


def key_of(entry: Entry) -> Key:
    """Return the device and the direction of an entry; ``ParseError`` without them."""
    operation = OPERATIONS.get(entry.number("op"))
    if operation is None:
        raise ParseError(f"histogram: unknown operation {entry.number('op')}")
    return number_of(entry.number("dev")), operation


def _latency(histograms: Iterable[Histogram]) -> Mapping[Key, Counts]:
    counts: defaultdict[Key, Counter[tuple[int, int]]] = defaultdict(Counter)
    for entry in entries_of(histograms):
        bucket = entry.bucket("lat")
        if bucket[0] < BACKWARDS:
            counts[key_of(entry)][bucket] += entry.hits
    return counts


def _dm_latency(texts: Mapping[str, str]) -> Mapping[Key, Counts]:
    """Return the latencies of dm devices; a direction has its own only if the other one was idle."""
    by_key: dict[Key, Counts] = {}
    for number, text in texts.items():
        stats = dm_stats.parse(text)
        direction = BOTH if stats.reads and stats.writes else READ if stats.reads else WRITE
        if stats.latency:
            by_key[number, direction] = stats.latency
    return by_key


def _sizes(histograms: Iterable[Histogram]) -> Mapping[Key, Counts]:
    sizes: defaultdict[Key, Counter[tuple[int, int]]] = defaultdict(Counter)
    for histogram in histograms:
        filtered = _FILTERED.search(histogram.trigger)
        for entry in histogram.entries:
            if "nr_sector" not in entry.keys:
                continue
            # In a trace of before, the letters were a key.
            direction = _direction(filtered[1] if filtered else entry.text("rwbs"))
            size = entry.number("nr_sector") * SECTOR
            if direction and size:
                sizes[number_of(entry.number("dev")), direction][size, size + 1] += entry.hits
    return sizes


_FILTERED = re.compile(r'rwbs ~ "([RW])\*"')  # of the triggers of one direction


def _direction(flags: str) -> str:
    """
    Return the direction in a tracepoint's letters: "FWS" is a write, "D", "F" and WRITE_ZEROES are neither.

    WRITE_ZEROES is "N", or "WZ" (Linux 7.3).
    """
    if not {"D", "N", "Z"}.isdisjoint(flags):
        return ""
    return READ if "R" in flags else WRITE if "W" in flags else ""


def _rows(histograms: Iterable[Histogram], dm_major: int) -> Mapping[str, Rows]:
    rows: defaultdict[str, Counter[tuple[int, bool]]] = defaultdict(Counter)
    for entry in entries_of(histograms):
        if "unit" in entry.keys:
            number = number_of(entry.number("unit"))
        else:
            number = f"{dm_major}:{entry.number('dm')}"
        rows[number][entry.number("pages"), entry.number("rcw") != 0] += entry.hits
    return rows


def entries_of(histograms: Iterable[Histogram]) -> Iterable[Entry]:
    """Return the entries of all *histograms*."""
    return (entry for histogram in histograms for entry in histogram.entries)
