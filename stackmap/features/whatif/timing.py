"""
How long requests take on another layout, and how much more load it has room for: by simulation.

The simulations of the present layout that agree with the measurement (fitting.py) give the factor and the range of
the projection.
"""

from collections.abc import Mapping, Sequence
from math import exp, sqrt
from types import MappingProxyType
from typing import NamedTuple

from stackmap.features.whatif.cache import NO_OFFSETS, Cache, Hits
from stackmap.features.whatif.disks import READ, Service
from stackmap.features.whatif.fitting import CLOSE, MILLI, Figures, Fit, Fitting, figures_of
from stackmap.features.whatif.outcome import Outcome
from stackmap.features.whatif.projection import SelfCheck
from stackmap.features.whatif.quantities import Band, exact
from stackmap.features.whatif.simulation import Simulation, Stack
from stackmap.features.whatif.traced_loads import Load, grown, saturating
from stackmap.model.raid import Layout
from stackmap.model.reason import Reason

FULL = 64  # requests in flight that fill any layout
ENOUGH = 1500  # requests of a run that shows the most a layout can serve
ALIKE = 10
# The model's own error with a trace and without, for mean and median, for p95, and for p99; of lab runs.
TRACED_ERROR, COUNTED_ERROR = (0.12, 0.22, 0.33), (0.50, 0.60, 0.70)
EVEN = 3 / 4  # of the error above and below, with a trace; the same lab runs
RANK = {"mean": 0, "p50": 0, "p95": 1, "p99": 2}
MIXED = Reason("no-directions", "the input does not separate reads and writes: use `iostat -dxy`")


class TimeProjection(NamedTuple):
    """
    Latencies in milliseconds by direction and statistic. ``headroom``: by what factor the load may grow until the
    layout serves no more, or a latency limit is exceeded. ``busy``: share of the busiest disk's limit that is used.
    ``iops``: requests per second. ``arrivals``: as in JSON. ``reason``: why nothing is projected, "" if it is.
    ``unseen``: milliseconds per request, now and projected, that a program with one thread waits before its
    request is at the volume; None if it hardly does. ``crowded``: other volumes keep requests in flight at its
    disks; a larger load then takes service away from them.
    """

    self_check: Mapping[str, Mapping[str, SelfCheck]] = MappingProxyType({})
    now: Mapping[str, Figures] = MappingProxyType({})
    projected: Mapping[str, Mapping[str, Band]] = MappingProxyType({})
    headroom_now: Band | None = None
    headroom: Band | None = None
    busy_now: float | None = None
    busy: Band | None = None
    iops_now: float | None = None
    iops: Band | None = None
    arrivals: str | None = None
    reason: str = ""
    unseen: tuple[float, float] | None = None
    crowded: bool = False


class Scenario(NamedTuple):
    """
    What to project: the load *growth* times as large; on *disks* instead of the present ones, if given;
    headroom until p95 is above *limit* milliseconds, if given; behind a *cache* with these *hits*, if given.
    """

    growth: float = 1.0
    disks: Service | None = None
    limit: float | None = None
    cache: Cache | None = None
    hits: Hits | None = None

    @property
    def reads_below(self) -> Band:
        """The share of reads that the cache does not answer: all without one, or if its hits are unknown."""
        hits = self.hits.shares.get(READ) if self.hits else None
        return exact(1.0) if hits is None else Band(1 - hits.high, 1 - hits.likely, 1 - hits.low)


def project_time(fitting: Fitting, layout: Layout, scenario: Scenario) -> TimeProjection:
    """Return the time that requests take on *layout*."""
    no_hits = NO_OFFSETS if scenario.cache and not scenario.hits else ""
    if reason := fitting.reason or no_hits:
        return TimeProjection(fitting.self_check(), reason=reason)
    likely = fitting.fits[0]
    factor = scenario.growth * fitting.drift
    runs = []
    for fit in fitting.distinct_fits():
        sent = grown(fit.load, factor).arrivals
        stacks = _stacks(fitting, layout, fit.services, scenario)
        runs += [(fit, Simulation(stack).run(sent)) for stack in stacks]
    rate = fitting.rate * fitting.drift
    now, projected_growths = _headrooms(fitting, layout, scenario, rate)
    most = projected_growths[0].most
    over = likely.load.kind == "open" and most < scenario.growth
    # A loop slows down where the layout serves no more; requests at fixed times would wait without end.
    if not over and most < scenario.growth:
        runs = [run for run in runs if run[0].load.kind == "closed"]
    projected = {} if over else _latencies(fitting, runs)
    kinds = dict.fromkeys(fit.load.kind for fit in fitting.fits)
    arrivals = "traced" if likely.load.traced else "both" if len(kinds) > 1 else likely.load.kind
    error = _error(fitting, 0)
    busy = [max(outcome.busy) for _, outcome in runs]
    iops = [outcome.settled * fitting.rate / fit.outcome.settled for fit, outcome in runs]
    overload = Reason(
        "overload",
        f"{layout.level} serves at most {most * rate:.3g} of these {rate * scenario.growth:.3g} requests/s: "
        "they would wait without end",
    )
    return TimeProjection(
        fitting.self_check(),
        fitting.latencies(),
        projected,
        _widened_band([growth.within_limit for growth in now], 0.0),
        _widened_band([growth.within_limit for growth in projected_growths], error),
        max(likely.outcome.busy),
        _widened_band(busy, error),
        rate,
        _widened_band(iops, error),
        arrivals,
        overload if over else "",
        _submission_waits(likely.outcome, runs[0][1]),
        any(service.crowd for service in likely.services) and not scenario.disks,
    )


def _submission_waits(now: Outcome, projected: Outcome) -> tuple[float, float] | None:
    """
    Return the mean milliseconds for which submission blocks the program, now and projected.

    None if both are less than ``CLOSE`` of a request's time.
    """
    seen_now, seen_then = _mean(now.seen), _mean(projected.seen)
    waits_now, waits_then = _mean(now.latencies) - seen_now, _mean(projected.latencies) - seen_then
    if waits_now <= CLOSE * seen_now and waits_then <= CLOSE * seen_then:
        return None
    return waits_now, waits_then


def _mean(times: Mapping[str, Sequence[float]]) -> float:
    every = [time for of_operation in times.values() for time in of_operation]
    return sum(every) / max(1, len(every)) * MILLI


def _latencies(fitting: Fitting, runs: Sequence[tuple[Fit, Outcome]]) -> dict[str, dict[str, Band]]:
    """Return the projected latencies, with the factors between measured and simulated applied."""
    bands: dict[str, dict[str, Band]] = {}
    for direction in fitting.measured:
        by_statistic: dict[str, list[float]] = {}
        for fit, outcome in runs:
            times, factor = outcome.seen[direction], fitting.measured_to_simulated(fit, direction)
            if times and factor:
                for key, value in figures_of(times).items():
                    by_statistic.setdefault(key, []).append(value * factor)
        if by_statistic:
            bands[direction] = {
                key: _widened_band(
                    values, _error(fitting, RANK[key]), traced=bool(fitting.requests)
                )
                for key, values in by_statistic.items()
            }
    return bands


def _error(fitting: Fitting, rank: int) -> float:
    """Return the share by which a figure may be off: the model's error plus the self-check's."""
    traced = len(fitting.requests)
    # Requests that wait for each other are alike: some ten of them tell as much as one.
    chance = 2 / sqrt(traced / ALIKE) if traced else 0.0
    errors = TRACED_ERROR if traced else COUNTED_ERROR
    return errors[rank] + (exp(fitting.fits[0].off) - 1) / 2 + min(1.0, chance)


def _headrooms(
    fitting: Fitting, layout: Layout, scenario: Scenario, rate: float
) -> "tuple[list[Growth], list[Growth]]":
    """Return the possible growth of the load, now and on *layout*, by each service of the disks, the likely one first."""
    loads: dict[tuple[Service, ...], Load] = {}
    for fit in fitting.fits:  # the likely one first
        loads.setdefault(fit.services, fit.load)
    now, then = [], []
    for disks, load in loads.items():
        present = fitting.stack(fitting.present, disks)
        now.append(_possible_growth(load, present, rate, scenario.limit))
        stacks = _stacks(fitting, layout, disks, scenario)
        then += [
            now[-1] if stack == present else _possible_growth(load, stack, rate, scenario.limit)
            for stack in stacks
        ]
    return now, then


def _stacks(
    fitting: Fitting, layout: Layout, present_disks: tuple[Service, ...], scenario: Scenario
) -> list[Stack]:
    """Return the projected stack; with a cache, one for each end of the range of its hits, the likely one first."""
    disks = (scenario.disks,) if scenario.disks else present_disks
    stack = fitting.stack(layout, disks, projected=True)
    if not scenario.cache or not scenario.hits:
        return [stack]
    fronts = (scenario.hits.front(scenario.cache, end) for end in ("likely", "low", "high"))
    return [stack._replace(front=front) for front in fronts]


class Growth(NamedTuple):
    """The factor by which a load may grow until the layout serves no more, and until p95 exceeds the limit."""

    most: float
    within_limit: float


def _possible_growth(load: Load, stack: Stack, rate: float, limit: float | None) -> Growth:
    """Return the possible growth on *stack* of *load*, which is *rate* per second."""
    sent = list(load.arrivals) * -(-ENOUGH // len(load.arrivals))
    full = saturating(load._replace(arrivals=sent[:ENOUGH]), FULL)
    most = Simulation(stack).run(full.arrivals).settled / rate
    if limit is None:
        return Growth(most, most)
    low, high = 0.0, most
    for _ in range(7):
        middle = (low + high) / 2
        outcome = Simulation(stack).run(grown(load, middle).arrivals[:ENOUGH])
        slowest = max(figures_of(times)["p95"] for times in outcome.latencies.values() if times)
        low, high = (low, middle) if slowest > limit else (middle, high)
    return Growth(most, low)


def _widened_band(values: Sequence[float], error: float, *, traced: bool = False) -> Band:
    """
    Return the band of *values*, the first of which is likely, wider by the share *error*, and half as much below.

    Bursts and pauses of a thread, which only a trace shows, make requests wait longer, not shorter.
    """
    below, above = (EVEN * error, EVEN * error) if traced else (error / 2, error)
    return Band(min(values) / (1 + below), values[0], max(values) * (1 + above))
