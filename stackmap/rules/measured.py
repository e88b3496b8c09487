"""What the rules judge when something was measured."""

from __future__ import annotations

from collections.abc import Sequence

from stackmap.ledger.averages import average
from stackmap.ledger.corrections import corrected
from stackmap.model.cgroup_io import IoLimit
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.rules.context import Context


def measured_context(
    topology: Topology,
    intervals: Sequence[Interval],
    baseline: Interval | None = None,
    limits: tuple[IoLimit, ...] = (),
) -> Context:
    """
    Return the average of *intervals*, and the intervals as its series; both are corrected here.

    Averages since boot count only if there is nothing else. *intervals* must not be empty.
    """
    current = [each for each in intervals if not each.since_boot] or intervals
    whole = corrected(topology, next(average(current)))
    series = tuple(corrected(topology, each) for each in current) if len(current) > 1 else ()
    return Context(topology, whole, series, baseline, whole.corrections, limits)
