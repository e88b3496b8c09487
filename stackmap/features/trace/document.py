"""What a trace measured: latency and sizes per layer, and the row updates of parity arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.document.blocks import (
    RANGE,
    Block,
    Cell,
    Column,
    Headline,
    Label,
    Listing,
    Paragraph,
    Row,
    Rows,
    Table,
    Value,
)
from stackmap.document.layers import counted, layout_words
from stackmap.document.wording import UNKNOWN, divided, duration, kib, number, percent, plural
from stackmap.features.trace.distribution import PERCENTILES, Distribution, Range
from stackmap.features.trace.drawing import latency_histogram, latency_over_time
from stackmap.features.trace.row_updates import SOUND, RowUpdates
from stackmap.features.trace.stacks import Requests, TracedLayer, TracedStack
from stackmap.model.trace import BOTH, READ, WRITE, Trace

TITLES = {READ: "READS", WRITE: "WRITES", BOTH: "READS AND WRITES"}
COLUMNS = (
    Column("", "layer", ("part", "member"), is_text=True),
    Column("requests", "requests"),
    *(Column(f"{share}\nms", f"{share.replace('.', '')}_ms", RANGE) for share in ("p50", "p90", "p99", "p99.9", "max")),
    Column("p50\nKiB", "size_p50_bytes"),
    Column("max\nKiB", "size_max_bytes"),
    Column("sequential\n%", "sequential_share"),
)  # fmt: skip
MEANINGS = {
    "requests": "Requests that arrived, empty flushes left out.",
    "p50 … p99.9, max": "Latency that this share of the requests did not exceed, in milliseconds.",
    "KiB": "Size of the requests on arrival: median and largest.",
    "sequential": "Share of the requests that began where the device's previous one ended.",
    "self-check": "Data pages of all rows ÷ pages written to the array: 1.0000 if no row is missing.",
}
LEGEND = (
    "Latency in ms from a request's arrival at the layer to its end; sizes in KiB on arrival; "
    "sequential: requests that begin where the device's previous one ended; a range: no finer "
    "figure exists; - unknown"
)
QUEUED, SERVED = " queue to dispatch", " dispatch to end"
NO_SIZES = ("", "", "")
MILLION = 10**6
IDLE = "No requests arrived in this time."


def trace_document(stacks: Iterable[TracedStack], trace: Trace) -> Iterator[Block]:
    """Yield the figures of each stack, then what limits them."""
    shown = list(stacks)
    for stack in shown:
        yield from _stack(stack, trace)
    if not shown:
        yield Paragraph(IDLE)
    yield from _limits(trace)


def _stack(stack: TracedStack, trace: Trace) -> Iterator[Block]:
    title = (
        stack.top.full_title,
        layout_words(stack.top.layout),
        duration(round(trace.seconds, 1)),
    )
    yield Headline(title)
    groups = [
        Rows(rows, TITLES[direction], direction)
        for direction in (READ, WRITE, BOTH)
        if (rows := tuple(row for layer in stack.layers for row in _rows(layer, direction)))
    ]
    if not groups:
        yield Paragraph(IDLE)
        return
    yield Table(
        f"trace-{stack.top.name}",
        COLUMNS,
        tuple(groups),
        legend=LEGEND,
        about=(("stack", stack.top.title), ("device", stack.top.name)),
        group="direction",
    )
    found = [*_slow(stack), *_row_sentences(stack)]
    if found:
        yield Listing(tuple(found))
    for direction in (READ, WRITE, BOTH):
        yield from latency_histogram(stack, direction, TITLES[direction].capitalize())
    yield from latency_over_time(stack, trace.seconds)


def _rows(layer: TracedLayer, direction: str) -> Iterator[Row]:
    """Yield the row of a layer, and one per device if its devices differ."""
    if direction not in layer.requests:
        return
    named = counted(len(layer.layer.devices), layer.layer.word)
    whole = layer.requests[direction]
    role = layer.layer.role
    yield (Label(named, (role, "", "")), *_cells(whole))
    for words, part in ((QUEUED, whole.queued), (SERVED, whole.served)):
        if part.count:
            label = Label(words, (role, words.strip(), ""))
            yield (label, Value(part.count, _count), *_times(part), *NO_SIZES)
    if len(layer.devices) > 1:
        for name, requests in layer.devices.items():
            if direction in requests:
                yield (
                    Label(f" {layer.titles[name]}", (role, "", name)),
                    *_cells(requests[direction]),
                )


def _cells(requests: Requests) -> Row:
    sizes = requests.size
    return (
        Value(requests.arrived, _count),
        *_times(requests.latency),
        *(Value(size and size.low, kib) for size in (sizes.percentile(0.5), sizes.max)),
        Value(requests.sequential, divided(0.01, 0)),
    )


def _count(count: float | None) -> str:
    return str(count)


def _times(found: Distribution) -> Iterator[Cell]:
    """Yield the cells of the percentiles and the maximum."""
    for share in PERCENTILES.values():
        yield _ms(found.percentile(share))
    yield _ms(found.max)


def _ms(found: Range | None) -> Cell:
    """
    Return a time with three digits, as a range if its bucket is wide.

    >>> str(_ms(Range(20000000, 20480000))), str(_ms(Range(1000000, 4000000))), str(_ms(None))
    ('20.2', '1.00-4.00', '-')
    """
    if found is None:
        return Value(None, number)
    middle, low, high = (time / MILLION for time in (found.middle, found.low, found.high))
    if found.exact:
        return Value(middle, _three_digits)
    return Value(middle, lambda _: f"{_three_digits(low)}-{_three_digits(high)}", low, high)


def _three_digits(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f}"


def _slow(stack: TracedStack) -> Iterator[str]:
    for direction, word in ((READ, "read"), (WRITE, "write"), (BOTH, "")):
        for layer in stack.layers:
            slow = layer.slow_device(direction)
            if slow is not None:
                name, times = slow
                words = f"median {word} latency" if word else "median latency"
                yield f"{layer.titles[name]} is slow: its {words} is {times:.1f}× that of the next slowest of its layer"


def _row_sentences(stack: TracedStack) -> Iterator[str]:
    rows = stack.rows
    if rows is None:
        return
    of = "" if rows.device is stack.top else f" of {rows.device.title}"
    if rows.reason:
        yield f"row updates{of} are unknown: {rows.reason}"
        return
    kinds = (
        f"{number(rows.full, 0)} full stripe",
        f"{rows.reconstruct} reconstruct-write",
        f"{rows.read_modify} read-modify-write",
    )
    yield f"row updates{of}: {', '.join(kinds)}; by data pages per row: {_pages(rows)}"
    yield f"full-stripe writes: {percent(rows.full_share)} of bytes written{_range(stack)}"
    yield _self_check(rows)


def _pages(rows: RowUpdates) -> str:
    shown = [f"{k}: {n:.0f}" for k, n in rows.by_pages.items() if round(n)]
    return ", ".join(shown) or "none"


def _range(stack: TracedStack) -> str:
    parity = stack.parity
    if parity is None or parity.full_stripe_low is None or parity.full_stripe_high is None:
        return f" (the counters give no range: {parity.reason})" if parity and parity.reason else ""
    return (
        f" (the counters give {percent(parity.full_stripe_low)} to "
        f"{percent(parity.full_stripe_high)})"
    )


def _self_check(rows: RowUpdates) -> str:
    if rows.self_check is None:
        return f"self-check: not possible: {rows.doubt or 'no sizes of requests'}"
    words = f"self-check: the rows hold {rows.self_check:.4f} of the bytes written"
    if abs(rows.self_check - 1) > SOUND:
        return f"{words}, not 1.0000; do not rely on these rows"
    return words


def _limits(trace: Trace) -> Iterator[Block]:
    """Yield what is missing, the cost of the trace, and the hits that it lost."""
    for note in trace.notes:
        yield Paragraph(note, "note:")
    cost = f"; {words}" if (words := overhead_words(trace)) else ""
    yield Paragraph(f"sources: {', '.join(trace.sources)}{cost}; {_lost(trace)}")


def overhead_words(trace: Trace) -> str:
    """Return the share of all CPU time that a trace took, and its time per request; "" if unknown."""
    if trace.overhead is None:
        return ""
    most = "" if trace.peak is None else f" ({percent(trace.peak, 2)} in the busiest second)"
    each = ", from an assumed cost per request"
    if trace.added is not None:
        layer, disk = (seconds * MILLION for seconds in trace.added)
        each = f", {layer:.1f} µs per request at each layer, {disk:.1f} µs more at a disk"
    return f"overhead about {percent(trace.overhead, 2)} of all CPU time{most}{each}"


def _lost(trace: Trace) -> str:
    lost = trace.missed + trace.dropped
    if not lost:
        return "no hit was lost"
    return (
        f"{plural(lost, 'hit')} lost ({trace.missed} not run by the kernel, "
        f"{trace.dropped} without room in a map)"
    )
