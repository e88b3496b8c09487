"""
How long requests take on another layout, and how much more load it has room for: by simulation.

The present layout is simulated first, with every load and every way to serve that the measurement allows. What is
more than ``OFF`` from the measured mean is no answer and is left out; the rest gives the factor and the range of the
projection. If nothing is left, there is no projection, but a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import exp, log, sqrt
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from stackmap.features.whatif.arriving import (
    ALWAYS_BUSY,
    BATCHES,
    COVERED,
    DEPTHS,
    Load,
    Shape,
    active,
    busiest,
    grown,
    looped,
    most_in_flight,
    saturating,
    shaped,
    traced_loads,
)
from stackmap.features.whatif.bitmap import PERIOD, REGION_LVM, REGION_MD
from stackmap.features.whatif.quantities import Band
from stackmap.features.whatif.rows import Geometry
from stackmap.features.whatif.serving import services
from stackmap.features.whatif.simulation import (
    FLUSH,
    READ,
    WRITE,
    Outcome,
    Service,
    Simulation,
    Stack,
    percentiles,
)
from stackmap.features.whatif.volume_context import VolumeContext, bitmap_of
from stackmap.ledger.ledger import Ledger
from stackmap.model.raid import Layout
from stackmap.model.reason import Reason

if TYPE_CHECKING:
    from stackmap.features.trace.arrivals import TracedRequest
    from stackmap.features.trace.record import Trace
    from stackmap.features.whatif.measured import Measured
    from stackmap.features.whatif.pattern import Pattern

OFF = 0.25  # of the measured mean: a simulation further off is no answer
CLOSE = 0.10  # one this close needs no better one
VISIBLE = 0.2  # of the bytes: sequential shares that differ less make no difference
RARE = 0.03  # of all requests: a direction with fewer is not judged
FULL = 64  # requests in flight that fill any layout
FITTING = 600  # requests of a run that looks for the depth of a loop
ENOUGH = 1500  # requests of a run that shows the most a layout can serve
ALIKE = 10
DEEPER = (
    4  # times the likely depth of a loop: where depth makes no difference, at most this is assumed
)
LEAST = 20  # requests of a direction for a percentile
# The model's own error with a trace and without, for mean and median, for p95, and for p99; of lab runs.
TRACED_ERROR, COUNTED_ERROR = (0.18, 0.28, 0.38), (0.50, 0.60, 0.70)
STATISTICS = {"mean": None, "p50": 0.50, "p95": 0.95, "p99": 0.99}
MILLI = 1000.0
NO_LOAD = Reason("idle", "the volume was idle: no request waits")
NO_SERVICE = Reason(
    "no-service-times",
    "the input has no await of the disks: record counters with `stackmap record`, or `iostat -x`",
)
NO_AWAIT = Reason(
    "no-await", "the input has no await of the volume, so a simulation cannot be checked: record it"
)
MIXED = Reason("no-directions", "the input does not separate reads and writes: use `iostat -dxy`")

Figures = dict[str, float]  # milliseconds by statistic


class Checked(NamedTuple):
    """A statistic of the present layout in milliseconds, measured and simulated; None where not measured."""

    measured: float | None
    simulated: float


class TimeProjection(NamedTuple):
    """
    Latencies in milliseconds by direction and statistic. ``headroom``: by what factor the load may grow until the
    layout serves no more, or a latency limit is exceeded. ``busy``: share of the busiest disk's limit that is used.
    ``iops``: requests per second. ``arrivals``: as in JSON. ``reason``: why nothing is projected, "" if it is.
    ``unseen``: milliseconds that programs wait now before their writes are at the volume; None if they do not.
    """

    self_check: Mapping[str, Mapping[str, Checked]]
    now: Mapping[str, Figures]
    projected: Mapping[str, Mapping[str, Band]]
    headroom_now: float | None
    headroom: Band | None
    busy_now: float | None
    busy: Band | None
    iops_now: float | None
    iops: Band | None
    arrivals: str | None
    reason: str = ""
    unseen: float | None = None


class Wanted(NamedTuple):
    """
    What to project: the load *growth* times as large; on *disks* instead of the present ones, if given;
    headroom until p95 is above *limit* milliseconds, if given.
    """

    growth: float = 1.0
    disks: Service | None = None
    limit: float | None = None


class Subject(NamedTuple):
    """
    The measured volume. ``parts``: its load in each interval. ``requests``: its traced ones, () if they are too
    few to represent it; ``longest``: seconds of the longest one that was traced.
    """

    ledger: Ledger
    context: VolumeContext
    measured: Measured
    parts: Sequence[Measured]
    pattern: Pattern
    trace: Trace | None
    requests: Sequence[TracedRequest]
    longest: float | None = None


class _Fit(NamedTuple):
    """A load on disks whose simulation agrees with the measurement. ``off``: the log of the worst factor."""

    load: Load
    services: tuple[Service, ...]
    outcome: Outcome
    off: float


def refused(reason: str) -> TimeProjection:
    """Return the answer where nothing can be projected."""
    return TimeProjection({}, {}, {}, None, None, None, None, None, None, None, reason)


class Timing:
    """The simulations of one volume; the present layout is simulated once for all projections."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._measured = self._measurement()
        self.reason = ""
        self._fits: list[_Fit] = []
        self._nearest: _Fit | None = None
        self._rate = self._requests_per_second()
        self._check()

    def project(self, layout: Layout, wanted: Wanted) -> TimeProjection:
        """Return the time that requests take on *layout*."""
        if self.reason:
            return refused(self.reason)._replace(self_check=self._self_check())
        likely = self._fits[0]
        factor = wanted.growth * self._drift
        runs = []
        for fit in self._different():
            stack = self._stack(layout, fit.services, wanted.disks, projected=True)
            runs.append((fit, Simulation(stack).run(grown(fit.load, factor).arrivals)))
        rate = self._rate * self._drift
        now, rooms = self._headrooms(layout, wanted, rate)
        over = likely.load.kind == "open" and rooms[0] < wanted.growth
        # Beside a loop, requests that come whatever the latency are no case of what the layout cannot serve.
        if not over and rooms[0] < wanted.growth:
            runs = [run for run in runs if run[0].load.kind == "closed"]
        projected = {} if over else self._bands(runs)
        kinds = dict.fromkeys(fit.load.kind for fit in self._fits)
        arrivals = (
            "traced" if likely.load.traced else "both" if len(kinds) > 1 else likely.load.kind
        )
        error = self._error(0)
        busy = [max(outcome.busy) for _, outcome in runs]
        iops = [outcome.rate * self._rate / fit.outcome.rate for fit, outcome in runs]
        return TimeProjection(
            self._self_check(),
            self._now(),
            projected,
            now,
            _band(rooms, error),
            max(likely.outcome.busy),
            _band(busy, error),
            rate,
            _band(iops, error),
            arrivals,
            _overload(layout, rooms[0] * rate, rate * wanted.growth) if over else "",
            self._unseen(likely.outcome),
        )

    # The present layout.

    def _check(self) -> None:
        """Simulate the present layout with all that is possible."""
        subject = self._subject
        measured = subject.measured
        if not self._rate:
            self.reason = NO_LOAD
            return
        if not self._measured:
            self.reason = NO_AWAIT
            return
        pages = measured.metadata.requests if measured.metadata else 0.0
        ways = services(
            subject.ledger,
            subject.context,
            subject.trace,
            pages / max(1, len(subject.context.disks)),
            subject.longest,
        )
        if not ways:
            self.reason = NO_SERVICE
            return
        self._try(ways)

    def _try(self, ways: Sequence[tuple[Service, ...]]) -> None:
        tried = []
        for way in ways:
            for load in self._loads(way):
                outcome = self._run(load, way)
                tried.append(_Fit(load, way, outcome, self._distance(outcome)))
        tried.sort(key=lambda fit: fit.off > log(1 + CLOSE))  # else in the order of likelihood
        fits = [fit for fit in tried if fit.off <= log(1 + OFF)]
        self._nearest = min(tried, key=lambda fit: fit.off)
        if not fits:
            self.reason = self._disagreement()
            return
        if fits[0].off > log(1 + CLOSE):
            fits.sort(key=lambda fit: fit.off)
        self._fits = fits

    def _loads(self, way: tuple[Service, ...]) -> Iterator[Load]:
        """Yield the loads that the measurement allows."""
        subject = self._subject
        always = self._busy > ALWAYS_BUSY
        if subject.requests:
            loads = traced_loads(subject.requests)
            if always and loads[0].kind == "open":
                loop = partial(looped, subject.requests)
                yield from map(loop, self._depths(way, loop, most_in_flight(subject.requests)))
            yield from loads
            return
        seen = max((part.in_flight or 0 for part in subject.parts), default=0)
        for share in self._shares():
            shape = self._shape()._replace(sequential=share)
            if always:
                loop = partial(shaped, shape, "closed")
                yield from map(loop, self._depths(way, loop, seen))
            yield from (shaped(shape, "open", batch=batch) for batch in BATCHES)

    def _shares(self) -> list[float]:
        """Return the sequential shares of writes that the counters allow, the likely one first."""
        pattern = self._subject.pattern
        others = sorted({each.sequential for each in pattern.hypotheses})
        likely = pattern.likely.sequential
        if not self._subject.measured.write.requests:
            return [likely]
        far = (each for each in (others[0], others[-1]) if abs(each - likely) > VISIBLE)
        return [likely, *dict.fromkeys(far)]

    def _depths(
        self, way: tuple[Service, ...], loop: Callable[[int], Load], least: int
    ) -> list[int]:
        """
        Return the depths of a loop that agrees with the measured rate and latency: the likely one, then the ends.

        *least*: so many requests were in flight at once. Where submission blocks, more are kept than are seen.
        """
        found: list[tuple[float, int]] = []
        for depth in DEPTHS:
            if depth * (1 + OFF) < least:
                continue
            load = loop(depth)
            outcome = self._run(load._replace(arrivals=load.arrivals[:FITTING]), way)
            off = abs(log(outcome.rate / self._rate)) + self._distance(outcome)
            if off < 2 * log(1 + OFF):
                found.append((off, depth))
            elif found:
                break
        if not found:
            return [max(1, round(self._subject.measured.queue))]
        likely = min(found)[1]
        deepest = max(depth for _, depth in found if depth <= DEEPER * likely)
        return list(dict.fromkeys((likely, found[0][1], deepest)))

    def _run(self, load: Load, way: tuple[Service, ...]) -> Outcome:
        """Simulate the present layout."""
        return Simulation(self._stack(self._present, way, None, projected=False)).run(load.arrivals)

    @property
    def _drift(self) -> float:
        """The measured rate as a multiple of the traced one, where the trace is only a part of the recording."""
        requests, parts = self._subject.requests, active(self._subject.parts)
        seconds = sum(length for length, _ in parts)
        if len(requests) < 2 or not seconds:
            return 1.0
        if requests[-1].time - requests[0].time > COVERED * seconds:
            return 1.0
        return sum(length * rate for length, rate in parts) / seconds / self._rate

    def _requests_per_second(self) -> float:
        """Return the rate while there is load."""
        requests = self._subject.requests
        if len(requests) > 1:
            return len(requests) / max(1e-6, requests[-1].time - requests[0].time)
        parts = active(self._subject.parts)
        seconds = sum(length for length, _ in parts)
        return sum(length * rate for length, rate in parts) / seconds if seconds else 0.0

    @property
    def _busy(self) -> float:
        """The share of time in which the volume had a request in flight, in most intervals with load; 1 if unknown."""
        known = [part.busy for part in busiest(self._subject.parts) if part.busy is not None]
        return median(known) if known else 1.0

    @property
    def _present(self) -> Layout:
        from stackmap.features.whatif.projection import SINGLE_DEVICE

        return self._subject.context.present or SINGLE_DEVICE

    def _shape(self) -> Shape:
        measured, pattern = self._subject.measured, self._subject.pattern.likely
        size = self._subject.context.size or (1 << 36)
        span = min(size, int(pattern.span)) if pattern.span else size
        return Shape(
            measured.read.requests,
            measured.write.requests,
            measured.known_flushes,
            _whole(measured.read.size),
            _whole(measured.write.size),
            pattern.sequential,
            max(1 << 20, span),
            active(self._subject.parts),
        )

    def _measurement(self) -> dict[str, Figures]:
        """Return the measured latencies of the volume: of traced requests, else the mean of the counters."""
        found: dict[str, Figures] = {}
        for direction in (READ, WRITE):
            traced = [
                r.done - r.time
                for r in self._subject.requests
                if r.operation == direction and r.done is not None
            ]
            flow = self._subject.ledger.load(self._subject.context.device.name).flow(direction)
            if len(traced) >= LEAST:
                found[direction] = _figures(traced)
            elif not self._subject.requests and flow.await_ms and flow.ios:
                found[direction] = {"mean": flow.await_ms}
        return found

    def _distance(self, outcome: Outcome) -> float:
        """Return the log of the factor between simulated and measured, of the direction that is further off."""
        total = sum(map(len, outcome.latencies.values()))
        worst = 0.0
        for direction, figures in self._measured.items():
            times = self._counted(outcome, direction)
            if len(times) < RARE * total or not times:
                continue
            mine = _figures(times)
            both = [
                abs(log(mine[key] / figures[key])) for key in ("mean", "p50") if figures.get(key)
            ]
            worst = max(worst, sum(both) / len(both))
        return worst

    def _counted(
        self, outcome: Outcome, direction: str, *, by_program: bool = False
    ) -> list[float]:
        """
        Return the simulated times of what counts as *direction*: dm counts empty flushes as writes.

        *by_program*: with the time that a program waits before its request is at the volume.
        """
        latencies = outcome.latencies if by_program else outcome.seen
        times = latencies[direction]
        if (
            direction == WRITE
            and not self._subject.requests
            and self._subject.context.counts_flushes
        ):
            return times + latencies[FLUSH]
        return times

    def _self_check(self) -> dict[str, dict[str, Checked]]:
        fit = self._fits[0] if self._fits else self._nearest
        if fit is None:
            return {}
        return {
            direction: {
                key: Checked(figures.get(key), value)
                for key, value in _figures(times).items()
                if key != "p99"
            }
            for direction, figures in self._measured.items()
            if (times := self._counted(fit.outcome, direction))
        }

    def _disagreement(self) -> str:
        checked = [
            f"{direction}s {check['mean'].measured:.3g} ms measured, {check['mean'].simulated:.3g} ms simulated"
            for direction, check in self._self_check().items()
        ]
        advice = (
            "record one even load with `stackmap record --trace`"
            if not self._subject.requests
            else "something that is not modelled delays requests"
        )
        return Reason(
            "self-check",
            f"the simulated present layout differs from the measurement ({'; '.join(checked)}): {advice}",
        )

    def _now(self) -> dict[str, Figures]:
        """Return the present latencies: measured, and where only the mean is, the percentiles simulated to it."""
        likely = self._fits[0]
        now = {}
        for direction, figures in self._measured.items():
            times = self._counted(likely.outcome, direction)
            if times:
                mine = _figures(times)
                factor = figures["mean"] / mine["mean"]
                now[direction] = {
                    key: figures.get(key, value * factor) for key, value in mine.items()
                }
        return now

    # Another layout.

    @staticmethod
    def _unseen(outcome: Outcome) -> float | None:
        """Return how long submission blocks the program, on average per write."""
        whole, seen = outcome.latencies[WRITE], outcome.seen[WRITE]
        waits = (sum(whole) - sum(seen)) / len(whole) * MILLI if whole else 0.0
        return waits if whole and waits > CLOSE * sum(seen) / len(seen) * MILLI else None

    def _different(self) -> list[_Fit]:
        """Return the likely fit, and of those that differ in kind, pattern or disks the nearest and the deepest."""
        chosen = self._fits[:1]
        groups: dict[object, list[_Fit]] = {}
        for fit in self._fits:
            groups.setdefault((fit.load.kind, fit.load.sequential, fit.services), []).append(fit)
        for group in groups.values():
            chosen += [group[0], max(group, key=lambda fit: fit.load.depth)]
        return list({id(fit): fit for fit in chosen}.values())

    def _bands(self, runs: Sequence[tuple[_Fit, Outcome]]) -> dict[str, dict[str, Band]]:
        """Return the projected latencies, with the factors between measured and simulated applied."""
        found: dict[str, dict[str, Band]] = {}
        for direction, figures in self._measured.items():
            values: dict[str, list[float]] = {}
            for fit, outcome in runs:
                before, after = (
                    self._counted(fit.outcome, direction),
                    self._counted(outcome, direction, by_program=True),
                )
                if before and after:
                    factor = figures["mean"] / _figures(before)["mean"]
                    for key, value in _figures(after).items():
                        values.setdefault(key, []).append(value * factor)
            if values:
                found[direction] = {
                    key: _band(each, self._error(_RANK[key])) for key, each in values.items()
                }
        return found

    def _error(self, rank: int) -> float:
        """Return the share by which a figure may be off: the model's own, and that of the self-check."""
        traced = len(self._subject.requests)
        # Requests that wait for each other are alike: some ten of them tell as much as one.
        chance = 2 / sqrt(traced / ALIKE) if traced else 0.0
        errors = TRACED_ERROR if traced else COUNTED_ERROR
        return errors[rank] + (exp(self._fits[0].off) - 1) / 2 + min(1.0, chance)

    def _headrooms(self, layout: Layout, wanted: Wanted, rate: float) -> tuple[float, list[float]]:
        """Return by what factor the load may grow, now and on *layout*: likely, and if disks serve the other way."""
        likely = self._fits[0]
        ways = {likely.services: likely.load}
        for fit in self._fits:
            ways.setdefault(fit.services, fit.load)
        now = self._stack(self._present, likely.services, None, projected=False)
        found = [
            _room(load, self._stack(layout, way, wanted.disks, projected=True), rate, wanted.limit)
            for way, load in ways.items()
        ]
        return _room(likely.load, now, rate, wanted.limit), found

    def _stack(
        self, layout: Layout, ways: tuple[Service, ...], disks: Service | None, *, projected: bool
    ) -> Stack:
        """Return *layout* on the present disks, or on as many like *disks*; more members than disks have equal ones."""
        context = self._subject.context
        size = context.size or (1 << 36)
        own = tuple(ways) if disks is None else (disks,)
        places: Sequence[int]
        if projected or len(ways) == layout.members:
            own = tuple(own[place % len(own)] for place in range(layout.members))
            places = range(layout.members)
        else:
            places = [place % len(own) for place in range(layout.members)]
        lacking = frozenset(_missing(context, layout)) if not projected else frozenset()
        region = context.region or (REGION_LVM if context.lvm else REGION_MD)
        bitmap = bitmap_of(layout, region, size) if projected else context.bitmap
        return Stack(
            partial(Geometry, layout, size, lacking),
            own,
            tuple(places),
            size,
            None if bitmap is None else bitmap.covers,
            PERIOD,
            managed=layout.parity > 0 or layout.copies > 1,
        )


_RANK = {"mean": 0, "p50": 0, "p95": 1, "p99": 2}


def _missing(context: VolumeContext, layout: Layout) -> range:
    """Return the members that a degraded array lacks."""
    if "degraded" not in context.background_state:
        return range(0)
    return range(min(len(context.members), layout.members - 1), layout.members)


def _room(load: Load, stack: Stack, rate: float, limit: float | None) -> float:
    """Return the factor by which *load*, which is *rate* per second, may grow on *stack*."""
    full = saturating(load._replace(arrivals=load.arrivals[:ENOUGH]), FULL)
    most = Simulation(stack).run(full.arrivals).rate / rate
    if limit is None:
        return most
    low, high = 0.0, most
    for _ in range(7):
        middle = (low + high) / 2
        outcome = Simulation(stack).run(grown(load, middle).arrivals[:ENOUGH])
        slowest = max(_figures(times)["p95"] for times in outcome.latencies.values() if times)
        low, high = (low, middle) if slowest > limit else (middle, high)
    return low


def _overload(layout: Layout, most: float, rate: float) -> str:
    return Reason(
        "overload",
        f"{layout.level} serves at most {most:.3g} of these {rate:.3g} requests/s: they would wait without end",
    )


def _whole(size: float) -> int:
    """Return *size* in whole sectors."""
    return max(512, round(size / 512) * 512)


def _figures(times: Sequence[float]) -> Figures:
    """Return the statistics of *times*, which are seconds and not empty, in milliseconds."""
    shares = [share for share in STATISTICS.values() if share is not None]
    found = [sum(times) / len(times), *percentiles(times, shares)]
    return {key: value * MILLI for key, value in zip(STATISTICS, found, strict=True)}


def _band(values: Sequence[float], error: float) -> Band:
    """
    Return the band of *values*, the first of which is likely, wider by the share *error*, and half as much below.

    What is not seen (bursts, pauses of a thread) makes requests wait longer, not shorter.
    """
    return Band(min(values) / (1 + error / 2), values[0], max(values) * (1 + error))
