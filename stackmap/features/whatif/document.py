"""What a projection says: the load now and on another layout, the range, and what it leaves out."""

from collections.abc import Iterator, Sequence

from stackmap.document.blocks import (
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
    Terms,
    Value,
)
from stackmap.document.describe import layout as described
from stackmap.document.rule_words import FIRST
from stackmap.document.wording import (
    KIB,
    UNKNOWN,
    change_percent,
    divided,
    listed,
    percent,
    rate,
    sentence,
    size,
)
from stackmap.features.whatif.projection import DeviceLoad, LayoutLoad, Projection
from stackmap.features.whatif.quantities import Band, Stream, exact
from stackmap.features.whatif.sentences import (
    NARROW,
    conclusions,
    headline,
    replayed_sentence,
    wear_sentence,
)
from stackmap.features.whatif.time_words import (
    cache_sentences,
    cache_table,
    conclusion,
    layouts_table,
    reasons,
    sentences,
    time_table,
)

MEANINGS = {
    "members": "Requests at the devices that hold the data, with flushes, without the bitmap.",
    "disks": "Requests completed by the disks after merging, with the bitmap.",
    "range": "The lowest and highest figure that the measurement allows.",
    "p50, p95": "Half, or 95 %, of the intervals have at most this rate.",
    "peak": "Rate of the busiest interval.",
    "measured, simulated": "The self-check: latency of the present layout, as measured and as simulated, in ms.",
    "hit": "The share of reads or writes whose blocks a cache of this size has.",
    "headroom": "By what factor the same load may grow until the layout serves no more, or the limit is exceeded.",
}
HEADINGS = ("now", "projected", "low", "high", "change")
CHECK_HEADINGS = ("measured", "model", "low", "high", "error")
KEYS = ("now", "projected", "low", "high", "change_share")  # in CSV
FIGURE = Column("Per second", "figure", ("unit",), is_text=True)
PERCENTILES = (
    Column("Requests/s", "figure", is_text=True),
    *(Column(level, f"{level}_per_s") for level in ("p50", "p95", "peak")),
)


def document(projection: Projection, first: str = "") -> Iterator[Block]:
    """Yield what ``whatif`` prints for one volume; *first*: what to do before a conversion."""
    several = f"average of {projection.intervals} intervals" if projection.intervals > 1 else ""
    seconds = f"{projection.seconds:.1f} s" if projection.seconds else ""
    measured = ", ".join(filter(None, (several, seconds)))
    yield Headline((projection.device.full_title, measured))
    if first:
        yield Paragraph(first, FIRST)
    yield from blocks(projection, "projection")


def comparison(projections: Sequence[Projection], first: str = "") -> Iterator[Block]:
    """Yield what ``whatif`` prints for several layouts of one volume: one table; *first*: as of ``document``."""
    one = projections[0]
    yield Headline((one.device.full_title, f"{len(projections)} layouts"))
    if first:
        yield Paragraph(first, FIRST)
    yield Terms((("now", _layout(one.now)), ("load", _load(one))))
    yield layouts_table(projections)
    notes = [*reasons(projections), *cache_sentences(one), *map(sentence, one.notes)]
    if notes:
        yield Listing(tuple(notes))


def blocks(projection: Projection, key: str) -> Iterator[Block]:
    """Yield the layouts, the load, the conclusion and the figures; *key* is unique on a page."""
    time, is_check = projection.time, projection.is_check
    if time is not None and not time.reason:
        yield Paragraph(conclusion(time, is_check=is_check), headline=True)
    yield Paragraph(headline(projection), headline=True)
    yield from (Paragraph(sentence(note), "Warning:") for note in projection.notes)
    yield Terms(
        (
            ("now", _layout(projection.now)),
            ("projected", _layout(projection.projected)),
            ("load", _load(projection)),
        )
    )
    said = sentences(time, is_check=is_check) if time is not None else ()
    lasting = () if projection.wear is None else (wear_sentence(projection.wear),)
    yield Listing((*said, *cache_sentences(projection), *conclusions(projection), *lasting))
    if not projection.idle:
        latencies = time_table(projection, key)
        if latencies is not None:
            yield latencies
        if hits := cache_table(projection):
            yield hits
        yield comparison_table(projection, key)
        if projection.intervals > 1 and projection.levels:
            yield percentile_table(projection, f"{key}-percentiles")
        yield Listing(tuple(_caveats(projection)))


def _layout(load: LayoutLoad) -> str:
    if load.layout is not None:
        return described(load.layout)
    return "on one device" if load.disks.count <= 1 else "no RAID"


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
        known = projection.flushes is not None
        parts.append(f"{rate(projection.flushes)} flushes/s" if known else "flushes unknown")
    return ", ".join(parts)


def _stream(stream: Stream, name: str) -> str:
    mean = f" of {size(stream.size)}" if stream.requests else ""
    return f"{rate(stream.requests)} {name}/s{mean}"


def comparison_table(projection: Projection, key: str) -> Table:
    """Return the requests and bytes of members and disks, now and projected."""
    now, then = projection.now, projection.projected
    rows = [*_rows("members", now.members, then.members)]
    if projection.total is None:  # else the disks' part is not known
        bitmaps = _bitmap_writes(now), _bitmap_writes(then)
        rows += _rows("disks", now.disks, then.disks, bitmaps)
    headings = CHECK_HEADINGS if projection.is_check else HEADINGS
    columns = (FIGURE, *map(Column, headings, KEYS))
    return Table(key, columns, (Rows(tuple(rows)),), about=projection.about)


def _rows(
    layer: str, now: DeviceLoad, then: DeviceLoad, bitmaps: Sequence[Band | None] = ()
) -> Iterator[Row]:
    """Yield the rows of one layer; *bitmaps*: the bitmap's requests on both sides, at the disks only."""
    before, after = (at.requests if bitmaps else at.data for at in (now, then))
    moved = (at.moved if bitmaps else at.carried for at in (now, then))
    first = f"{layer}: "
    if then.total is None:
        yield _row(_title(layer, "reads", first), now.read, then.read)
        yield _row(_title(layer, "writes"), now.write, then.write)
        first = " "
    if bitmaps:
        yield _row(_title(layer, "bitmap writes"), *bitmaps)
    yield _row(_title(layer, "requests", first), before, after)
    one = f"per {layer.removesuffix('s')}"
    title = Label(f" {one}", (f"{layer}: requests {one}", "requests/s"))
    yield _row(title, _per_device(before, now), _per_device(after, then))
    yield _row(Label(" KiB/s", (f"{layer}: bytes", "bytes/s")), *moved, divisor=KIB)


def _title(layer: str, word: str, indent: str = " ") -> Label:
    return Label(f"{indent}{word}", (f"{layer}: {word}", "requests/s"))


def _bitmap_writes(side: LayoutLoad) -> Band | None:
    """Return the bitmap's requests at the disks; 0 for a layout without redundancy, None if unknown."""
    if side.layout is None or not side.layout.survivable_failures:
        return exact(0.0)
    return None if side.disks.metadata is None else side.disks.metadata.requests


def _per_device(requests: Band | None, devices: DeviceLoad) -> Band | None:
    return None if requests is None else requests.scaled(1 / max(1, devices.count))


def _row(title: Label, now: Band | None, then: Band | None, *, divisor: int = 1) -> Row:
    """Return the cells of a row; the ends of the band only if it has a visible width."""
    write = divided(divisor)
    before = None if now is None else now.likely
    if then is None:
        return (title, Value(before, write), Value(None, write), "", "", Value(None, _change))
    wide = then.high - then.low >= NARROW * divisor
    ends: tuple[Cell, ...] = (Value(then.low, write), Value(then.high, write))
    return (
        title,
        Value(before, write),
        Value(then.likely, write),
        *(ends if wide else ("", "")),
        Value(then.likely / before - 1 if before else None, _change),
    )


def _change(share: float | None) -> str:
    return UNKNOWN if share is None else change_percent(1 + share, 0)


def percentile_table(projection: Projection, key: str) -> Table:
    """Return the median, the 95th percentile and the highest of all intervals."""
    rows: tuple[Row, ...] = tuple(
        (name.replace("_", " "), *(Value(level, rate) for level in (each.p50, each.p95, each.peak)))
        for name, each in projection.levels.items()
    )
    return Table(key, PERCENTILES, (Rows(rows),), about=projection.about)


def _caveats(projection: Projection) -> Iterator[str]:
    """Yield the evidence for the pattern of writes, and what limits the figures."""
    replayed = projection.replayed
    if replayed is not None:
        yield replayed_sentence(replayed)
    by_counters = projection.total is None and (replayed is None or replayed.reason)
    if projection.write.requests and by_counters:
        yield _sequential(projection)
    yield from _bitmap(projection)
    yield from (f"Not modelled: {reason}." for reason in projection.unmodelled)
    yield from (f"Corrected: {correction}." for correction in projection.corrections)
    yield from (f"Event: {event}." for event in projection.events)


def _sequential(projection: Projection) -> str:
    """Return the sequential share of the bytes written, and the evidence for it."""
    pattern = projection.pattern
    shares = sorted({hypothesis.sequential for hypothesis in pattern.hypotheses})
    known = percent(pattern.likely.sequential)
    if not pattern.evidence and shares[-1] - shares[0] > 0.05:
        return (
            f"Sequential writes: unknown; no counter shows them. Projected: {known} of the bytes "
            f"written, with the range for {percent(shares[0])} to {percent(shares[-1])}."
        )
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
