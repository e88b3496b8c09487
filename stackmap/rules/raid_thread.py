"""Is an array limited by its one kernel thread rather than by its disks?"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.ledger.status_changes import thread_usage
from stackmap.model.device import Device, Kind, RaidThread
from stackmap.rules.context import Context
from stackmap.rules.rule import Figure, Found, Limits, Rule, Severity, observe

DM_RAID = "mdX"  # the name of every array of LVM (dm-raid.c)


@Rule(
    "SM411",
    Severity.WARNING,
    sentence="{device} waits for its kernel thread, not for its disks: {thread} uses {cpu} of one "
    "CPU. {queue} requests are in flight at {device}[, at most {disk_queue} on a disk].",
    caveat="The thread also does resyncs and checks.",
    advice="{remedy}",
    source="Linux admin-guide/md.rst, group_thread_cnt; Linux drivers/md/raid5.c, raid5d",
    thresholds={
        "cpu": (0.9, "share"),
        "queue": (4, "requests"),
        "disk_queue": (1, "requests"),
    },
)
def md_bound(context: Context, limits: Limits) -> Found:
    """Yield arrays that queue requests while their disks are idle and a thread of theirs is not."""
    usage = thread_usage(context.readings)
    for raid in context.measured:
        threads = _threads(raid, usage)
        queue = context.load(raid.name).aqu
        if not threads or queue is None:
            continue
        disk_queue = _longest_queue(context, raid)
        busiest = max(threads, key=lambda thread: threads[thread])
        if (
            threads[busiest] >= limits["cpu"]
            and queue >= limits["queue"]
            and (disk_queue or 0.0) <= limits["disk_queue"]
        ):
            figures: dict[str, Figure] = {
                "cpu": (min(1.0, threads[busiest]), "share"),  # ticks of 10 ms round up
                "queue": (queue, "requests"),
                "disk_queue": (disk_queue, "requests"),
            }
            words = {
                "thread": _name(busiest, len(threads)),
                "remedy": _remedy(raid),
            }
            yield observe(raid.name, figures, words, weight=threads[busiest])


def _threads(raid: Device, usage: Mapping[RaidThread, float]) -> dict[RaidThread, float]:
    """Return the threads that may be of *raid*; of LVM all that serve its level."""
    if raid.layout is None or (raid.kind is not Kind.ARRAY and raid.target != "raid"):
        return {}
    array = raid.name if raid.kind is Kind.ARRAY else DM_RAID
    return {t: cpu for t, cpu in usage.items() if t.name == f"{array}_{raid.layout.level}"}


def _longest_queue(context: Context, raid: Device) -> float | None:
    """Return the longest queue of the disks below *raid* that the kernel counts; None if none is."""
    topology = context.topology
    below = (name for name in topology.with_all_below(raid.name) if name != raid.name)
    queues = (context.load(name).aqu for name in below if not topology.below(name))
    return max((queue for queue in queues if queue is not None), default=None)


def _name(busiest: RaidThread, number: int) -> str:
    """Return the thread's name and id; of several with that name, that the volume's own is unknown."""
    if number == 1:
        return f"{busiest.name} (process {busiest.pid})"
    return (
        f"one of {number} threads named {busiest.name} (process {busiest.pid}; LVM does not show "
        "which of them is this volume's)"
    )


def _remedy(raid: Device) -> str:
    if raid.layout is None or not raid.layout.parity:
        return "Divide the load among several arrays."
    if raid.kind is not Kind.ARRAY:
        return "LVM cannot give it more threads: use md (mdadm), RAID10, or several volumes."
    return f"Use more threads: echo 4 > /sys/block/{raid.name}/md/group_thread_cnt"
