"""
The volumes of all hosts, from the series that ``packaging/prometheus/stackmap.rules.yml`` records.

The server averages, sorts and cuts; only the figures of the wanted volumes travel,
a page of hosts at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from re import escape
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stackmap.analysis.fleet.volumes import Fleet, Key, SlowestMember, Volume, worst_first
from stackmap.errors import InputError, SourceError, SourceTimeout
from stackmap.measurement.prometheus import quoted
from stackmap.model import exported

if TYPE_CHECKING:
    from stackmap.host.prometheus import Prometheus, Series

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

ID = "job, instance, top, name"
LONG = 6 * 3600  # seconds: longer windows use means of an hour
PAGE = 250  # hosts per query
AT_ONCE = 4  # queries
STALE = 900  # seconds without a new textfile
SKEW = 60  # seconds by which a clock may be ahead
NAMED = 5  # hosts in a sentence

# By field of Volume: the series of a rate, and that of its hourly mean.
FIGURES = {
    "read_bytes": ('instance_top_layer:stackmap_read_bytes:rate5m{layer="volume",%s}', "instance_top:stackmap_read_bytes:avg1h{%s}"),
    "write_bytes": ('instance_top_layer:stackmap_written_bytes:rate5m{layer="volume",%s}', "instance_top:stackmap_written_bytes:avg1h{%s}"),
    "reads": ('instance_top_layer:stackmap_reads:rate5m{layer="volume",%s}', "instance_top:stackmap_reads:avg1h{%s}"),
    "writes": ('instance_top_layer:stackmap_writes:rate5m{layer="volume",%s}', "instance_top:stackmap_writes:avg1h{%s}"),
    **{
        field: (f"instance_top:stackmap_{name}:rate5m{{%s}}", f"instance_top:stackmap_{name}:avg1h{{%s}}")
        for field, name in (
            ("parity_bytes", "parity_cost_bytes"), ("disk_bytes", "disk_bytes"), ("disk_requests", "disk_requests"),
            ("wasted_bytes", "wasted_bytes"), ("wasted_requests", "wasted_requests"),
        )
    },
}  # fmt: skip
SLOWEST = (
    "instance_top_device:stackmap_slowest_member:ratio_rate5m{%s}",
    "instance_top_device:stackmap_slowest_member:avg1h{%s}",
)
STATES = {
    "members": "stackmap_stack_members{%s}",
    "ideal": "stackmap_stack_ideal_write_ratio{%s}",
    "degraded": "stackmap_stack_degraded{%s}",
    "sync": "stackmap_stack_sync_active{%s}",
}
NO_RULES = "no recorded series of stackmap in this window: load stackmap.rules.yml into Prometheus; see stackmap-fleet(7)"


class Question(NamedTuple):
    """
    What is asked: the volumes of *hosts* (a regular expression) and *level*, at *time*, over *seconds*.

    ``limit``: the worst so many by ``sort``; 0 for all.
    """

    window: str
    seconds: float
    time: float
    sort: str
    limit: int
    host: str = ""
    job: str = ""
    level: str = ""

    @property
    def selector(self) -> str:
        """The matchers of hosts."""
        given = (("instance", "=~", self.host), ("job", "=", self.job))
        return ",".join(f"{label}{how}{quoted(text)}" for label, how, text in given if text)


class FleetReader:
    """The answers of *server* to one *question*."""

    def __init__(self, server: Prometheus, question: Question) -> None:
        self._server = server
        self._asked = question
        self._long = question.seconds > LONG
        self._partial: list[str] = []
        level = f",level={quoted(question.level)}" if question.level else ""
        self._info = f"stackmap_stack_info{{{question.selector}{level}}}"

    def read(self) -> Fleet:
        """Return the fleet; ``InputError`` if there is no such volume, or nothing was recorded."""
        asked = self._asked
        per_host = self._query(f"count by (job, instance) (group by ({ID}) ({self._info}))")
        if not per_host:
            matching = " matches" if asked.selector or asked.level else ""
            raise InputError(
                f"no volume with a topology at {self._server.url}{matching}; see stackmap-fleet(7)"
            )
        total = int(sum(each.value for each in per_host))
        written = self._written()
        chosen = None if not asked.limit or total <= asked.limit else self._worst()
        hosts = [each.labels.get("instance", "") for each in per_host]
        found = self._volumes(hosts if chosen is None else [key.host for key in chosen], chosen)
        wasted, requests = self._together(self._sum, ("wasted_bytes", "wasted_requests"))
        self._tell_missing()
        self._partial += [f"the server warns: {each}" for each in self._server.warnings]
        return Fleet(
            asked.window,
            asked.time,
            len(per_host),
            total,
            tuple(worst_first(found, asked.sort)),
            wasted,
            requests,
            written,
            tuple(self._partial),
        )

    def _query(self, expression: str) -> list[Series]:
        return [s for s in self._server.query(expression, self._asked.time) if isfinite(s.value)]

    def _together(self, ask: Callable[[Asked], Answer], several: Iterable[Asked]) -> list[Answer]:
        """Return the answers to *several*, asked a few at a time."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(ask, several))

    def _written(self) -> float:
        """
        Return what all volumes wrote; from rates where no hourly means exist yet.

        ``InputError`` if nothing is recorded.
        """
        for long in (True, False) if self._long else (False,):
            self._long = long
            written = self._sum("write_bytes")
            if written is not None:
                if not long and self._asked.seconds > LONG:
                    self._partial.append(
                        "there are no hourly means yet; the window has less than an hour of data"
                    )
                return written
        raise InputError(NO_RULES)

    def _mean(self, field: str, selector: str) -> str:
        """Return the expression of a figure's mean over the window, one per volume."""
        series = (SLOWEST if field == "slowest" else FIGURES[field])[self._long] % selector
        mean = f"avg_over_time({series}[{self._asked.seconds:.0f}s])"
        labels = ID
        if field == "slowest":  # of the members that were the slowest, the one that was it longest
            longest = f"sum_over_time({series}[{self._asked.seconds:.0f}s])"
            mean, labels = f"({mean} and topk by ({ID}) (1, {longest}))", f"{ID}, device"
        if self._asked.level:
            mean = f"({mean} and on ({ID}) {self._info})"
        return f"max by ({labels}) ({mean})"

    def _order(self) -> str:
        """Return the expression that volumes are sorted by."""
        mean = {field: self._mean(field, self._asked.selector) for field in FIGURES}
        return {
            "wasted": mean["wasted_bytes"],
            "wasted-iops": mean["wasted_requests"],
            "cost": f"{mean['parity_bytes']} / ({mean['write_bytes']} > 0)",
            "iops": f"{mean['reads']} + {mean['writes']}",
            "written": mean["write_bytes"],
            "slowest": f"max by ({ID}) ({self._mean('slowest', self._asked.selector)})",
            "raid10": f"{mean['parity_bytes']} - 2 * {mean['write_bytes']}",
        }[self._asked.sort]

    def _worst(self) -> set[Key]:
        """Return the volumes with the highest figures."""
        return {_key(each) for each in self._query(f"topk({self._asked.limit}, {self._order()})")}

    def _volumes(self, hosts: Iterable[str], chosen: set[Key] | None) -> list[Volume]:
        """Return the volumes of *hosts*; *chosen*: only these."""
        names = sorted(dict.fromkeys(hosts))
        pages = [names[start : start + PAGE] for start in range(0, len(names), PAGE)]
        tasks = [(page, part) for page in pages for part in ("info", *FIGURES, "slowest", *STATES)]
        fields: dict[Key, dict[str, Any]] = {}
        answers = self._together(lambda task: self._page(*task), tasks)
        for (_, part), found in zip(tasks, answers, strict=True):
            for each in found:
                fields.setdefault(_key(each), {})[part] = each
        known = (key for key, each in fields.items() if "info" in each)
        return [_volume(key, fields[key]) for key in known if chosen is None or key in chosen]

    def _page(self, hosts: Sequence[str], part: str) -> list[Series]:
        """Return one figure of the volumes of *hosts*; nothing, and a remark, if the server cannot answer in time."""
        given = quoted("|".join(map(escape, hosts)))
        selector = f"instance=~{given}" + (
            f",job={quoted(self._asked.job)}" if self._asked.job else ""
        )
        if part == "info":
            level = f",level={quoted(self._asked.level)}" if self._asked.level else ""
            expression = f"max by ({ID}, kind, level) (stackmap_stack_info{{{selector}{level}}})"
        elif part in STATES:
            expression = f"max by ({ID}) ({STATES[part] % selector})"
        else:
            expression = self._mean(part, selector)
        try:
            return self._query(expression)
        except SourceTimeout as error:
            self._partial.append(f"{part} of {len(hosts)} hosts: {error}")
            return []

    def _sum(self, field: str) -> float | None:
        found = self._query(f"sum({self._mean(field, self._asked.selector)})")
        return found[0].value if found else None

    def _tell_missing(self) -> None:
        """Add what is missing or doubtful to ``partial``."""
        chosen = self._asked.selector
        read = f"{exported.TIMESTAMP}{{{chosen}}}"
        questions = (
            (f"group by (job, instance) (node_boot_time_seconds{{{chosen}}}) unless on (job, instance) {read}", "without topology: does stackmap-textfile.timer run there?"),
            (f"time() - {read} > {STALE}", f"with a topology older than {STALE // 60} minutes"),
            (f"{read} - time() > {SKEW}", "with a clock that is ahead of the server's"),
            (f"count by (job, instance) (count by ({ID}) ({self._info}) > 1)", "whose volumes several series have (replicas, or clusters with the same names): the highest figures are shown"),
            (f"count by (job, instance) (instance_top_layer:stackmap_devices_without_counters:count{{{chosen}}})", "where node_exporter leaves out devices of the stacks"),
        )  # fmt: skip
        for expression, what in questions:
            try:
                names = sorted(
                    {each.labels.get("instance", "") for each in self._query(expression)}
                )
            except SourceError as error:
                self._partial.append(f"hosts {what}: not known: {error}")
                continue
            if names:
                more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
                self._partial.append(
                    f"{len(names)} hosts {what} ({', '.join(names[:NAMED])}{more})"
                )


def _key(series: Series) -> Key:
    job, host, top, name = (series.labels.get(n, "") for n in ("job", "instance", "top", "name"))
    return Key(job, host, top, name)


def _volume(key: Key, found: dict[str, Series]) -> Volume:
    figures = {field: found[field].value for field in (*FIGURES, "ideal") if field in found}
    members, slowest = found.get("members"), found.get("slowest")
    return Volume(
        key,
        level=found["info"].labels.get("level") or found["info"].labels.get("kind", ""),
        members=None if members is None else int(members.value),
        state=_state(found),
        slowest=None if slowest is None else SlowestMember(slowest.labels.get("device", ""), slowest.value),
        **figures,
    )  # fmt: skip


def _state(found: dict[str, Series]) -> str | None:
    words: Iterable[tuple[str, str]] = (("degraded", "degraded"), ("sync", "sync"))
    known: Iterator[str] = (word for part, word in words if part in found and found[part].value)
    present = any(part in found for part, _ in words)
    return " ".join(known) or ("active" if present else None)
