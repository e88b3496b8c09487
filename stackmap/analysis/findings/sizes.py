"""Do the requests fit the layout: are they cut by a small chunk, and do the pieces merge again?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Evidence, Rule, Seen, Severity
from stackmap.model.raid import RAID_LEVELS


def small_chunk(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield arrays that cut the requests they get into pieces of a small chunk."""
    told: set[str] = set()
    for stack in context.stacks:
        for figures in stack.layers:
            for name in figures.layer.devices:
                seen = _cut(context, stack, name, limits)
                if seen is not None and name not in told:
                    told.add(name)
                    yield seen


def _cut(
    context: Context, stack: StackFigures, name: str, limits: Mapping[str, float]
) -> Seen | None:
    device = context.topology[name]
    layout, load = device.layout, context.load(name)
    if layout is None or not layout.chunk or not RAID_LEVELS[layout.level].stripes:
        return None
    size, disks = load.total.size, stack.layers[-1]
    if layout.chunk > limits["chunk"] or size is None or layout.members < 2:
        return None
    # dm and md count the pieces (KERNEL 1.2, 1.3): where all are cut, all have the chunk's size.
    # RAID4/5/6 of md count the request as it came, which is larger.
    if size < limits["full"] * layout.chunk:
        return None
    if not context.enough(load.total.ios, limits["requests"]):
        return None
    evidence = context.evidence(
        name,
        chunk=(float(layout.chunk), "bytes"),
        size=(size, "bytes"),
        rate=(load.total.ios, "requests/s"),
        disk_rate=(disks.own["total"].ios, "requests/s"),
        disk_size=(_size(disks), "bytes"),
    )
    return Seen(name, evidence, {"members": str(layout.members)}, weight=load.total.ios or 0.0)


def not_merged(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield tops whose large requests reach the disks as small ones."""
    for stack, disks in _with_disks(context):
        top, size = stack.layers[0].share.total, _size(disks)
        merged = disks.coalescing.get("total")
        if not context.enough(top.ios, limits["requests"]):
            continue
        if top.size is None or size is None or merged is None:
            continue
        if top.size >= limits["large"] and size <= limits["small"] and merged < limits["merged"]:
            yield Seen(stack.top.name, _sizes(context, stack, disks, merged), weight=top.ios or 0.0)


def merged(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield tops whose requests merge before the disks: fewer and larger ones arrive there."""
    for stack, disks in _with_disks(context):
        ratio = disks.coalescing.get("total")
        if ratio is None or ratio < limits["merged"]:
            continue
        if context.enough(stack.layers[0].share.total.ios, limits["requests"]):
            yield Seen(stack.top.name, _sizes(context, stack, disks, ratio), weight=ratio)


def _with_disks(context: Context) -> Iterator[tuple[StackFigures, LayerFigures]]:
    """Yield stacks of more than one layer, with their last."""
    for stack in context.stacks:
        if len(stack.layers) > 1:
            yield stack, stack.layers[-1]


def _size(disks: LayerFigures) -> float | None:
    return disks.own["total"].size


def _sizes(
    context: Context, stack: StackFigures, disks: LayerFigures, merged: float
) -> dict[str, Evidence]:
    top = stack.layers[0].share.total
    return context.evidence(
        stack.top.name,
        size=(top.size, "bytes"),
        rate=(top.ios, "requests/s"),
        disk_size=(_size(disks), "bytes"),
        merged=(merged, "times"),
        disk_rate=(disks.own["total"].ios, "requests/s"),
    )


SMALL_CHUNK = Rule(
    "SM102",
    "small-chunk",
    Severity.WARNING,
    says="The chunk of {device} is {chunk}: requests are cut into pieces of that size, {rate}, on "
    "{members} members, so that one request keeps several disks busy; those do {disk_rate} of "
    "{disk_size}.",
    against="Requests that are just as large as a chunk when they come look the same.",
    advice="A chunk is chosen when the array or volume is made: 64 KiB or more for what is read and "
    "written here (lvcreate --stripesize, mdadm --chunk). Copy to one made so.",
    source="Linux drivers/md/dm.c, raid0.c and raid10.c: dm and md split at the chunk",
    find=small_chunk,
    limits={"chunk": 32768, "full": 0.98, "requests": 500},
    units={"chunk": "bytes", "full": "share", "requests": "count"},
)
NOT_MERGED = Rule(
    "SM103",
    "not-merged",
    Severity.WARNING,
    says="{device} is sent requests of {size}, its disks get them as {disk_size} each: they were cut on "
    "the way and only {merged} merged into one again.",
    against="Requests at random places cannot merge; only of a load in sequence is this bad.",
    advice="Look at max_sectors_kb on the way down, the chunk of the array, and the I/O scheduler "
    "(with none, requests merge only while the program that sends them is still at it).",
    source="Linux admin-guide/iostats.rst, fields 2 and 6: what dm cuts, the disk's queue should "
    "merge",
    find=not_merged,
    limits={"large": 65536, "small": 16384, "merged": 1.5, "requests": 200},
    units={"large": "bytes", "small": "bytes", "merged": "times", "requests": "count"},
)
MERGED = Rule(
    "SM104",
    "merged",
    Severity.GOOD,
    says="{merged} requests merge into one before the disks: those that {device} is sent have {size}, "
    "the disks do {disk_rate} of {disk_size}.",
    against="The disks' figures are those of all that stands on them.",
    advice="Nothing to do: requests counted at {device} say little of what the disks have to do.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): 18,842 writes become 449",
    find=merged,
    limits={"merged": 2.0, "requests": 100},
    units={"merged": "times", "requests": "count"},
)
RULES = (SMALL_CHUNK, NOT_MERGED, MERGED)
