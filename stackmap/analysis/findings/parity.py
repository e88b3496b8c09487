"""What do writes cost that do not fill a stripe, and who pays for it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.model.topology import Topology


def partial_stripes(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield arrays whose writes cost far more bytes at the members than full stripes would."""
    told: set[str] = set()
    for stack in context.stacks:
        cost, raid = stack.parity, stack.raid
        if cost is None or raid is None or cost.reason or raid.name in told:
            continue
        load = context.load(raid.name)
        paid, ideal, written = (
            cost.cost_bytes_per_byte,
            cost.ideal_bytes_per_byte,
            load.write.bytes,
        )
        if paid is None or not ideal or not written or paid < limits["dearer"] * ideal:
            continue
        if written < limits["bytes"]:
            continue
        told.add(raid.name)
        evidence = context.evidence(
            raid.name,
            cost=(paid, "times"),
            ideal=(ideal, "times"),
            written=(written, "bytes/s"),
            extra=((paid - ideal) * written, "bytes/s"),
            pages=(cost.pages_per_row, "times"),
            extra_read=(cost.extra_read_bytes_per_byte, "times"),
        )
        words = {"payers": _payers(context.topology, raid.name)}
        yield Seen(raid.name, evidence, words, weight=(paid - ideal) * written)


def _payers(topology: Topology, name: str) -> str:
    """Return in words who waits while *name* pays: the volumes that share a disk with it."""
    below = (each for each in topology.stack(name) if not topology.below(each))
    tops = {top for disk in below for top in topology.tops_of(disk)} - set(topology.tops_of(name))
    titles = ", ".join(sorted(topology[top].title for top in tops))
    return (
        f"On the same disks, and waiting too: {titles}." if titles else "Nobody else pays for it."
    )


PARTIAL_STRIPE = Rule(
    "SM101",
    "partial-stripe",
    Severity.WARNING,
    says="Each byte written to {device} costs {cost} bytes at its disks, where full stripes would "
    "cost {ideal}: its writes do not fill a stripe, so old data and parity are read and parity "
    "is written again. That is {extra} at the disks that full "
    "stripes would spare, for {written} written. {payers}",
    against="How many of the writes were partial cannot be told from counters, only what they cost. "
    "A larger stripe cache may spare the reads, not the writes.",
    advice="Write larger or in sequence, or put this load on a layout without parity "
    "(RAID10 would cost 2 bytes a byte).",
    source="Linux drivers/md/raid5.c, handle_stripe_dirtying; J. Young, High Disk I/O Usage, Part "
    "Two (2019): 3.12 for 1.33",
    find=partial_stripes,
    limits={"dearer": 1.25, "bytes": 65536},
    units={"dearer": "times", "bytes": "bytes/s"},
)
RULES = (PARTIAL_STRIPE,)
