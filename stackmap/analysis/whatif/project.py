"""The projection: measure, find the write pattern, apply the layout, merge, add the bitmap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackmap.analysis.averages import Average
from stackmap.analysis.corrections import corrected
from stackmap.analysis.traffic.ledger import Ledger
from stackmap.analysis.whatif import capacity
from stackmap.analysis.whatif.measured import Measured, measured
from stackmap.analysis.whatif.member_requests import (
    End,
    MemberRequests,
    member_requests,
    parity_costs,
    split_ends,
)
from stackmap.analysis.whatif.merging import Merging, fragments
from stackmap.analysis.whatif.metadata import (
    Metadata,
    bitmap_on,
    metadata_on,
    present_metadata,
    regions,
)
from stackmap.analysis.whatif.pattern import Pattern, pattern_of
from stackmap.analysis.whatif.predicted_stripe_cost import Cost
from stackmap.analysis.whatif.projection import (
    SINGLE_DEVICE,
    Added,
    DeviceLoad,
    LayoutLoad,
    Projection,
)
from stackmap.analysis.whatif.quantities import Band, Levels, Stream, exact, levels, spanning
from stackmap.analysis.whatif.unmodelled import unmodelled
from stackmap.analysis.whatif.volume_context import (
    VolumeContext,
    require_supported,
    require_whole_volume,
    volume_context,
)
from stackmap.errors import NO_DIRECTIONS, InputError
from stackmap.model.interval import Interval
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology


def project(
    topology: Topology, intervals: Iterable[Interval], name: str, request: LayoutRequest
) -> Projection:
    """
    Return the load of the volume *name* on the requested layout; of the first device below that has one.

    *intervals*: uncorrected. ``LayoutError`` if the layout is impossible, or *name* is a
    member; ``InputError`` if the input lacks the volume's own reads and writes.
    """
    context = volume_context(topology, name)
    require_whole_volume(topology, context)
    layout = request.resolve(context.present, lvm=context.lvm)
    require_supported(context, layout)
    window = _window(topology, intervals, context)
    whole = window.whole
    model = _model(whole, context, layout)
    projected = model.at(whole)
    data = projected.disks.data or exact(0.0)
    each = capacity.member_bytes(context.size, context.present)
    return Projection(
        device=context.device,
        seconds=window.average.seconds,
        intervals=sum(window.counts),
        read=whole.read,
        write=whole.write,
        flushes=whole.flushes,
        pattern=model.pattern,
        now=_now(whole, context),
        projected=projected,
        need=capacity.need(layout, context.size, each),
        levels=_levels(window, model),
        regions=tuple(regions(layout, whole, context, model.pattern, data.likely)),
        unmodelled=tuple(unmodelled(whole, context, model.pattern, layout)),
        corrections=window.average.corrections,
        events=window.average.events,
    )


class _Window(NamedTuple):
    """The measured load as a whole and in parts; ``counts``: intervals that each part averages."""

    whole: Measured
    parts: tuple[Measured, ...]
    counts: tuple[int, ...]
    average: Interval


def _window(topology: Topology, intervals: Iterable[Interval], context: VolumeContext) -> _Window:
    average = Average()
    parts: list[Measured] = []
    counts: list[int] = []
    for interval in intervals:
        average.add(interval)
        right = corrected(topology, interval)
        part = measured(Ledger(topology, right.loads, right.seconds), context)
        if part is not None:  # one interval may tell less than all together
            parts.append(part)
            counts.append(interval.count)
    found = average.result()
    result = None if found is None else corrected(topology, found)
    whole = (
        None
        if result is None
        else measured(Ledger(topology, result.loads, result.seconds), context)
    )
    if result is None or whole is None:
        raise InputError(f"{context.device.title}: {NO_DIRECTIONS}")
    return _Window(whole, tuple(parts), tuple(counts), result)


class _Model(NamedTuple):
    """A layout with all that is needed to project any interval of the window on it."""

    context: VolumeContext
    layout: Layout
    whole: Measured
    pattern: Pattern
    costs: tuple[Cost | None, ...]
    merging: Mapping[End, Merging]

    def at(self, load: Measured) -> LayoutLoad:
        """Return the projection of *load*."""
        context = self.context
        every = [
            (merging, member_requests(self.layout, load, context, self.pattern, cost, end))
            for end, merging in self.merging.items()
            for cost in self.costs
        ]
        sent = [each for _, each in every]
        likely = sent[0]
        flushes = likely.flushes if context.flushes_counted else 0.0
        bitmap = bitmap_on(self.layout, context)
        added = None
        if bitmap is not None:
            added = metadata_on(bitmap, self.layout, load, self.whole, context, self.pattern)
        members, disks = _added(added)
        return LayoutLoad(
            layout=self.layout,
            members=self._load(
                likely,
                spanning((each.read.requests for each in sent), likely.read.requests),
                spanning((each.written for each in sent), likely.written),
                members,
            ),
            disks=self._load(
                likely,
                _spanned([merging.read(each) for merging, each in every]),
                _spanned([merging.written(each) for merging, each in every]) + exact(flushes),
                disks,
            ),
            usable=capacity.usable(
                self.layout, capacity.member_bytes(context.size, context.present)
            ),
        )

    def _load(
        self, sent: MemberRequests, read: Band, write: Band, added: Added | None
    ) -> DeviceLoad:
        members = self.layout.members
        return DeviceLoad(members, read, write, sent.read.bytes, sent.write.bytes, added)


def _spanned(bands: list[Band]) -> Band:
    """Return the band of all *bands*; the first is the likely one."""
    return spanning((end for band in bands for end in (band.low, band.high)), bands[0].likely)


def _model(whole: Measured, context: VolumeContext, layout: Layout) -> _Model:
    pattern = pattern_of(whole, context)
    costs = tuple(parity_costs(pattern, context, layout)) if layout.parity else (None,)
    present = context.present or SINGLE_DEVICE
    merging: dict[End, Merging] = {}
    for end in split_ends(layout, context):  # requests start at the same places on both layouts
        sent = member_requests(present, whole, context, pattern, pattern.rows, end)
        now = fragments(whole, sent, context)
        merging[end] = Merging(layout, context.present, now, pattern.joined, whole.queue)
    return _Model(context, layout, whole, pattern, costs, merging)


def _now(load: Measured, context: VolumeContext) -> LayoutLoad:
    members, disks = _added(present_metadata(load, context))
    return LayoutLoad(
        layout=context.present,
        members=_measured_load(
            len(context.members), load.members_read, load.members_write, members
        ),
        disks=_measured_load(len(context.disks), load.disks_read, load.disks_write, disks),
        usable=context.size,
    )


def _added(metadata: Metadata | None) -> tuple[Added | None, Added | None]:
    return (None, None) if metadata is None else (metadata.members, metadata.disks)


def _measured_load(
    count: int, read: Stream | None, write: Stream | None, added: Added | None
) -> DeviceLoad:
    if read is None or write is None:
        return DeviceLoad(count, None, None, None, None, added)
    return DeviceLoad(
        count, exact(read.requests), exact(write.requests), read.bytes, write.bytes, added
    )


def _levels(window: _Window, model: _Model) -> Mapping[str, Levels]:
    """Return the percentiles of each quantity that all intervals have."""
    series: dict[str, list[float]] = {}
    for part in window.parts:
        sides = {"now": _now(part, model.context), "projected": model.at(part)}
        series.setdefault("volume", []).append(part.requests)
        for when, side in sides.items():
            for where, sent in (("members", side.members.data), ("disks", side.disks.requests)):
                if sent is not None:
                    series.setdefault(f"{where}_{when}", []).append(sent.likely)
    found = {
        key: levels(values, window.counts)
        for key, values in series.items()
        if len(values) == len(window.parts)
    }
    return {key: each for key, each in found.items() if each is not None}
