"""Is something broken, or at work on its own account, so that the figures are not the workload's?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.background_work import WORK
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.model.device import NEVER_SYNCED, Device, Role
from stackmap.model.load import Load, plus, sum_flows

# Words of a state that mean that data, or its redundancy, is at risk now.
BROKEN = (
    "degraded", "failed", "faulty", "missing", "invalid", "overflow", "corrupted",
    "out of data space", "needs check", "merge failed", "offline", "suspended",
)  # fmt: skip
FINE = "active"


def broken(context: Context, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices whose state says that they are broken, with those below that are."""
    for device in context.topology:
        if not any(word in (device.state or "") for word in BROKEN):
            continue
        if _told_above(context, device.name):
            continue
        below = [context.topology[edge.below] for edge in context.topology.below(device.name)]
        bad = [f"{each.title} {each.state}" for each in below if _bad(each.state)]
        words = {"state": device.state or "", "below": ", ".join(bad) or "none that is still there"}
        yield Seen(device.name, {}, words)


def _told_above(context: Context, name: str) -> bool:
    """Whether an array above says itself that it is broken: that is the one to repair."""
    above = (context.topology[edge.above] for edge in context.topology.above(name))
    return any(any(word in (device.state or "") for word in BROKEN) for device in above)


def _bad(state: str | None) -> bool:
    return state not in (None, FINE)


def at_work(context: Context, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices that copy, check or rebuild, by their own state."""
    for device in context.topology:
        words = (device.state or "").replace(",", " ").split()
        work = next((word for word in words if word in WORK), "")
        if work:
            yield Seen(device.name, {}, {"state": device.state or "", "does": WORK[work]})


def unasked(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield arrays whose members were read more than anybody read them, or their writes explain."""
    for raid in context.topology:
        members = _members(context, raid)
        if not members:
            continue
        total = sum_flows(context.load(name).total for name in members).bytes
        here = sum_flows(context.load(name).read for name in members).bytes
        most = _explained(raid, context.load(raid.name))
        if here is None or most is None or not total:
            continue
        if here - most >= max(limits["share"] * total, limits["bytes"]):
            evidence = context.evidence(
                raid.name,
                members=(here, "bytes/s"),
                asked=(context.load(raid.name).read.bytes, "bytes/s"),
                explained=(most, "bytes/s"),
                unasked=(here - most, "bytes/s"),
            )
            yield Seen(raid.name, evidence, weight=here - most)


def _members(context: Context, raid: Device) -> list[str]:
    """Return the data members of *raid* that serve nothing else; [] where one does, or is not counted."""
    if raid.layout is None or raid.name not in context.loads:
        return []
    found = [e.below for e in context.topology.below(raid.name) if e.role is Role.DATA]
    alone = all(len(context.topology.above(name)) == 1 for name in found)
    return found if alone and context.loads.keys() >= set(found) else []


def _explained(raid: Device, load: Load) -> float | None:
    """Return the most bytes a second that members are read for what *raid* was asked."""
    read, written = load.read.bytes, load.write.bytes
    if raid.layout is None or not raid.layout.parity:
        return read
    # A row written by one page reads all other data pages at most (KERNEL 2.3).
    caused = None if written is None else max(1, raid.layout.data - 1) * written
    return plus(read, caused)


def never_synced(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield arrays whose parity nobody ever worked out, and small writes do not either."""
    for device in context.topology:
        layout = device.layout
        if layout is None or not layout.parity or layout.data < limits["data"]:
            continue
        if NEVER_SYNCED in device.facts:
            yield Seen(device.name, context.evidence(device.name, data=(layout.data, "count")))


BROKEN_DEVICE = Rule(
    "SM301",
    "broken",
    Severity.CRITICAL,
    says="{device} is {state}. Below it: {below}.",
    against="The state was read once, at the start.",
    advice="Repair this before looking at speed: lvs -a -o +devices,health_status or mdadm --detail "
    "say what to replace. A degraded RAID4/5/6 reads every other member to answer for the "
    "missing one.",
    source="Linux admin-guide/device-mapper/dm-raid.rst (health letters), admin-guide/md.rst "
    "(degraded), and the status lines of other targets",
    find=broken,
)
AT_WORK = Rule(
    "SM302",
    "background-work",
    Severity.WARNING,
    says="{device} is at work on its own ({state}): {does}. The figures below it are not the "
    "workload's alone.",
    against="How much of the load is this work's is not counted apart.",
    advice="Measure again when it is done, or slow it down meanwhile: md/sync_speed_max, lvchange "
    "--maxrecoveryrate.",
    source="Linux admin-guide/md.rst, sync_action; measured on 6.1 and 6.12: what a resync, check "
    "or recovery reads and writes on the members",
    find=at_work,
)
UNASKED = Rule(
    "SM303",
    "unasked-reads",
    Severity.WARNING,
    says="The members of {device} were read {members}, but {device} only {asked}: {unasked} that "
    "nobody asked it for. A sync or check is running, or was.",
    against="Somebody may read the members directly; blame says who loads a disk.",
    advice="Do not judge the layout by these figures. Look at the state (stackmap tree), and measure "
    "again when it is done.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): the RAID10's first figures; Linux "
    "admin-guide/md.rst, sync_action",
    find=unasked,
    limits={"share": 0.05, "bytes": 102400},
    units={"share": "share", "bytes": "bytes/s"},
    yields_to=("SM301", "SM302"),
)
UNSYNCED = Rule(
    "SM304",
    "never-synced",
    Severity.WARNING,
    says="{device} was made with --nosync: its parity was never worked out. With {data} chunks of data "
    "in a stripe a small write goes on from the parity that is there, right or wrong; where it is wrong, "
    "the death of a disk gives back other data than was written.",
    against="Where its disks held nothing but zeros, parity was right from the start; and a row that "
    "was written whole has its own.",
    advice="Keep a backup that was read back. When nobody uses it, lvchange --resync works parity out; "
    "lvchange --syncaction check then says whether it agrees.",
    source="Linux drivers/md/dm-raid.c, nosync; drivers/md/raid5.c, handle_stripe_dirtying: old data and "
    "parity are read where that is less than all other data; measured on 6.1",
    find=never_synced,
    limits={"data": 4},
    units={"data": "count"},
)
RULES = (BROKEN_DEVICE, AT_WORK, UNASKED)
