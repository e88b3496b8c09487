"""
The projection: measure, find the pattern of the writes, apply the layout, merge, add the bitmap.

Where the input does not separate reads and writes, the model runs for each load that is possible, and the
result is the range of them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from stackmap.discover.find import find_all
from stackmap.errors import LayoutError
from stackmap.features.whatif import bitmap as bitmaps
from stackmap.features.whatif.geometry import Cost, cold_reads
from stackmap.features.whatif.measured import Measured, Window, window_of
from stackmap.features.whatif.pattern import Pattern, pattern_of, possible_loads
from stackmap.features.whatif.projection import DeviceLoad, LayoutLoad, Projection
from stackmap.features.whatif.quantities import (
    Band,
    Levels,
    Stream,
    exact,
    levels,
    spanned,
    spanning,
)
from stackmap.features.whatif.requests import (
    Costs,
    MemberRequests,
    Merging,
    RangeEnd,
    may_split,
    member_requests,
    parity_costs,
)
from stackmap.features.whatif.sentences import unmodelled
from stackmap.features.whatif.volume_context import (
    SINGLE_DEVICE,
    VolumeContext,
    members_needed,
    pvs_of,
    require_whole_volume,
    space_beside,
    usable_bytes,
    volume_context,
)
from stackmap.ledger.ledger import Ledger
from stackmap.model.interval import Interval
from stackmap.model.layout_request import LayoutRequest, parse, unsupported_by_lvm
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology
from stackmap.sampling.snapshots import with_first_topology

if TYPE_CHECKING:
    from stackmap.features.trace.record import Trace
    from stackmap.features.whatif.fitting import Fitting
    from stackmap.features.whatif.replay import Replay, Replays
    from stackmap.features.whatif.timing import Scenario, TimeProjection

ALL = 0.95  # of the bytes written
# Of the bytes beyond the data, with parity: how many pages of a row meet in the stripe cache differs from run to run.
ROWS_DIFFER = 0.12


def project(
    topology: Topology, intervals: Iterable[Interval], name: str, request: LayoutRequest
) -> Projection:
    """Return the load of the volume *name* on the requested layout, without its time; see ``Projector``."""
    return Projector(topology, intervals, name).project(request)


def whatif(intervals: Iterable[tuple[Topology, Interval]], name: str, layout: str) -> Projection:
    """Return the measured load of the volume *name* on another *layout*, such as "raid10"."""
    topology, steady = with_first_topology(intervals)
    return project(topology, steady, find_all(topology, [name])[0], parse(layout))


class Projector:
    """
    The load of the volume *name*, or of the first device below that has a layout, measured once for any layouts.

    *intervals*: uncorrected. *trace*: what the capture has of one. ``LayoutError`` if *name* is a member.
    """

    def __init__(
        self,
        topology: Topology,
        intervals: Iterable[Interval],
        name: str,
        trace: Trace | None = None,
    ) -> None:
        self._topology = topology
        self.context = volume_context(topology, name)
        require_whole_volume(topology, self.context)
        self._window = window_of(topology, intervals, self.context)
        self._trace = trace

    @property
    def present(self) -> LayoutRequest:
        """The request for the present layout."""
        now = self.context.present or SINGLE_DEVICE
        copies = now.copies if now.copies > 1 else None
        return LayoutRequest(now.level, now.members, now.chunk, copies, now.variant or None)

    def project(self, request: LayoutRequest, scenario: Scenario | None = None) -> Projection:
        """
        Return the load on the requested layout; with *scenario*, how long it takes too.

        ``LayoutError`` if the layout is impossible; ``InputError`` if the input lacks the volume's own figures.
        """
        context, window = self.context, self._window
        layout = request.resolve(context.present, lvm=context.lvm)
        # If the manager is not known, md may make it.
        if context.manager == "lvm" and (missing := unsupported_by_lvm(layout)):
            raise LayoutError(missing)
        total, loads = None, [window.whole] if window.whole else []
        if not loads:
            total, loads = possible_loads(window.ledger, context, layout.chunk)
        growth = scenario.growth if scenario else 1.0
        if scenario and scenario.cache:
            from stackmap.features.whatif.cache import hits_of

            requests = self._trace.requests(context.device.number) if self._trace else ()
            scenario = scenario._replace(hits=hits_of(requests, scenario.cache))
        reads = scenario.reads_below if scenario else exact(1.0)
        models = [LayoutModel.of(load, context, layout) for load in loads]
        model, likely, counters = models[0], loads[0], window.ledger.load(context.device.name)
        replays = self._replays if scenario and self._trace else None
        counting: Sequence[LayoutModel | Replay] = models
        if replays and scenario and not replays.reason:
            counting = [replays.on(layout, scenario)]
        sides = [
            _behind_cache(model, load.grown(growth), reads)
            for model, load in zip(counting, loads, strict=True)
        ]
        average = window.average
        projected = sides[0] if total is None else _range_of(layout, sides)
        data = projected.disks.data or exact(0.0)
        return Projection(
            device=context.device,
            read=likely.read,
            write=likely.write,
            flushes=likely.flushes,
            pattern=model.pattern,
            now=_present_load(likely, context)
            if total is None
            else _present_total(context, window.ledger),
            projected=projected,
            seconds=average.seconds,
            intervals=window.intervals,
            need=members_needed(layout, context.size, context.member_bytes),
            levels={} if total else _levels(window, context, counting[0], growth, reads.likely),
            regions=() if total else tuple(model.bitmap.regions(data.likely)),
            unmodelled=tuple(
                unmodelled(likely, context, model.pattern, layout, timed=bool(scenario))
            ),
            corrections=average.corrections,
            events=average.events,
            notes=window.notes,
            total=total,
            bytes_known=None not in (counters.read.bytes, counters.write.bytes),
            room=space_beside(
                self._topology, layout, context.size, pvs_of(self._topology, context)
            ),
            growth=growth,
            time=self._time(layout, scenario) if scenario else None,
            scenario=scenario,
            replayed=None if replays is None else replays.checked,
        )

    def _time(self, layout: Layout, scenario: Scenario) -> TimeProjection:
        # Only who asks for time pays for the simulator.
        from stackmap.features.whatif.timing import MIXED, TimeProjection, project_time

        if self._fitting is None:
            return TimeProjection(reason=MIXED)
        return project_time(self._fitting, layout, scenario)

    @cached_property
    def _fitting(self) -> Fitting | None:
        """The simulations of the present layout; None for a load without directions."""
        from stackmap.features.whatif.fitting import Fitting

        window = self._window
        if window.whole is None:
            return None
        return Fitting(window, window.whole, self.context, self._trace)

    @cached_property
    def _replays(self) -> Replays | None:
        """The replays of the traced requests; None for a load without directions."""
        from stackmap.features.whatif.replay import Replays

        return None if self._fitting is None else Replays(self._fitting)


@dataclass(frozen=True, slots=True)
class LayoutModel:
    """A layout by formulas, with the ranges that counters leave."""

    context: VolumeContext
    layout: Layout
    pattern: Pattern
    costs: Sequence[Costs | None]
    merging: Mapping[RangeEnd, Merging]
    bitmap: bitmaps.BitmapModel

    @classmethod
    def of(cls, whole: Measured, context: VolumeContext, layout: Layout) -> LayoutModel:
        """Return the model of *layout* for the load *whole*, the average of all intervals."""
        pattern = pattern_of(whole, context)
        costs = parity_costs(pattern, context, layout) if layout.parity else [None]
        ends: tuple[RangeEnd, ...] = ("likely", "low", "high")
        if not may_split(layout.chunk, context.split_size):
            ends = ("likely",)
        # Requests start at the same places on both layouts.
        merging = {end: Merging.of(layout, context, whole, pattern, end) for end in ends}
        bitmap = bitmaps.BitmapModel(layout, context, whole, pattern.hypotheses, pattern.burst_rate)
        return cls(context, layout, pattern, costs, merging, bitmap)

    def at(self, load: Measured) -> LayoutLoad:
        """Return the projection of *load*."""
        cases = [
            (merging, member_requests(self.layout, load, self.context, self.pattern, cost, end))
            for end, merging in self.merging.items()
            for cost in self.costs
        ]
        sent = [requests for _, requests in cases]
        likely, count = sent[0], self.layout.members
        flushes = likely.flushes if self.context.flushes_counted else 0.0
        moved = likely.read.bytes, likely.write.bytes
        carried = spanning(
            (case.read.bytes + case.write.bytes for case in (*sent, *self._full_stripes(load))),
            sum(moved),
        )
        if self.layout.parity:
            carried = self._with_other_rows(carried, load)
        members, disks = self.bitmap.added(bitmaps.default_bitmap(self.layout, self.context), load)
        members_read = spanning([case.read.requests for case in sent], likely.read.requests)
        members_written = spanning([case.written for case in sent], likely.written)
        read = spanned([merging.read(requests) for merging, requests in cases])
        written = spanned([merging.written(requests) for merging, requests in cases])
        written += exact(flushes)
        return LayoutLoad(
            self.layout,
            DeviceLoad(count, members_read, members_written, *moved, members, carried=carried),
            DeviceLoad(count, read, written, *moved, disks, carried=carried),
            usable_bytes(self.layout, self.context.member_bytes),
        )

    def _with_other_rows(self, carried: Band, load: Measured) -> Band:
        """Return the bytes *carried* with as many more or fewer as rows may differ, within what is possible at all."""
        data, parity, written = self.layout.data, self.layout.parity, load.write.bytes
        fewest, most = 1 + parity / data, 1 + parity + cold_reads(data, parity, 1)
        moved = exact(load.read.bytes + written)
        wide = moved + (carried + moved.scaled(-1)).widened(ROWS_DIFFER)
        low = max(wide.low, min(carried.low, load.read.bytes + fewest * written))
        high = min(wide.high, max(carried.high, load.read.bytes + most * written))
        return Band(low, carried.likely, high)

    def _full_stripes(self, load: Measured) -> Iterator[MemberRequests]:
        """Yield *load* with full stripes alone, if all of it may be sequential: md then waits for whole rows."""
        shares = [hypothesis.sequential for hypothesis in self.pattern.hypotheses]
        if self.layout.parity and self.pattern.rows is None and max(shares) >= ALL:
            whole = Cost(0.0, 1 + self.layout.parity / self.layout.data, 0.0)
            costs = Costs(whole, whole)
            yield member_requests(self.layout, load, self.context, self.pattern, costs)


def _present_load(load: Measured, context: VolumeContext) -> LayoutLoad:
    members, disks = bitmaps.present_metadata(load, context)
    return LayoutLoad(
        context.present,
        _measured_load(len(context.members), load.members_read, load.members_write, members),
        _measured_load(len(context.disks), load.disks_read, load.disks_write, disks),
        context.size,
    )


def _measured_load(
    count: int, read: Stream | None, write: Stream | None, added: bitmaps.BitmapLoad | None
) -> DeviceLoad:
    if read is None or write is None:
        return DeviceLoad(count, metadata=added)
    requests = exact(read.requests), exact(write.requests)
    carried = exact(read.bytes + write.bytes)
    return DeviceLoad(count, *requests, read.bytes, write.bytes, added, carried=carried)


def _behind_cache(model: LayoutModel | Replay, load: Measured, reads: Band) -> LayoutLoad:
    """Return the projection of *load* with the share *reads* of its reads; writes reach the volume in the end."""
    shares = dict.fromkeys((reads.likely, reads.low, reads.high))
    sides = [model.at(load.behind_a_cache(share)) for share in shares]
    members, disks = (
        replace(loads[0], read=spanned([load.read for load in loads if load.read]))
        for loads in zip(*((side.members, side.disks) for side in sides), strict=True)
    )
    return sides[0]._replace(members=members, disks=disks)


def _levels(
    window: Window, context: VolumeContext, model: LayoutModel | Replay, growth: float, reads: float
) -> Mapping[str, Levels]:
    """Return the percentiles of each quantity that all intervals have."""
    series: dict[str, list[float]] = {}
    for part in window.parts:
        now, then = _present_load(part, context), model.at(part.grown(growth).behind_a_cache(reads))
        quantities = {
            "volume": exact(part.requests),
            "members_now": now.members.data,
            "disks_now": now.disks.requests,
            "members_projected": then.members.data,
            "disks_projected": then.disks.requests,
        }
        for key, sent in quantities.items():
            if sent is not None:
                series.setdefault(key, []).append(sent.likely)
    return {
        key: levels(values, window.counts)
        for key, values in series.items()
        if len(values) == len(window.parts)
    }


def _present_total(context: VolumeContext, ledger: Ledger) -> LayoutLoad:
    """Return the measured load whose reads and writes are not separate."""
    names = context.members or context.disks  # a volume on one device has no members
    members = ledger.share(context.device.name, names)
    disks = ledger.share(context.device.name, context.disks).total.ios
    at_members = DeviceLoad(
        len(names),
        read_bytes=members.read.bytes,
        write_bytes=members.write.bytes,
        total=_exactly(members.total.arrivals),
        carried=_exactly(members.total.bytes),
    )
    at_disks = DeviceLoad(len(context.disks), total=_exactly(disks))
    return LayoutLoad(context.present, at_members, at_disks, context.size)


def _exactly(value: float | None) -> Band | None:
    return None if value is None else exact(value)


def _range_of(layout: Layout, sides: Sequence[LayoutLoad]) -> LayoutLoad:
    """Return the range of all *sides*, the first of which is likely: requests and bytes of reads and writes together."""
    members = [side.members for side in sides]
    requests = [load.data for load in members if load.data is not None]
    moved = [exact(load.carried.likely) for load in members if load.carried is not None]
    spread = DeviceLoad(layout.members, total=spanned(requests), carried=spanned(moved))
    return LayoutLoad(layout, spread, DeviceLoad(layout.members), sides[0].usable)
