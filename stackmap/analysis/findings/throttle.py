"""Is the load held back by a cap, where does that act, and what does it mean at the disks?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import mean

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.analysis.share import flow_of
from stackmap.model.limit import Limit

UNITS = {"ios": "requests/s", "bytes": "bytes/s"}


def throttled(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices that do just what they are allowed to."""
    for limit in context.limits:
        for kind, cap in limit.caps:
            seen = _at(context, limit, kind, cap, limits["near"])
            if seen is not None:
                yield seen
                break


def _at(context: Context, limit: Limit, kind: str, cap: float, near: float) -> Seen | None:
    direction, _, unit = kind.partition("_")
    parts = context.series or (context.interval,)
    flows = (flow_of(p.loads[limit.device], direction) for p in parts if limit.device in p.loads)
    # Without the intervals in which the load began, ended or paused.
    at_work = [each for flow in flows if (each := getattr(flow, unit) or 0.0) >= cap / 2]
    done = mean(at_work) if at_work else 0.0
    if done < near * cap:
        return None
    evidence = context.evidence(limit.device, done=(done, UNITS[unit]), cap=(cap, UNITS[unit]))
    stack = next((s for s in context.stacks if s.top.name == limit.device), None)
    below = None if stack is None or len(stack.layers) < 2 else stack.layers[-1]
    if below is not None and below.own["total"].ios is not None:
        evidence |= context.evidence(limit.device, disks=(below.own["total"].ios, "requests/s"))
    words = {
        "who": limit.who,
        "where": limit.source,
        "what": {"read": "reads", "write": "writes"}.get(direction, "requests"),
    }
    return Seen(limit.device, evidence, words, weight=done / cap)


THROTTLED = Rule(
    "SM701",
    "throttled",
    Severity.WARNING,
    says="{who} may do {cap} of {what} on {device} and does {done}: it is held back by that cap, not "
    "by the disks.",
    against="A load that happens to be just as large looks the same; others may use the device too.",
    advice="The cap is in {where}. It counts what is sent to {device}, not what reaches the disks: "
    "requests that would merge there count one by one, and what parity adds does not count.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): 200 LV-side IOPS; cgroup v2 io.max",
    find=throttled,
    limits={"near": 0.9},
    units={"near": "share"},
)
RULES = (THROTTLED,)
