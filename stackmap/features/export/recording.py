"""
``stackmap export --parquet -o DIR/``: a recording as tables, partitioned by host and day.

The counts of a device are exact over each interval, so means over any time are quotients of sums. A period is a
part of a day with the same devices, settings and counters: every device has figures for the same intervals of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import quote

from stackmap.document.interval import LAST_INSTANT
from stackmap.document.rule_words import filled, words_of
from stackmap.errors import InputError
from stackmap.features.export.families import (
    BROKEN,
    RAID_FIGURES,
    fullest,
    ideal_write,
    lasting_state,
    trouble_of,
)
from stackmap.features.export.parquet import (
    SCHEMA_FILE,
    TABLES,
    VIEWS_FILE,
    Row,
    RowWriter,
    Table,
    arrow,
    schema_json,
    views_sql,
    writing_rows,
)
from stackmap.features.export.time_series import NO_TIME
from stackmap.features.export.weights import Stack, lasting_uuid, stacks
from stackmap.host import Host
from stackmap.host.directory import OutputFile, open_directory
from stackmap.ledger.amplification import one_by_one
from stackmap.ledger.corrections import corrected
from stackmap.ledger.layers import Layer, layers
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.time_series import IntervalSeries
from stackmap.model.exported import SLOW
from stackmap.model.health import Health
from stackmap.model.interval import Interval
from stackmap.model.load import Load
from stackmap.model.topology import Topology
from stackmap.render.text import safe
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.rules.decision import judge_over_time
from stackmap.rules.rule import Finding, Severity
from stackmap.sources import health

NO_DAY = "the input has times beyond the year 9999"
HELD = 130_000  # figures of devices that are judged together, at most: they take 1 KB each
DIGITS = 3  # of a count: rates times seconds miss whole numbers by less


class Origin(NamedTuple):
    """``host``: its name; ``machine``: the hash of its machine-id, "" if unknown; ``begin``: of the recording."""

    host: str
    machine: str
    begin: float


class Period(NamedTuple):
    """``number``: in all tables; ``topology``: the part that is exported, ``stacks``: of it; ``layers`` of each top so far."""

    number: int
    topology: Topology
    stacks: tuple[Stack, ...]
    rows: Mapping[str, list[list[Any]]]
    layers: dict[str, list[Layer]]


def write_recording(
    directory: str,
    reports: Iterable[tuple[Topology, Topology, Interval]],
    machine: str,
    answers: Host | None = None,
    *,
    force: bool,
) -> int:
    """
    Write *reports*: topology, the part of it to export, and interval as counted; return the number of intervals.

    *answers*: a capture with what disks said of themselves, as of the last report; no disk is asked.

    The files of a day appear when it is complete. ``InputError`` for an interval without time.
    """
    count = 0
    day: _Day | None = None
    origin: Origin | None = None
    with ExitStack() as open_day:
        for topology, part, interval in reports:
            if interval.time is None or interval.seconds is None:
                raise InputError(NO_TIME)
            if interval.time >= LAST_INSTANT:
                raise InputError(NO_DAY)
            if origin is None:
                origin = Origin(topology.machine.host, machine, interval.time)
                _describe(directory)
            date = f"{datetime.fromtimestamp(interval.time, UTC):%Y-%m-%d}"
            if day is None or day.date != date:
                if day is not None:
                    day.end()
                open_day.close()
                day = _Day(directory, origin, date, open_day, answers, force=force)
            day.add(topology, part, interval)
            count += 1
        if day is not None:
            day.end()
    return count


def _describe(directory: str) -> None:
    """Write what the tables mean; ``OutputRefused`` if something else is in the way."""
    arrow()  # without it no directory is made
    open_directory(directory, make=True).close()
    for name, text in ((SCHEMA_FILE, schema_json()), (VIEWS_FILE, views_sql())):
        with OutputFile(f"{directory}/{name}", force=True).writing() as file:
            file.write(text.encode())


class _Day:
    """The files of a day of a recording, in *open_files* until they are complete."""

    def __init__(
        self,
        directory: str,
        origin: Origin,
        date: str,
        open_files: ExitStack,
        answers: Host | None,
        *,
        force: bool,
    ) -> None:
        self.date = date
        self._answers = answers
        self._origin = origin
        begin = f"{datetime.fromtimestamp(origin.begin, UTC):%Y%m%dT%H%M%SZ}"
        self._id = f"{begin}-{blake2b(f'{origin.machine} {origin.host} {origin.begin}'.encode(errors='replace'), digest_size=4).hexdigest()}"
        self._writers = {
            table.name: self._open(directory, table, open_files, force=force) for table in TABLES
        }
        self._periods: dict[Any, Period] = {}
        self._last: Period | None = None
        self._series = IntervalSeries()
        self._judged: tuple[Topology, Period] | None = None
        self._figures = 0

    def _open(self, directory: str, table: Table, files: ExitStack, *, force: bool) -> RowWriter:
        host = quote(self._origin.host or "unknown", safe="")
        folder = f"{directory}/{table.name}/host={host}/day={self.date}"
        open_directory(folder, make=True).close()
        output = OutputFile(f"{folder}/{self._id}.parquet", force=force)
        return files.enter_context(
            writing_rows(files.enter_context(output.writing()), table, described=True)
        )

    def add(self, topology: Topology, part: Topology, measured: Interval) -> None:
        """Add an interval."""
        interval = corrected(topology, measured)
        known = {
            device.name: interval.loads[device.name]
            for device in part
            if device.name in interval.loads
        }
        period = self._period(topology, part, known, measured)
        if period is not self._last:
            self._add_wear()
            self._last = period
        time, seconds = measured.time or 0.0, measured.seconds or 0.0
        for rows in period.rows["devices"]:
            rows[2] = time
        put = self._writers
        head = period.number, time, round(seconds, 6)
        put["intervals"].add((*head, name, *_counts(load, seconds)) for name, load in known.items())
        put["events"].add((period.number, time, safe(event)) for event in measured.events)
        ledger = Ledger(topology, interval.loads, measured.seconds)
        tops = [top for top in ledger.busy_tops if top in part]
        for stack in one_by_one(ledger, tops):
            top = stack.top.name
            if top not in period.layers:  # they do not depend on the load
                period.layers[top] = layers(topology, top)
            put["layers"].add(
                (*head, *_layer(ledger, top, number, layer, seconds))
                for number, layer in enumerate(period.layers[top])
            )
            put["causes"].add((*head, *row) for row in _causes(ledger, top, seconds))
        if self._judged is None or self._judged[0] is not topology or self._figures > HELD:
            self._judge()
            self._judged = topology, period
        self._series.add(measured)
        self._figures += len(measured.loads)

    def end(self) -> None:
        """Write what is known at the end only."""
        self._judge()
        self._add_wear()
        for period in self._periods.values():
            for name, rows in period.rows.items():
                self._writers[name].add(rows)

    def _add_wear(self) -> None:
        """Add what the disks of the last period said."""
        if self._last is not None and self._answers is not None:
            known = health.recorded(self._answers, self._last.topology)
            for device, row in zip(self._last.topology, self._last.rows["devices"], strict=True):
                told = known.get(device.name, Health())
                row[-2:] = told.used, None if told.written is None else float(told.written)

    def _period(
        self, topology: Topology, part: Topology, known: Mapping[str, Load], interval: Interval
    ) -> Period:
        """Return the period of an interval with loads of the devices *known*."""
        key = id(topology), frozenset(known)
        known_period = self._periods.get(key)
        if known_period is not None and known_period.topology is part:
            return known_period
        number = _number(self._origin, self.date, len(self._periods))
        exported = tuple(stacks(part))
        begin = (interval.time or 0.0) - (interval.seconds or 0.0)
        period = Period(number, part, exported, {
            "devices": [[number, begin, interval.time, self._origin.machine, *row] for row in _devices(part)],
            "edges": [[number, e.above, e.below, str(e.role), e.start, e.length] for e in dict.fromkeys(part.edges)],
            "stacks": [[number, *_stack(part, stack)] for stack in exported],
            "weights": [[number, *row] for stack in exported for row in _weights(stack, known)],
        }, {})  # fmt: skip
        self._periods[key] = period
        return period

    def _judge(self) -> None:
        """Write the findings and episodes of the intervals since the last time."""
        series, self._series, self._figures = self._series, IntervalSeries(), 0
        if self._judged is None or not series.count:
            return
        topology, period = self._judged
        part, clock = period.topology, series.clock()
        begin, end = clock.ends[0] - clock.pace, clock.ends[-1]
        judged = judge_over_time(topology, series, part=part)
        setup = [
            finding for finding in checks(Context(part)) if finding.severity is not Severity.GOOD
        ]
        head = period.number, begin, end
        put = self._writers["findings"]
        put.add(
            (*head, *_finding(topology, finding))
            for finding in judged.findings
            if _about(finding, part)
        )
        put.add((*head, *_finding(topology, finding)) for finding in setup if _about(finding, part))
        for judged_episode in judged.times.worst if judged.times else ():
            episode = judged_episode.episode
            begin = clock.ends[episode.first] - clock.length(episode.first)
            span = begin, clock.ends[episode.last]
            put.add(
                (period.number, *span, *_finding(topology, finding))
                for finding in judged_episode.findings
            )
            usual, during = episode.awaits
            self._writers["episodes"].add([(
                period.number, *span, episode.top, topology[episode.top].title, list(episode.devices),
                str(episode.changed), episode.awaits.ratio, usual, during, [finding.rule.id for finding in judged_episode.findings],
            )])  # fmt: skip


def _number(origin: Origin, date: str, place: int) -> int:
    """Return a number that no other period of any recording has; 63 bits."""
    text = f"{origin.machine} {origin.host} {origin.begin} {date} {place}"
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest()) >> 1


def _about(finding: Finding, part: Topology) -> bool:
    return not finding.device or finding.device in part


def _counts(load: Load, seconds: float) -> Row:
    """Return the counts of a device in the order of the columns; sums of reads and writes alone are unknown."""
    discard, flush = load.discard, load.flush
    counts = (*load.read, *load.write, discard.ios, discard.bytes, discard.wait, flush.ios, flush.wait)  # fmt: skip
    milliseconds = 1000 * seconds
    return (
        *[None if count is None else round(count * seconds, DIGITS) for count in counts],
        _count(load.aqu, milliseconds),
        _count(load.busy, milliseconds),
    )


def _count(rate: float | None, seconds: float) -> float | None:
    return None if rate is None else round(rate * seconds, DIGITS)


def _devices(topology: Topology) -> Iterator[Row]:
    broken = {finding.device for finding in checks(Context(topology)) if finding.rule.id in BROKEN}
    machine = topology.machine
    for device in topology:
        shape = device.layout
        raid = (
            (shape.level, shape.members, shape.parity, shape.chunk)
            if shape
            else ("", None, None, None)
        )
        yield (
            machine.boot, machine.kernel, device.name, device.title, str(device.kind), device.target, device.uuid,
            device.model, device.serial, device.size, device.rotational, *raid, lasting_state(device),
            trouble_of(topology, device.name) if device.name in broken else "", list(device.mounts),
            *fullest(device), None, None,  # the wear
        )  # fmt: skip


def _stack(topology: Topology, stack: Stack) -> Row:
    raid, shape = stack.raid, stack.shape
    members, parity, chunk, syncing, degraded = (
        figure(raid, shape) if raid and shape else None for _, _, figure in RAID_FIGURES
    )
    return (
        stack.top.name, stack.top.title, lasting_uuid(stack.top), str(stack.top.kind), shape.level if shape else "",
        stack.shared, stack.plain, raid.name if raid else "",
        members, parity, chunk, ideal_write(topology, stack), syncing, degraded,
    )  # fmt: skip


def _weights(stack: Stack, known: Mapping[str, Load]) -> Iterator[Row]:
    """Yield the devices of each layer; *known*: those with counters. A layer that lacks one is left out."""
    disks = dict(stack.disks)
    lacking = {w.layer for w in stack.weights if w.device not in known}
    for w in stack.weights:
        if w.layer not in lacking:
            yield stack.top.name, w.layer, w.role, w.device, disks.get(w.device, "")


def _layer(ledger: Ledger, top: str, number: int, layer: Layer, seconds: float) -> Row:
    share = ledger.share(top, layer.devices)
    counts = (
        _count(amount, seconds)
        for part in (share.part("read"), share.part("write"))
        for amount in (part.ios, part.arrivals, part.bytes)
    )
    return top, number, layer.role, " ".join(layer.devices), *counts, share.estimated


def _causes(ledger: Ledger, top: str, seconds: float) -> Iterator[Row]:
    for (cause, direction), traffic in ledger.disk_traffic_by_cause(top).items():
        if traffic.bytes != 0 or traffic.ios != 0:
            counts = _count(traffic.ios, seconds), _count(traffic.bytes, seconds)
            yield top, str(cause), direction, *counts


def _finding(topology: Topology, finding: Finding) -> Row:
    rule, device = finding.rule, finding.device
    words = words_of(topology, finding.observed)
    observed = finding.observed.evidence
    evidence: Sequence[Mapping[str, object]] = [
        {"name": name, "device": it.device, "value": it.value, "unit": it.unit}
        for name, it in observed.items()
    ]
    ratio = observed["ratio"].value if rule.id == SLOW else None
    return (
        rule.id, rule.name, str(finding.severity), str(rule.outcome), device,
        topology[device].title,
        safe(filled(rule.title, words)), safe(filled(rule.sentence, words)), not rule.needs_load, ratio, evidence,
    )  # fmt: skip
