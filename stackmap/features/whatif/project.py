"""The projection: measure, find the write pattern, apply the layout, merge, add the bitmap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.features.whatif import capacity
from stackmap.features.whatif.layout_model import LayoutModel, model_of
from stackmap.features.whatif.measured import Measured, measured
from stackmap.features.whatif.metadata import present_metadata, regions
from stackmap.features.whatif.projection import Added, DeviceLoad, LayoutLoad, Projection
from stackmap.features.whatif.quantities import Levels, Stream, exact, levels
from stackmap.features.whatif.undirected import undirected
from stackmap.features.whatif.unmodelled import unmodelled
from stackmap.features.whatif.volume_context import (
    VolumeContext,
    pvs_of,
    require_supported,
    require_whole_volume,
    volume_context,
)
from stackmap.ledger.averages import Average
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.workload_mix import FEW, mixed
from stackmap.model.interval import LONG_RECORDING, Interval
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

SAME_SIZE = 1 / 200  # of the mean size; texts round it
SEVERAL = 3  # intervals


def project(
    topology: Topology, intervals: Iterable[Interval], name: str, request: LayoutRequest
) -> Projection:
    """
    Return the load of the volume *name* on the requested layout; of the first device below that has one.

    *intervals*: uncorrected. ``LayoutError`` if the layout is impossible, or *name* is a
    member; ``InputError`` if the input lacks the volume's own figures.
    """
    context = volume_context(topology, name)
    require_whole_volume(topology, context)
    layout = request.resolve(context.present, lvm=context.lvm)
    require_supported(context, layout)
    window = _window(topology, intervals, context)
    whole = window.whole
    found = (
        undirected(window.ledger, context, layout)
        if whole is None
        else _separately(window, whole, context, layout)
    )
    return found._replace(
        seconds=window.ledger.seconds,
        intervals=window.intervals,
        need=capacity.need(layout, context.size, context.member_bytes),
        room=capacity.room(topology, layout, context.size, pvs_of(topology, context)),
        corrections=window.corrections,
        events=window.events,
        notes=window.notes,
    )


def _separately(
    window: _Window, whole: Measured, context: VolumeContext, layout: Layout
) -> Projection:
    """Return the projection of reads and writes, each with its own figures."""
    model = model_of(whole, context, layout)
    projected = model.at(whole)
    data = projected.disks.data or exact(0.0)
    return Projection(
        device=context.device,
        read=whole.read,
        write=whole.write,
        flushes=whole.flushes,
        pattern=model.pattern,
        now=_now(whole, context),
        projected=projected,
        levels=_levels(window, model),
        regions=tuple(regions(layout, whole, context, model.pattern, data.likely)),
        unmodelled=tuple(unmodelled(whole, context, model.pattern, layout)),
    )


class _Window(NamedTuple):
    """
    The measured load as a whole and in parts; ``counts``: intervals that each part averages.

    ``ledger``: the average. ``whole``: None if the input does not separate reads and writes.
    """

    ledger: Ledger
    intervals: int
    whole: Measured | None
    parts: tuple[Measured, ...]
    counts: tuple[int, ...]
    corrections: tuple[str, ...]
    events: tuple[str, ...]
    notes: tuple[str, ...]


def _window(topology: Topology, intervals: Iterable[Interval], context: VolumeContext) -> _Window:
    average = Average()
    parts: list[Measured] = []
    counts: list[int] = []
    first: list[Interval] = []
    for interval in intervals:
        average.add(interval)
        if len(first) <= FEW:
            first.append(interval)
        right = corrected(topology, interval)
        part = measured(Ledger(topology, right.loads, right.seconds), context)
        if part is not None:  # one interval may tell less than all together
            parts.append(part)
            counts.append(interval.count)
    found = average.result()
    if found is None:
        raise InputError(f"{context.device.title}: no interval to project")
    result = corrected(topology, found)
    ledger = Ledger(topology, result.loads, result.seconds)
    whole = measured(ledger, context)
    if whole is not None:
        whole = whole._replace(alike=_alike(parts))
    return _Window(
        ledger,
        sum(counts) or found.count,
        whole,
        tuple(parts),
        tuple(counts),
        result.corrections,
        result.events,
        (*mixed(first), *(n for n in result.notes if n.startswith(LONG_RECORDING))),
    )


def _alike(parts: Iterable[Measured]) -> bool:
    """Whether the mean sizes of writes are the same in several intervals: a mix differs from one to the next."""
    sizes = [part.write.size for part in parts if part.write.requests]
    return len(sizes) >= SEVERAL and max(sizes) <= min(sizes) * (1 + SAME_SIZE)


def _now(load: Measured, context: VolumeContext) -> LayoutLoad:
    members, disks = present_metadata(load, context)
    return LayoutLoad(
        layout=context.present,
        members=_measured_load(
            len(context.members), load.members_read, load.members_write, members
        ),
        disks=_measured_load(len(context.disks), load.disks_read, load.disks_write, disks),
        usable=context.size,
    )


def _measured_load(
    count: int, read: Stream | None, write: Stream | None, added: Added | None
) -> DeviceLoad:
    if read is None or write is None:
        return DeviceLoad(count, metadata=added)
    return DeviceLoad(
        count, exact(read.requests), exact(write.requests), read.bytes, write.bytes, added
    )


def _levels(window: _Window, model: LayoutModel) -> Mapping[str, Levels]:
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
