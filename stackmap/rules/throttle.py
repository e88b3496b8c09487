"""Does an I/O limit hold the load back?"""

from __future__ import annotations

from stackmap.ledger.layers import layers
from stackmap.model.cgroup_io import IoLimit
from stackmap.rules.context import Context
from stackmap.rules.rule import Found, Limits, Observation, Rule, Severity, observe

UNITS = {"ios": "requests/s", "bytes": "bytes/s"}
DIRECTIONS = {"read": " (reads)", "write": " (writes)"}


@Rule(
    "SM701",
    Severity.WARNING,
    sentence="A cap limits {device}, not the disks: {user} may do {cap}{what} and does {done}.",
    caveat="A load that equals the cap by chance looks the same. Others may use the device too.",
    advice="Raise the cap in {file} if needed. It counts requests to {device}, not those at the disks.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): 200 LV-side IOPS; cgroup v2 io.max",
    thresholds={"share_of_cap": (0.9, "share")},
)
def throttled(context: Context, limits: Limits) -> Found:
    """Yield devices whose load reaches a cap."""
    for limit in context.limits:
        found = (_at_cap(context, limit, *cap, limits["share_of_cap"]) for cap in limit.caps)
        observed = next(filter(None, found), None)
        if observed is not None:
            yield observed


def _at_cap(
    context: Context, limit: IoLimit, kind: str, cap: float, near: float
) -> Observation | None:
    direction, _, unit = kind.partition("_")
    parts = context.series or (context.interval,)
    flows = (p.loads[limit.device].flow(direction) for p in parts if limit.device in p.loads)
    # Leave out intervals in which the load started, ended or paused.
    rates = [rate for flow in flows if (rate := getattr(flow, unit) or 0.0) >= cap / 2]
    done = sum(rates) / len(rates) if rates else 0.0
    if done < near * cap:
        return None
    figures = {
        "done": (done, UNITS[unit]),
        "cap": (cap, UNITS[unit]),
        "disks": (_at_disks(context, limit.device), "requests/s"),
    }
    what = DIRECTIONS.get(direction, "")
    words = {"user": limit.owner, "file": limit.source, "what": what}
    return observe(limit.device, figures, words, weight=done / cap)


def _at_disks(context: Context, top: str) -> float | None:
    """Return the requests per second that the disks below *top* complete; None if it is no top, or a disk."""
    if top not in context.tops:
        return None
    found = layers(context.topology, top)
    return context.ledger.flow(found[-1].devices, "total").ios if len(found) > 1 else None
