"""
The volumes of all hosts, from the series that ``packaging/prometheus/stackmap.rules.yml`` records.

The server computes means and sums, and sorts: ``Expressions`` has the PromQL. It sends only the figures of the volumes
to show, for a page of hosts per query: ``FleetReader`` makes a ``Fleet`` of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from re import escape
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from stackmap.document.wording import plural
from stackmap.errors import InputError, ParseError, SourceError
from stackmap.features.fleet.host_source import quoted
from stackmap.features.fleet.volumes import (
    Fleet,
    Key,
    LevelSum,
    SlowestMember,
    Trouble,
    Volume,
    worst_first,
)
from stackmap.model import exported

if TYPE_CHECKING:
    from stackmap.features.fleet.http import Prometheus, Series

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

LONG = 6 * 3600  # seconds: longer windows use means of an hour
PAGE, PAGE_VOLUMES = 250, 5000  # hosts per query, and about so many volumes
VOLUME_BYTES = 3000  # that a volume takes, with its row of the table or object of JSON
TROUBLE_BYTES = 1000
AT_ONCE = 4  # queries
NAMED = 5  # hosts in a sentence
NO_ANSWER = SourceError, ParseError
NO_RULES = "no recorded series of stackmap in this window: load stackmap.rules.yml into Prometheus; see stackmap-fleet(7)"
NO_INFO = "not shown: {lacking} of {shown} volumes, which have no stackmap_stack_info at the end of the window"
NO_HOURS = "there are no hourly means yet; the window has less than an hour of data"
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
        """Return the expression of RAID10's savings, where positive, with the kind and level."""
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


class Question(NamedTuple):
    """
    What is asked: the volumes of ``scope`` over a ``window`` (as given) that ends at ``time``.

    ``limit``: how many of the worst by ``sort``; 0 for all. ``savings``: also what RAID10 would save,
    by level.
    """

    window: str
    time: float
    sort: str
    limit: int
    scope: Expressions
    savings: bool = False


class FleetReader:
    """The answers of *server* to one *question*."""

    def __init__(self, server: Prometheus, question: Question) -> None:
        self._server = server
        self._asked = question
        self._all = question.scope._replace(hourly=question.scope.seconds > LONG)
        self._partial: list[str] = []
        self._notes: list[str] = []

    def read(self) -> Fleet:
        """Return the fleet; ``InputError`` if there is no such volume, or nothing was recorded."""
        asked = self._asked
        per_host = self._query(self._all.hosts)
        if not per_host:
            self._explain_nothing()
        levels = self._levels()
        hosts = [each.labels.get("instance", "") for each in per_host]
        wanted = round(sum(each.volumes for each in levels))
        chosen = self._worst() if 0 < asked.limit < wanted else None
        per_page = min(PAGE, round(PAGE_VOLUMES * len(hosts) / (wanted or 1)) or 1)
        found = self._volumes(
            hosts if chosen is None else [key.host for key in chosen], chosen, per_page
        )
        shown = wanted if chosen is None else len(chosen)
        if len(found) < shown:
            self._partial.append(NO_INFO.format(lacking=shown - len(found), shown=shown))
        health = tuple(self._health())
        self._tell_missing()
        self._partial += [f"the server warns: {each}" for each in self._server.warnings]
        return Fleet(
            asked.window,
            asked.time,
            len(per_host),
            tuple(worst_first(found, asked.sort)),
            levels,
            tuple(self._partial),
            tuple(self._notes),
            health,
        )

    def _query(self, expression: str) -> list[Series]:
        return self._server.query(expression, self._asked.time)

    def _together(
        self, ask: Callable[[Asked], Answer], several: Iterable[Asked]
    ) -> Iterator[Answer]:
        """Yield the answers to *several*, asked a few at a time; no more than these are kept."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting: deque[Future[Answer]] = deque()
            for each in several:
                waiting.append(pool.submit(ask, each))
                if len(waiting) == AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _explain_nothing(self) -> NoReturn:
        """Raise ``InputError``: the volumes are missing, or the rules."""
        if self._query(f"count({self._all.info})"):
            raise InputError(NO_RULES)
        matching = " matches" if self._all.levels else ""
        raise InputError(
            f"no volume with a topology at {self._server.url}{matching}; see stackmap-fleet(7)"
        )

    def _levels(self) -> tuple[LevelSum, ...]:
        """Return the sums by level; from rates where no hourly means exist yet. ``InputError`` if nothing is recorded."""
        sums = self._sums_by_level()
        if self._all.hourly and all(level_sum.write_bytes is None for level_sum in sums):
            self._all = self._all._replace(hourly=False)
            sums = self._sums_by_level()
            self._notes.append(NO_HOURS)
        if all(level_sum.write_bytes is None for level_sum in sums):
            raise InputError(NO_RULES)
        return sums

    def _sums_by_level(self) -> tuple[LevelSum, ...]:
        fields = ["volumes", *LEVEL_FIGURES]
        if self._asked.savings:
            fields += ["raid10_saves", "gaining"]
        sums: dict[str, dict[str, float]] = {}
        answers = self._together(lambda field: self._query(self._all.by_level(field)), fields)
        for field, answer in zip(fields, answers, strict=True):
            for series in answer:
                figures = sums.setdefault(_level(series.labels), {})
                figures[field] = figures.get(field, 0) + series.value
        return tuple(LevelSum(level, **sums[level]) for level in sorted(sums))

    def _worst(self) -> set[Key]:
        """Return the volumes with the highest figures."""
        asked = self._asked
        return {
            _key(series.labels) for series in self._query(self._all.worst(asked.sort, asked.limit))
        }

    def _volumes(
        self, hosts: Iterable[str], chosen: set[Key] | None, per_page: int
    ) -> list[Volume]:
        """Return the volumes of *hosts*, asked for so many *per_page*; *chosen*: only these."""
        names = sorted(dict.fromkeys(hosts))
        pages = [names[start : start + per_page] for start in range(0, len(names), per_page)]
        tops = any_of({key.top for key in chosen}) if chosen else ""
        asked = [self._all._replace(host=any_of(page), top=tops) for page in pages]
        tasks = [(page, part) for page in asked for part in PARTS]
        figures_by_volume: dict[Key, dict[str, Any]] = {}
        for (_, part), answer in zip(tasks, self._together(self._page, tasks), strict=True):
            for series in answer:
                key = _key(series.labels)
                if key not in figures_by_volume:
                    self._server.budget.charge(VOLUME_BYTES)
                    figures_by_volume[key] = {}
                figures_by_volume[key][part] = _figure(part, series)
        return [
            Volume(key, state=_state(figures), **figures)
            for key, figures in figures_by_volume.items()
            if "level" in figures and (chosen is None or key in chosen)
        ]

    def _page(self, task: tuple[Expressions, str]) -> list[Series]:
        """Return one figure of the volumes of a page; nothing, and a remark, if the server does not answer."""
        asked, part = task
        try:
            return self._query(asked.part(part))
        except NO_ANSWER as error:
            self._partial.append(f"{part} of {plural(asked.host.count('|') + 1, 'host')}: {error}")
            return []

    def _health(self) -> Iterator[Trouble]:
        """Yield what is wrong at the end of the window; a remark where the server does not answer."""
        for what, expression in self._all.health:
            try:
                answer = self._query(expression)
            except NO_ANSWER as error:
                self._partial.append(f"hosts with a {what} device: not known: {error}")
                continue
            self._server.budget.charge(TROUBLE_BYTES * len(answer))
            troubles = [_trouble(what, each) for each in answer]
            yield from sorted(troubles, key=lambda each: (each.host, each.name, each.device))

    def _tell_missing(self) -> None:
        """Add what is missing or doubtful to ``partial``; a window that still fills is a note."""
        for said, is_missing in self._together(lambda each: self._doubt(*each), self._all.doubts):
            if said:
                (self._partial if is_missing else self._notes).append(said)

    def _doubt(self, expression: str, what: str) -> tuple[str, bool]:
        """Return the sentence on the hosts in an answer, "" without any, and whether something is missing."""
        try:
            answer = self._query(expression)
        except NO_ANSWER as error:
            return f"hosts {what}: not known: {error}", True
        names = sorted({each.labels.get("instance", "") for each in answer})
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        said = (
            f"{plural(len(names), 'host')} {what} ({', '.join(names[:NAMED])}{more})"
            if names
            else ""
        )
        return said, what != NEW


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches *names* alone."""
    return "|".join(map(escape, sorted(names)))


def _key(labels: Mapping[str, str]) -> Key:
    get = labels.get
    return Key(get("job", ""), get("instance", ""), get("top", ""), get("name", ""))


def _trouble(what: str, series: Series) -> Trouble:
    get = series.labels.get
    device = get("top") or get("device", "")
    name = get("name") or device
    value = series.value if what in ("full", "sick") else None
    return Trouble(what, get("instance", ""), device, name, value)


def _level(labels: Mapping[str, str]) -> str:
    """Return the RAID level, or the kind of what has none."""
    return labels.get("level") or labels.get("kind", "")


def _figure(part: str, series: Series) -> Any:
    """Return the figure in *series*: the field *part* of ``Volume``, or a part of its state."""
    if part == "level":
        return _level(series.labels)
    if part == "slowest":
        return SlowestMember(series.labels.get("device", ""), series.value)
    return round(series.value) if part == "members" else series.value


def _state(figures: dict[str, Any]) -> str | None:
    """Remove what is known of a state from *figures* and return it in words; None if nothing is."""
    known = {word: figures.pop(word) for word in ("degraded", "sync") if word in figures}
    return " ".join(word for word, is_so in known.items() if is_so) or ("active" if known else None)
