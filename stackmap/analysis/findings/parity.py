"""What do partial-stripe writes cost, and which other volumes do they slow down?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rule import Observation, Rule, Severity, observe
from stackmap.model.topology import Topology


def partial_stripes(context: Context, limits: Mapping[str, float]) -> Iterator[Observation]:
    """Yield arrays whose writes cost far more disk bytes than full-stripe writes would."""
    costs = {s.raid.name: s.parity for s in context.stacks if s.raid and s.parity}
    for name, parity in costs.items():
        cost, ideal = parity.cost_bytes_per_byte, parity.ideal_bytes_per_byte
        written = context.load(name).write.bytes
        if parity.reason or cost is None or not ideal or not written:
            continue
        if cost < limits["dearer"] * ideal or written < limits["bytes"]:
            continue
        extra = (cost - ideal) * written
        yield observe(
            name,
            {
                "cost": (cost, "times"),
                "ideal": (ideal, "times"),
                "written": (written, "bytes/s"),
                "extra": (extra, "bytes/s"),
                "pages": (parity.pages_per_row, "times"),
                "extra_read": (parity.extra_read_bytes_per_byte, "times"),
            },
            {"others": _others_on_disks(context.topology, name)},
            weight=extra,
        )


def _others_on_disks(topology: Topology, name: str) -> str:
    """Return a sentence: the other tops on the disks of *name*."""
    disks = (each for each in topology.with_all_below(name) if not topology.below(each))
    tops = {top for disk in disks for top in topology.tops_of(disk)} - set(topology.tops_of(name))
    titles = ", ".join(sorted(topology[top].title for top in tops))
    return (
        f"Others on the same disks are slowed too: {titles}."
        if titles
        else "No other volume uses these disks."
    )


PARTIAL_STRIPE = Rule(
    "SM101",
    "partial-stripe",
    Severity.WARNING,
    partial_stripes,
    sentence="{device} writes partial stripes: each byte written costs {cost} disk bytes ({ideal} "
    "with full stripes). Old data and parity are read, and parity is written again. For {written} "
    "written this adds {extra} at the disks. {others}",
    caveat="Counters show what the writes cost, not how many were partial. A larger stripe cache may "
    "avoid the reads, not the writes.",
    advice="Write larger or sequential requests, or move the load to a layout without parity (RAID10 "
    "costs 2 disk bytes per byte written).",
    source="stackmap-kernel(7), RAID write paths; J. Young, High Disk I/O Usage, Part Two (2019): 3.12 "
    "for 1.33",
    thresholds={"dearer": (1.25, "times"), "bytes": (65536, "bytes/s")},
)
RULES = (PARTIAL_STRIPE,)
