"""The projection: measure, see how the writes lie, apply the layout, merge, add the bitmap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackmap.analysis.averages import Average
from stackmap.analysis.corrections import corrected
from stackmap.analysis.whatif import capacity
from stackmap.analysis.whatif.measured import Measured, measured
from stackmap.analysis.whatif.member_requests import End, MemberRequests, cut_ends, member_requests
from stackmap.analysis.whatif.merging import Merging, fragments
from stackmap.analysis.whatif.metadata import (
    Metadata,
    bitmap_on,
    metadata_on,
    present_metadata,
    regions,
)
from stackmap.analysis.whatif.parity import row_costs
from stackmap.analysis.whatif.pattern import Pattern, pattern_of
from stackmap.analysis.whatif.projection import (
    SINGLE_DEVICE,
    Added,
    DeviceLoad,
    LayoutLoad,
    Projection,
)
from stackmap.analysis.whatif.quantities import Band, Levels, Stream, exact, levels, spanning
from stackmap.analysis.whatif.stripe_cost import Cost
from stackmap.analysis.whatif.unmodelled import unmodelled
from stackmap.analysis.whatif.validation import require_supported, require_whole_volume
from stackmap.analysis.whatif.volume_context import VolumeContext, volume_context
from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology


def project(
    topology: Topology, intervals: Iterable[Interval], name: str, layout: LayoutRequest
) -> Projection:
    """
    Return what the load of the volume *name* would be on the *layout* that is asked for.

    *intervals* as they come from a source: they are corrected here. Where
    *name* has no layout of its own, the first device below it that has one is
    meant. ``LayoutError`` where no array can be so, or *name* is a part of one;
    ``InputError`` where the volume's own requests are not among the figures.
    """
    context = volume_context(topology, name)
    require_whole_volume(topology, context)
    asked = layout.resolve(context.present, lvm=context.lvm)
    require_supported(context, asked)
    window = _window(topology, intervals, context)
    model = _model(window.whole, context, asked)
    now, projected = _now(window.whole, context), model.at(window.whole)
    data = projected.disks.data or exact(0.0)
    each = capacity.member_bytes(context.size, context.present)
    return Projection(
        device=context.device,
        seconds=window.seconds,
        intervals=sum(window.counts),
        read=window.whole.read,
        write=window.whole.write,
        flushes=window.whole.flushes,
        pattern=model.pattern,
        now=now,
        projected=projected,
        need=capacity.need(asked, context.size, each),
        levels=_levels(window, model),
        regions=tuple(regions(asked, window.whole, context, model.pattern, data.likely)),
        unmodelled=tuple(unmodelled(window.whole, context, model.pattern, asked)),
        corrections=window.corrections,
        events=window.events,
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """All that was measured: as one, and its parts, of which each is the average of so many intervals."""

    whole: Measured
    parts: tuple[Measured, ...]
    counts: tuple[int, ...]
    seconds: float | None
    corrections: tuple[str, ...]
    events: tuple[str, ...]


def _window(topology: Topology, intervals: Iterable[Interval], context: VolumeContext) -> _Window:
    average = Average()
    parts: list[Measured] = []
    counts: list[int] = []
    for interval in intervals:
        average.add(interval)
        right, _ = corrected(topology, interval)
        part = measured(topology, right.loads, context, right.seconds)
        if part is not None:  # a rule may know less of a second than of them all
            parts.append(part)
            counts.append(interval.count)
    found = average.result()
    result, done = (None, ()) if found is None else corrected(topology, found)
    whole = None if result is None else measured(topology, result.loads, context, result.seconds)
    if result is None or whole is None:
        raise InputError(
            f"{context.device.title}: its own reads and writes, apart from each other, are not among the "
            "figures"
        )
    return _Window(whole, tuple(parts), tuple(counts), result.seconds, done, result.events)


@dataclass(frozen=True, slots=True)
class _Model:
    """A layout with all that is needed to say what it makes of any interval of the window."""

    context: VolumeContext
    layout: Layout
    whole: Measured
    pattern: Pattern
    costs: tuple[Cost | None, ...]
    merging: Mapping[End, Merging]

    def at(self, found: Measured) -> LayoutLoad:
        """Return the side of the projection under the load *found*."""
        period = [
            (merging, member_requests(self.layout, found, self.context, self.pattern, cost, end))
            for end, merging in self.merging.items()
            for cost in self.costs
        ]
        ways, context = [way for _, way in period], self.context
        known_flushes = ways[0].flushes if context.flushes_counted else 0.0
        added = self._metadata(found)
        return LayoutLoad(
            layout=self.layout,
            members=self._at(
                ways[0],
                spanning((way.read.requests for way in ways), ways[0].read.requests),
                spanning((way.written for way in ways), ways[0].written),
                None if added is None else added.members,
            ),
            disks=self._at(
                ways[0],
                _spanned([merging.read(way) for merging, way in period]),
                _spanned([merging.written(way) for merging, way in period]) + exact(known_flushes),
                None if added is None else added.disks,
            ),
            usable=capacity.usable(
                self.layout, capacity.member_bytes(context.size, context.present)
            ),
        )

    def _metadata(self, found: Measured) -> Metadata | None:
        bitmap = bitmap_on(self.layout, self.context)
        if bitmap is None:
            return None
        return metadata_on(bitmap, self.layout, found, self.whole, self.context, self.pattern)

    def _at(self, sent: MemberRequests, read: Band, write: Band, added: Added | None) -> DeviceLoad:
        return DeviceLoad(
            self.layout.members, read, write, sent.read.bytes, sent.write.bytes, added
        )


def _spanned(ways: list[Band]) -> Band:
    """Return the band of all *ways*, of which the first is the likely one."""
    return spanning((end for way in ways for end in (way.low, way.high)), ways[0].likely)


def _model(whole: Measured, context: VolumeContext, layout: Layout) -> _Model:
    pattern = pattern_of(whole, context)
    costs = tuple(row_costs(pattern, context, layout)) if layout.parity else (None,)
    here = context.present or SINGLE_DEVICE
    merging: dict[End, Merging] = {}
    for end in cut_ends(layout, context):  # requests start where they start, on both layouts
        now = fragments(
            whole, member_requests(here, whole, context, pattern, pattern.rows, end), context
        )
        merging[end] = Merging(layout, context.present, now, pattern.joined, whole.queue)
    return _Model(context, layout, whole, pattern, costs, merging)


def _now(found: Measured, context: VolumeContext) -> LayoutLoad:
    added = present_metadata(found, context)
    members, disks = (None, None) if added is None else (added.members, added.disks)
    return LayoutLoad(
        layout=context.present,
        members=_at(len(context.members), found.members_read, found.members_write, members),
        disks=_at(len(context.disks), found.disks_read, found.disks_write, disks),
        usable=context.size,
    )


def _at(count: int, read: Stream | None, write: Stream | None, added: Added | None) -> DeviceLoad:
    if read is None or write is None:
        return DeviceLoad(count, None, None, None, None, added)
    return DeviceLoad(
        count,
        exact(read.requests),
        exact(write.requests),
        read.bytes,
        write.bytes,
        added,
    )


def _levels(window: _Window, model: _Model) -> Mapping[str, Levels]:
    """Return the percentiles of each quantity, where all intervals have it."""
    series: dict[str, list[float]] = {}
    for part in window.parts:
        sides = {"now": _now(part, model.context), "projected": model.at(part)}
        series.setdefault("volume", []).append(part.requests)
        for when, side in sides.items():
            for where, sent in (("members", side.members.data), ("disks", side.disks.requests)):
                if sent is not None:
                    series.setdefault(f"{where}_{when}", []).append(sent.likely)
    whole = {key: values for key, values in series.items() if len(values) == len(window.parts)}
    return {
        key: found
        for key, values in whole.items()
        if (found := levels(values, window.counts)) is not None
    }
