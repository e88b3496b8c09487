"""
One decision from all findings: what to act on first, and whether another layout may help before that.

Another layout spreads the same requests differently. It mends no slow disk, lifts no cap and stops no
neighbour: while one of these explains the wait, a conversion comes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stackmap.model.cgroup_io import IoLimit
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.rules.context import Context, measured_context
from stackmap.rules.rule import Finding, Outcome, rank
from stackmap.rules.table import findings
from stackmap.rules.unjudged import DISKS, LOAD, Unjudged, unjudged

if TYPE_CHECKING:
    from stackmap.rules.in_episodes import Times

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
    before a conversion.
    """

    causes: tuple[Finding, ...]
    before_layout: tuple[Finding, ...]

    @property
    def suspects(self) -> dict[str, Finding]:
        """The devices that hang or are sick, with the finding that says so."""
        return {
            name: finding
            for finding in reversed(self.before_layout)
            if finding.rule.outcome in (Outcome.HUNG, Outcome.SICK)
            for name in (finding.device, *finding.peers)
        }


def decide(topology: Topology, findings: Iterable[Finding], name: str = "") -> Decision:
    """Return the first step for the devices of the stack of *name*, "" for all devices."""
    stack = topology.with_all_below(name) if name else topology
    causes = tuple(
        finding
        for finding in sorted(findings, key=rank)
        if finding.is_grave and any(each in stack for each in (finding.device, *finding.peers))
    )
    first = (
        finding
        for finding in causes
        if finding.rule.outcome in BEFORE_LAYOUT and finding.rule.slows
    )
    return Decision(causes, tuple(first))


class Judged(NamedTuple):
    """The findings of a load, the open questions, and the problems of the setup, if they were looked for."""

    context: Context
    found: Sequence[Finding]
    open_questions: Sequence[Unjudged]
    setup: Sequence[Finding] = ()
    times: Times | None = None

    @property
    def in_episodes(self) -> list[Finding]:
        """The findings inside episodes, those of the worst episode first."""
        return [
            each
            for episode in (self.times.found if self.times else ())
            for each in episode.findings
        ]

    @property
    def ordered(self) -> list[Finding]:
        """All findings, those of the setup last unless they are critical."""
        every = sorted((*self.found, *self.setup), key=rank)
        return sorted(every, key=lambda finding: finding.is_last)

    @property
    def has_judged_disks(self) -> bool:
        """Whether there was enough load to tell a slow disk."""
        return not {each.question for each in self.open_questions} & {LOAD, DISKS}

    def decide(self, name: str = "") -> Decision:
        """Return the first step for the stack of *name*, "" for all: the lasting cause, otherwise that of the worst episode."""
        always = decide(self.context.topology, self.ordered, name)
        if always.causes or not self.times or not self.times.found:
            return always
        return decide(self.context.topology, self.times.found[0].findings, name)


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
    found = findings(context, judged)
    return Judged(context, found, unjudged(context, found, judged.devices))
