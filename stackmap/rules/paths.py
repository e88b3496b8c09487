"""Is a path of a multipath disk slow, and does the load take the paths that its policy promises?"""

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from stackmap.model.device import USABLE_PATH, Device, Kind, Role
from stackmap.model.far_side import STORAGE_SYSTEMS
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, check, observe

ROUND_ROBIN = "round-robin"
NUMA = "numa"  # NVMe's default: each CPU uses the nearest path
ACTIVE = "active"


class Multipath(NamedTuple):
    """A disk with several paths that take requests, its policy ("" if unknown), and their rates by name."""

    head: Device
    policy: str
    paths: tuple[Device, ...]
    rates: dict[str, float]

    @property
    def total(self) -> float:
        """Requests per second on all paths."""
        return sum(self.rates.values())

    def share(self, name: str) -> float:
        """Return the share of the requests that path *name* has."""
        return self.rates[name] / self.total if self.total else 0.0

    def best(self) -> tuple[Device, ...]:
        """The paths that are used before others: the active ones."""
        return tuple(path for path in self.paths if path.state == ACTIVE)


def _multipath(context: Context, requests: float) -> Iterator[Multipath]:
    """Yield the disks with at least two paths in use and *requests* in the measurement."""
    topology = context.topology
    for head in context.devices:
        paths = tuple(topology[name] for name in topology.used_by(head.name, Role.PATH))
        usable = tuple(p for p in paths if p.state in USABLE_PATH and p.name in context.loads)
        rates = {path.name: context.load(path.name).total.ios or 0.0 for path in usable}
        policy = head.facts.get("policy") or head.facts.get("selector", "")
        multipath = Multipath(head, policy, usable, rates)
        if len(usable) > 1 and context.enough(multipath.total, requests):
            yield multipath


@Rule(
    "SM207",
    Severity.WARNING,
    title="The path {device} is slow",
    outcome=Outcome.SICK,
    sentence="The path {device} of {head} is slow: await is {await}, {ratio} times as long as on {others} (median "
    "{other}). It has {share} of the requests.",
    caveat="All paths lead to one disk, so the difference comes from the path. Paths to different controllers of an "
    "active/passive array differ, too.",
    advice="Check the cable, port, switch and controller of {device}.",
    source="Linux drivers/md/dm-mpath.c; drivers/nvme/host/multipath.c",
    thresholds={
        "slower": (2.0, "times", "{} the other paths'"),
        "longer": (0.5, "ms", "and {} longer"),
        "requests": (50, "count"),
    },
)
def slow_path(context: Context, limits: Limits) -> Observations:
    """Yield paths with a far longer await than the other paths of the same disk."""
    for disk in _multipath(context, limits["requests"]):
        waits = {
            path.name: context.typical_load(path.name, limits["requests"]).total.await_ms
            for path in disk.best()
            if context.enough(disk.rates[path.name], limits["requests"])
        }
        awaits = {name: ms for name, ms in waits.items() if ms is not None}
        for name, await_ms in awaits.items():
            others = [ms for other, ms in awaits.items() if other != name]
            if not others:
                continue
            usual = median(others)
            if await_ms < limits["slower"] * usual or await_ms - usual < limits["longer"]:
                continue
            figures = {
                "await": (await_ms, "ms"),
                "other": (usual, "ms"),
                "ratio": (await_ms / usual if usual else None, "times"),
                "share": (disk.share(name), "share"),
            }
            titles = ", ".join(context.topology[n].title for n in awaits if n != name)
            words = {"head": disk.head.title, "others": titles}
            yield observe(name, figures, words, weight=await_ms)


def path_tool(device: Device) -> dict[str, str]:
    """Return the name of *device* for multipath or for nvme; nothing for a device without paths."""
    if device.kind is Kind.MULTIPATH and device.dm_name:
        return {"paths": device.dm_name}
    if device.kind is Kind.DISK and "paths" in device.facts:
        return {"namespace": device.name}
    return {}


@Rule(
    "SM208",
    Severity.WARNING,
    title="{device} uses a path of second choice",
    sentence="{share} of the requests to {device} take {path}, which is {state}, while {better} is active.",
    caveat="Right after a failed path came back, the old path may still be used.",
    advice="[Run `multipath -ll {paths}`; set `failback immediate` in multipath.conf, or check the ALUA groups]"
    "[Run `nvme list-subsys /dev/{namespace}` and check the ANA groups].",
    source="multipath.conf(5), failback; NVM Express base specification, asymmetric namespace access",
    thresholds={"share": (0.1, "share", "{} of the requests"), "requests": (50, "count")},
)
def detour(context: Context, limits: Limits) -> Observations:
    """Yield disks whose requests take a standby or non-optimized path while an active one works."""
    for disk in _multipath(context, limits["requests"]):
        better = ", ".join(path.title for path in disk.best())
        for path in disk.paths:
            if better and path.state != ACTIVE and disk.share(path.name) >= limits["share"]:
                words = {"path": path.title, "state": path.state or "", "better": better}
                words |= path_tool(disk.head)
                figures = {"share": (disk.share(path.name), "share", path.name)}
                yield observe(disk.head.name, figures, words, weight=disk.share(path.name))


@Rule(
    "SM209",
    Severity.INFO,
    title="The paths of {device} are loaded unequally",
    sentence="The policy of {device} is round-robin, but {most} has {share} of the requests and {least} has {low}.",
    caveat="dm-multipath changes the path after a number of requests, so a short measurement may show this.",
    advice="Check the states of the paths over time: `stackmap record`, then `stackmap iostat --report all`.",
    source="Linux drivers/md/dm-ps-round-robin.c; drivers/nvme/host/multipath.c, nvme_round_robin_path",
    thresholds={"apart": (0.2, "share", "shares {} apart"), "requests": (2000, "count")},
)
def unequal_paths(context: Context, limits: Limits) -> Observations:
    """Yield disks with the policy round-robin whose active paths do not share the requests equally."""
    for disk in _multipath(context, limits["requests"]):
        best = sorted(disk.best(), key=lambda path: disk.rates[path.name])
        if disk.policy != ROUND_ROBIN or len(best) < 2:
            continue
        low, high = disk.share(best[0].name), disk.share(best[-1].name)
        if high - low >= limits["apart"]:
            figures = {
                "share": (high, "share", best[-1].name),
                "low": (low, "share", best[0].name),
            }
            words = {"most": best[-1].title, "least": best[0].title}
            yield observe(disk.head.name, figures, words, weight=high - low)


@Rule(
    "SM210",
    Severity.INFO,
    title="{device} uses one of {count} paths",
    sentence="{device} sends {share} of its requests over {path}, at queue depth {queue}. Its policy numa uses the "
    "nearest path of each CPU's node; {idle} is idle.",
    caveat="One path is enough where it is no bottleneck.",
    advice="`echo queue-depth > /sys/block/{kernel_name}/device/iopolicy` (Linux 6.11; before, round-robin) uses all.",
    source="Linux Documentation/admin-guide/nvme-multipath.rst",
    thresholds={
        "share": (0.95, "share", "{} of the requests"),
        "queue": (4.0, "requests"),
        "requests": (50, "count"),
    },
)
def one_path(context: Context, limits: Limits) -> Observations:
    """Yield NVMe disks with a queue on one path while another active path is idle."""
    for disk in _multipath(context, limits["requests"]):
        best = sorted(disk.best(), key=lambda path: -disk.rates[path.name])
        queue = context.load(best[0].name).aqu if best else None
        if disk.policy != NUMA or len(best) < 2 or (queue or 0.0) < limits["queue"]:
            continue
        share = disk.share(best[0].name)
        if share >= limits["share"]:
            figures = {
                "share": (share, "share", best[0].name),
                "queue": (queue, "requests", best[0].name),
                "count": (len(disk.paths), "count", disk.head.name),
            }
            words = {
                "path": best[0].title,
                "idle": ", ".join(path.title for path in best[1:]),
                "kernel_name": disk.head.name,
            }
            yield observe(disk.head.name, figures, words, weight=share)


@check(
    "SM213",
    Severity.INFO,
    outcome=Outcome.STATE,
    slows=False,
    title="{device} has one path",
    sentence="one path to the storage system, {path}",
    good_sentence="{count} paths to the storage system",
    expected="two or more paths",
    reason="without a second path, {device} fails with this one. The kernel removes a path of NVMe that it cannot reach "
    "for ctrl_loss_tmo (usually 10 minutes), and multipathd one whose disk is gone: then no state shows the loss",
    advice="compare with the ports of the storage system: [`multipath -ll {paths}`][`nvme list-subsys /dev/{namespace}`; "
    "`nvme connect-all` connects again]",
    source="nvme-connect(1), --ctrl-loss-tmo; multipathd(8)",
)
def single_path(context: Context, _: Limits) -> Observations:
    """Yield disks of a storage system with a single path, good with several."""
    for head in context.devices:
        paths = [context.topology[name] for name in context.topology.used_by(head.name, Role.PATH)]
        sides = {device.far_side for device in (head, *paths)}
        if paths and "paths" in head.facts and sides & STORAGE_SYSTEMS:
            good = Severity.GOOD if len(paths) > 1 else None
            figures = {"count": (float(len(paths)), "count")}
            words = {"path": paths[0].title, **path_tool(head)}
            yield observe(head.name, figures, words, severity=good)
