"""What the simulation says: latency now and projected, headroom, and how well it agrees with the measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from stackmap.document.blocks import Column, Label, Row, Rows, Table, Value
from stackmap.document.wording import change_percent, listed, number, percent, short, size
from stackmap.model.reason import code_of

if TYPE_CHECKING:
    from stackmap.features.whatif.projection import LayoutLoad, Projection
    from stackmap.features.whatif.quantities import Band
    from stackmap.features.whatif.timing import TimeProjection, Wanted

WAYS = ("write", "read")
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
    parts = [
        f"{way}s: {_ms(time.now[way]['mean'])} ms → {_ends(time.projected[way]['mean'])} "
        f"(p95 {_ends(time.projected[way]['p95'])})"
        for way in WAYS
        if way in time.now and way in time.projected
    ]
    if is_check:
        parts = [
            f"{way}s: {_ms(time.now[way]['mean'])} ms (p95 {_ms(time.now[way]['p95'])} ms)"
            for way in WAYS
            if way in time.now
        ]
    if time.busy is not None and time.busy_now is not None:
        now = percent(min(1.0, time.busy_now), 0)
        then = percent(min(1.0, time.busy.likely), 0)
        parts.append(
            f"the busiest disk is at {now} of its limit"
            if is_check
            else f"the busiest disk is at {then} of its limit instead of {now}"
        )
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


def sentences(time: TimeProjection, *, is_check: bool) -> Iterator[str]:
    """Yield headroom and rate, and what was assumed; why nothing is projected, if so."""
    if time.reason and code_of(time.reason) != "idle":
        yield f"Time is not projected: {time.reason}."
    if time.headroom_now is not None:
        now = f"Headroom: this load may grow to {short(time.headroom_now)} times as much"
        then = ""
        if not is_check and time.headroom is not None:
            then = f" now, and to {_range(time.headroom)} times as projected"
        yield f"{now}{then}."
    if time.iops is not None and time.iops_now is not None and not is_check and not time.reason:
        changed = time.iops.likely / time.iops_now if time.iops_now else 1.0
        if abs(changed - 1) > 0.05:
            yield (
                f"The volume would do {_range(time.iops)} requests/s instead of "
                f"{short(time.iops_now)} ({change_percent(changed, 0)})."
            )
    if time.unseen is not None:
        yield (
            f"Programs wait about {_ms(time.unseen)} ms more per write now than the volume shows: writeback "
            "throttling holds them before their requests are in flight. The projected times include this."
        )
    if time.arrivals is not None:
        yield f"Requests arrive {KINDS[time.arrivals]}."


def cache_sentences(wanted: Wanted, time: TimeProjection | None) -> Iterator[str]:
    """Yield what the trace says about the cache, how far that is known, and what was assumed."""
    from stackmap.features.whatif.caching import NO_OFFSETS

    cache, hits = wanted.cache, wanted.hits
    if cache is None:
        return
    if hits is None:
        if time is None or time.reason != NO_OFFSETS:
            yield f"The cache is not projected: {NO_OFFSETS}."
        return
    shares = listed(
        [
            f"{percent(band.likely, 0)} of the {way}s ({percent(band.low, 0)} to {percent(band.high, 0)})"
            for way, band in hits.shares.items()
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


def cache_table(wanted: Wanted, about: tuple[tuple[str, str], ...]) -> Table | None:
    """Return the shares that hit by the size of the cache; None if not known."""
    if wanted.hits is None:
        return None
    rows: list[Row] = [
        (Label(size(bytes_), (f"{bytes_}",)), *(Value(value, _share) for value in _curve(shares)))
        for bytes_, shares in wanted.hits.curve.items()
    ]
    return Table("cache", CACHE, (Rows(tuple(rows)),), about=about)


def _curve(shares: Mapping[str, Band]) -> Iterator[float | None]:
    for way in reversed(WAYS):
        band = shares.get(way)
        yield from (band.likely, band.low, band.high) if band else (None, None, None)


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value, 0)


def time_table(projection: Projection, key: str) -> Table | None:
    """Return the latencies: the self-check, and now and projected; None if nothing is projected."""
    time = projection.time
    if time is None or time.reason:
        return None
    rows: list[Row] = []
    for way in reversed(WAYS):
        for name in ("mean", "p50", "p95", "p99"):
            check = time.self_check.get(way, {}).get(name)
            now = time.now.get(way, {}).get(name)
            band = time.projected.get(way, {}).get(name)
            if check is None and now is None and band is None:
                continue
            text = f"{way}s: {name}" if name == "mean" else f" {name}"
            ends = (band.likely, band.low, band.high) if band else (None, None, None)
            rows.append(
                (
                    Label(text, (f"{way}s: {name}",)),
                    *(
                        Value(value, _ms)
                        for value in (
                            check.measured if check else None,
                            check.simulated if check else None,
                            now,
                            *ends,
                        )
                    ),
                )
            )
    about = (("device", projection.device.name), ("label", projection.device.title))
    return Table(f"{key}-time", COLUMNS, (Rows(tuple(rows)),), about=about)


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


def layouts_table(projections: Sequence[Projection]) -> Table:
    """Return the present layout and each projected one: requests, bytes, time, headroom, space."""
    first = projections[0]
    now = first.time
    sides: list[tuple[str, LayoutLoad, Projection | None]] = [
        (f"now: {_name(first.now.layout)}", first.now, None),
        *((_name(each.projected.layout), each.projected, each) for each in projections),
    ]
    rows: list[Row] = []
    for name, side, each in sides:
        requests, moved = side.disks.requests, side.disks.bytes
        times: list[float | None]
        if each is None:
            times = [
                now.now.get(way, {}).get(key) if now else None
                for way, key in (("read", "mean"), ("write", "mean"), ("write", "p95"))
            ]
            room = now.headroom_now if now else None
        else:
            found = each.time
            bands = [
                found.projected.get(way, {}).get(key) if found else None
                for way, key in (("read", "mean"), ("write", "mean"), ("write", "p95"))
            ]
            times = [band.likely if band else None for band in bands]
            room = found.headroom.likely if found and found.headroom else None
        rows.append(
            (
                Label(name, (name,)),
                Value(requests.likely if requests else None, _number),
                Value(moved, lambda value: number(None if value is None else value / 1024)),
                *(Value(value, _ms) for value in times),
                Value(room, _number),
                Value(side.usable, lambda value: "-" if value is None else size(value)),
            )
        )
    about = (("device", first.device.name), ("label", first.device.title))
    return Table("layouts", LAYOUTS, (Rows(tuple(rows)),), about=about)


def _name(layout: object) -> str:
    return "one device" if layout is None else str(layout)


def reasons(projections: Sequence[Projection]) -> list[str]:
    """Return why layouts have no time, each reason once."""
    said: dict[str, list[str]] = {}
    for each in projections:
        if each.time is not None and each.time.reason:
            said.setdefault(each.time.reason, []).append(_name(each.projected.layout))
    return [f"Time is not projected for {listed(names)}: {why}." for why, names in said.items()]


def _number(value: float | None) -> str:
    return "-" if value is None else short(value)


def _ms(value: float | None) -> str:
    """
    Return milliseconds with two or three digits.

    >>> _ms(54.3), _ms(8.25), _ms(0.0934)
    ('54.3', '8.2', '0.09')
    """
    if value is None:
        return "-"
    return number(value, 0 if value >= 100 else 1 if value >= 1 else 2)


def _ends(band: Band) -> str:
    return f"{_ms(band.low)} to {_ms(band.high)} ms"


def _range(band: Band) -> str:
    return f"{short(band.low)} to {short(band.high)}"
