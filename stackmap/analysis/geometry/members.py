"""Are the members of an array alike, apart, and kept as they should be?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.finding import Seen, Severity
from stackmap.analysis.geometry.check import Check, Ground, numbers
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import PAGE
from stackmap.model.topology import Topology

REDUNDANT = ("raid1", "raid4", "raid5", "raid6", "raid10", "mirror")


def mixed(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield arrays of disks that turn and flash together."""
    for raid, disks in _arrays(ground.topology):
        devices = [ground.topology[name] for name in dict.fromkeys(disks)]
        turning = [device.title for device in devices if device.rotational]
        flash = [device.title for device in devices if device.rotational is False]
        spared = "write mostly" in raid.facts
        if turning and flash:
            words = {"turning": ", ".join(turning), "flash": ", ".join(flash)}
            yield Seen(raid.name, {}, words, severity=Severity.GOOD if spared else None)


def twice(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield arrays with a disk under more than one of their members."""
    for raid, disks in _arrays(ground.topology):
        again = [name for name, count in Counter(disks).items() if count > 1]
        if again and raid.layout is not None:
            loses = raid.layout.level in REDUNDANT
            yield Seen(
                raid.name,
                {},
                {"disks": ", ".join(ground.topology[name].title for name in again)},
                severity=Severity.CRITICAL if loses else None,
            )


def bitmaps(ground: Ground, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield arrays of md with no record of what was being written."""
    for raid in ground.topology:
        redundant = raid.layout is not None and raid.layout.level in REDUNDANT
        if raid.kind is not Kind.ARRAY or not redundant or "consistency" not in raid.facts:
            continue
        policy = raid.facts["consistency"]
        large = (raid.size or 0) >= limits["size"]
        lacking = None if large else Severity.INFO  # mdadm gives none to smaller ones
        severity = lacking if policy == "resync" else Severity.GOOD
        yield Seen(raid.name, {}, {"policy": policy}, severity=severity)


def stripe_caches(ground: Ground, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield parity arrays of md, good where the stripe cache holds enough of their stripes."""
    for raid in ground.topology:
        rows, layout = raid.facts.get("stripe cache", ""), raid.layout
        if not rows.isdecimal() or layout is None or not layout.chunk or not layout.parity:
            continue
        stripes = int(rows) * PAGE / layout.chunk
        evidence = (
            numbers(raid.name, "count", rows=int(rows), stripes=stripes)
            | numbers(raid.name, "bytes", memory=int(rows) * PAGE * layout.members)
            | numbers(raid.name, "count", least=limits["stripes"])
        )
        severity = Severity.GOOD if stripes >= limits["stripes"] else None
        yield Seen(raid.name, evidence, severity=severity)


def _arrays(topology: Topology) -> Iterator[tuple[Device, list[str]]]:
    """Yield each array with the disks below its members, each as often as members stand on it."""
    for raid in topology:
        if raid.layout is None or raid.layout.members < 2 or raid.layout.level == "linear":
            continue
        members = [e.below for e in topology.below(raid.name) if e.role is Role.DATA]
        leaves = (
            {each for each in topology.stack(member) if not topology.below(each)}
            for member in members
        )
        yield raid, [name for found in leaves for name in sorted(found)]


MIXED = Check(
    "SM911",
    "mixed-members",
    Severity.WARNING,
    says="members that turn ({turning}) and flash ({flash}) in one array",
    should="one kind, or the slow ones read only when they must be (write mostly)",
    why="every write waits for the slowest; flash beside a disk that turns is as slow as it",
    advice="mdadm --write-mostly or lvchange --writemostly for the slow ones; or flash as a cache",
    source="md(4); Linux admin-guide/md.rst: reads avoid write-mostly legs",
    find=mixed,
)
TWICE = Check(
    "SM912",
    "same-disk-twice",
    Severity.WARNING,
    says="{disks} under more than one member",
    should="each member on a disk of its own",
    why="one disk's failure takes several members, and its head goes to and fro between them",
    advice="move one away: pvmove, or mdadm --replace",
    source="lvmraid(7): images belong on separate devices",
    find=twice,
)
BITMAPS = Check(
    "SM913",
    "no-bitmap",
    Severity.WARNING,
    says="consistency policy: {policy}",
    should="bitmap, journal or ppl",
    why="after a crash all of the array is read and compared, for hours, while it is in use",
    advice="mdadm --grow --bitmap=internal",
    source="md(4), write-intent bitmap; Linux drivers/md/md-bitmap.c",
    find=bitmaps,
    limits={"size": 100 * 1024**3},
    units={"size": "bytes"},
)
STRIPE_CACHES = Check(
    "SM914",
    "stripe-cache-size",
    Severity.INFO,
    says="stripe cache of {rows} rows: {stripes} stripes, {memory} of memory",
    should="{least} stripes or more",
    why="fewer stripes in work at a time: writes that would fill one are handled before the rest comes",
    advice="echo 4096 > /sys/block/{device}/md/stripe_cache_size",
    source="md(4); Linux drivers/md/raid5.c, setup_conf: 256 rows unless the chunk needs more",
    find=stripe_caches,
    limits={"stripes": 16},
    units={"stripes": "count"},
)
CHECKS = (MIXED, TWICE, BITMAPS, STRIPE_CACHES)
