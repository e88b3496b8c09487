"""The simulation in words and tables: latency now and projected, headroom, agreement with the measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stackmap.document.blocks import Column, Label, Row, Rows, Table, Value
from stackmap.document.wording import (
    KIB,
    change_percent,
    divided,
    listed,
    number,
    percent,
    short,
    size,
)
from stackmap.model.reason import code_of

if TYPE_CHECKING:
    from stackmap.features.whatif.projection import LayoutLoad, Projection
    from stackmap.features.whatif.quantities import Band
    from stackmap.features.whatif.timing import TimeProjection

DIRECTIONS = ("read", "write")
COLUMNS = (
    Column("ms", "figure", is_text=True),
    Column("measured", "measured_ms"),
    Column("simulated", "simulated_ms"),
    Column("now", "now_ms"),
    Column("projected", "projected_ms"),
    Column("low", "low_ms"),
    Column("high", "high_ms"),
)
CACHE = (
    Column("cache", "cache_bytes", is_text=True),
    Column("reads\nhit", "read_hits"),
    Column("low", "read_hits_low"),
    Column("high", "read_hits_high"),
    Column("writes\nhit", "write_hits"),
    Column("low", "write_hits_low"),
    Column("high", "write_hits_high"),
)
KINDS = {
    "traced": "as traced",
    "open": "at random instants, whatever the latency (from the counters)",
    "closed": "in a loop: each one follows the end of another (from the counters)",
    "both": "at random instants or in a loop; the counters do not tell, and the range has both",
}


def conclusion(time: TimeProjection, *, is_check: bool) -> str:
    """Return latency and the disks' limit in one sentence."""
    parts = []
    for direction in reversed(DIRECTIONS):
        now, then = time.now.get(direction), time.projected.get(direction)
        if now and is_check:
            parts.append(f"{direction}s: {_ms(now['mean'])} ms (p95 {_ms(now['p95'])} ms)")
        elif now and then:
            ends = f"{_ends(then['mean'])} (p95 {_ends(then['p95'])})"
            parts.append(f"{direction}s: {_ms(now['mean'])} ms → {ends}")
    if time.busy is not None and time.busy_now is not None:
        before, after = (percent(min(1.0, at), 0) for at in (time.busy_now, time.busy.likely))
        if is_check:
            at = f"is at {before} of its limit"
        elif before == after:
            at = f"stays at {before} of its limit"
        else:
            at = f"is at {after} of its limit instead of {before}"
        with_others = ", with the load of other volumes," if time.crowded else ""
        parts.append(f"the busiest disk{with_others} {at}")
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


def latency_change(time: TimeProjection) -> str:
    """Return the mean latencies as projected, instead of now; "" if they are not projected."""
    parts = [
        f"a {direction} takes {after} instead of {before}"
        for direction, before, after in means(time)
    ]
    return f"on average, {listed(parts)}" if parts else ""


def means(time: TimeProjection) -> Iterator[tuple[str, str, str]]:
    """Yield each direction with its mean latency now, and its range as projected."""
    for direction in reversed(DIRECTIONS):
        now, then = time.now.get(direction), time.projected.get(direction)
        if now and then:
            yield direction, f"{_ms(now['mean'])} ms", _ends(then["mean"])


def sentences(time: TimeProjection, *, is_check: bool) -> Iterator[str]:
    """Yield headroom, rate and assumptions, or why nothing is projected."""
    if time.reason and code_of(time.reason) != "idle":
        yield f"Time is not projected: {time.reason}."
    if time.headroom_now is not None:
        room = time.headroom_now
        is_unknown = room.high > ALIKE * room.low
        factor = _range(room) if is_unknown else short(room.likely)
        now = f"Headroom: this load may grow to {factor} times as much"
        then = ""
        if not is_check and time.headroom is not None:
            then = f" now, and to {_range(time.headroom)} times as projected"
        others = "; the other volumes on its disks then wait longer" if time.crowded else ""
        yield f"{now}{then}{others}."
        if is_unknown:
            yield "It does not show how many requests the disks serve at once, which decides how much more fits."
    if time.iops is not None and time.iops_now is not None and not is_check and not time.reason:
        changed = time.iops.likely / time.iops_now if time.iops_now else 1.0
        if abs(changed - 1) > 0.05:
            yield (
                f"The volume would do {_range(time.iops)} requests/s instead of "
                f"{short(time.iops_now)} ({change_percent(changed, 0)})."
            )
    if time.unseen is not None:
        now, then = map(_ms, time.unseen)
        waits = f"{now} ms" if is_check else f"{now} ms now, {then} ms as projected"
        yield (
            f"A program that sends all requests from one thread waits longer than the volume shows: {waits} per "
            "request. Copies make the thread wait for the bitmap and for writeback throttling."
        )
    if time.arrivals is not None:
        yield f"Requests arrive {KINDS[time.arrivals]}."


def cache_sentences(projection: Projection) -> Iterator[str]:
    """Yield the hits of the cache by the trace, their range, and the assumptions."""
    scenario, time = projection.scenario, projection.time
    if scenario is None or scenario.cache is None:
        return
    from stackmap.features.whatif.cache import NO_OFFSETS

    cache, hits = scenario.cache, scenario.hits
    if hits is None:
        if time is None or time.reason != NO_OFFSETS:
            yield f"The cache is not projected: {NO_OFFSETS}."
        return
    shares = listed(
        [
            f"{percent(band.likely, 0)} of the {direction}s ({percent(band.low, 0)} to {percent(band.high, 0)})"
            for direction, band in hits.shares.items()
        ]
    )
    yield (
        f"A cache of {size(cache.size)} has the data for {shares}, in blocks of {size(cache.block)}, "
        "if it keeps those used last."
    )
    yield (
        f"The trace has {hits.requests} requests in {short(hits.seconds)} s, which use {size(hits.used)}; "
        f"{percent(hits.first, 0)} use a block for the first time. The range has a cache that was empty before, "
        "and one that had all it may have had: a longer trace narrows it."
    )
    mode = (
        "Writeback: a write that hits is done when the cache has it. Disk requests still include each write"
        if cache.writeback
        else "Writethrough: the volume gets each write, so the cache does not make writes faster"
    )
    device = f"{_ms(cache.seconds * 1000)} ms per request"
    assumed = ", assumed: state it as in --cache 10g:ssd:80us" if cache.is_assumed else ""
    yield f"{mode}. Cache device: {device}{assumed}."
    yield (
        f"What misses fills the cache with up to {size(hits.filled)}/s; only the high end of the times "
        "includes these copies."
    )


def cache_table(projection: Projection) -> Table | None:
    """Return the shares that hit by the size of the cache; None if not known."""
    if projection.scenario is None or projection.scenario.hits is None:
        return None
    rows: list[Row] = []
    for bytes_, shares in projection.scenario.hits.curve.items():
        values = (
            end for direction in DIRECTIONS for end in _likely_and_ends(shares.get(direction))
        )
        cells = (Value(value, _share) for value in values)
        rows.append((Label(size(bytes_), (f"{bytes_}",)), *cells))
    return Table("cache", CACHE, (Rows(tuple(rows)),), about=projection.about)


def _likely_and_ends(band: Band | None) -> tuple[float | None, ...]:
    return (band.likely, band.low, band.high) if band else (None, None, None)


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value, 0)


def time_table(projection: Projection, key: str) -> Table | None:
    """Return the latencies: the self-check, and now and projected; None if nothing is projected."""
    time = projection.time
    if time is None or time.reason:
        return None
    rows: list[Row] = []
    for direction in DIRECTIONS:
        for name in ("mean", "p50", "p95", "p99"):
            check = time.self_check.get(direction, {}).get(name)
            values = (
                check and check.measured,
                check and check.simulated,
                time.now.get(direction, {}).get(name),
                *_likely_and_ends(time.projected.get(direction, {}).get(name)),
            )
            if any(value is not None for value in values):
                text = f"{direction}s: {name}" if name == "mean" else f" {name}"
                cells = (Value(value, divided()) for value in values)
                rows.append((Label(text, (f"{direction}s: {name}",)), *cells))
    return Table(f"{key}-time", COLUMNS, (Rows(tuple(rows)),), about=projection.about)


LAYOUTS = (
    Column("layout", "layout", is_text=True),
    Column("disk\nrequests/s", "disk_requests_per_s"),
    Column("KiB/s", "disk_bytes_per_s"),
    Column("read\nms", "read_ms"),
    Column("write\nms", "write_ms"),
    Column("write\np95 ms", "write_p95_ms"),
    Column("headroom", "headroom"),
    Column("usable", "usable_bytes"),
)
ALIKE = 1.25  # factor between the ends of a range that is as good as one number
LATENCIES = ("read", "mean"), ("write", "mean"), ("write", "p95")


def layouts_table(projections: Sequence[Projection]) -> Table:
    """Return the present layout and each projected one: requests, bytes, time, headroom, space."""
    first = projections[0]
    now = first.time
    measured = [now and now.now.get(direction, {}).get(key) for direction, key in LATENCIES]
    rows = [
        _layout_row(
            f"now: {_layout_name(first.now.layout)}",
            first.now,
            measured,
            now and _likely(now.headroom_now),
        )
    ]
    for projection in projections:
        time, side = projection.time, projection.projected
        bands = [
            time and time.projected.get(direction, {}).get(key) for direction, key in LATENCIES
        ]
        times = [band.likely if band else None for band in bands]
        room = time and _likely(time.headroom)
        rows.append(_layout_row(_layout_name(side.layout), side, times, room))
    return Table("layouts", LAYOUTS, (Rows(tuple(rows)),), about=first.about)


def _likely(band: Band | None) -> float | None:
    return band.likely if band else None


def _layout_row(
    name: str, side: LayoutLoad, times: Sequence[float | None], room: float | None
) -> Row:
    """Return the row of one layout; *times*: its ``LATENCIES`` in ms."""
    requests = side.disks.requests
    return (
        Label(name, (name,)),
        Value(requests.likely if requests else None, divided()),
        Value(side.disks.bytes, divided(KIB, 1)),
        *(Value(value, divided()) for value in times),
        Value(room, divided()),
        Value(side.usable, lambda value: "-" if value is None else size(value)),
    )


def _layout_name(layout: object) -> str:
    return "one device" if layout is None else str(layout)


def reasons(projections: Sequence[Projection]) -> list[str]:
    """Return why layouts have no time, each reason once."""
    said: dict[str, list[str]] = {}
    for projection in projections:
        if projection.time is not None and projection.time.reason:
            said.setdefault(projection.time.reason, []).append(
                _layout_name(projection.projected.layout)
            )
    return [f"Time is not projected for {listed(names)}: {why}." for why, names in said.items()]


def _ms(value: float) -> str:
    """
    Return milliseconds with two or three digits.

    >>> _ms(54.3), _ms(8.25), _ms(0.0934)
    ('54.3', '8.2', '0.09')
    """
    return number(value, 0 if value >= 100 else 1 if value >= 1 else 2)


def _ends(band: Band) -> str:
    return f"{_ms(band.low)} to {_ms(band.high)} ms"


def _range(band: Band) -> str:
    return f"{short(band.low)} to {short(band.high)}"
