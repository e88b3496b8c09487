"""
One decision from all findings: what to act on first, and whether another layout may help before that.

Another layout spreads the same requests differently. It mends no slow disk, lifts no cap and stops no
neighbour: while one of these explains the wait, a conversion comes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stackmap.model.topology import Topology
from stackmap.rules import state
from stackmap.rules.checks import ORDER
from stackmap.rules.rule import Finding, Outcome, Severity

OUTCOMES = tuple(Outcome)
BEFORE_LAYOUT = {
    Outcome.HUNG,
    Outcome.SICK,
    Outcome.THROTTLED,
    Outcome.REMOTE,
    Outcome.NEIGHBOUR,
}
# Of the states, those that make requests wait; a pool that is nearly full does not.
SLOWING_STATES = {state.broken.id, state.background_work.id, state.unexplained_reads.id}


class Decision(NamedTuple):
    """
    The findings that need action, in the order in which to act.

    ``before_layout``: those that explain the wait whatever the layout is; act on them and measure again
    before a conversion.
    """

    causes: tuple[Finding, ...]
    before_layout: tuple[Finding, ...]

    @property
    def suspects(self) -> dict[str, Finding]:
        """The devices that hang, are sick or are broken, with the finding that says so."""
        return {
            name: finding
            for finding in reversed(self.before_layout)
            if finding.rule.outcome in (Outcome.HUNG, Outcome.SICK, Outcome.STATE)
            for name in (finding.device, *finding.peers)
        }


def rank(finding: Finding) -> tuple[int, bool, int]:
    """Return the sort key of *finding*: its severity, the load before the setup, then what is wrong."""
    rule, severity = finding.rule, finding.severity
    setup = not rule.needs_load and severity is not Severity.CRITICAL
    return ORDER[severity], setup, OUTCOMES.index(rule.outcome)


def decide(topology: Topology, findings: Iterable[Finding], name: str = "") -> Decision:
    """Return what to do first about the devices of the stack of *name*, "" for all devices."""
    stack = topology.with_all_below(name) if name else topology
    causes = tuple(
        finding
        for finding in sorted(findings, key=rank)
        if finding.is_grave and any(each in stack for each in (finding.device, *finding.peers))
    )
    first = (
        finding
        for finding in causes
        if finding.rule.outcome in BEFORE_LAYOUT or finding.rule.id in SLOWING_STATES
    )
    return Decision(causes, tuple(first))
