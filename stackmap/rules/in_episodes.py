"""What the rules find inside each episode, compared with the usual time, and which volumes sent the load."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.ledger.averages import average
from stackmap.ledger.blame import Loader, blame
from stackmap.ledger.episodes import Episode, episodes, outside
from stackmap.ledger.interval_series import IntervalSeries
from stackmap.ledger.unusual_spans import LEAST
from stackmap.model.cgroup_io import IoLimit
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.rules.context import measured_context
from stackmap.rules.decision import Judged, judge
from stackmap.rules.rule import Finding
from stackmap.rules.table import findings

NEAR = 5.0  # seconds around a moment, if intervals are shorter
JUDGED = 20  # episodes, the worst ones


class JudgedEpisode(NamedTuple):
    """An episode with what the rules find in it, worst first; ``sources``: who sent the load, with the share of each."""

    episode: Episode
    findings: Sequence[Finding]
    sources: Sequence[tuple[Loader, float]]


class Times(NamedTuple):
    """The episodes of a measurement, worst first, and the intervals outside of them."""

    series: IntervalSeries
    found: Sequence[JudgedEpisode]
    usual: Sequence[Interval]


def judge_over_time(
    topology: Topology,
    series: IntervalSeries,
    limits: tuple[IoLimit, ...] = (),
    *,
    baseline: Interval | None = None,
    part: Topology | None = None,
) -> Judged:
    """Return the episodes of *series* on *part* (None: all), and what the rules find outside of them."""
    times = _episodes(topology, series, baseline, limits, topology if part is None else part)
    outside_of = judge(topology, times.usual, limits, baseline=baseline, part=part)
    return outside_of._replace(times=times)


def judge_moment(
    topology: Topology,
    series: IntervalSeries,
    time: float,
    limits: tuple[IoLimit, ...] = (),
    *,
    baseline: Interval | None = None,
    part: Topology | None = None,
) -> Judged:
    """Return the findings at *time*, compared with the usual time of *series*."""
    clock = series.clock()
    around = NEAR if clock.pace < NEAR else 0.0
    first = bisect_left(clock.ends, time - around)
    last = min(series.count - 1, bisect_left(clock.ends, time + around))
    if not clock.ends or first == series.count or time <= clock.ends[0] - clock.pace:
        raise InputError(
            "no interval at that moment; `stackmap explain` lists the times of episodes"
        )
    found = [each.span for each in episodes(topology if part is None else part, series)]
    rest = outside(series.count, [*found, (first, last)])
    if baseline is None and sum(b + 1 - a for a, b in rest) >= LEAST:
        baseline = next(average(series.intervals(rest)), None)
    intervals = series.intervals([(first, last)])
    return judge(topology, intervals, limits, baseline=baseline, part=part)


def _episodes(
    topology: Topology,
    series: IntervalSeries,
    before: Interval | None,
    caps: tuple[IoLimit, ...],
    part: Topology,
) -> Times:
    """Return the episodes, each judged against *before*, by default the time outside of them."""
    found = episodes(part, series)
    rest = outside(series.count, [each.span for each in found])
    usual = series.intervals(rest)
    if before is None and sum(last + 1 - first for first, last in rest) >= LEAST:
        before = next(average(usual), None)
    return Times(
        series,
        [_judged(topology, series, each, before, caps, part) for each in found[:JUDGED]],
        usual,
    )


def _judged(
    topology: Topology,
    series: IntervalSeries,
    episode: Episode,
    before: Interval | None,
    caps: tuple[IoLimit, ...],
    part: Topology,
) -> JudgedEpisode:
    stack = part.subset(part.connected(episode.devices)) if episode.top in part else part
    context = measured_context(topology, series.intervals([episode.span]), before, caps)
    lowest = episode.devices[-1]
    sources = blame(context.ledger, lowest, idle=False)
    shares = [(each, sources.share(each) or 0.0) for each in sources.loaders]
    return JudgedEpisode(
        episode,
        findings(context, stack),
        [(loader, share) for loader, share in shares if share >= 0.01],
    )
