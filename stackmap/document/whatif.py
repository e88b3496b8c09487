"""What a projection says: the load now and on another layout, the range, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil

from stackmap.analysis.whatif.projection import DeviceLoad, Projection
from stackmap.analysis.whatif.quantities import Band, Stream, exact
from stackmap.document.blocks import Block, Headline, Listing, Paragraph, Rows, Table, Terms
from stackmap.document.describe import layout as described
from stackmap.document.units import KIB, UNKNOWN, change_percent, percent, rate, size
from stackmap.document.wording import change, listed, paragraph, plural, short
from stackmap.model.raid import Layout

HEADINGS = ("Per second", "now", "projected", "low", "high", "change")
CHECK_HEADINGS = ("Per second", "measured", "model", "low", "high", "error")
PERCENTILE_HEADINGS = ("Requests/s", "p50", "p95", "peak")
SEPARATE = "`iostat -dxy 1 60` does: give its output with --input."
WIDE = 3.0  # a band this many times as high as low has no likely value worth naming
VISIBLE = 0.02  # of the high end; a smaller difference needs no range in a sentence
NARROW = 0.005  # a band narrower than this has no visible width


def document(projection: Projection) -> Iterator[Block]:
    """Yield what ``whatif`` prints for one volume."""
    seconds = f"{projection.seconds:.1f} s in " if projection.seconds else ""
    measured = f"{seconds}{plural(projection.intervals, 'interval')}"
    yield Headline((projection.device.full_title, measured))
    yield from blocks(projection, "projection")


def blocks(projection: Projection, key: str) -> Iterator[Block]:
    """Yield the layouts, the load, the conclusion and the figures; *key* is unique on a page."""
    yield Paragraph(headline(projection), headline=True)
    yield Terms(
        (
            ("now", _layout(projection.now.layout)),
            ("projected", _layout(projection.projected.layout)),
            ("load", _load(projection)),
        )
    )
    yield Listing(conclusions(projection))
    if not projection.idle:
        yield comparison_table(projection, key)
        if projection.intervals > 1 and projection.levels:
            yield percentile_table(projection, f"{key}-percentiles")
        yield Listing(tuple(_caveats(projection)))


def _layout(layout: Layout | None) -> str:
    return "on one device" if layout is None else described(layout)


def _load(projection: Projection) -> str:
    if projection.total is not None:
        moved = (
            f" ({size(projection.read.bytes)}/s read, {size(projection.write.bytes)}/s written)"
            if projection.bytes_known
            else ""
        )
        return f"{_stream(projection.total, 'requests')}{moved}"
    parts = [_stream(projection.read, "reads"), _stream(projection.write, "writes")]
    if projection.flushes is None or round(projection.flushes, 2):
        parts.append(_flushes(projection.flushes))
    return ", ".join(parts)


def _flushes(flushes: float | None) -> str:
    return "flushes unknown" if flushes is None else f"{rate(flushes)} flushes/s"


def _stream(stream: Stream, name: str) -> str:
    mean = f" of {size(stream.size)}" if stream.requests else ""
    return f"{rate(stream.requests)} {name}/s{mean}"


def comparison_table(projection: Projection, key: str) -> Table:
    """Return the requests and bytes of members and disks, now and projected."""
    now, then = projection.now, projection.projected
    if projection.total is None:
        rows = (
            *_rows("members", now.members, then.members),
            *_rows("disks", now.disks, then.disks),
        )
    else:
        rows = tuple(_totals("members", now.members, then.members))
    return Table(key, CHECK_HEADINGS if projection.is_check else HEADINGS, (Rows(rows),))


def _rows(name: str, now: DeviceLoad, then: DeviceLoad) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one layer; the bitmap's requests count at the disks only."""
    disks = name == "disks"
    before, after = (at.requests if disks else at.data for at in (now, then))
    moved, moving = (at.bytes if disks else at.data_bytes for at in (now, then))
    yield _row(f"{name}: reads", now.read, then.read)
    yield _row(" writes", now.write, then.write)
    if disks:
        yield _row(" bitmap writes", _bitmap_requests(now), _bitmap_requests(then))
    yield _row(" requests", before, after)
    yield _row(f" per {name.removesuffix('s')}", _per_device(before, now), _per_device(after, then))
    yield _row(
        " KiB/s", *(None if value is None else exact(value / KIB) for value in (moved, moving))
    )


def _totals(name: str, now: DeviceLoad, then: DeviceLoad) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a layer whose reads and writes are not separate."""
    yield _row(f"{name}: requests", now.data, then.data)
    yield _row(
        f" per {name.removesuffix('s')}", _per_device(now.data, now), _per_device(then.data, then)
    )
    yield _row(
        " KiB/s", *(each and each.scaled(1 / KIB) for each in (now.total_bytes, then.total_bytes))
    )


def _bitmap_requests(devices: DeviceLoad) -> Band | None:
    return None if devices.metadata is None else devices.metadata.requests


def _per_device(requests: Band | None, devices: DeviceLoad) -> Band | None:
    return None if requests is None else requests.scaled(1 / max(1, devices.count))


def _row(title: str, now: Band | None, then: Band | None) -> tuple[str, ...]:
    """Return the cells of a row; the ends of the band only if it has a visible width."""
    before = None if now is None else now.likely
    if then is None:
        return (title, rate(before), UNKNOWN, "", "", UNKNOWN)
    wide = then.high - then.low >= NARROW
    ends = (rate(then.low), rate(then.high)) if wide else ("", "")
    changed = change_percent(then.likely / before, 0) if before else UNKNOWN
    return (title, rate(before), rate(then.likely), *ends, changed)


def percentile_table(projection: Projection, key: str) -> Table:
    """Return the median, the 95th percentile and the highest of all intervals."""
    rows = tuple(
        (name.replace("_", " "), rate(each.p50), rate(each.p95), rate(each.peak))
        for name, each in projection.levels.items()
    )
    return Table(key, PERCENTILE_HEADINGS, (Rows(rows),))


def headline(projection: Projection) -> str:
    """Return requests now and projected, and what a written byte costs, in one sentence."""
    if projection.idle:
        return f"{projection.device.title} was idle: there is no load to project."
    where, now, then = compared(projection)
    layout = projection.projected.layout
    level = "one device" if layout is None else layout.level
    if then.requests is None:
        return "The load below the volume cannot be projected."
    if now.requests is None:
        low_high = between(then.requests, short)
        return f"With {level}, {low_high} {where} requests/s; the present ones are unknown."
    rates = f"{requests_change(now.requests, then.requests)} {where} requests/s"
    rates += f" ({_changed(now.requests, then.requests)})"
    if projection.is_check:
        return f"{rates}: this is the present layout, so the change is the error of the model."
    costs = projection.costs
    if costs is None:
        return f"{rates}."
    return (
        f"{rates}; with {level}, each byte written costs {between(costs[1], two_digits)} disk bytes "
        f"instead of {two_digits(costs[0])}."
    )


def requests_change(now: Band, then: Band) -> str:
    """
    Return requests now and projected; the ends of the range alone where it is wide.

    >>> requests_change(exact(774), Band(307, 334, 384)), requests_change(exact(147), Band(216, 900, 24071))
    ('774 → 334', '147 → 216 to 24,071')
    """
    ends = f"{short(then.low)} to {short(then.high)}"
    return f"{short(now.likely)} → {ends if _is_wide(then) else short(then.likely)}"


def _changed(now: Band, then: Band) -> str:
    """Return the change of requests in percent, with the range of *then* where it has one."""
    if not now.likely:
        return "previously 0"
    if _is_wide(then):
        low, high = (change_percent(end / now.likely, 0) for end in (then.low, then.high))
        return f"{low} to {high}"
    changed = change_percent(then.likely / now.likely, 0)
    if then.high - then.low < NARROW:
        return changed
    return f"{changed}, range {short(then.low)} to {short(then.high)}"


def _is_wide(band: Band) -> bool:
    return band.high > WIDE * band.low


def two_digits(value: float) -> str:
    """Return a ratio with two decimals."""
    return f"{value:.2f}"


def between(band: Band, text: Callable[[float], str]) -> str:
    """Return the likely value of *band*, or its ends if they differ visibly."""
    if band.high - band.low <= VISIBLE * band.high:
        return text(band.likely)
    return f"{text(band.low)} to {text(band.high)}"


def compared(projection: Projection) -> tuple[str, DeviceLoad, DeviceLoad]:
    """Return the lowest layer whose requests are known on both sides: its name, now and projected."""
    now, then = projection.now, projection.projected
    if now.disks.requests is not None and then.disks.requests is not None:
        return "disk", now.disks, then.disks
    return "member", now.members, then.members


def effect(projection: Projection) -> str:
    """Return what the layout changes below the volume, in sentences."""
    return paragraph((headline(projection), details(projection)))


def details(projection: Projection) -> str:
    """Return the load per device and the throughput; "" if there is nothing to compare."""
    where, now, then = compared(projection)
    if projection.idle or now.requests is None or then.requests is None:
        return ""
    one = then.requests.scaled(1 / max(1, then.count))
    each = (
        f"Per {where}: {between(one, short) if _is_wide(one) else short(one.likely)} requests/s on "
        f"{plural(then.count, where)} instead of "
        f"{short(now.requests.likely / max(1, now.count))} on {now.count}."
    )
    return paragraph((each, _throughput(now, then)))


def _throughput(now: DeviceLoad, then: DeviceLoad) -> str:
    if not now.bytes or then.moved is None:
        return ""
    narrow = then.moved.high - then.moved.low <= VISIBLE * then.moved.high
    changed = f", {change(now.bytes, then.moved.likely)}" if narrow else ""
    return (
        f"Throughput below: {between(then.moved, size)}/s instead of {size(now.bytes)}/s{changed}."
    )


def capacity(projection: Projection) -> str:
    """Return how many members the layout needs for the present data; "" if unknown."""
    now, then, need = projection.now, projection.projected, projection.need
    if need is None or then.usable is None or now.usable is None or then.layout is None:
        return ""
    count, each, level = then.members.count, size(need.member_bytes), then.layout.level
    if projection.needs_larger:
        return (
            f"{level} needs larger members for {size(now.usable)}: {need.members} × {each}. With "
            f"members of the present size it holds {size(then.usable)}."
        )
    if need.members <= count:
        return (
            f"{plural(count, 'member')} of {each} hold {size(then.usable)}, enough for the present "
            f"{size(now.usable)}."
        )
    disks = size(need.members * need.member_bytes)
    larger = ceil(now.usable / then.layout.data_members)
    return (
        f"At the present member size ({each}), {level} needs {need.members} members for "
        f"{size(now.usable)}: {disks} of disks instead of "
        f"{size(now.members.count * need.member_bytes)}. With {count} it holds "
        f"{size(then.usable)}; with {plural(count, 'member')} of {size(larger)}, {size(now.usable)}."
    )


def room(projection: Projection) -> str:
    """Return the space for the new layout beside the present one by PV sizes, and what knows it exactly."""
    found = projection.room
    if found is None or projection.is_check:
        return ""
    least, most = size(min(found.free)), size(max(found.free))
    free = least if least == most else f"{least} to {most}"
    short_of = "" if found.suffices else " That is too little."
    layout = projection.projected.layout
    wanted = "LAYOUT" if layout is None else layout.level
    return (
        f"A copy on the new layout needs {size(found.member_bytes)} on each of "
        f"{plural(found.members, 'PV')}; by their sizes, the {plural(len(found.free), 'PV')} below have "
        f"at most {free} free each.{short_of} For LVM's free space, run `stackmap plan "
        f"{projection.device.title} --to {wanted}` as root."
    )


def conclusions(projection: Projection) -> tuple[str, ...]:
    """Return the load per device, the needed space, and how to learn what the input lacks."""
    if projection.is_check and not projection.idle:
        return ()
    parts = (details(projection), capacity(projection), room(projection), _lacking(projection))
    return tuple(filter(None, parts))


def _lacking(projection: Projection) -> str:
    if projection.total is None:
        return ""
    what = "requests" if projection.bytes_known else "requests and bytes"
    return f"The input does not separate reads and writes, so {what} are a range. {SEPARATE}"


def _caveats(projection: Projection) -> Iterator[str]:
    """Yield the evidence for the pattern of writes, and what limits the figures."""
    if projection.write.requests and projection.total is None:
        yield _sequential(projection)
    yield from _bitmap(projection)
    yield from (f"Not modelled: {each}." for each in projection.unmodelled)
    yield from (f"Corrected: {each}." for each in projection.corrections)
    yield from (f"Event: {each}." for each in projection.events)


def _sequential(projection: Projection) -> str:
    """Return which share of the written bytes is sequential, and the evidence for it."""
    pattern = projection.pattern
    shares = sorted({each.sequential for each in pattern.hypotheses})
    known = percent(pattern.likely.sequential)
    if shares[-1] - shares[0] > 0.05:
        known += f" (range {percent(shares[0])} to {percent(shares[-1])})"
    evidence = (
        f"evidence: {listed(pattern.evidence)}"
        if pattern.evidence
        else "no evidence in the counters"
    )
    return f"Sequential writes: {known} of the bytes written ({evidence})."


def _bitmap(projection: Projection) -> Iterator[str]:
    """Yield what the bitmap costs with each region size; nothing if there is none."""
    if len(projection.regions) < 2:
        return
    first, *others = projection.regions
    yield (
        f"The bitmap adds {percent(first.share)} of the disks' requests "
        f"(region size {size(first.bytes)})."
    )
    for other in others:
        if other.bytes is None:
            yield "Without a bitmap: none; but a crash causes a full resync."
        else:
            yield (
                f"With {size(other.bytes)} regions: {percent(other.share)}; "
                "but a crash causes a resync of every dirty region."
            )
