"""
The PromQL of ``fleet``: figures of volumes and sums of groups, from the series that the shipped rules record.

The server computes means and sums, and sorts, so that only the figures to show travel.
"""

from collections.abc import Iterable
from re import escape
from typing import NamedTuple

from stackmap.features.fleet.host_source import quoted
from stackmap.features.fleet.volumes import LEAST_LEFT
from stackmap.ledger.wear import LEAST_USED
from stackmap.model.exported import LIFE_USED, LIFE_WRITTEN

SECONDS_PER_STEP = 60.0  # of what is looked up at several instants of a window, at least
STEPS = 60  # such instants, at most
CLUSTER = "cluster"  # the label that separates sites with equal names of hosts
MODEL = "model"  # of disks, which are grouped otherwise than volumes
KIND, LEVEL = "kind", "level"
KIND_LEVEL = f"{KIND}, {LEVEL}"
NAMED = 'uuid!=""'
VOLUMES = 'kind!="disk"'  # nor a partition of one, which is exported with the same kind

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
            ("wasted_bytes", "wasted_bytes"), ("wasted_requests", "wasted_requests"), ("io_seconds", "io_seconds"),
        )
    },
    "slowest": ("instance_top_device:stackmap_slowest_member:ratio_rate5m{%s}", "instance_top_device:stackmap_slowest_member:avg1h{%s}"),
    "wear": ("instance_top_disk:stackmap_written_bytes:rate5m{%s}", "instance_top_disk:stackmap_written_bytes:avg1h{%s}"),
}  # fmt: skip
# What everything writes to a disk whose life is known: with the parts above, and without a volume.
WRITTEN_TO_DISK = (
    "instance_disk:stackmap_written_bytes:rate5m{%s}",
    "instance_disk:stackmap_written_bytes:avg1h{%s}",
)
RAID10_SAVES = "({parity_bytes} - 2 * {parity_write_bytes})"
# What the volumes are sorted by, of FIGURES.
ORDERS = {
    "wasted": "{wasted_bytes}",
    "wasted-iops": "{wasted_requests}",
    "cost": "{parity_bytes} / ({parity_write_bytes} > 0)",
    "iops": "{reads} + {writes}",
    "written": "{write_bytes}",
    "await": "{io_seconds} / ({reads} + {writes} > 0)",
    "slowest": "max by ({id}) ({slowest})",
    "raid10": RAID10_SAVES,
    "wear": "max by ({id}) ({wear})",
}
# By field of Group: the series of all volumes of a host and level.
LEVEL_FIGURES = {
    field: (f"instance_level:stackmap_{name}:rate5m{{%s}}", f"instance_level:stackmap_{name}:avg1h{{%s}}")
    for field, name in (
        ("write_bytes", "written_bytes"), ("requests", "requests"), ("io_seconds", "io_seconds"),
        ("wasted_bytes", "wasted_bytes"), ("wasted_requests", "wasted_requests"),
    )
}  # fmt: skip
# By field of Group: the series of all disks of a host and model.
MODEL_FIGURES = {
    field: (f"instance_model:stackmap_{name}:rate5m{{%s}}", f"instance_model:stackmap_{name}:avg1h{{%s}}")
    for field, name in (("requests", "disk_requests"), ("io_seconds", "disk_io_seconds"))
}  # fmt: skip
COUNT = "instance_level:stackmap_volumes:count{%s}"
DISKS = "instance_model:stackmap_disks:count{%s}"
STATES = {
    "members": "stackmap_stack_members{%s}",
    "ideal": "stackmap_stack_ideal_write_ratio{%s}",
    # One number for both, as each costs as much as a figure.
    "state": "2 * stackmap_stack_degraded{%s} + stackmap_stack_sync_active{%s}",
}
PARTS = ("level", *FIGURES, *STATES)  # what is asked of each volume


class Expressions(NamedTuple):
    """
    What to ask of the volumes of *host* (a regular expression), *job* and *level*, over *seconds*.

    ``matches``: labels, each with a regular expression. ``cluster``: the label that separates sites with equal
    names. ``hourly``: from means of an hour. ``once``: what leaves out targets that show a machine once more
    (``twice.py``). "" for no restriction.
    """

    seconds: float
    host: str = ""
    job: str = ""
    level: str = ""
    top: str = ""
    matches: tuple[tuple[str, str], ...] = ()
    cluster: str = CLUSTER
    hourly: bool = False
    once: str = ""

    @property
    def of_host(self) -> str:
        """The labels that identify a host."""
        return f"{self.cluster}, job, instance"

    @property
    def id(self) -> str:
        """The labels that identify a volume at an instant."""
        return f"{self.of_host}, top, name"

    @property
    def hosts(self) -> str:
        """The matchers of hosts."""
        given = (
            ("instance", "=~", self.host),
            ("job", "=", self.job),
            *((label, "=~", pattern) for label, pattern in self.matches),
        )
        return _matchers(given)

    @property
    def volumes(self) -> str:
        """The matchers of volumes; their level is a label of ``info`` alone."""
        return joined(self.hosts, _matchers([("top", "=~", self.top)]))

    @property
    def levels(self) -> str:
        """The matchers of volumes where their level is known."""
        return joined(VOLUMES, self.volumes, _matchers([("level", "=", self.level)]))

    @property
    def info(self) -> str:
        """The volumes with their kind, level and UUID, and whether several volumes share them."""
        return (
            f"max by ({self.id}, {KIND_LEVEL}, uuid, shared) "
            f"(stackmap_stack_info{{{self.levels}}}{self.once})"
        )

    @property
    def names(self) -> str:
        """All names that a UUID had in the window."""
        step = max(SECONDS_PER_STEP, self.seconds / STEPS)
        series = (
            f"group by ({self.id}, uuid) (stackmap_stack_info{{{joined(self.volumes, NAMED)}}})"
        )
        return f"group by ({self.id}, uuid) (last_over_time(({series})[{self.seconds:.0f}s:{step:.0f}s]))"

    @property
    def renamed(self) -> str:
        """The hosts on which a UUID had several names."""
        return self.group(f"count by ({self.of_host}, uuid) ({self.names}) > 1")

    @property
    def samples(self) -> str:
        """How many samples of its figures each volume has in the window."""
        return f"max by ({self.id}) ({self.over_window('count', FIGURES['write_bytes'][self.hourly] % self.volumes)})"

    def part(self, name: str) -> str:
        """Return one of PARTS: one value per volume."""
        if name == "level":
            return self.info
        if name in STATES:
            return f"max by ({self.id}) ({STATES[name].replace('%s', self.volumes)})"
        return self.mean(name)

    def mean(self, field: str) -> str:
        """Return a figure's mean over the window, one per volume."""
        series = FIGURES[field][self.hourly] % self.volumes
        mean, labels = self.over_window("avg", series), self.id
        if field == "slowest":  # of the members that were slowest at a time, the slowest in sum
            longest = self.over_window("sum", series)
            mean, labels = f"({mean} and topk by ({self.id}) (1, {longest}))", f"{self.id}, device"
        if field == "wear":
            per_disk, disks = f"max by ({self.id}, disk) ({mean})", f"on ({self.of_host}, disk)"
            mean, labels = (
                f"topk by ({self.id}) (1, {per_disk} * {disks} group_left () {self._wear})",
                f"{self.id}, disk",
            )
        if self.level:
            mean = f"({mean} and on ({self.id}) {self.info})"
        return f"max by ({labels}) ({mean})"

    def life(self, metric: str) -> str:
        """Return LIFE_USED or LIFE_WRITTEN of each disk that has used enough of its life to tell its rate of wear."""
        return f"{self._life(metric)} and {self._life(LIFE_USED)} >= {LEAST_USED}"

    @property
    def written_to_disks(self) -> str:
        """What everything writes to each disk whose life is known, in the mean of the window."""
        mean = self.over_window("avg", WRITTEN_TO_DISK[self.hourly] % self.hosts)
        return f"max by ({self.of_host}, disk) ({mean})"

    def _life(self, metric: str) -> str:
        named = f'label_replace({metric}{{{self.hosts}}}, "disk", "$1", "device", "(.+)")'
        return f"max by ({self.of_host}, disk) ({named})"

    @property
    def _wear(self) -> str:
        """What one byte takes of the life of each disk, ÷ the life that is left."""
        used = f"({self.life(LIFE_USED)})"
        return f"({used} / clamp_min(1 - {used}, {LEAST_LEFT}) / ({self._life(LIFE_WRITTEN)} > 0))"

    def worst(self, sort: str, limit: int) -> str:
        """Return the volumes with the highest figures, of those that are there at the end of the window."""
        present = f"(stackmap_stack_info{{{self.levels}}}{self.once})"
        return f"topk({limit}, {self._with_means(ORDERS[sort])} and on ({self.id}) {present})"

    def _with_means(self, expression: str) -> str:
        means = {field: self.mean(field) for field in FIGURES if f"{{{field}}}" in expression}
        return expression.format(id=self.id, **means)

    def by(self, labels: str, field: str) -> str:
        """Return the sum of a field of Group, one per value of *labels*."""
        if field == "raid10_saves":
            return f"sum by ({labels}) ({self._gaining()})"
        if field == "gaining":
            return f"count by ({labels}) ({self._gaining()})"
        if labels == MODEL:
            value = self._of_disks(field)
            return f"sum by ({labels}) (max by ({self.of_host}, {labels}) ({value}{self.once}))"
        if field == "hosts":
            hosts = f"group by ({self.of_host}, {labels}) ({self.counted()}{self.once})"
            return f"count by ({labels}) ({hosts})"
        value = self._of_levels(field)
        once = ", ".join(dict.fromkeys(f"{self.of_host}, {KIND_LEVEL}, {labels}".split(", ")))
        return f"sum by ({labels}) (max by ({once}) ({value}{self.once}))"

    def _of_levels(self, field: str) -> str:
        if field in ("volumes", "shared"):
            return self.counted(f'shared="{"1" if field == "shared" else ""}"')
        return self.over_window("avg", LEVEL_FIGURES[field][self.hourly] % self.levels)

    def _of_disks(self, field: str) -> str:
        if field in ("hosts", "disks"):
            disks = DISKS % self.hosts
            return f"group by ({self.of_host}, {MODEL}) ({disks})" if field == "hosts" else disks
        return self.over_window("avg", MODEL_FIGURES[field][self.hourly] % self.hosts)

    def counted(self, more: str = "") -> str:
        """Return how many volumes each host has, by level."""
        return COUNT % joined(self.levels, more)

    def _gaining(self) -> str:
        """Return the expression of RAID10's savings, where positive, with the kind and level: one, if several tell it."""
        of_volume = f"topk by ({self.id}) (1, {self.info})"
        return f"({self._with_means(RAID10_SAVES)} > 0) * on ({self.id}) group_left ({KIND_LEVEL}) {of_volume}"

    @property
    def without_counters(self) -> str:
        """The hosts of which devices of the stacks have no counters."""
        return self.group(
            f"instance_top_layer:stackmap_devices_without_counters:count{{{self.hosts}}}"
        )

    def group(self, series: str) -> str:
        """Return the hosts in *series*."""
        return f"group by ({self.of_host}) ({series})"

    def over_window(self, how: str, series: str) -> str:
        """Return how: avg, sum or count over the window."""
        return f"{how}_over_time({series}[{self.seconds:.0f}s])"


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches *names* alone."""
    return "|".join(map(escape, sorted(names)))


def _matchers(given: Iterable[tuple[str, str, str]]) -> str:
    return ",".join(f"{label}{how}{quoted(text)}" for label, how, text in given if text)


def joined(*matchers: str) -> str:
    """Return *matchers* as one, without the empty ones."""
    return ",".join(filter(None, matchers))
