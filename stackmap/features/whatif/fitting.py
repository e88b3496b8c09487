"""
The present layout, simulated with every load and every way to serve that the measurement allows.

Simulations more than ``OFF`` from the measured mean are left out. If none remains, there is a reason.
"""

from collections.abc import Iterator, Sequence
from math import log
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from stackmap.features.whatif.bitmap import default_bitmap
from stackmap.features.whatif.counted_loads import bursts_of, load_of_counters
from stackmap.features.whatif.disks import FLUSH, READ, WRITE, Service
from stackmap.features.whatif.outcome import Outcome
from stackmap.features.whatif.pattern import pattern_of
from stackmap.features.whatif.projection import SelfCheck
from stackmap.features.whatif.services import services
from stackmap.features.whatif.simulation import Simulation, Stack
from stackmap.features.whatif.traced_loads import (
    ALWAYS_BUSY,
    COVERED,
    DEPTHS,
    Load,
    active,
    busiest,
    is_representative,
    most_in_flight,
    pace_of,
    saturating,
    traced_loads,
)
from stackmap.features.whatif.volume_context import SINGLE_DEVICE, VolumeContext
from stackmap.model.raid import PAGE, Layout
from stackmap.model.reason import Reason

if TYPE_CHECKING:
    from stackmap.features.trace.record import Trace
    from stackmap.features.whatif.measured import Measured, Window

OFF = 0.25  # of the measured mean: simulations further off are left out
CLOSE = 0.10  # so close, the likely one stays first
VISIBLE = 0.2  # of the bytes: sequential shares that differ less make no difference
RARE = 0.03  # of all requests: a direction with fewer is not judged
FITTING = 1000  # requests of a short run, which looks for the depth of a loop or for bursts
SHORT = 0.35  # off in a run of FITTING requests: no longer run follows
ROUGH = 0.5  # off in requests in flight or merging: accepted if nothing is nearer
EQUAL = 0.03  # depths whose fit is that much worse than the best one are as likely
DEEPER = 4  # times the likely depth of a loop, at most: where depth makes no difference
REWRITTEN = 64 * PAGE  # bytes that are all in md's stripe cache, which has 256 pages of each member
INTERVALS, FEW = 4, 3  # that show a program's own queue, and its requests
EVEN = 0.25  # of the most in flight: how much a program's own queue may differ
LEAST_BUSY = 0.01  # of the time: a text prints less too coarsely
LEAST = 20  # requests of a direction for a percentile
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
MILLI = 1000.0
SHORTEST = 1e-9  # milliseconds
UNKNOWN_SIZE = 1 << 36  # bytes of a volume whose size is not known
NO_LOAD = Reason("idle", "the volume was idle: no request waits")
NO_SERVICE = Reason(
    "no-service-times",
    "the input has no await of the disks: record counters with `stackmap record`, or `iostat -x`",
)
NO_AWAIT = Reason(
    "no-await", "the input has no await of the volume, so a simulation cannot be checked: record it"
)

Figures = dict[str, float]  # milliseconds by statistic


class Fit(NamedTuple):
    """A load on disks whose simulation agrees with the measurement. ``off``: the log of the worst factor."""

    load: Load
    services: tuple[Service, ...]
    outcome: Outcome
    off: float


class Fitting:
    """The simulations of a volume's present layout: ``fits``, the likely one first, or else a ``reason``."""

    def __init__(
        self, window: "Window", whole: "Measured", context: VolumeContext, trace: "Trace | None"
    ) -> None:
        self._ledger, self._parts, self.load = window.ledger, window.parts, whole
        self.context, self._pattern, self._trace = context, pattern_of(whole, context), trace
        traced = trace.requests(context.device.number) if trace else ()
        times = [request.done - request.time for request in traced if request.done is not None]
        self._longest = max(times, default=None)
        # Even without its requests, the trace shows how long disks take.
        self.requests = traced if is_representative(traced, window.parts) else ()
        self._pace = pace_of(traced, self.present.copies)
        self.measured = self._measurement()
        # Requests per second while there is load.
        self.rate = self._seconds_and_rate()[1]
        if len(self.requests) > 1:
            self.rate = len(self.requests) / max(1e-6, self._traced_seconds)
        self.reason = ""
        self.fits: list[Fit] = []
        self._nearest: Fit | None = None
        self._check()

    def _check(self) -> None:
        """Simulate the present layout with all that is possible."""
        if not self.rate:
            self.reason = NO_LOAD
            return
        if not self.measured:
            self.reason = NO_AWAIT
            return
        possible_disks = services(self._ledger, self.context, self.load, self._trace, self._longest)
        if not possible_disks:
            self.reason = NO_SERVICE
            return
        is_even = self._is_even
        tried: list[tuple[float, Fit]] = []  # with how far its times are off
        for disks in possible_disks:
            for load in self._loads(disks):
                if is_even and load.kind == "open" and any(_is_near(fit.off) for _, fit in tried):
                    continue
                outcome, times, off = self._judge(load, disks)
                tried.append((times, Fit(load, disks, outcome, off)))
        self._nearest = min(tried, key=itemgetter(0))[1]
        near = [fit for times, fit in tried if _is_near(times) and _is_near(fit.off, ROUGH)]
        self.fits = [fit for fit in near if _is_near(fit.off)] or near
        # The close ones in the order of likelihood; if the likely one is not close, by distance.
        self.fits.sort(key=lambda fit: not _is_near(fit.off, CLOSE))
        if is_even:
            self.fits = [fit for fit in self.fits if fit.load.kind == "closed"] or self.fits
        if not self.fits:
            self.reason = self._disagreement()
        elif not _is_near(self.fits[0].off, CLOSE):
            self.fits.sort(key=lambda fit: fit.off)

    def _judge(self, load: Load, disks: tuple[Service, ...]) -> tuple[Outcome, float, float]:
        """Simulate *load*. Return the outcome, how far its times are off, and how far with queue depth and merging."""
        queue = None if load.traced else self._queue
        for last in (FITTING, None) if queue and load.kind == "open" else (None,):
            outcome = self._run(load._replace(arrivals=load.arrivals[:last]), disks)
            off = times = self._times_off(outcome)
            if load.kind == "closed":  # it makes its own rate
                off = times = max(off, abs(log(outcome.settled / self.rate)))
            if queue:  # chance moves it twice as far as a mean of times
                off = max(off, self._disk_writes_off(outcome), abs(log(outcome.queue / queue)) / 2)
            if not _is_near(off, SHORT):
                break
        return outcome, times, off

    def _disk_writes_off(self, outcome: Outcome) -> float:
        """Return half of the log of the factor between simulated and counted writes of the disks per write."""
        writes, done = outcome.below.volume[WRITE], outcome.below.disks[WRITE]
        counted = self.load.disks_write
        # Empty flushes are among the disks' writes.
        if not writes or not done or not counted or not counted.requests or self.load.flushes:
            return 0.0
        return abs(log(done / writes * self.load.write.requests / counted.requests)) / 2

    def _loads(self, disks: tuple[Service, ...]) -> Iterator[Load]:
        """Yield the loads that the measurement allows."""
        always = self._busy > ALWAYS_BUSY
        if self.requests:
            loads = traced_loads(self.requests)
            if always and loads[0].kind == "open":
                yield from self._loops(disks, loads[0], most_in_flight(self.requests))
            yield from loads
            return
        seen = max((part.in_flight or 0 for part in self._parts), default=0)
        parts = active(self._parts)
        size, span = self.context.size or UNKNOWN_SIZE, self._pattern.likely.span
        span = max(1 << 20, min(size, int(span)) if span else size)
        span = REWRITTEN if self._pattern.is_rewritten else span
        together = max(self._merging, self._pattern.likely.following)
        for share in self._shares():
            if always:
                yield from self._loops(disks, load_of_counters(self.load, parts, share, span), seen)
            for burst in bursts_of(self._queue):
                following = max(share, together) if burst.size > 1 else share
                yield load_of_counters(self.load, parts, following, span, burst)

    @property
    def _merging(self) -> float:
        """The share of writes that merge at the disks into the write before, of those that arrive together."""
        load = self.load
        sent, done = load.members_write, load.disks_write
        flushes = load.known_flushes * self.present.members
        if sent is None or done is None or done.requests <= flushes or sent.requests <= flushes:
            return 0.0
        merged = (sent.requests - flushes) / (done.requests - flushes)
        if self.present.parity:  # its members are sent pages, which merge within a request, too
            merged *= PAGE / max(PAGE, min(load.write.size, self.present.chunk or PAGE))
        return max(0.0, 1 - 1 / merged)

    def _shares(self) -> list[float]:
        """Return the sequential shares of writes that the counters allow, the likely one first."""
        shares = [hypothesis.sequential for hypothesis in self._pattern.hypotheses]
        likely = shares[0]
        if self._pattern.is_rewritten:
            return [0.0]
        if not self.load.write.requests:
            return [likely]
        ends = min(shares), max(shares)
        return list(dict.fromkeys((likely, *(s for s in ends if abs(s - likely) > VISIBLE))))

    def _loops(self, disks: tuple[Service, ...], load: Load, least: int) -> Iterator[Load]:
        """
        Yield *load* as loops whose depth agrees with the measured rate and latency: the likely one, then the ends.

        *least*: the most requests seen in flight at once. Where submission blocks, a program keeps more than that.
        """
        near: list[tuple[float, int]] = []
        for depth in DEPTHS:
            if depth < least:
                continue
            if depth > DEEPER * max(1.0, self.load.queue):
                break
            loop = saturating(load, depth)
            outcome = self._run(loop._replace(arrivals=loop.arrivals[:FITTING]), disks)
            off = abs(log(outcome.settled / self.rate)) + self._times_off(outcome)
            if off < 2 * log(1 + OFF):
                near.append((off, depth))
            elif near:
                break
        depths = [max(1, round(self.load.queue))]
        if near:
            nearest = min(near)[0]
            equal = [depth for off, depth in near if off <= nearest + EQUAL]
            likely = equal[len(equal) // 2]
            deepest = max(depth for _, depth in near if depth <= DEEPER * likely)
            depths = list(dict.fromkeys((likely, near[0][1], deepest)))
        for depth in depths:
            yield saturating(load, depth)

    def _run(self, load: Load, disks: tuple[Service, ...]) -> Outcome:
        """Simulate the present layout."""
        return Simulation(self.stack(self.present, disks)).run(load.arrivals)

    def fits_to_replay(self) -> list[Fit]:
        """Return the fits for replays of counts: those that agree with the measured times, or else the nearest."""
        return self.distinct_fits() or ([self._nearest] if self._nearest else [])

    def stack(
        self, layout: Layout, disks: tuple[Service, ...], *, projected: bool = False
    ) -> Stack:
        """
        Return *layout* on *disks*, under the measured writes.

        *projected*: whole, with the default bitmap. If there are more members than disks, some have equal ones.
        """
        context, members = self.context, layout.members
        places = [place % len(disks) for place in range(members)]
        if projected or len(disks) == members:
            disks, places = tuple(disks[place] for place in places), list(range(members))
        bitmap = default_bitmap(layout, context) if projected else context.bitmap
        return Stack(
            layout,
            context.size or UNKNOWN_SIZE,
            disks,
            places,
            bitmap and bitmap.covers,
            held=layout.parity > 0 or (layout.copies > 1 and not context.keeps_flags),
            missing=frozenset(() if projected else _missing(context, layout)),
            writes=self.load.write.requests,
            pace=self._pace,
            plugged=context.plugged,
        )

    @property
    def drift(self) -> float:
        """The measured rate as a multiple of the traced one, where the trace is only a part of the recording."""
        seconds, rate = self._seconds_and_rate()
        if len(self.requests) < 2 or not seconds or self._traced_seconds > COVERED * seconds:
            return 1.0
        return rate / self.rate

    @property
    def _traced_seconds(self) -> float:
        return self.requests[-1].time - self.requests[0].time

    def _seconds_and_rate(self) -> tuple[float, float]:
        """Return the time of all intervals with load, and the mean requests per second in it."""
        parts = active(self._parts)
        seconds = sum(length for length, _ in parts)
        return seconds, sum(length * rate for length, rate in parts) / seconds if seconds else 0.0

    @property
    def _busy(self) -> float:
        """The share of time in which the volume had a request in flight, in most intervals with load; 1 if unknown."""
        known = [part.busy for part in busiest(self._parts) if part.busy is not None]
        return median(known) if known else 1.0

    @property
    def _queue(self) -> float | None:
        """The requests in flight while any was, by counters; None where that time is not known well."""
        known = self.context.counts_busy and (self.load.busy or 0.0) >= LEAST_BUSY
        return self.load.queue if known else None

    @property
    def _is_even(self) -> bool:
        """
        Whether about as many requests were in flight at the ends of all intervals, at least a few and all the time.

        A program that keeps that many looks like this. Where requests arrive independently so often that one is always
        in flight, their number changes by its own size within seconds.
        """
        counts = [part.in_flight or 0 for part in self._parts]
        enough = self._busy > ALWAYS_BUSY and len(counts) >= INTERVALS and min(counts) >= FEW
        return enough and max(counts) - min(counts) <= EVEN * max(counts)

    @property
    def present(self) -> Layout:
        """The present layout; without one, a single device."""
        return self.context.present or SINGLE_DEVICE

    def _measurement(self) -> dict[str, Figures]:
        """Return the measured latencies of the volume: of traced requests, else the mean of the counters."""
        latencies: dict[str, Figures] = {}
        for direction in (READ, WRITE):
            traced = [
                r.done - r.time
                for r in self.requests
                if r.operation == direction and r.done is not None
            ]
            flow = self._ledger.load(self.context.device.name).flow(direction)
            if len(traced) >= LEAST:
                latencies[direction] = figures_of(traced)
            elif not self.requests and flow.await_ms and flow.ios:
                latencies[direction] = {"mean": flow.await_ms}
        return latencies

    def _times_off(self, outcome: Outcome) -> float:
        """Return the log of the factor between simulated and measured, of the direction that is further off."""
        total = sum(map(len, outcome.latencies.values()))
        worst = 0.0
        for direction, figures in self.measured.items():
            times = self.times_of(outcome, direction)
            if len(times) < RARE * total or not times:
                continue
            mine = figures_of(times)
            # Where no request reaches a disk, none takes time.
            both = [
                abs(log(max(mine[key], SHORTEST) / figures[key]))
                for key in ("mean", "p50")
                if figures.get(key)
            ]
            worst = max(worst, sum(both) / len(both))
        return worst

    def times_of(self, outcome: Outcome, direction: str) -> list[float]:
        """Return the simulated times of what counts as *direction*: dm counts empty flushes as writes."""
        times = outcome.seen[direction]
        with_flushes = self.context.counts_flushes and not self.requests
        return times + outcome.seen[FLUSH] if direction == WRITE and with_flushes else times

    def self_check(self) -> dict[str, dict[str, SelfCheck]]:
        """Return the present layout's statistics by direction: of the likely fit, else of the nearest."""
        fit = self.fits[0] if self.fits else self._nearest
        if fit is None:
            return {}
        return {
            direction: {
                key: SelfCheck(figures.get(key), value)
                for key, value in figures_of(times).items()
                if key != "p99"
            }
            for direction, figures in self.measured.items()
            if (times := self.times_of(fit.outcome, direction))
        }

    def _disagreement(self) -> str:
        checked = [
            f"{direction}s {check['mean'].measured:.3g} ms measured, {check['mean'].simulated:.3g} ms simulated"
            for direction, check in self.self_check().items()
        ]
        advice = (
            "record one even load with `stackmap record --trace`"
            if not self.requests
            else "something that is not modelled delays requests"
        )
        return Reason(
            "self-check",
            f"the simulated present layout differs from the measurement ({'; '.join(checked)}): {advice}",
        )

    def measured_to_simulated(self, fit: Fit, direction: str) -> float | None:
        """Return the measured mean of *direction* as a multiple of the simulated one; None if none was simulated."""
        times = self.times_of(fit.outcome, direction)
        return self.measured[direction]["mean"] / figures_of(times)["mean"] if times else None

    def latencies(self) -> dict[str, Figures]:
        """Return the present latencies: measured statistics, and the others as simulated, scaled to the measured mean."""
        fit, now = self.fits[0], {}
        for direction, figures in self.measured.items():
            times, factor = fit.outcome.seen[direction], self.measured_to_simulated(fit, direction)
            if times and factor:
                mine = {key: value * factor for key, value in figures_of(times).items()}
                alone = len(times) == len(self.times_of(fit.outcome, direction))
                now[direction] = mine | (figures if alone else {})
        return now

    def distinct_fits(self) -> list[Fit]:
        """Return the likely fit, and the nearest and the deepest of each kind, pattern, plugs and disks."""
        chosen = self.fits[:1]
        groups: dict[object, list[Fit]] = {}
        for fit in self.fits:
            load = fit.load
            key = load.kind, load.sequential, load.plugged, fit.services
            groups.setdefault(key, []).append(fit)
        for group in groups.values():
            chosen += [group[0], max(group, key=lambda fit: fit.load.depth)]
        return list({id(fit): fit for fit in chosen}.values())


def _is_near(off: float, share: float = OFF) -> bool:
    """Whether *off*, the log of a factor, is at most that of a *share* more."""
    return off <= log(1 + share)


def _missing(context: VolumeContext, layout: Layout) -> range:
    """Return the members that a degraded array lacks."""
    if "degraded" not in context.background_state:
        return range(0)
    return range(min(len(context.members), layout.members - 1), layout.members)


def figures_of(times: Sequence[float]) -> Figures:
    """Return mean and nearest-rank percentiles of *times*, which are seconds and not empty, in milliseconds."""
    ordered = sorted(times)
    ranks = {
        key: min(len(times) - 1, int(share * len(times))) for key, share in PERCENTILES.items()
    }
    figures = {"mean": sum(times) / len(times)} | {key: ordered[at] for key, at in ranks.items()}
    return {key: value * MILLI for key, value in figures.items()}
