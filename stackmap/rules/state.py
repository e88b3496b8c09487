"""Is a device broken or its metadata read-only, or does background work distort the figures?"""

from collections.abc import Sequence
from functools import partial
from math import inf

from stackmap.ledger.device_state import (
    REBUILDING,
    WORK,
    is_degraded,
    is_lost_array,
    members_behind,
    missing_members,
    work_of,
)
from stackmap.ledger.layers import carries_data
from stackmap.model.device import NEVER_SYNCED, UNUSED_PATH, USABLE_PATH, Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.load import Load, plus, sum_flows
from stackmap.model.raid import LOST, NOT_IN_SYNC, STOPPED
from stackmap.model.topology import Topology
from stackmap.rules.context import Context
from stackmap.rules.hung import SUSPENDED
from stackmap.rules.paths import path_tool
from stackmap.rules.reserved import has_reserved_places
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, observe

_rule = partial(Rule, outcome=Outcome.STATE, is_state=True)
READ_ONLY = "read-only"  # the state of a pool or cache whose metadata is, and of a VDO pool
NOT_STARTED = "inactive"  # of an array: md waits for members, or was not told to start it
# Words in a state that mean that data or its redundancy is at risk.
BROKEN = (
    "degraded", "failed", "faulty", "missing", "invalid", "overflow", "corrupted",
    "out of data space", "needs check", "merge failed", "offline", "faulted", "unavail", "removed", NOT_STARTED,
    NOT_IN_SYNC,
)  # fmt: skip
NO_SPACE = "out of data space"
# States that are not what a device is, in the words of a sentence: "is marked for a check".
SAID = {
    "needs check": "marked for a check",
    "overflow": "full and lost",
    "invalid": "invalid and lost",
    "merge failed": "not merged",
}
LOST_SNAPSHOT = ("invalid", "overflow")  # nothing brings the content of such a snapshot back
# LVM puts this target in the place of a PV that it does not find.
MISSING = "missing (target error)"

PASSING = (*BROKEN, SUSPENDED, READ_ONLY)
UNBROKEN_MEMBER = (None, "active", "journal")
MOVES = {"after": "after it", "work": "work"}  # of work that goes on
UNBROKEN_PATH = (None, *USABLE_PATH, *UNUSED_PATH)
DRBD = "drbd"  # its devices are named so
PVMOVE = "/pvmove"  # in the label of the hidden LV that exists while pvmove runs


@_rule(
    "SM301",
    Severity.CRITICAL,
    title="{device} is {state}",
    sentence="{device} is {state}; {cause}.[ {gone} gone.][ It lacks {lacks}: one more failure loses data.][ At the start of the measurement it was {was}.]",
    caveat="stackmap reads a state at the start, and again when the kernel announces a change.",
    advice="[Extend it first: `lvextend --size +SIZE -- {full}`][Remove it: `lvremove -- {lost}`][{repair} it first]"
    "[: see `mdadm --detail /dev/{array}`][: see `lvs -a -o +devices,lv_health_status {lv}`][: see `multipath -ll {paths}`]"
    "[: see `nvme list-subsys /dev/{namespace}`][: see `drbdadm status` on {hosts}].[ {parity} reads all other members in place of the missing one.]",
    source="Linux admin-guide/device-mapper/dm-raid.rst (health), admin-guide/md.rst (degraded)",
)
def broken(context: Context, _: Limits) -> Observations:
    """Yield broken devices with the faulty devices below; where two layers are broken, the upper one."""
    topology = context.topology
    for device in context.devices:
        above = [topology[edge.above] for edge in topology.above(device.name)]
        state = _broken_state(context, device)
        if has_reserved_places(topology, device):
            continue
        if state and not any(_broken_state(context, upper) for upper in above):
            words = {
                "state": SAID.get(state, state),
                "cause": _cause(topology, device, above),
                "gone": _gone(device),
                "lacks": _lacks(device, missing_members(topology, device)),
                "was": _was(context, device),
            }
            yield observe(device.name, words=words | _repair(device, above))


def _gone(device: Device) -> str:
    """Return the lost part of an array that has lost data, as a subject of a sentence; "" for another device."""
    if device.layout is None or not is_lost_array(device):
        return ""
    if device.layout.parity:
        return "More members than its parity replaces are"
    if device.layout.copies == 1:
        return "A part of its data is"
    every = "Both" if device.layout.copies == 2 else "All"
    return f"{every} copies of a part of its data are"


def _lacks(device: Device, lost: int) -> str:
    """Return how many members *device* has *lost*, if that is all of its redundancy: beyond that, data is lost already."""
    layout = device.layout
    if layout is None or not lost or is_lost_array(device):
        return ""
    # Which copies of RAID10 are lost depends on which members are.
    spare = layout.parity or (layout.copies - 1 if layout.copies == layout.members else inf)
    return f"{lost} of its {layout.members} members" if lost == spare else ""


def _repair(device: Device, above: Sequence[Device]) -> dict[str, str]:
    """Return the words of what to do first: extend a full pool, remove a lost snapshot, look at an array, an LV or the paths."""
    if device.state == NO_SPACE:
        return {"full": device.label.removesuffix("-tpool")}
    if device.kind is Kind.SNAPSHOT and device.state in LOST_SNAPSHOT:
        return {"lost": device.label}
    works = device.state != NOT_STARTED and any(
        affected.layout and affected.layout.parity and not is_lost_array(affected)
        for affected in (device, *above)
    )
    words = {"repair": "Repair", "parity": "A degraded RAID4/5/6" if works else ""}
    return words | tool_names(device) | path_tool(device)


def tool_names(device: Device) -> dict[str, str]:
    """Return the name of *device* for mdadm or for LVM's tools; nothing for a target without one, or an array known by its alias."""
    if device.kind is Kind.ARRAY:
        return {} if "/" in device.name else {"array": device.name}
    if device.name.startswith(DRBD):
        return {"hosts": "all its hosts"}
    return {"lv": device.label.removesuffix("-tpool")} if "/" in device.label else {}


def _was(context: Context, device: Device) -> str:
    """Return the state of *device* at the start, if it changed since."""
    changes = context.state_changes.get(device.name)
    return changes[0].was if changes and changes[0].was != device.state else ""


def _broken_state(context: Context, device: Device) -> str:
    """Return the state of *device* if its data or redundancy is at risk, otherwise ""."""
    state = device.state or ""
    if device.target == "error":
        return MISSING
    if any(word in state for word in BROKEN):
        return state
    journaled = device.facts.get("consistency") == "journal"
    return (
        "without its journal" if journaled and not context.below(device.name, Role.JOURNAL) else ""
    )


def _cause(topology: Topology, device: Device, above: list[Device]) -> str:
    """Return the members that are not active, or the array that *device* is a member of, in words."""
    if device.kind is Kind.ARRAY and device.state == NOT_STARTED:
        return "md has not started it"
    if device.name.startswith(DRBD):
        return "a copy is out of date or cannot be reached"
    edges = topology.below(device.name)
    if device.state == LOST and device.dm_name and device.target != "error" and not edges:
        return "the device below it is gone"
    below = [(e, topology[e.below]) for e in edges if e.role is not Role.SPARE]
    failed = [
        (e, d)
        for e, d in below
        if d.state not in (UNBROKEN_PATH if e.role is Role.PATH else UNBROKEN_MEMBER)
    ]
    # The metadata of a member is on the same disk.
    data = [d for e, d in failed if e.role is not Role.METADATA]
    inactive = [f"{d.title} ({d.state})" for d in data or [d for _, d in failed]]
    if inactive:
        return "members that are not active: " + ", ".join(inactive)
    if any(edge.role is Role.PATH for edge in edges):
        return "a path is gone"
    owners = ", ".join(upper.title for upper in above if upper.layout is not None)
    if owners:
        return f"it is a member of {owners}"
    count = device.layout.members - len([*filter(carries_data, edges)]) if device.layout else 0
    if count > 1:
        return f"{count} members are missing"
    if device.uses and (device.kind is Kind.PARTITION or not edges):
        return f"it is used by {', '.join(use.name for use in device.uses)}"
    missing = count == 1 or (is_degraded(device) and not is_lost_array(device))
    return "a member is missing" if missing else "no device below it has failed"


@_rule(
    "SM302",
    Severity.WARNING,
    title="{device} does background work ({state})",
    sentence="{device} does background work ({state}): {does}.[ Figures below it include this {work}.][ Until it ends, "
    "{device} lacks {lacks}: one more failure loses data.][ It {stopped}: its speed is 0.][ At the start "
    "of the measurement it was {was}.]",
    caveat="The counters do not separate it from the load.",
    advice="[Find out why it {stopped}: see `dmesg`][Measure again {after}][, or slow it down: `lvchange --maxrecoveryrate 10M {lv}`][, or slow it down to "
    "10 MB/s: `echo 10000 > /sys/block/{array}/md/sync_speed_max`].",
    source="stackmap-kernel(7), RAID write paths; Linux admin-guide/md.rst, sync_action",
)
def background_work(context: Context, _: Limits) -> Observations:
    """Yield devices whose state says that they copy, check or rebuild; of the disks of a ZFS pool one."""
    pools: set[str] = set()
    for device in context.devices:
        work = work_of(device)
        pool = {use.name for use in device.uses if use.kind == "zfs"}
        if work and pool & pools:
            continue
        pools |= pool if work else set()
        if PVMOVE in device.label:
            words = {
                "state": f"pvmove, {device.state or 'active'}",
                "does": "it copies to another disk",
            }
            yield observe(device.name, words=words | MOVES)
        elif work:
            words = {
                "state": device.state or "",
                "does": WORK[work],
                "lacks": _lacks(device, members_behind(context.topology, device)),
                "was": _was(context, device),
            }
            # A rebuild that is slowed down leaves the array without its redundancy for longer.
            stopped = STOPPED in (device.state or "")
            words |= {"stopped": STOPPED} if stopped else MOVES
            slows = device.layout is not None and work not in REBUILDING and not stopped
            words |= tool_names(device) if slows else {}
            yield observe(device.name, words=words)


@Rule(
    "SM303",
    Severity.WARNING,
    title="Something reads the members of {device}",
    outcome=Outcome.STATE,
    sentence="Something reads the members of {device} at {unasked} beyond its own load: probably a "
    "sync or check. Its members are read at {members}, {device} itself at {asked}.",
    caveat="A program may read the members directly; run `stackmap blame` on them.",
    advice="Do not judge the layout yet: check `stackmap tree` and measure again afterwards.",
    source="stackmap-kernel(7), RAID write paths; J. Young, High Disk I/O Usage, Part Two (2019)",
    thresholds={
        "share": (0.05, "share", "excess {} of the members' I/O"),
        "bytes": (102400, "bytes/s", "and {}"),
        "requests": (10, "count"),
        "intervals": (0.5, "share", "in {} of intervals"),
    },
    superseded_by=("SM301", "SM302"),
    name="unasked-reads",
    labels={
        "asked": "read from the array",
        "unasked": "read without a cause",
        "explained": "explained reads",
        "members": "read from the members",
    },
)
def unexplained_reads(context: Context, limits: Limits) -> Observations:
    """Yield arrays whose members are read more than their own reads and writes explain."""
    for raid in context.devices:
        members = _own_members(context, raid)
        figures = _unasked(raid, members, context.interval, limits) if members else {}
        if not figures:
            continue
        # udev and blkid read the members of a new array once; a sync goes on.
        lasting = [bool(_unasked(raid, members, part, limits)) for part in context.series]
        if sum(lasting) >= limits["intervals"] * len(lasting):
            yield observe(raid.name, figures, weight=figures["unasked"][0])


def _unasked(
    raid: Device, members: list[str], interval: Interval, limits: Limits
) -> dict[str, tuple[float, str]]:
    """Return the figures of reads of *members* that the load on *raid* does not explain; {} if few or unknown."""
    if not {raid.name, *members} <= interval.loads.keys():
        return {}
    load, own = interval.loads[raid.name], [interval.loads[name] for name in members]
    total, read, written = (
        sum_flows(flows).bytes
        for flows in zip(*((m.total, m.read, m.write) for m in own), strict=True)
    )
    explained, asked = _explained(raid, load, written), load.read.bytes
    if read is None or explained is None or asked is None or not total:
        return {}
    excess = read - explained
    # Requests that complete while the counters are read are in one line and not yet in the other.
    few = limits["requests"] * (load.read.size or 0.0) / (interval.seconds or inf)
    if excess < max(limits["share"] * total, limits["bytes"], few):
        return {}
    return {
        "members": (read, "bytes/s"),
        "asked": (asked, "bytes/s"),
        "explained": (explained, "bytes/s"),
        "unasked": (excess, "bytes/s"),
    }


def _own_members(context: Context, raid: Device) -> list[str]:
    """Return the data members of *raid*; [] if one has no counters or serves another device too."""
    if raid.layout is None or raid.name not in context.loads:
        return []
    members = context.below(raid.name, Role.DATA)
    own = all(len(context.topology.above(name)) == 1 for name in members)
    return members if own and context.loads.keys() >= set(members) else []


def _explained(raid: Device, load: Load, below: float | None) -> float | None:
    """Return the most bytes per second that the members, *below* bytes written, read for the load on *raid*."""
    read, written = load.read.bytes, load.write.bytes
    if raid.layout is None or not raid.layout.parity:
        return read
    most = None if written is None else written * (1 + raid.layout.parity)
    if below is not None and most is not None and below > most:
        # Writes smaller than a page: each row updated reads at most its data pages.
        return plus(read, raid.layout.data * below / (1 + raid.layout.parity))
    # A write of one page reads at most all other data pages: stackmap-kernel(7), RAID write paths.
    caused = None if written is None else max(1, raid.layout.data - 1) * written
    return plus(read, caused)


@_rule(
    "SM304",
    Severity.WARNING,
    title="{device} was never synced",
    sentence="{device} was created with --nosync: its parity may be wrong. Read-modify-write, which "
    "this array uses, preserves wrong parity. If a disk fails, the array may return wrong data.",
    caveat="Parity is correct if the disks held only zeros, and in rows that were written whole.",
    advice="Keep a verified backup. While the array is not in use, run `lvchange --resync`, then "
    "`lvchange --syncaction check`.",
    source="stackmap-kernel(7), RAID write paths; Linux drivers/md/dm-raid.c, nosync",
    thresholds={"data_over_parity": (3, "count", "{} more data than parity members")},
    slows=False,
)
def never_synced(context: Context, limits: Limits) -> Observations:
    """Yield arrays whose parity was never calculated and that small writes do not correct."""
    for device in context.devices:
        layout = device.layout
        if layout is None or not layout.parity:
            continue
        # md writes read-modify-write only if that reads fewer members: data > parity + 2.
        if layout.data - layout.parity < limits["data_over_parity"]:
            continue
        if NEVER_SYNCED in device.facts:
            yield observe(device.name, {"data": (layout.data, "count")})


@_rule(
    "SM314",
    Severity.CRITICAL,
    title="The metadata of {device} is read-only",
    sentence="The metadata of {device} is read-only: its {target} accepts no new blocks.",
    caveat="A target that was activated read-only on purpose looks the same.",
    advice="See `dmesg` for the cause: an I/O error, or full metadata. Then run `lvconvert --repair`.",
    source="Linux admin-guide/device-mapper/thin-provisioning.rst and cache.rst, metadata mode",
)
def metadata_read_only(context: Context, _: Limits) -> Observations:
    """Yield thin pools and caches that the kernel switched to read-only."""
    for device in context.devices:
        states = (context.status(device).state, device.state)
        if device.target in ("thin-pool", "cache") and READ_ONLY in states:
            yield observe(device.name, words={"target": device.target})


@_rule(
    "SM316",
    Severity.CRITICAL,
    title="VDO pool {device} is read-only",
    sentence="VDO pool {device} is read-only: it could not write or trust its metadata, and fails all writes.",
    advice="See `dmesg` for the cause. Copy the data away first: it can be read. Then see vdoforcerebuild(8).",
    source="Linux admin-guide/device-mapper/vdo.rst, operating mode",
)
def vdo_read_only(context: Context, _: Limits) -> Observations:
    """Yield VDO pools that the kernel switched to read-only."""
    for device in context.devices:
        if device.target == "vdo" and READ_ONLY in (context.status(device).state, device.state):
            yield observe(device.name)


@Rule(
    "SM307",
    Severity.WARNING,
    title="{device} was {state} during the measurement",
    outcome=Outcome.STATE,
    sentence="{device} was {state} during the measurement. Now it is {now}.",
    caveat="LVM suspends a volume for an instant while it changes it.",
    advice="Find the cause in the kernel log: `journalctl -k`. Measure again: some figures belong to the other state.",
    source="Linux admin-guide/md.rst; admin-guide/device-mapper, status lines",
)
def passing_state(context: Context, _: Limits) -> Observations:
    """Yield devices that were broken, suspended or read-only during the measurement, and are not at its end; of two layers the upper one."""
    passed: dict[str, tuple[str, str]] = {}
    for name, changes in context.state_changes.items():
        states = [state for change in changes for state in (change.was, change.now)]
        passing = [s for s in states[:-1] if any(word in s for word in PASSING)]
        if passing and not any(word in states[-1] for word in PASSING):
            passed[name] = passing[-1], states[-1] or "unknown"
    for name, (state, now) in passed.items():
        if not any(edge.above in passed for edge in context.topology.above(name)):
            yield observe(name, words={"state": state, "now": now})


@Rule(
    "SM317",
    Severity.WARNING,
    title="{device} became read-only",
    outcome=Outcome.STATE,
    sentence="{device} became read-only during the measurement: it fails all writes.",
    caveat="Another program may have made it so: `mdadm --readonly`, `lvchange --permission r`, `blockdev --setro`.",
    advice="Find the cause in the kernel log: `journalctl -k`.",
    source="Linux admin-guide/md.rst, array_state; Documentation/ABI/stable/sysfs-block, ro",
)
def became_read_only(context: Context, _: Limits) -> Observations:
    """Yield devices that are read-only at the end of the measurement and were not at its start; the metadata of pools has rules of its own."""
    for name, changes in context.state_changes.items():
        became = READ_ONLY in changes[-1].now and READ_ONLY not in changes[0].was
        if became and context.topology[name].target not in ("thin-pool", "cache", "vdo"):
            yield observe(name)
