"""What the kernel's texts of a trace say: counts by device and direction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from stackmap.errors import ParseError
from stackmap.features.trace import dm_stats
from stackmap.features.trace import probes as trace_probes
from stackmap.features.trace.record import TraceRecord
from stackmap.model.trace import BOTH, READ, WRITE, Counts, Key, Rows, Trace
from stackmap.model.units import SECTOR
from stackmap.sources import trace_histogram
from stackmap.sources.trace_histogram import Entry, Histogram, number_of

OPERATIONS = {trace_probes.READ_OP: READ, trace_probes.WRITE_OP: WRITE}


def parse(record: TraceRecord) -> Trace:
    """Return what *record* counted; ``ParseError`` if its texts are not the kernel's."""
    found = {event: trace_histogram.parse(text) for event, text in record.texts.items()}
    latencies, rows, gaps = (
        found.get(each)
        for each in (trace_probes.LATENCY_EVENT, trace_probes.ROW_EVENT, trace_probes.GAP_EVENT)
    )
    return Trace(
        record.seconds,
        latency=_dm_latency(record.dm_stats) if latencies is None else _latency(latencies),
        queued=_latency(found.get(trace_probes.QUEUED_EVENT, ())),
        served=_latency(found.get(trace_probes.SERVED_EVENT, ())),
        sizes=_sizes(found.get(trace_probes.QUEUE_EVENT, ())),
        dispatched=_sizes(found.get(trace_probes.ISSUE_EVENT, ())),
        sequential=None if gaps is None else {key_of(e): e.hits for e in entries_of(gaps)},
        rows=None if rows is None else _rows(rows, record.dm_major),
        member_bytes=_member_bytes(found.get(trace_probes.SUBMIT_EVENT, ())),
        overhead=record.overhead,
        peak=record.peak,
        added=record.added,
        missed=record.missed,
        dropped=sum(each.dropped for group in found.values() for each in group),
        sources=tuple(record.sources),
        notes=tuple(record.notes),
        slices=tuple(_latency(trace_histogram.parse(text)) for text in record.slices),
    )


def key_of(entry: Entry) -> Key:
    """Return the device and the direction of an entry; ``ParseError`` without them."""
    operation = OPERATIONS.get(entry.number("op"))
    if operation is None:
        raise ParseError(f"histogram: unknown operation {entry.number('op')}")
    return number_of(entry.number("dev")), operation


def _latency(histograms: Iterable[Histogram]) -> Mapping[Key, Counts]:
    found: defaultdict[Key, Counter[tuple[int, int]]] = defaultdict(Counter)
    for entry in entries_of(histograms):
        found[key_of(entry)][entry.bucket("lat")] += entry.hits
    return found


def _dm_latency(texts: Mapping[str, str]) -> Mapping[Key, Counts]:
    """Return the latencies of dm devices; a direction has its own only if the other one was idle."""
    found: dict[Key, Counts] = {}
    for number, text in texts.items():
        stats = dm_stats.parse(text)
        direction = BOTH if stats.reads and stats.writes else READ if stats.reads else WRITE
        if stats.latency:
            found[number, direction] = stats.latency
    return found


def _sizes(histograms: Iterable[Histogram]) -> Mapping[Key, Counts]:
    found: defaultdict[Key, Counter[tuple[int, int]]] = defaultdict(Counter)
    for entry in entries_of(histograms):
        if "nr_sector" not in entry.keys:
            continue
        direction = _direction(entry.text("rwbs"))
        size = entry.number("nr_sector") * SECTOR
        if direction and size:
            found[number_of(entry.number("dev")), direction][size, size + 1] += entry.hits
    return found


def _direction(flags: str) -> str:
    """Return the direction in a tracepoint's letters: "FWS" is a write, "D" and "F" are neither."""
    if "D" in flags or "N" in flags:
        return ""
    return READ if "R" in flags else WRITE if "W" in flags else ""


def _rows(histograms: Iterable[Histogram], dm_major: int) -> Mapping[str, Rows]:
    found: defaultdict[str, Counter[tuple[int, bool]]] = defaultdict(Counter)
    for entry in entries_of(histograms):
        if "unit" in entry.keys:
            number = number_of(entry.number("unit"))
        else:
            number = f"{dm_major}:{entry.number('dm')}"
        found[number][entry.number("pages"), entry.number("rcw") != 0] += entry.hits
    return found


def _member_bytes(histograms: Iterable[Histogram]) -> dict[str, int]:
    return {
        number_of(entry.number("dev")): entry.sums["size"]
        for entry in entries_of(histograms)
        if "size" in entry.sums
    }


def entries_of(histograms: Iterable[Histogram]) -> Iterable[Entry]:
    """Return the entries of all *histograms*."""
    return (entry for each in histograms for entry in each.entries)
