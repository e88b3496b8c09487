"""The figures of a trace for people: tables, sentences, histograms and heat maps."""

from collections.abc import Iterable, Iterator
from math import ceil

from stackmap.document import blocks as doc
from stackmap.document.layers import counted, layout_words
from stackmap.document.wording import UNKNOWN, divided, duration, kib, number, percent, plural
from stackmap.features.trace.figures import (
    PERCENTILES,
    Distribution,
    Range,
    Requests,
    RowUpdates,
    TracedLayer,
    TracedStack,
)
from stackmap.features.trace.record import BOTH, READ, WRITE, Trace, TraceRecord

TITLES = {READ: "READS", WRITE: "WRITES", BOTH: "READS AND WRITES"}
COLUMNS = (
    doc.Column("", "layer", ("part", "member"), is_text=True),
    doc.Column("requests", "requests"),
    *(doc.Column(f"{share}\nms", f"{share.replace('.', '')}_ms", doc.RANGE) for share in ("p50", "p90", "p99", "p99.9", "max")),
    doc.Column("p50\nKiB", "size_p50_bytes"),
    doc.Column("max\nKiB", "size_max_bytes"),
    doc.Column("sequential\n%", "sequential_share"),
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


def trace_document(stacks: Iterable[TracedStack], trace: Trace) -> Iterator[doc.Block]:
    """Yield the figures of each stack, then what limits them."""
    shown = list(stacks)
    for stack in shown:
        yield from _stack(stack, trace)
    if not shown:
        yield doc.Paragraph(IDLE)
    record = trace.record
    for note in record.notes:
        yield doc.Paragraph(note, "note:")
    yield doc.Paragraph(f"sources: {', '.join(record.sources)}{_overhead(record)}; {_lost(trace)}")


def _stack(stack: TracedStack, trace: Trace) -> Iterator[doc.Block]:
    title = (
        stack.top.full_title,
        layout_words(stack.top.layout),
        duration(round(trace.seconds, 1)),
    )
    yield doc.Headline(title)
    groups = [
        doc.Rows(rows, TITLES[direction], direction)
        for direction in (READ, WRITE, BOTH)
        if (rows := tuple(row for layer in stack.layers for row in _rows(layer, direction)))
    ]
    if not groups:
        yield doc.Paragraph(IDLE)
        return
    yield doc.Table(
        f"trace-{stack.top.name}",
        COLUMNS,
        tuple(groups),
        legend=LEGEND,
        about=(("stack", stack.top.title), ("device", stack.top.name)),
        group="direction",
    )
    sentences = [*_slow(stack), *_row_sentences(stack), *_withheld(stack)]
    if sentences:
        yield doc.Listing(tuple(sentences))
    for direction in (READ, WRITE, BOTH):
        yield from latency_histogram(stack, direction, TITLES[direction].capitalize())
    yield from latency_over_time(stack, trace.seconds)


def _rows(layer: TracedLayer, direction: str) -> Iterator[doc.Row]:
    """Yield the row of a layer, and one per device if its devices differ."""
    if direction not in layer.requests:
        return
    named = counted(len(layer.layer.devices), layer.layer.word)
    whole = layer.requests[direction]
    role = layer.layer.role
    yield (doc.Label(named, (role, "", "")), *_cells(whole))
    for words, part in ((QUEUED, whole.queued), (SERVED, whole.served)):
        if part.count:
            label = doc.Label(words, (role, words.strip(), ""))
            yield (label, doc.Value(part.count, divided(1, 0)), *_times(part), *NO_SIZES)
    if len(layer.devices) > 1:
        for name, requests in layer.devices.items():
            if direction in requests:
                yield (
                    doc.Label(f" {layer.titles[name]}", (role, "", name)),
                    *_cells(requests[direction]),
                )


def _cells(requests: Requests) -> doc.Row:
    sizes = requests.size
    return (
        doc.Value(requests.arrived, divided(1, 0)),
        *_times(requests.latency),
        *(doc.Value(size and size.low, kib) for size in (sizes.percentile(0.5), sizes.max)),
        doc.Value(requests.sequential, divided(0.01, 0)),
    )


def _times(distribution: Distribution) -> Iterator[doc.Cell]:
    for share in PERCENTILES.values():
        yield _ms(distribution.percentile(share))
    yield _ms(distribution.max)


def _ms(place: Range | None) -> doc.Cell:
    """
    Return a time with three digits, as a range if its bucket is wide.

    >>> str(_ms(Range(20000000, 20480000))), str(_ms(Range(1000000, 4000000))), str(_ms(None))
    ('20.2', '1.00-4.00', '-')
    """
    if place is None:
        return doc.Value(None, number)
    middle, low, high = (time / MILLION for time in (place.middle, place.low, place.high))
    if place.exact:
        return doc.Value(middle, _three_digits)
    return doc.Value(middle, lambda _: f"{_three_digits(low)}-{_three_digits(high)}", low, high)


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


def _withheld(stack: TracedStack) -> Iterator[str]:
    for layer in stack.layers:
        for name, by_direction in layer.devices.items():
            for direction, requests in by_direction.items():
                if requests.withheld:
                    yield (
                        f"no latencies of the {direction}s of {layer.titles[name]}: {requests.withheld}"
                    )


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
    if rows.self_check is None:
        yield f"self-check: not possible: {rows.doubt or 'no sizes of requests'}"
    else:
        yield f"self-check: the rows hold {rows.self_check:.4f} of the bytes written"


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


def _overhead(record: TraceRecord) -> str:
    """Return the share of all CPU time that a trace took, and its time per request; "" if unknown."""
    if record.overhead is None:
        return ""
    most = "" if record.peak is None else f" ({percent(record.peak, 2)} in the busiest second)"
    cost = ", from an assumed cost per request"
    if record.added is not None:
        layer, disk = (seconds * MILLION for seconds in record.added)
        cost = f", {layer:.1f} µs per request at each layer, {disk:.1f} µs more at a disk"
    return f"; overhead about {percent(record.overhead, 2)} of all CPU time{most}{cost}"


def _lost(trace: Trace) -> str:
    lost = trace.record.missed + trace.dropped
    if not lost:
        return "no hit was lost"
    return (
        f"{plural(lost, 'hit')} lost ({trace.record.missed} not run by the kernel, "
        f"{trace.dropped} without room in a map)"
    )


BAR = 16  # columns of the longest bar
ALL_BARS = 44  # columns of the bars of all layers
SHADES = " .:-=+*#%@"  # by the share of the most requests in a cell
TIME_UNITS = (("s", 10**9), ("ms", 10**6), ("µs", 1000), ("ns", 1))


def latency_histogram(stack: TracedStack, direction: str, title: str) -> Iterator[doc.Block]:
    """Yield the latency of each layer in powers of two, drawn."""
    shown = [
        (layer.layer.word, layer.requests[direction].latency)
        for layer in stack.layers
        if direction in layer.requests and layer.requests[direction].latency.count
    ]
    if shown:
        yield doc.Paragraph(f"{title} by latency:")
        yield doc.Code("\n".join(drawn(shown)))


def drawn(columns: list[tuple[str, Distribution]]) -> Iterator[str]:
    """
    Yield a line per power of two, with a bar and a count for each column.

    >>> for line in drawn([("disks", Distribution({(1000000, 1040000): 4, (3000000, 3100000): 1}))]):
    ...     print(line)
                        disks
      524 µs-1.0 ms     ################ 4
      1.0 ms-2.1 ms                      0
      2.1 ms-4.2 ms     ####             1
    """
    powers = [distribution.by_powers() for _, distribution in columns]
    used = [power for by_power in powers for power in by_power]
    bar = max(6, BAR if len(columns) == 1 else ALL_BARS // len(columns))
    width = bar + 9
    yield f"{'':20}{''.join(f'{title[: width - 1]:{width}}' for title, _ in columns)}".rstrip()
    for power in range(min(used), max(used) + 1):
        cells = []
        for distribution in powers:
            count = distribution.get(power, 0)
            longest = max(distribution.values(), default=1)
            marks = "#" * max(bool(count), round(bar * count / longest))
            cells.append(f"{f'{marks:{bar}} {count}':{width}}")
        yield f"  {_span(power):18}{''.join(cells)}".rstrip()


def latency_over_time(stack: TracedStack, seconds: float) -> Iterator[doc.Block]:
    """Yield the top's latency over time: a column per slice, darker for more requests."""
    for direction, parts in stack.over_time.items():
        yield doc.Paragraph(
            f"{direction.capitalize()}s of {stack.top.title} by latency over time, "
            f"{duration(round(seconds / len(parts), 1))} per column:"
        )
        yield doc.Code("\n".join(heat_map(parts)))


def heat_map(parts: list[Distribution]) -> Iterator[str]:
    r"""
    Yield a line per power of two, the slowest first.

    >>> slices = [Distribution({(1000000, 1040000): n}) for n in (0, 1, 50, 100)]
    >>> print(*heat_map(slices), sep="\n")
      524 µs-1.0 ms      .+@
    """
    powers = [part.by_powers() for part in parts]
    used = [power for by_power in powers for power in by_power]
    most = max(count for by_power in powers for count in by_power.values())
    for power in range(max(used), min(used) - 1, -1):
        cells = (_shade(by_power.get(power, 0) / most) for by_power in powers)
        yield f"  {_span(power):18}{''.join(cells)}".rstrip()


def _shade(share: float) -> str:
    """Return a character for a share of the most requests; a blank for none only."""
    return SHADES[ceil(share * (len(SHADES) - 1))]


def _span(power: int) -> str:
    return f"{short_time(2**power)}-{short_time(2 ** (power + 1))}"


def short_time(nanoseconds: float) -> str:
    """
    Return a time in its largest unit.

    >>> short_time(2**20), short_time(2**15), short_time(2**31)
    ('1.0 ms', '33 µs', '2.1 s')
    """
    unit, length = next(known for known in TIME_UNITS if nanoseconds >= known[1])
    value = nanoseconds / length
    return f"{value:.{1 if value < 10 and length > 1 else 0}f} {unit}"
