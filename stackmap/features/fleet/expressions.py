"""PromQL over the series that ``packaging/prometheus/stackmap.rules.yml`` records: what ``fleet`` asks a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stackmap.features.fleet.host_source import quoted
from stackmap.model import exported

ID = "job, instance, top, name"
LEVEL = "kind, level"
STALE = 900  # seconds without a new textfile
FULL = 0.95  # of a pool or snapshot: the alert's limit
SKEW = 60  # seconds by which a clock may be wrong
NEW = "with data for a part of the window only"

# By field of Volume: the series of a rate, and that of its hourly mean.
FIGURES = {
    "read_bytes": ('instance_top_layer:stackmap_read_bytes:rate5m{layer="volume",%s}', "instance_top:stackmap_read_bytes:avg1h{%s}"),
    "write_bytes": ('instance_top_layer:stackmap_written_bytes:rate5m{layer="volume",%s}', "instance_top:stackmap_written_bytes:avg1h{%s}"),
    "reads": ('instance_top_layer:stackmap_reads:rate5m{layer="volume",%s}', "instance_top:stackmap_reads:avg1h{%s}"),
    "writes": ('instance_top_layer:stackmap_writes:rate5m{layer="volume",%s}', "instance_top:stackmap_writes:avg1h{%s}"),
    **{
        field: (f"instance_top:stackmap_{name}:rate5m{{%s}}", f"instance_top:stackmap_{name}:avg1h{{%s}}")
        for field, name in (
            ("parity_bytes", "parity_cost_bytes"), ("parity_write_bytes", "parity_written_bytes"), ("disk_bytes", "disk_bytes"), ("disk_requests", "disk_requests"),
            ("wasted_bytes", "wasted_bytes"), ("wasted_requests", "wasted_requests"),
        )
    },
    "slowest": ("instance_top_device:stackmap_slowest_member:ratio_rate5m{%s}", "instance_top_device:stackmap_slowest_member:avg1h{%s}"),
}  # fmt: skip
RAID10_SAVES = "({parity_bytes} - 2 * {parity_write_bytes})"
# What the volumes are sorted by, of FIGURES.
ORDERS = {
    "wasted": "{wasted_bytes}",
    "wasted-iops": "{wasted_requests}",
    "cost": "{parity_bytes} / ({parity_write_bytes} > 0)",
    "iops": "{reads} + {writes}",
    "written": "{write_bytes}",
    "slowest": f"max by ({ID}) ({{slowest}})",
    "raid10": RAID10_SAVES,
}
# By field of LevelSum: the series of all volumes of a host and level.
LEVEL_FIGURES = {
    field: (f"instance_level:stackmap_{name}:rate5m{{%s}}", f"instance_level:stackmap_{name}:avg1h{{%s}}")
    for field, name in (
        ("write_bytes", "written_bytes"), ("wasted_bytes", "wasted_bytes"), ("wasted_requests", "wasted_requests"),
    )
}  # fmt: skip
COUNT = "instance_level:stackmap_volumes:count{%s}"
STATES = {
    "members": "stackmap_stack_members{%s}",
    "ideal": "stackmap_stack_ideal_write_ratio{%s}",
    "degraded": "stackmap_stack_degraded{%s}",
    "sync": "stackmap_stack_sync_active{%s}",
}
EXPORTED_LABELS = {
    "stackmap_layer_weight": ("top", "name", "layer", "role", "device"),
    "stackmap_stack_info": ("kind", "level"),
}
PARTS = ("level", *FIGURES, *STATES)  # what is asked of each volume


class Expressions(NamedTuple):
    """
    What to ask of the volumes of *host* (a regular expression), *job* and *level*, over *seconds*.

    ``hourly``: from means of an hour. "" for no restriction.
    """

    seconds: float
    host: str = ""
    job: str = ""
    level: str = ""
    top: str = ""
    hourly: bool = False

    @property
    def volumes(self) -> str:
        """The matchers of volumes; their level is a label of ``info`` alone."""
        given = (
            ("instance", "=~", self.host),
            ("job", "=", self.job),
            ("top", "=~", self.top),
        )
        return ",".join(f"{label}{how}{quoted(text)}" for label, how, text in given if text)

    @property
    def levels(self) -> str:
        """The matchers of sums by level."""
        return ",".join(filter(None, (self.volumes, self.level and f"level={quoted(self.level)}")))

    @property
    def info(self) -> str:
        """The volumes with their kind and level."""
        return f"max by ({ID}, {LEVEL}) (stackmap_stack_info{{{self.levels}}})"

    def part(self, name: str) -> str:
        """Return one of PARTS: one value per volume."""
        if name == "level":
            return self.info
        if name in STATES:
            return f"max by ({ID}) ({STATES[name] % self.volumes})"
        return self.mean(name)

    def mean(self, field: str) -> str:
        """Return a figure's mean over the window, one per volume."""
        series = FIGURES[field][self.hourly] % self.volumes
        mean, labels = self._over_window("avg", series), ID
        if field == "slowest":  # of the members that were slowest at a time, the slowest in sum
            longest = self._over_window("sum", series)
            mean, labels = f"({mean} and topk by ({ID}) (1, {longest}))", f"{ID}, device"
        if self.level:
            mean = f"({mean} and on ({ID}) {self.info})"
        return f"max by ({labels}) ({mean})"

    def worst(self, sort: str, limit: int) -> str:
        """Return the volumes with the highest figures."""
        return f"topk({limit}, {self._with_means(ORDERS[sort])})"

    def _with_means(self, expression: str) -> str:
        return expression.format(**{field: self.mean(field) for field in FIGURES})

    def by_level(self, field: str) -> str:
        """Return the sum of a field of LevelSum, one per kind and level."""
        if field == "raid10_saves":
            return f"sum by ({LEVEL}) ({self._gaining()})"
        if field == "gaining":
            return f"count by ({LEVEL}) ({self._gaining()})"
        value = (
            COUNT % self.levels
            if field == "volumes"
            else self._over_window("avg", LEVEL_FIGURES[field][self.hourly] % self.levels)
        )
        return f"sum by ({LEVEL}) (max by (job, instance, {LEVEL}) ({value}))"

    def _gaining(self) -> str:
        """Return what RAID10 would save where it saves anything, with the kind and level."""
        return (
            f"({self._with_means(RAID10_SAVES)} > 0) * on ({ID}) group_left ({LEVEL}) {self.info}"
        )

    @property
    def hosts(self) -> str:
        """The hosts that have such volumes."""
        return _group(COUNT % self.levels)

    @property
    def health(self) -> Iterable[tuple[str, str]]:
        """What may be wrong now, the worst first, each with the query for it."""
        volumes = self.volumes
        known = f"group by (job) ({COUNT % self.volumes})"
        return (
            ("degraded", f"max by ({ID}) (instance_top:stackmap_degraded:held{{{volumes}}} or stackmap_stack_degraded{{{volumes}}} == 1)"),
            ("full", f"max by (job, instance, device, name, space) (instance_device:stackmap_used:ratio{{{volumes}}} > {FULL})"),
            ("silent", f"group by (job, instance) (up{{{volumes}}} == 0) and on (job) {known}"),
            ("sick", f"max by (job, instance, device) (stackmap_slow_member_ratio{{{volumes}}})"),
        )  # fmt: skip

    @property
    def doubts(self) -> Iterable[tuple[str, str]]:
        """Queries for hosts, each with the problem of the hosts in its answer."""
        volumes = self.volumes
        read = f"{exported.TIMESTAMP}{{{volumes}}}"
        clock = f"node_time_seconds{{{volumes}}}"
        known = _group(COUNT % self.levels)
        before = _group(f"{COUNT % self.levels} offset {self.seconds:.0f}s")
        # The age of a topology is by the host's own clock, if its exporter tells the time.
        age = f"max by (job, instance) ({clock} or time() + 0 * {read}) - on (job, instance) max by (job, instance) ({read})"
        skew = f"{clock} - timestamp({clock}) or {read} - time() > 0"
        return (
            (f"{_group(f'node_boot_time_seconds{{{volumes}}}')} unless {_group(read)}", "without topology: does stackmap-textfile.timer run there?"),
            (f"{age} > {STALE}", f"with a topology older than {STALE // 60} minutes"),
            (_group(f"abs({skew}) > {SKEW}"), f"whose clock differs from the server's by more than {SKEW} s: set it, see chronyd(8)"),
            (f"count by (job, instance) ({read}) > 1", "that several series have (replicas, or clusters with the same names): the highest figures are shown"),
            (_group(self._collisions()), "whose target labels replace stackmap's labels (exported_*): rename them in scrape_configs"),
            (_group(f"instance_top_layer:stackmap_devices_without_counters:count{{{volumes}}}"), "where node_exporter leaves out devices of the stacks"),
            (f"{known} unless {before}", NEW),
            (f"{before} unless {known}", "that had volumes when the window began and have none at its end"),
        )  # fmt: skip

    def _collisions(self) -> str:
        """Return the series whose labels a label of the target replaced."""
        comma = "," if self.volumes else ""
        return " or ".join(
            f'{metric}{{exported_{label}!=""{comma}{self.volumes}}}'
            for metric, labels in EXPORTED_LABELS.items()
            for label in labels
        )

    def _over_window(self, how: str, series: str) -> str:
        return f"{how}_over_time({series}[{self.seconds:.0f}s])"


def _group(series: str) -> str:
    return f"group by (job, instance) ({series})"
