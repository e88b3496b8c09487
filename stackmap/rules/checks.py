"""
What ``check`` reports: the rules that need no load.

Those of this file compare members, chunks, sectors and file systems with each other, and look for a key
in a capture. The others are in the files of their topics. Nothing here may import what calculates with loads.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import PAGE, RAID_LEVELS
from stackmap.model.topology import Topology
from stackmap.rules import (
    alignment,
    cache,
    copy_on_write,
    errors,
    hung,
    paths,
    request_sizes,
    reserved,
    state,
)
from stackmap.rules.alignment import boundaries
from stackmap.rules.context import Context
from stackmap.rules.rule import (
    Finding,
    Limits,
    Observation,
    Observations,
    Outcome,
    Rule,
    Severity,
    check,
    observe,
)

REDUNDANT = ("raid1", "raid4", "raid5", "raid6", "raid10", "mirror")


@check(
    "SM911",
    Severity.WARNING,
    title="{device} mixes spinning disks and flash",
    sentence="spinning disks ({spinning}) and flash ({flash}) in one array",
    expected="one kind, or the slow members marked write-mostly",
    reason="every write waits for the slowest member",
    advice="use `mdadm --write-mostly` or `lvchange --writemostly`, or flash as a cache",
    source="md(4); Linux admin-guide/md.rst: reads avoid write-mostly members",
)
def mixed_members(context: Context, _: Limits) -> Observations:
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
    title="{device} has one disk twice",
    sentence="{disks} under more than one member",
    expected="each member on its own disk",
    reason="one disk failure takes several members, and the disk seeks between them",
    advice="move a member to another disk with `pvmove` or `mdadm --replace`",
    source="lvmraid(7)",
)
def same_disk_twice(context: Context, _: Limits) -> Observations:
    """Yield arrays with a disk under several of their members, critical if that defeats redundancy."""
    for raid, disks in _member_disks(context):
        shared = [context.topology[n].title for n, count in Counter(disks).items() if count > 1]
        if shared and raid.layout is not None:
            critical = Severity.CRITICAL if raid.layout.level in REDUNDANT else None
            yield observe(raid.name, words={"disks": ", ".join(shared)}, severity=critical)


@check(
    "SM913",
    Severity.WARNING,
    title="{device} has no bitmap",
    sentence="consistency policy: {policy}",
    expected="bitmap, journal or ppl",
    reason="after a crash md resyncs the whole array, which can take hours",
    advice="[add a bitmap: `mdadm --grow --bitmap=internal /dev/{array}`][{unnamed}]. By default, mdadm 4.5 and "
    "later makes arrays without one. Only a new array can have the lockless bitmap: `mdadm --create --bitmap=lockless` (Linux 6.18)",
    source="md(4); stackmap-kernel(7), Bitmap",
    thresholds={"size": (100 * 1024**3, "bytes", "info below {}")},
)
def no_bitmap(context: Context, limits: Limits) -> Observations:
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
        words = {"policy": policy + kind} | (state.tool_names(raid) or {"unnamed": "add a bitmap"})
        yield observe(raid.name, words=words, severity=severity)


@check(
    "SM915",
    Severity.INFO,
    title="Members of {device} differ in settings",
    sentence="members differ in {what}: {values}",
    expected="the same on all members",
    reason="a write waits for its slowest member, and a member set up otherwise is often the slowest",
    advice="compare the files in /sys/block/*/queue of these disks",
    source="Linux ABI/stable/sysfs-block: scheduler, nr_requests, write_cache",
)
def unequal_settings(context: Context, _: Limits) -> Observations:
    """Yield arrays whose disks differ in scheduler, queue size or write cache."""
    for raid, disks in _member_disks(context):
        queues = {context.topology[name].title: context.topology[name].queue for name in disks}
        for what in ("scheduler", "nr_requests", "write_cache"):
            values = {title: _chosen(getattr(queue, what)) for title, queue in queues.items()}
            if len(set(values.values())) > 1 and None not in values.values():
                listed = ", ".join(f"{title} {value}" for title, value in values.items())
                yield observe(
                    raid.name, words={"what": what, "values": listed}, weight=what == "write_cache"
                )


def _chosen(setting: str | int | None) -> str | None:
    """Return a setting in words; of several choices, the one in brackets."""
    text = None if setting is None else str(setting)
    return text and (text.partition("[")[2].partition("]")[0] or text)


@check(
    "SM914",
    Severity.INFO,
    title="The stripe cache of {device} is small",
    sentence="stripe cache of {rows} rows: {stripes} stripes, {memory} of memory",
    expected="{least} stripes or more",
    reason="with few stripes in the cache, md handles writes before they fill a stripe",
    advice="`echo 4096 > /sys/block/{kernel_name}/md/stripe_cache_size`",
    source="md(4); Linux drivers/md/raid5.c, setup_conf: 256 rows unless the chunk needs more",
    superseded_by=("SM601",),
    thresholds={"stripes": (16, "count", "{} stripes")},
)
def stripe_cache_size(context: Context, limits: Limits) -> Observations:
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
            disks += sorted(topology.disks_of(member))
        yield raid, disks


XFS_UNIT = 512  # bytes: the unit of sunit and swidth in XFS mount options
EXT4_BLOCKS = (4096, 2048, 1024)  # bytes: ext4 counts its stripe in blocks of unknown size


@check(
    "SM921",
    Severity.INFO,
    title="{device} encrypts in small sectors",
    sentence="encryption sector of {logical}; the disk's physical sector is {physical}",
    expected="{physical}",
    reason="each small sector is encrypted separately; writes below a physical sector are possible",
    advice="`cryptsetup luksFormat --sector-size 4096` for new devices, or `cryptsetup reencrypt`",
    source="cryptsetup(8)",
)
def crypt_sector(context: Context, _: Limits) -> Observations:
    """Yield encrypted devices, good if their sectors are no smaller than the disk's physical ones."""
    for device in context.topology:
        logical = device.queue.logical_block_size
        disks = map(context.topology.__getitem__, context.topology.disks_of(device.name))
        physical = max((disk.queue.physical_block_size or 0 for disk in disks), default=0)
        if device.kind is Kind.CRYPT and logical and physical:
            yield _compare(device.name, logical >= physical, logical=logical, physical=physical)


@check(
    "SM922",
    Severity.WARNING,
    title="Thin chunks of {device} cross boundaries below",
    sentence="thin chunks of {chunk} on {what} of {unit} ({owner})",
    expected="a multiple of {unit}",
    reason="the first write to a chunk zeroes part of a stripe, so old data and parity are read",
    advice="recreate the pool with `lvcreate --chunksize` and a multiple of {unit}",
    source="harvester issue 1083: read-modify-write on first touch",
)
def thin_chunk(context: Context, _: Limits) -> Observations:
    """Yield thin pools on an array, good if their chunk is a multiple of its stripe or chunk."""
    for pool in context.topology:
        chunk, data = pool.fact_number("block"), context.below(pool.name, Role.DATA)
        if pool.target != "thin-pool" or chunk is None or not data:
            continue
        topology, name = context.topology, data[0]
        below = boundaries(topology, name, stripes=True) or boundaries(topology, name)
        if below is not None and not below.sectors:
            words = {"what": below.unit, "owner": context.topology[below.device].title}
            good = chunk % below.size == 0
            yield _compare(pool.name, good, words, chunk=chunk, unit=below.size)


@check(
    "SM923",
    Severity.INFO,
    title="The file system assumes another stripe width",
    sentence="{fs} assumes stripes of {width}; {array} has stripes of {stripe}",
    expected="{stripe}",
    reason="the file system cannot fill stripes or spread its metadata over the disks",
    advice="ext4: `tune2fs -E stripe_width`; XFS: `mount -o sunit=,swidth=` (in 512-byte sectors)",
    source="ext4(5), xfs(5); mount options in /proc/self/mountinfo",
)
def file_system_stripe(context: Context, _: Limits) -> Observations:
    """Yield mounted file systems on arrays, good if they know the stripe."""
    for name, options in context.mounted.items():
        array, widths = _array_below(context.topology, name), _stripe_widths(options)
        stripe = None if array is None or array.layout is None else array.layout.stripe
        if array is None or not stripe or not widths:
            continue
        good = stripe in widths
        words = {"array": array.title, "fs": options.get("type", "file system")}
        yield _compare(name, good, words, width=stripe if good else widths[0], stripe=stripe)


def _stripe_widths(options: Mapping[str, str]) -> list[int]:
    """Return the possible stripe widths of a file system in bytes; 0 for none, [] if unknown."""
    kind = options.get("type", "")
    key = {"xfs": "swidth", "ext4": "stripe", "ext3": "stripe"}.get(kind)
    if key is None:
        return []
    text = options.get(key, "0")
    count = int(text) if text.isdecimal() else 0
    return [count * unit for unit in ((XFS_UNIT,) if kind == "xfs" else EXT4_BLOCKS)]


@check(
    "SM924",
    Severity.INFO,
    title="optimal_io_size of {device} is not the array's",
    sentence="optimal_io_size is {told}; {array} below has {wanted}",
    expected="{wanted}",
    reason="mkfs and LVM take their alignment from optimal_io_size",
    advice="set it by hand: `mkfs.xfs -d su=,sw=` or `mkfs.ext4 -E stride=,stripe_width=`",
    source="Linux drivers/md/raid5.c, raid5_run: optimal_io_size = chunk × data disks",
)
def optimal_size(context: Context, _: Limits) -> Observations:
    """Yield tops above a striped array, good if they have its optimal_io_size."""
    for top in context.topology.tops:
        array = _array_below(context.topology, top.name)
        own = top.queue.optimal_io_size
        wanted = None if array is None else array.queue.optimal_io_size
        if array is not None and array.name != top.name and own is not None and wanted:
            words = {"array": array.title}
            yield _compare(top.name, own == wanted, words, told=own, wanted=wanted)


def _array_below(topology: Topology, name: str) -> Device | None:
    """Return the first striped array at or below *name*; None if its data forks, or is moved, above one."""
    while True:
        device = topology[name]
        if device.target == "vdo":  # where it writes a block does not depend on the block's address
            return None
        if device.layout is not None and device.layout.chunk:
            return device if RAID_LEVELS[device.layout.level].stripes else None
        below = set(topology.used_by(name, Role.DATA))
        if len(below) != 1:
            return None
        (name,) = below


def _compare(
    device: str, good: bool, words: Mapping[str, str] | None = None, /, **sizes: int
) -> Observation:
    figures = {name: (float(size), "bytes") for name, size in sizes.items()}
    return observe(device, figures, words, severity=Severity.GOOD if good else None)


@check(
    "SM931",
    Severity.CRITICAL,
    title="{capture} contains a key",
    outcome=Outcome.STATE,
    slows=False,
    sentence="{capture} contains a key of {volume}",
    expected="no key in a capture",
    reason="a reader of the capture can decrypt or forge the data, even after a change of the passphrase",
    advice="write the capture without the key, `stackmap --from {capture} record NEW`, and delete {capture} and "
    "its copies. Then give the volume a new key: [`cryptsetup reencrypt {below}` if it is LUKS; otherwise ]copy "
    "its data to a new volume",
    source="stackmap's SECURITY.md",
)
def recorded_key(context: Context, _: Limits) -> Observations:
    """Yield the volumes whose key is in the capture."""
    topology = context.topology
    by_name = {device.dm_name: device for device in topology if device.dm_name}
    for name in context.recorded_keys:
        device = by_name.get(name)
        edges = topology.below(device.name) if device else ()
        words = {
            "capture": context.capture,
            "volume": device.title if device else name or "a volume without a name",
        }
        if edges:
            words["below"] = f"/dev/{edges[0].below}"
        yield observe(device.name if device else "", words=words)


# The rules of ``explain`` that judge a state, in the order of its table.
STATE: tuple[Rule, ...] = (
    hung.suspended,
    state.broken,
    reserved.reserved_places,
    state.metadata_read_only,
    state.vdo_read_only,
    *errors.ERRORS,
    copy_on_write.thin_pool_data,
    copy_on_write.thin_pool_metadata,
    copy_on_write.vdo_pool_data,
    copy_on_write.snapshot_space,
    state.background_work,
    cache.cache_passthrough,
    request_sizes.request_limit,
    state.never_synced,
    cache.cache_dirty,
)
SETUP: tuple[Rule, ...] = (
    *errors.HEALTH,
    recorded_key,
    paths.single_path,
    alignment.start,
    alignment.stripe_start,
    alignment.alignment_offset,
    mixed_members,
    same_disk_twice,
    no_bitmap,
    stripe_cache_size,
    unequal_settings,
    crypt_sector,
    thin_chunk,
    file_system_stripe,
    optimal_size,
)
ORDER = {severity: number for number, severity in enumerate(Severity)}


def checks(context: Context) -> list[Finding]:
    """Return the findings of the rules that need no load: top down, the worst first on each device."""
    place = {device.name: number for number, (device, _) in enumerate(context.topology.rows())}
    observed = [
        Finding(rule, observation)
        for rule in (*STATE, *SETUP)
        for observation in rule.find(context, rule.limits)
    ]
    return sorted(
        observed, key=lambda finding: (place.get(finding.device, -1), ORDER[finding.severity])
    )
