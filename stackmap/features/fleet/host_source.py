"""
One host as a source of figures, from what Prometheus stored of it.

Its counters become lines of ``/proc/diskstats`` again, so that the code for local samples
reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, takewhile
from re import escape
from typing import TYPE_CHECKING, NamedTuple

from stackmap.document.interval import instant
from stackmap.errors import NameNotFound, NoInterval, ParseError, SourceError, UsageError
from stackmap.features.fleet import exported_topology
from stackmap.ledger.wear import life
from stackmap.measurement.source import IntervalSelection, Source
from stackmap.model import exported
from stackmap.model.health import Health, Life
from stackmap.model.units import SECTOR
from stackmap.sources import diskstats

if TYPE_CHECKING:
    from stackmap.features.fleet.http import Prometheus, Sample, Series
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval

INTERVALS = 20  # of a window
SHORTEST = 60.0  # seconds; most scrapes are more frequent
WEEK = 7 * 86400.0  # seconds: how far from a time without data others are looked for
SAME_BOOT = 60.0  # seconds by which the time of a boot may move with the clock
COUNTED = "|".join((*(counter.name for counter in exported.COUNTERS), exported.IN_FLIGHT))
NODE_TIME = "node_time_seconds"
AT_THE_END = exported.TIMESTAMP, NODE_TIME, exported.INFO, exported.EDGE, exported.EDGE_BYTES, exported.BUILD, exported.LIFE_USED, exported.LIFE_WRITTEN  # fmt: skip
# Fields of a line after the name: the counters in the kernel's order.
FIELDS = (
    "reads", "read_merges", "read_bytes", "read_ms", "writes", "write_merges", "write_bytes",
    "write_ms", "in_flight", "busy_ms", "weighted_ms", "discards", "discard_merges",
    "discard_bytes", "discard_ms", "flushes", "flush_ms",
)  # fmt: skip
LENGTHS = (11, 15, 17)  # how many a line has, by the version of the kernel
IN_SECTORS = frozenset({"read_bytes", "write_bytes", "discard_bytes"})


class Window(NamedTuple):
    """``seconds`` up to ``end``, seconds since the epoch."""

    end: float
    seconds: float

    @property
    def step(self) -> float:
        """Return the length of its intervals."""
        return max(SHORTEST, self.seconds / INTERVALS)


class PrometheusHost(Source):
    """
    The host *instance*, whose series *selector* matches, over *window*, with the topology at its end.

    ``rebooted``: in the window; its intervals begin after that, as kernel names may have changed.
    ``repeated``: several series have its labels, so figures of several hosts may be mixed. ``lives``: the rest of
    the life of each disk that tells it, once the topology is read. ``age``: of the topology at the end, in seconds, by
    the host's own clock where its exporter tells the time.
    """

    changes = False
    rereadable = True

    def __init__(self, server: Prometheus, instance: str, selector: str, window: Window) -> None:
        super().__init__(instance, None)
        self._server = server
        self._selector = selector
        self._window = window
        self.rebooted = self.repeated = False
        self.lives: dict[str, Life] = {}
        self.age = 0.0

    def _read_topology(self) -> Topology:
        names = "|".join(AT_THE_END)
        by_name: dict[str, list[Sample]] = {}
        for series in self._server.query(
            f"{{__name__=~{quoted(names)},{self._selector}}}", self._window.end
        ):
            by_name.setdefault(series.labels.get("__name__", ""), []).append(series)
        if exported.INFO not in by_name:
            raise NameNotFound(
                f"{self.name}: no topology at the end of the window; does it run stackmap export --textfile?"
            )
        lengths = {
            exported_topology.edge_key(series.labels): series.value
            for series in by_name.get(exported.EDGE_BYTES, ())
        }
        self.repeated = len(by_name.get(exported.BUILD, ())) > 1
        self.lives = _lives(by_name)
        read, now = (
            max((series.value for series in by_name.get(name, ())), default=self._window.end)
            for name in (exported.TIMESTAMP, NODE_TIME)
        )
        self.age = now - read
        build = next((series.labels for series in by_name.get(exported.BUILD, ())), {})
        devices, edges = (
            [s.labels for s in by_name.get(n, ())] for n in (exported.INFO, exported.EDGE)
        )
        return exported_topology.topology(
            self.name, build.get("kernel", ""), devices, edges, lengths
        )

    def _measured(self, selection: IntervalSelection, which: str) -> Iterator[TopologyInterval]:  # noqa: ARG002 - all are cheap
        topology = self.topology()
        boot = self._last_before_boot()
        self.rebooted = boot > 0
        own = dict(self._intervals(exported.OWN, f"{exported.TIMESTAMP}{{{self._selector}}}", boot))
        scraped = f"timestamp({exported.NODE}{exported.COUNTERS[0].name}{{{self._selector}}})"
        intervals = [*self._intervals(exported.NODE, f"max({scraped})", boot)]
        if not intervals:
            raise NoInterval(
                f"{self.name}: fewer than two scrapes of its counters in the window; give a longer --window, or "
                "enable the diskstats collector of its node_exporter"
            )
        for place, interval in intervals:
            more = own.get(place)
            loads = {**(more.loads if more else {}), **interval.loads}
            yield topology, replace(interval, loads=loads, machine=topology.machine)

    def _last_before_boot(self) -> float:
        """Return the last place in the window at which an earlier boot was known; 0 if there is none."""
        boots = self._range(f"node_boot_time_seconds{{{self._selector}}}")
        values = [pair for series in boots for pair in series.values]
        last = max(values, default=(0.0, 0.0))[1]
        return max((place for place, boot in values if abs(boot - last) > SAME_BOOT), default=0.0)

    def _intervals(
        self, prefix: str, instants: str, after: float
    ) -> Iterator[tuple[float, Interval]]:
        """
        Yield the intervals of the counters with *prefix*, each with its place in the window.

        *after*: leave out samples up to this place.
        """
        counters = self._range(f"{{__name__=~{quoted(f'{prefix}({COUNTED})')},{self._selector}}}")
        scraped = _samples(counters, prefix, self._range(instants))
        samples = [(place, sample) for place, sample in scraped if place > after]
        for (_, earlier), (place, later) in pairwise(samples):
            yield place, diskstats.between(earlier, later)

    def _range(self, expression: str) -> list[Series]:
        end, seconds, step = self._window.end, self._window.seconds, self._window.step
        return self._server.query_range(expression, end - seconds, end, step)


def _lives(by_name: Mapping[str, Iterable[Sample]]) -> dict[str, Life]:
    """Return the rest of the life of each disk, from what it says of itself."""
    used, written = (
        {series.labels.get("device", ""): series.value for series in by_name.get(name, ())}
        for name in (exported.LIFE_USED, exported.LIFE_WRITTEN)
    )
    rests = {
        disk: life(Health(used=used[disk], written=round(written[disk])))
        for disk in used.keys() & written.keys()
    }
    return {disk: rest for disk, rest in rests.items() if rest is not None}


def _samples(
    counters: Iterable[Series], prefix: str, instants: Iterable[Series]
) -> Iterator[tuple[float, diskstats.Sample]]:
    """Yield each new scrape: its place in the window, and the counters of all devices."""
    units = {prefix + c.name: (c.field, c.unit) for c in exported.COUNTERS}
    units[prefix + exported.IN_FLIGHT] = "in_flight", 1
    scrapes: dict[float, dict[str, dict[str, float]]] = {}
    for series in counters:
        counter = units.get(series.labels.get("__name__", ""))
        if counter is None:  # it was not asked for
            continue
        field, unit = counter
        for place, value in series.values:
            devices = scrapes.setdefault(place, {})
            devices.setdefault(series.labels.get("device", ""), {})[field] = value * unit
    scraped = {place: time for series in instants for place, time in series.values}
    last = 0.0
    for place in sorted(scrapes.keys() & scraped.keys()):
        if scraped[place] > last:
            last = scraped[place]
            lines = (_line(name, fields) for name, fields in scrapes[place].items())
            yield place, diskstats.Sample(last, filter(None, lines))


def _line(name: str, fields: dict[str, float]) -> str:
    """Return the device's line of ``/proc/diskstats`` up to its first missing counter; "" if all kernels have that one."""
    words = [
        str(round(fields[key] / (SECTOR if key in IN_SECTORS else 1)))
        for key in takewhile(fields.__contains__, FIELDS)
    ]
    length = max((known for known in LENGTHS if known <= len(words)), default=0)
    return f"0 0 {name} {' '.join(words[:length])}" if length and name.split() == [name] else ""


class HostSearch(NamedTuple):
    """
    The hosts with a topology at ``time``, in which ``find`` looks.

    ``matches``: labels, each with a regular expression; ``cluster``: the label that separates equal names.
    """

    server: Prometheus
    matches: tuple[tuple[str, str], ...]
    cluster: str
    time: float

    def find(self, host: str) -> tuple[str, str]:
        """Return the instance that *host* means, with or without its port, and the matchers of its series."""
        given = [f"{label}=~{quoted(pattern)}" for label, pattern in self.matches]
        selector = ",".join([f"instance=~{quoted(f'{escape(host)}(:[0-9]+)?')}", *given])
        labels = (self.cluster, "job", "instance")
        asked = f"group by ({', '.join(labels)}) ({exported.TIMESTAMP}{{{selector}}})"
        answer = self.server.query(asked, self.time)
        hosts = sorted(tuple(s.labels.get(label, "") for label in labels) for s in answer)
        exact = [names for names in hosts if names[2] == host] or hosts
        if not exact:
            other = other_times(self.server, f"{exported.TIMESTAMP}{{{selector}}}", self.time)
            raise NameNotFound(f"no host {host!r} with a topology in {self.server.url}{other}")
        if len(exact) > 1:
            both = ", ".join(
                f"{instance} of job {job}" + (f" in {self.cluster} {cluster}" if cluster else "")
                for cluster, job, instance in exact
            )
            raise UsageError(
                f"{host!r} means {both}; choose one with --job or --match, or with its port"
            )
        # A label without a value selects what lacks it.
        own = [f"{label}={quoted(value)}" for label, value in zip(labels, exact[0], strict=True)]
        return exact[0][2], ",".join([*own, *given])


def other_times(server: Prometheus, series: str, missing: float) -> str:
    """Return when *series* have data, as they have none at *missing*, and how to ask for it; "" if that is not known."""
    at = f"timestamp(group({series}))[{WEEK:.0f}s:5m]"
    nearest = (
        ("the newest data before it", f"max_over_time({at})", missing),
        ("the first data after it", f"min_over_time({at})", missing + WEEK),
    )
    try:
        for which, asked, time in nearest:
            for sample in server.query(asked, time):
                place = f"{which}: {instant(sample.value)} (--at @{sample.value:.0f})"
                return f" at {instant(missing)}; {place}"
    except (SourceError, ParseError):
        pass
    return ""


def quoted(text: str) -> str:
    r"""
    Return *text* as a string of PromQL; what is no Unicode character matches no label.

    >>> quoted('a"b\\')
    '"a\\"b\\\\"'
    """
    import json
    import re

    return json.dumps(re.sub("[\ud800-\udfff]", "\ufffd", text), ensure_ascii=False)
