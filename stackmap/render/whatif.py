"""A projection as text: what is measured beside what it would be, with its band, and what to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stackmap.analysis.whatif.projection import DeviceLoad, Projection
from stackmap.analysis.whatif.quantities import Band, Stream, exact
from stackmap.document.units import UNKNOWN, kib, number, percent, rate, size
from stackmap.model.raid import Layout
from stackmap.render.paragraph import paragraph
from stackmap.render.table import table
from stackmap.render.text import WIDTH, safe

COLUMNS = ("A SECOND", "NOW", "PROJECTED", "LOW", "HIGH", "CHANGE")
CHECK = ("A SECOND", "MEASURED", "MODEL", "LOW", "HIGH", "OFF")
LEVELS = ("OVER THE WINDOW", "p50", "p95", "PEAK")
KIB = 1024


def whatif_text(projection: Projection, *, heading: bool = True, width: int = WIDTH) -> str:
    """Return the projection in *width* columns: the load, now and then, over the window, in words."""
    parts = [
        "\n".join(_opening(projection)) if heading else "",
        "" if projection.idle else _requests(projection, heading=heading),
        _levels(projection, heading=heading),
        "\n".join(paragraph(sentence, width) for sentence in sentences(projection)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _requests(projection: Projection, *, heading: bool) -> str:
    return table(
        CHECK if projection.is_check else COLUMNS,
        [line.cells for line in lines(projection)],
        words=1,
        heading=heading,
    )


def _opening(projection: Projection) -> Iterator[str]:
    device = projection.device
    span = f"{number(projection.seconds)} s in " if projection.seconds else ""
    plural = "s" * (projection.intervals != 1)
    yield f"{safe(device.full_title)}  {span}{projection.intervals} interval{plural}"
    yield f"now        {_layout(projection.now.layout)}"
    yield f"projected  {_layout(projection.projected.layout)}"
    sent = [_stream(projection.read, "reads"), _stream(projection.write, "writes")]
    if projection.flushes is None or round(projection.flushes, 2):
        sent.append(f"{rate(projection.flushes)} flushes")
    yield f"load       {', '.join(sent)}"


def _layout(layout: Layout | None) -> str:
    if layout is None:
        return "on one device"
    chunk = f", {kib(layout.chunk, 0)} KiB chunk" if layout.chunk else ""
    return f"{layout} on {layout.members}{chunk}"


def _stream(stream: Stream, what: str) -> str:
    of = f" of {kib(stream.size)} KiB" if stream.requests else ""
    return f"{rate(stream.requests)} {what}{of}"


@dataclass(frozen=True, slots=True)
class _Line:
    """A row: what it is of, now and projected; ``unit``: what a figure is divided by to be shown."""

    title: str
    now: float | None
    then: Band | None
    unit: float = 1.0

    @property
    def cells(self) -> tuple[str, ...]:
        """Its texts: the ends of the band only where it has any width."""
        now, then = self.now, self.then
        likely = None if then is None else then.likely
        change = UNKNOWN if not now or likely is None else f"{100 * (likely / now - 1):+.0f} %"
        ends = (
            []
            if then is None or then.high - then.low < 0.005 * self.unit
            else [then.low, then.high]
        )
        shown = [now, likely, *ends]
        texts = [rate(None if each is None else each / self.unit) for each in shown]
        return (self.title, *texts, *[""] * (2 - len(ends)), change)


def lines(projection: Projection) -> Iterator[_Line]:
    """Yield the rows of the table: members first, then disks."""
    now, then = projection.now, projection.projected
    yield from _device_lines("members", now.members, then.members)
    yield _line(" requests", now.members.data, then.members.data)
    yield _each(" each of them", now.members, now.members.data, then.members, then.members.data)
    yield _Line(" KiB", now.members.data_bytes, _exactly(then.members.data_bytes), KIB)
    yield from _device_lines("disks", now.disks, then.disks)
    yield _line(" of the bitmap", _added(now.disks), _added(then.disks))
    yield _line(" requests", now.disks.requests, then.disks.requests)
    yield _each(" each of them", now.disks, now.disks.requests, then.disks, then.disks.requests)
    yield _Line(" KiB", now.disks.bytes, _exactly(then.disks.bytes), KIB)


def _device_lines(what: str, now: DeviceLoad, then: DeviceLoad) -> Iterator[_Line]:
    yield _line(f"{what}: reads", now.read, then.read)
    yield _line(" writes", now.write, then.write)


def _line(title: str, now: Band | None, then: Band | None) -> _Line:
    return _Line(title, None if now is None else now.likely, then)


def _each(
    title: str, now: DeviceLoad, here: Band | None, then: DeviceLoad, there: Band | None
) -> _Line:
    return _line(
        title,
        None if here is None else here.scaled(1 / max(1, now.count)),
        None if there is None else there.scaled(1 / max(1, then.count)),
    )


def _added(devices: DeviceLoad) -> Band | None:
    return None if devices.metadata is None else devices.metadata.requests


def _exactly(value: float | None) -> Band | None:
    return None if value is None else exact(value)


def _levels(projection: Projection, *, heading: bool) -> str:
    """Return the table of percentiles; "" for one interval, whose middle is its peak, and of nothing."""
    if projection.intervals < 2 or projection.idle:
        return ""
    rows = [
        (f"{key.replace('_', ' ')}, requests/s", rate(each.p50), rate(each.p95), rate(each.peak))
        for key, each in projection.levels.items()
    ]
    return table(LEVELS, rows, words=1, heading=heading)


def sentences(projection: Projection) -> Iterator[str]:
    """Yield what must be known beside the figures; of a volume that did nothing, what it is on."""
    if projection.idle:
        yield f"{safe(projection.device.title)} did nothing: there is no load to project."
        yield from _capacity(projection)
        return
    yield from _pattern(projection)
    yield from _regions(projection)
    yield from _capacity(projection)
    if projection.is_check:
        yield "This is the present layout: OFF is what the model misses, not what would change."
    yield from (f"not modelled: {sentence}" for sentence in projection.unmodelled)
    yield from (f"corrected: {what}" for what in projection.corrections)
    yield from (f"event: {event}" for event in projection.events)


def _pattern(projection: Projection) -> Iterator[str]:
    if not projection.write.requests:
        return
    pattern = projection.pattern
    shares = sorted({each.sequential for each in pattern.hypotheses})
    told = f", told by {' and '.join(pattern.evidence)}" if pattern.evidence else ": nothing tells"
    known = percent(pattern.likely.sequential)
    if len(shares) > 1 and shares[-1] - shares[0] > 0.05:
        known += f" ({percent(shares[0])} … {percent(shares[-1])})"
    yield f"Writes that follow on the one before: {known} of the bytes{told}."


def _regions(projection: Projection) -> Iterator[str]:
    if len(projection.regions) < 2:
        return
    first, *others = projection.regions
    yield (
        f"The bitmap adds {percent(first.share)} of the disks' requests, a region being "
        f"{size(first.bytes)}."
    )
    for other in others:
        if other.bytes is None:
            yield "Without a bitmap it adds nothing, and after a crash everything is synced."
        else:
            yield (
                f"With regions of {size(other.bytes)} it would add {percent(other.share)}; after a "
                "crash, each that was dirty is synced whole."
            )


def _capacity(projection: Projection) -> Iterator[str]:
    now, then, need = projection.now, projection.projected, projection.need
    if then.usable is None or need is None:
        return
    if projection.needs_larger:
        yield (
            f"To hold the {size(now.usable)} that are now takes {need.members} "
            f"member{'s' * (need.members != 1)} of {size(need.member_bytes)}; as large as now would "
            f"hold {size(then.usable)}."
        )
        return
    larger = ", or larger ones" if need.members > then.members.count else ""
    yield (
        f"Members as large as now, {size(need.member_bytes)}, hold {size(then.usable)} in "
        f"{then.members.count}, where {size(now.usable)} are now; as much takes {need.members}{larger}."
    )
