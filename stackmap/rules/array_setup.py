"""Are the members of an array alike and on separate disks, and its bitmap and stripe cache set up?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import PAGE
from stackmap.rules.context import Context
from stackmap.rules.rule import Found, Limits, Severity, check, observe

REDUNDANT = ("raid1", "raid4", "raid5", "raid6", "raid10", "mirror")


@check(
    "SM911",
    Severity.WARNING,
    sentence="spinning disks ({spinning}) and flash ({flash}) in one array",
    expected="one kind, or the slow members marked write-mostly",
    reason="every write waits for the slowest member",
    advice="use `mdadm --write-mostly` or `lvchange --writemostly`, or flash as a cache",
    source="md(4); Linux admin-guide/md.rst: reads avoid write-mostly members",
)
def mixed_members(context: Context, _: Limits) -> Found:
    """Yield arrays of spinning disks and flash, good if the slow members are write-mostly."""
    for raid, disks in _member_disks(context):
        devices = [context.topology[name] for name in dict.fromkeys(disks)]
        spinning = ", ".join(device.title for device in devices if device.rotational)
        flash = ", ".join(device.title for device in devices if device.rotational is False)
        good = Severity.GOOD if "write mostly" in raid.facts else None
        if spinning and flash:
            words = {"spinning": spinning, "flash": flash}
            yield observe(raid.name, words=words, severity=good)


@check(
    "SM912",
    Severity.WARNING,
    sentence="{disks} under more than one member",
    expected="each member on its own disk",
    reason="one disk failure takes several members, and the disk seeks between them",
    advice="move a member to another disk with `pvmove` or `mdadm --replace`",
    source="lvmraid(7)",
)
def same_disk_twice(context: Context, _: Limits) -> Found:
    """Yield arrays with a disk under several of their members, critical if that defeats redundancy."""
    for raid, disks in _member_disks(context):
        shared = [context.topology[n].title for n, count in Counter(disks).items() if count > 1]
        if shared and raid.layout is not None:
            critical = Severity.CRITICAL if raid.layout.level in REDUNDANT else None
            yield observe(raid.name, words={"disks": ", ".join(shared)}, severity=critical)


@check(
    "SM913",
    Severity.WARNING,
    sentence="consistency policy: {policy}",
    expected="bitmap, journal or ppl",
    reason="after a crash md resyncs the whole array, which can take hours",
    advice="add a bitmap: `mdadm --grow --bitmap=internal`",
    source="md(4); stackmap-kernel(7), Bitmap",
    thresholds={"size": (100 * 1024**3, "bytes")},
)
def no_bitmap(context: Context, limits: Limits) -> Found:
    """Yield redundant md arrays, good if a crash needs no full resync."""
    for raid in context.topology:
        redundant = raid.layout is not None and raid.layout.level in REDUNDANT
        policy = raid.facts.get("consistency")
        if raid.kind is not Kind.ARRAY or not redundant or policy is None:
            continue
        # mdadm creates small arrays without a bitmap.
        severity = None if (raid.size or 0) >= limits["size"] else Severity.INFO
        if policy != "resync":
            severity = Severity.GOOD
        kind = f" ({raid.facts['bitmap']})" if "bitmap" in raid.facts else ""
        yield observe(raid.name, words={"policy": policy + kind}, severity=severity)


@check(
    "SM914",
    Severity.INFO,
    sentence="stripe cache of {rows} rows: {stripes} stripes, {memory} of memory",
    expected="{least} stripes or more",
    reason="with few stripes in the cache, md handles writes before they fill a stripe",
    advice="`echo 4096 > /sys/block/{kernel_name}/md/stripe_cache_size`",
    source="md(4); Linux drivers/md/raid5.c, setup_conf: 256 rows unless the chunk needs more",
    thresholds={"stripes": (16, "count")},
)
def stripe_cache_size(context: Context, limits: Limits) -> Found:
    """Yield md parity arrays, good if the stripe cache holds enough of their stripes."""
    for raid in context.topology:
        rows, layout = raid.fact_number("stripe cache"), raid.layout
        if rows is None or layout is None or not layout.chunk or not layout.parity:
            continue
        stripes = rows * PAGE / layout.chunk
        figures = {
            "rows": (float(rows), "count"),
            "stripes": (stripes, "count"),
            "memory": (float(rows * PAGE * layout.members), "bytes"),
            "least": (limits["stripes"], "count"),
        }
        good = Severity.GOOD if stripes >= limits["stripes"] else None
        yield observe(raid.name, figures, {"kernel_name": raid.name}, severity=good)


def _member_disks(context: Context) -> Iterator[tuple[Device, list[str]]]:
    """Yield each array and the disks below it, each disk once per member that uses it."""
    topology = context.topology
    for raid in topology:
        if raid.layout is None or raid.layout.members < 2 or raid.layout.level == "linear":
            continue
        disks = []
        for member in context.below(raid.name, Role.DATA):
            disks += sorted({n for n in topology.with_all_below(member) if not topology.below(n)})
        yield raid, disks
