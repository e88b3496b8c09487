"""
One decision from all findings, of the whole measurement or of its worst episode: what to act on first.

Another layout spreads the same requests differently. It mends no slow disk, lifts no cap and stops no
neighbour: while one of these explains the wait, a conversion comes afterwards. Start at ``judge_over_time``.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.ledger.averages import average_without_note
from stackmap.ledger.blame import Loader, blame
from stackmap.ledger.episodes import Episode, episodes, outside
from stackmap.ledger.time_series import IntervalSeries
from stackmap.ledger.unusual_spans import LEAST
from stackmap.model.cgroup_io import IoLimit
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.rules.context import Context, measured_context
from stackmap.rules.hung import impossible, stuck_counter
from stackmap.rules.rule import Finding, Outcome, rank
from stackmap.rules.table import findings
from stackmap.rules.unjudged import DISKS, LOAD, Unjudged, unjudged

NEAR = 5.0  # seconds around a moment, if intervals are shorter
JUDGED = 20  # episodes, the worst ones
SHOWN = 5  # of them; these are always judged
JUDGED_DEVICES = 30_000  # in all of them: some rules look at all devices each time
BEFORE_LAYOUT = {
    Outcome.HUNG,
    Outcome.STATE,
    Outcome.SICK,
    Outcome.THROTTLED,
    Outcome.REMOTE,
    Outcome.NEIGHBOUR,
}


class Decision(NamedTuple):
    """
    The findings that need action, in the order in which to act.

    ``before_layout``: those that explain the wait on any layout; act on them and measure again
    before a conversion. ``episode``: that in which they hold; None: they last. ``doubtful``: remarks on
    devices that hang or count wrong, to look at first where the load cannot be judged.
    """

    causes: tuple[Finding, ...]
    before_layout: tuple[Finding, ...]
    episode: Episode | None = None
    doubtful: tuple[Finding, ...] = ()

    @property
    def suspects(self) -> dict[str, Finding]:
        """The devices that hang or are sick, with the finding that says so."""
        return {
            name: finding
            for finding in reversed(self.before_layout)
            if finding.rule.outcome in (Outcome.HUNG, Outcome.SICK)
            for name in (finding.device, *finding.peers)
        }


def _gravity(decision: Decision) -> tuple[int, ...]:
    """Return the rank of the first cause without its outcome: severity, load before setup, waits before risks."""
    return rank(decision.causes[0])[:3]


def decide(topology: Topology, findings: Iterable[Finding], name: str = "") -> Decision:
    """Return the first step for the devices of the stack of *name*, "" for all devices."""
    stack = topology.with_all_below(name) if name else topology
    about = [
        finding
        for finding in sorted(findings, key=rank)
        if any(device in stack for device in (finding.device, *finding.peers))
    ]
    causes = tuple(finding for finding in about if finding.is_grave)
    doubtful = tuple(
        finding for finding in about if finding.rule.id in (stuck_counter.id, impossible.id)
    )
    first = (
        finding
        for finding in causes
        if finding.rule.outcome in BEFORE_LAYOUT and finding.rule.slows
    )
    return Decision(causes, tuple(first), doubtful=doubtful)


class JudgedEpisode(NamedTuple):
    """An episode with what the rules find in it, worst first; ``sources``: who sent the load, with the share of each."""

    episode: Episode
    findings: Sequence[Finding]
    sources: Sequence[tuple[Loader, float]]


class Times(NamedTuple):
    """The worst episodes of a measurement, how many there are in all, and the intervals outside of all of them."""

    series: IntervalSeries
    worst: Sequence[JudgedEpisode]
    total: int
    usual: Sequence[Interval]


class Judged(NamedTuple):
    """The findings of a load, the open questions, and the problems of the setup, if they were looked for."""

    context: Context
    findings: Sequence[Finding]
    open_questions: Sequence[Unjudged]
    setup: Sequence[Finding] = ()
    times: Times | None = None

    @property
    def in_episodes(self) -> list[Finding]:
        """The findings inside episodes, those of the worst episode first."""
        episodes = self.times.worst if self.times else ()
        return [finding for episode in episodes for finding in episode.findings]

    @property
    def ordered(self) -> list[Finding]:
        """All findings, those of the setup last unless they are critical."""
        every = sorted((*self.findings, *self.setup), key=rank)
        return sorted(every, key=lambda finding: finding.is_last)

    @property
    def has_judged_disks(self) -> bool:
        """Whether there was enough load to tell a slow disk."""
        return not {doubt.question for doubt in self.open_questions} & {LOAD, DISKS}

    def decide(self, name: str = "") -> Decision:
        """Return the first step for the stack of *name*, "" for all: the lasting cause, unless that of the worst episode is graver."""
        always = decide(self.context.topology, self.ordered, name)
        if not self.times or not self.times.worst:
            return always
        episode, inside, _ = self.times.worst[0]
        worst = decide(self.context.topology, inside, name)._replace(episode=episode)
        if not worst.causes:  # it is known when it was slow: that comes before the setup
            return worst if not name and all(cause.is_last for cause in always.causes) else always
        return always if always.causes and _gravity(always) <= _gravity(worst) else worst


def judge(
    topology: Topology,
    intervals: Sequence[Interval],
    limits: tuple[IoLimit, ...] = (),
    *,
    baseline: Interval | None = None,
    part: Topology | None = None,
) -> Judged:
    """Return the findings on *part* (None: all) of *topology* in *intervals*; without intervals, those of its state."""
    if intervals:
        context = measured_context(topology, intervals, baseline, limits)
    else:
        context = Context(topology, limits=limits)
    judged = topology if part is None else part
    reported = findings(context, judged)
    return Judged(context, reported, unjudged(context, reported, judged.devices))


def judge_over_time(
    topology: Topology,
    series: IntervalSeries,
    limits: tuple[IoLimit, ...] = (),
    *,
    baseline: Interval | None = None,
    part: Topology | None = None,
) -> Judged:
    """Return the episodes of *series* on *part* (None: all), and what the rules find outside of them."""
    judged = topology if part is None else part
    all_episodes = episodes(judged, series)
    usual, before = _usual(series, [episode.span for episode in all_episodes], baseline)

    def in_episode(episode: Episode) -> JudgedEpisode:
        stack, devices = judged, None
        if episode.top in judged:
            stack = judged.subset(devices := judged.connected(episode.devices))
        intervals = series.intervals([episode.span])
        context = measured_context(topology, intervals, before, limits, devices)
        sources = blame(context.ledger, episode.devices[-1], idle=False)
        shares = ((loader, sources.share(loader) or 0.0) for loader in sources.loaders)
        large = [(loader, share) for loader, share in shares if share >= 0.01]
        return JudgedEpisode(episode, findings(context, stack), large)

    most = max(SHOWN, min(JUDGED, JUDGED_DEVICES // max(1, len(topology))))
    times = Times(series, list(map(in_episode, all_episodes[:most])), len(all_episodes), usual)
    outside_of = judge(topology, usual, limits, baseline=baseline, part=part)
    return outside_of._replace(times=times)


def judge_moment(
    topology: Topology,
    series: IntervalSeries,
    limits: tuple[IoLimit, ...] = (),
    *,
    time: float,
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
    spans = [episode.span for episode in episodes(topology if part is None else part, series)]
    _, before = _usual(series, [*spans, (first, last)], baseline)
    intervals = series.intervals([(first, last)])
    return judge(topology, intervals, limits, baseline=before, part=part)


def _usual(
    series: IntervalSeries, spans: Sequence[tuple[int, int]], baseline: Interval | None
) -> tuple[Sequence[Interval], Interval | None]:
    """
    Return the intervals of *series* outside *spans*, and the baseline of these.

    Without one, it is the average of those intervals, if they are enough.
    """
    rest = outside(series.count, spans)
    usual = series.intervals(rest)
    if spans and baseline is None and sum(last + 1 - first for first, last in rest) >= LEAST:
        baseline = average_without_note(usual)
    return usual, baseline
