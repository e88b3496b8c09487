"""Does a layer begin beside the boundaries of the one below, under a load that pays for it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.analysis.geometry.check import Ground
from stackmap.analysis.geometry.starts import starts


def misaligned(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices under load that start beside a boundary."""
    for seen in starts(Ground(context.topology), {}):
        load = context.load(seen.device).total
        if seen.severity is Severity.GOOD or not context.enough(load.ios, limits["requests"]):
            continue
        evidence = {
            **seen.evidence,
            **context.evidence(
                seen.device, rate=(load.ios, "requests/s"), size=(load.size, "bytes")
            ),
        }
        yield Seen(seen.device, evidence, seen.words, weight=seen.weight)


MISALIGNED = Rule(
    "SM105",
    "misaligned",
    Severity.WARNING,
    says="{device} starts at {start} on {below}, {past} past a boundary of {whose}'s {grain} {what}: "
    "of its {rate} of {size}, those that fit above straddle two below.",
    against="Requests at random places that are far smaller than {grain} rarely straddle.",
    advice="stackmap check shows the start of each layer. A start cannot be moved under data: make it "
    "anew at a multiple of {grain}, and copy.",
    source="Linux ABI/stable/sysfs-block, minimum_io_size and optimal_io_size: start modulo chunk, "
    "stripe and physical sector",
    find=misaligned,
    limits={"requests": 50},
    units={"requests": "count"},
)
RULES = (MISALIGNED,)
