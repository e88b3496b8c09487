"""A layout as a model: projects any measured load on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.features.whatif import capacity
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.member_requests import (
    Costs,
    End,
    member_requests,
    parity_costs,
    split_ends,
)
from stackmap.features.whatif.merging import Merging, fragments
from stackmap.features.whatif.metadata import bitmap_on, metadata_on
from stackmap.features.whatif.pattern import Pattern, pattern_of
from stackmap.features.whatif.projection import SINGLE_DEVICE, DeviceLoad, LayoutLoad
from stackmap.features.whatif.quantities import exact, spanned, spanning
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout


@dataclass(frozen=True, slots=True)
class LayoutModel:
    """A layout with all that is needed to project any interval of the window on it."""

    context: VolumeContext
    layout: Layout
    whole: Measured
    pattern: Pattern
    costs: tuple[Costs | None, ...]
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
        likely, count = sent[0], self.layout.members
        flushes = likely.flushes if context.flushes_counted else 0.0
        carried = likely.read.bytes, likely.write.bytes
        bitmap = bitmap_on(self.layout, context)
        members, disks = metadata_on(bitmap, self.layout, load, self.whole, context, self.pattern)
        return LayoutLoad(
            layout=self.layout,
            members=DeviceLoad(
                count,
                spanning((each.read.requests for each in sent), likely.read.requests),
                spanning((each.written for each in sent), likely.written),
                *carried,
                members,
            ),
            disks=DeviceLoad(
                count,
                spanned([merging.read(each) for merging, each in every]),
                spanned([merging.written(each) for merging, each in every]) + exact(flushes),
                *carried,
                disks,
            ),
            usable=capacity.usable(self.layout, context.member_bytes),
        )


def model_of(whole: Measured, context: VolumeContext, layout: Layout) -> LayoutModel:
    """Return the model of *layout* for the load *whole*, the average of all intervals."""
    pattern = pattern_of(whole, context)
    costs = tuple(parity_costs(pattern, context, layout)) if layout.parity else (None,)
    present = context.present or SINGLE_DEVICE
    merging: dict[End, Merging] = {}
    rows = None if pattern.rows is None else Costs(pattern.rows, pattern.rows)
    for end in split_ends(layout, context):  # requests start at the same places on both layouts
        sent = member_requests(present, whole, context, pattern, rows, end)
        now = fragments(whole, sent, context)
        merging[end] = Merging(layout, context, whole, pattern, now)
    return LayoutModel(context, layout, whole, pattern, costs, merging)
