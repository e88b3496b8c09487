"""
The health of a fleet: what is wrong on its hosts, and which of its figures are doubtful.

The rules record what is wrong, once for the alerts and for this; the doubts are asked of raw series.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stackmap.document.interval import end_time, instant
from stackmap.document.wording import duration, number, plural
from stackmap.features.fleet.promql import SECONDS_PER_STEP, Expressions, joined
from stackmap.model import exported
from stackmap.model.interval import Interval

if TYPE_CHECKING:
    from stackmap.features.fleet.http import Sample

# The worst first.
KINDS = ("failed", "hung", "degraded", "full", "silent", "sick", "worn", "clock")
DOUBTFUL = "silent", "clock"  # whose figures may be wrong
NOW = "instance_device:stackmap_trouble:now{%s}"
SINCE = "instance_device:stackmap_trouble:since_seconds{%s}"
LOOKED = "instance:stackmap_troubles:count{%s}"  # 0 where nothing is wrong
NOT_LOOKED = "health is not known: Prometheus has no stackmap_troubles; load the stackmap.rules.yml of this version"
IDENTITY = ("what", "reason", "device", "name", "space")
FIGURE = {"full", "sick", "worn", "clock"}  # kinds whose value is a figure
EXPORTED_LABELS = {
    "stackmap_layer_weight": ("top", "name", "layer", "role", "device"),
    "stackmap_stack_info": ("kind", "level"),
}
SAME_BOOT = 60  # seconds by which the time of a boot may move with the clock
STEPS = 500  # instants of a window at which the time of a boot is looked up
NAMED = 5  # hosts in a sentence
NEW = "with data for a part of the window only"
REBOOTED = "that rebooted in the window: LVs and md arrays are followed by their UUID, others are shown from the reboot on"
NOTES = frozenset({NEW, REBOOTED})  # of the doubts: nothing is missing


class Trouble(NamedTuple):
    """
    What is wrong on a host at the end of the window.

    ``what``: one of KINDS. ``device``: the kernel name, "" for the host itself; ``name``: the volume, array or pool.
    ``model``, ``serial``: of a disk. ``reason``: why a host is silent, or its clock wrong. ``value``: the used
    share of what is full or of a disk's life, the times the await of its peers of what is sick, the seconds of a
    wrong clock.
    ``since``: seconds since the epoch, when it was first seen. ``job``: of Prometheus, "" in recordings.
    """

    what: str
    host: str
    cluster: str = ""
    device: str = ""
    name: str = ""
    space: str = ""
    model: str = ""
    serial: str = ""
    reason: str = ""
    value: float | None = None
    since: float | None = None
    job: str = ""

    def __str__(self) -> str:
        return self.line()

    def line(self, *, with_job: bool = False) -> str:
        """Return the trouble in a line: what, where, how much, and since when; *with_job*: also the host's job."""
        disk = ", ".join(filter(None, (self.model, self.serial and f"serial {self.serial}")))
        thing = self.name or self.device
        thing = f"{thing} ({disk})" if disk else thing
        host = f"{self.host} of {self.cluster}" if self.cluster else self.host
        host = f"{host}, job {self.job}" if with_job and self.job else host
        parts = [f"{self.what}: {thing} on {host}" if thing else f"{self.what}: {host}"]
        if self.reason:
            parts.append(self.reason)
        if self.value is not None:
            parts.append(_measure(self.what, self.space, self.value))
        if self.since is not None:
            parts.append(f"since {instant(self.since)}")
        return ", ".join(parts)

    def json_fields(self) -> dict[str, object]:
        """Return the fields for JSON."""
        fields = {**self._asdict(), "since": self.since and end_time(Interval({}, time=self.since))}
        return {key: None if value == "" else value for key, value in fields.items()}


def _measure(what: str, space: str, value: float) -> str:
    if what == "full":
        return f"{value:.0%} of its {space or 'space'} used"
    if what == "worn":
        return f"{value:.0%} of its life used"
    if what == "clock":
        return f"{duration(abs(value))} from the server's"
    return f"{number(value, 1)}× the await of its peers"


def troubles(now: "Iterable[Sample]", since: "Iterable[Sample]", cluster: str) -> list[Trouble]:
    """Return the troubles in the answers to NOW and SINCE, the worst first."""
    keys = (cluster, "job", "instance", *IDENTITY)
    begun = {tuple(sample.labels.get(key, "") for key in keys): sample.value for sample in since}
    first_of: dict[tuple[str, ...], Trouble] = {}  # once for all replicas of a target
    for sample in now:
        get = sample.labels.get
        what = get("what", "")
        value = sample.value if what in FIGURE else None
        key = tuple(get(key, "") for key in keys)
        of_disk = (get("model", ""), get("serial", ""), get("reason", ""))
        names = (get(cluster, ""), get("device", ""), get("name", ""), get("space", ""))
        trouble = Trouble(
            what, get("instance", ""), *names, *of_disk, value, begun.get(key), get("job", "")
        )
        first_of.setdefault((*key, *of_disk), trouble)
    return worst_first(first_of.values())


def lines(troubles: Collection[Trouble]) -> list[str]:
    """Return a line per trouble, with the job where hosts of several jobs have the same name."""
    jobs: dict[tuple[str, str], set[str]] = {}
    for trouble in troubles:
        jobs.setdefault((trouble.cluster, trouble.host), set()).add(trouble.job)
    return [t.line(with_job=len(jobs[t.cluster, t.host]) > 1) for t in troubles]


def counted(looked: "Iterable[Sample]", of_host: Sequence[str], by: str) -> dict[str, int]:
    """Return how many troubles the hosts of each value of the label *by* have; replicas of a target count once."""
    hosts: dict[tuple[str, ...], int] = {}
    for sample in looked:
        key = tuple(sample.labels.get(label, "") for label in (by, *of_host))
        hosts[key] = max(round(sample.value), hosts.get(key, 0))
    sums: dict[str, int] = {}
    for (value, *_), count in hosts.items():
        sums[value] = sums.get(value, 0) + count
    return sums


def worst_first(troubles: Iterable[Trouble]) -> list[Trouble]:
    """Return *troubles* in the order of KINDS; kinds of other versions are last."""
    place = {what: number for number, what in enumerate(KINDS)}
    return sorted(troubles, key=lambda t: (place.get(t.what, len(place)), *t[1:5]))


def doubts(scope: Expressions) -> Iterable[tuple[str, str]]:
    """Return queries for hosts, each with the problem of the hosts in its answer."""
    hosts, group = scope.hosts, scope.group
    read = f"{exported.TIMESTAMP}{{{hosts}}}"
    known = group(scope.counted())
    before = group(f"{scope.counted()} offset {scope.seconds:.0f}s")
    silent = group(NOW % joined(hosts, 'what="silent"'))
    boot = f"node_boot_time_seconds{{{hosts}}}"
    step = max(SECONDS_PER_STEP, scope.seconds / STEPS)
    window = f"[{scope.seconds:.0f}s:{step:.0f}s]"
    moved = f"max_over_time({boot}{window}) - min_over_time({boot}{window}) > {SAME_BOOT}"
    arrays = f"stackmap_stack_members{{{hosts}}} unless stackmap_stack_degraded{{{hosts}}}"
    return (
        (f"{group(boot)} unless {group(read)} unless {group(NOW % hosts)}", "without topology: does stackmap-textfile.timer run there?"),
        (f"count by ({scope.of_host}) ({exported.BUILD}{{{hosts}}}) > 1", "that several series have (replicas, two textfiles, or clusters with the same names): the highest figures are shown"),
        (group(_collisions(hosts)), "whose target labels replace stackmap's labels (exported_*): rename them in scrape_configs"),
        (scope.without_counters, "where node_exporter leaves out devices of the stacks"),
        (group(arrays), "with arrays of unknown state, so nothing is known of missing members: does stackmap-textfile.service run as root there?"),
        (f"{known} unless {before}", NEW),
        (f"{before} unless {known} unless {silent}", "that had volumes when the window began and none at its end"),
        (group(moved), REBOOTED),
    )  # fmt: skip


def _collisions(hosts: str) -> str:
    """Return the series whose labels a label of the target replaced."""
    comma = "," if hosts else ""
    return " or ".join(
        f'{metric}{{exported_{label}!=""{comma}{hosts}}}'
        for metric, labels in EXPORTED_LABELS.items()
        for label in labels
    )


def doubtful(troubles: Iterable[Trouble]) -> str:
    """Return the sentence on hosts whose figures are doubtful because of a trouble, "" without any."""
    hosts = {trouble.host for trouble in troubles if trouble.what in DOUBTFUL}
    return sentence(hosts, "whose figures are doubtful: silent, or with a wrong clock")


def sentence(names: Collection[str], what: str) -> str:
    """Return the sentence on the hosts with these *names*, "" without any."""
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{plural(len(names), 'host')} {what} ({', '.join(sorted(names)[:NAMED])}{more})"
