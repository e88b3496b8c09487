"""
What a text tells: figures of iostat, sar, sadf or ``/proc/diskstats``, and in a ticket the machine, by what commands printed.

``TextSource`` has the figures; ``ticket`` makes a captured machine of all else. A baseline may be a capture too.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from math import inf
from typing import BinaryIO, NoReturn

from stackmap import text as statistics
from stackmap.discover.device_mapper import NOTHING_BELOW, some_of
from stackmap.discover.find import is_hidden, topology_from_names
from stackmap.discover.inferred import inferred, may_infer
from stackmap.errors import InputError, StackmapError, UsageError
from stackmap.host.capture import CapturedHost
from stackmap.host.file_tree import is_capture, open_text
from stackmap.host.sar_file import readable
from stackmap.ledger.averages import average
from stackmap.ledger.corrections import corrected
from stackmap.measurement.capture_part import WHOLE, CapturePart, instant
from stackmap.measurement.machines import CaptureSource
from stackmap.measurement.same_time import Copies, one_per_time, printed_end
from stackmap.measurement.source import IntervalSelection, Note, Source
from stackmap.model.device import Kind, Role
from stackmap.model.interval import Interval, with_loads_of
from stackmap.model.load import Load
from stackmap.model.topology import (
    ASK_FOR_IT,
    UNKNOWN_MACHINE,
    Edge,
    Machine,
    Topology,
    of_another,
    same_host,
    short_host,
)
from stackmap.sampling.snapshots import TopologyInterval
from stackmap.sources.printed.facts import ITS_NAME, PART
from stackmap.sources.printed.hosts import only_one_host
from stackmap.text.device_names import Names
from stackmap.text.text_lines import run_of

CHUNK = 1 << 20
END = 2  # of a file, from where to seek
NO_STACK = (
    f"no lsblk, /proc/mdstat, LVM report or dmsetup output in it: add the output of {ASK_FOR_IT}"
)
MAX_HEAD = 4 << 20  # bytes that are searched for the first report
SHOWN = "%Y-%m-%d %H:%M:%S"
# Rows of devices in a text: these, or so many bytes for each, as a row of `iostat -x` has 100; and where all are held.
MAX_ROWS, BYTES_PER_ROW = 500_000, 20
MAX_HELD, BYTES_PER_HELD = 200_000, 50
# What takes as long as so many rows: a report that is held, a device that it names, and one that a stranger's file has.
REPORT_ROWS, NAME_ROWS, DEVICE_ROWS = 1, 4, 8
MAX_INFERRED = 60  # reports by which stacks are inferred
MAX_NAMED = 5  # unknown names in a note
_BANNER_LINE = re.compile(rb"^[^\n]{0,80}\bLinux [^\n]{1,500}$", re.MULTILINE)
NOT_JOINED = "they are not joined; give both of one host"
UNPROVEN = "the text does not name its host, so its device names may mean other devices than here"


class TextSource(Source):
    """
    A text, with the device names of the *machine* that it was measured on.

    The text's own names are used without a machine, if the machine has none of them,
    and if a live machine is not the one that was measured. *held*: all intervals are examined at once, so there is a
    limit.
    """

    changes = False

    def __init__(
        self,
        text: BinaryIO,
        machine: Source | None,
        note: Note,
        part: CapturePart = WHOLE,
        *,
        held: bool = False,
    ) -> None:
        super().__init__(text.name, None if machine is None else machine.host)
        if part.every is not None:
            raise UsageError("--every needs --from CAPTURE: a text has its own intervals")
        self._machine = machine
        self._text = readable(text, rewindable=part != WHOLE)
        self._part = part
        self._head: list[bytes] = []
        self._note = note
        self._held = held
        self._first_host = ""  # of the first report with a device
        self._size = self._rows = 0  # bytes, and rows of devices in them
        self._counted: set[str] = set()  # names of devices, where all intervals are held

    def close(self) -> None:
        """Close the text."""
        self._text.close()

    def with_own_names(self, topology: Topology) -> Topology:
        """Return *topology*, which commands in the text tell of, and the devices that only its figures name."""
        first = self._first_reports()
        if first is None or not _of_same(topology, first):
            return topology
        return topology if _is_foreign(topology, first, live=False) else with_named(topology, first)

    def _read_topology(self) -> Topology:
        first = self._first_reports()
        if self._machine is not None:
            topology, live = self._machine.topology(), self._machine.live
            elsewhere = self._is_own and first is not None and not _of_same(topology, first)
            if first is None or not (elsewhere or _is_foreign(topology, first, live=live)):
                proven = first is None or _is_proven(topology, first)
                self.doubt = UNPROVEN if live and not proven else ""
                return (
                    with_named(topology, first) if first is not None and self._is_own else topology
                )
            if self._is_own and (ours := topology.machine.host):
                told = f"the figures are from {first.machine.host}, lsblk and the like from {ours}: {NOT_JOINED}"
                self._note(told)
        topology = topology_from_names(
            first.loads if first else (), first.machine if first else UNKNOWN_MACHINE
        )
        return self._with_inferred(topology) if may_infer(topology) else topology

    def _with_inferred(self, topology: Topology) -> Topology:
        """Return *topology* with the stacks that the first reports of a file prove; a pipe is not read ahead."""
        if not self._text.seekable():
            return topology
        self._text.seek(0)
        chunks = iter(lambda: self._text.read(MAX_HEAD), b"")
        reports = (
            report
            for report in statistics.intervals(islice(chunks, 1), self.name)
            if not (report.since_boot or report.summary)
        )
        intervals = [*islice(reports, MAX_INFERRED)]
        self._text.seek(0)
        self._head.clear()
        return inferred(topology, intervals)

    def _measured(self, selection: IntervalSelection, which: str) -> Iterator[TopologyInterval]:  # noqa: ARG002 - a text is read whole
        topology = self.topology()
        begin, end = self._bounds()
        named = (
            interval
            for interval in self._named(topology)
            if self._part == WHOLE or begin < (printed_end(interval) or -inf) <= end
        )
        whole = one_per_time(named) if self._is_short() else named
        intervals = _only(selection.devices, whole)
        return ((topology, interval) for interval in islice(intervals, selection.count))

    def _since_boot(self) -> NoReturn:
        raise UsageError("--since-boot needs a machine: --input has its own reports")

    def _bounds(self) -> tuple[float, float]:
        """Return the times between which the intervals of the part end, on the clock of the text."""
        if self._part == WHOLE:
            return -inf, inf
        chunks = iter(lambda: self._text.read(CHUNK), b"")
        self._text.seek(0)
        ends = [
            time
            for interval in statistics.intervals(chunks, self.name)
            if not interval.since_boot and (time := printed_end(interval)) is not None
        ]
        self._text.seek(0)
        self._head.clear()
        if not ends:
            raise UsageError(f"{self.name} has no times for --since or --until")
        span, (since, until, _) = (min(ends), max(ends)), self._part
        begin = -inf if since is None else instant(since, span, span[1], later=False, zone=UTC)
        near = span[0] if since is None else begin
        end = inf if until is None else instant(until, span, near, later=True, zone=UTC)
        if not any(begin < time <= end for time in ends):
            first, last = (datetime.fromtimestamp(time, UTC) for time in span)
            raise InputError(
                f"{self.name}: no interval ends there; it has {first:{SHOWN}} to {last:{SHOWN}}"
            )
        return begin, end

    def _named(self, topology: Topology) -> Iterator[Interval]:
        """Yield the intervals as they arrive, under kernel names."""
        names = Names(topology)
        foreign = ForeignText(topology.machine, self._note)
        if self._held and self._machine is not None and not self._machine.live:
            self._rows = DEVICE_ROWS * len(topology)
        try:
            for interval in self._of_one_host():
                if interval.loads:
                    foreign.check(interval.machine)
                self._count(interval)
                yield names.resolved(interval)
        finally:
            tell_unknown_names(names.strangers, self._note)

    def _count(self, interval: Interval) -> None:
        """Refuse more rows of devices than the bytes of the text are for."""
        self._rows += len(interval.loads)
        if self._held:
            known = len(self._counted)
            self._counted.update(interval.loads)
            self._rows += REPORT_ROWS + NAME_ROWS * (len(self._counted) - known)
        most, size = (MAX_HELD, BYTES_PER_HELD) if self._held else (MAX_ROWS, BYTES_PER_ROW)
        if self._rows > max(most, self._size // size):
            raise InputError(
                f"{self.name}: refused: more than {most} rows, reports and devices in so few bytes; use a part of the text"
            )

    def _of_one_host(self) -> Iterator[Interval]:
        """Yield the intervals without those of a second host, whose devices may have the same names."""
        host = (self.topology().machine.host if self._is_own else "") or self._first_host
        told = ""
        copies = Copies(self._note)
        for interval in statistics.intervals(self._chunks(), self.name, self._note):
            if copies.has(interval):
                continue
            theirs = interval.machine.host
            host = host or theirs
            if theirs in ("", host) or same_host(host, theirs):
                yield interval
            elif interval.loads and not told:
                told = theirs
                self._note_hosts(host, theirs)

    def _is_short(self) -> bool:
        """Whether the text is a file that may be held as a whole."""
        if not self._text.seekable():
            return False
        place = self._text.tell()
        try:
            size = self._text.seek(0, END)
            self._text.seek(place)
        except OSError:
            return False  # the reader says why
        return size <= MAX_HEAD

    def _note_hosts(self, ours: str, theirs: str) -> None:
        self._note(f"{self.name}: {only_one_host(short_host(ours), short_host(theirs))}")

    @property
    def _is_own(self) -> bool:
        """Whether the machine is the one that outputs in the text tell of."""
        host = None if self._machine is None else self._machine.host
        return isinstance(host, CapturedHost) and host.path == self.name

    def _chunks(self) -> Iterator[bytes]:
        # read1 gives what a pipe has, and does not wait for more.
        while chunk := self._head.pop(0) if self._head else self._read1():
            self._size += len(chunk)
            yield chunk

    def _first_reports(self) -> Interval | None:
        """
        Return one interval with every name in the first chunk of reports, without figures; None without one.

        The text read so far is kept.
        """
        reports: list[Interval] = []
        copies = Copies(lambda _: None)
        with suppress(StackmapError):  # raised again when the text is read
            for report in statistics.intervals(self._read_head(reports), self.name):
                if report.loads and not copies.has(report):
                    reports.append(report)  # noqa: PERF401 - _read_head stops at the first one
        if not reports:
            return None
        # Where the chunk ends inside a line, the last of several reports may end in half a name.
        whole = self._head[-1].endswith(b"\n")
        complete = reports if whole else reports[:-1] or reports
        # That of the host whose devices are known, if it has one.
        ours = self._machine.topology() if self._is_own and self._machine is not None else None
        first = next(
            (candidate for candidate in complete if ours and _of_same(ours, candidate)), complete[0]
        )
        hosts = (report.machine.host for report in (first, *complete))
        self._first_host = host = next(filter(None, hosts), "")
        is_ours = [not r.machine.host or same_host(r.machine.host, host) for r in complete]
        if not all(is_ours):
            self._note_hosts(host, complete[is_ours.index(False)].machine.host)
        of_host = (report for report, ours in zip(complete, is_ours, strict=True) if ours)
        names = (name for report in of_host for name in report.loads)
        return replace(first, loads=dict.fromkeys(names, Load()))

    def _read_head(self, reports: Sequence[Interval]) -> Iterator[bytes]:
        """Yield chunks until *reports* has one."""
        while not reports and sum(map(len, self._head)) < MAX_HEAD and (chunk := self._read1()):
            self._head.append(chunk)
            yield chunk

    def _read1(self) -> bytes:
        read1: Callable[[int], bytes] = self._text.read1  # type: ignore[attr-defined]  # all are buffered
        try:
            return read1(CHUNK)
        except OSError as error:
            raise InputError(error.strerror or str(error)) from error  # the reader adds the name


def with_named(topology: Topology, first: Interval) -> Topology:
    """Return *topology*, that of a ticket, and the devices that only its figures name: by their names."""
    names = Names(topology)
    names.resolved(first)
    if not names.strangers:
        return topology
    others = topology_from_names(names.strangers, topology.machine)
    maps = {device.dm_name: device.name for device in topology if device.dm_name}
    of_maps = [
        Edge(device.name, maps[match[1]], Role.DATA, source=ITS_NAME)
        for device in others
        if (match := PART.fullmatch(device.name)) and match[1] in maps
    ]
    known = {edge.above for edge in of_maps}
    open_ends = [
        device.title for device in others if device.kind is Kind.DM and device.name not in known
    ]
    unknown = [NOTHING_BELOW.format(devices=some_of(open_ends))] if open_ends else []
    return Topology(
        [*topology, *others],
        [*topology.edges, *others.edges, *of_maps],
        machine=topology.machine,
        unknown=[*topology.unknown, *unknown],
    )


def _is_foreign(topology: Topology, first: Interval, *, live: bool) -> bool:
    """Whether the names in *first* are not those of *topology*; a capture is chosen by the user."""
    names = Names(topology)
    names.resolved(first)
    if not live or not names.known:
        return not names.known
    if _is_proven(topology, first):
        return any(map(is_hidden, names.strangers))
    return bool(first.machine.host or names.strangers)


def _of_same(topology: Topology, first: Interval) -> bool:
    """Whether the text has no other host than *topology*."""
    ours, theirs = topology.machine.host, first.machine.host
    return not (ours and theirs) or same_host(ours, theirs)


def _is_proven(topology: Topology, first: Interval) -> bool:
    """Whether the text names the host of *topology*."""
    ours, theirs = Machine(topology.machine.host), Machine(first.machine.host)
    return bool(ours.host and theirs.host) and not of_another(ours, theirs)


def _only(devices: frozenset[str] | None, intervals: Iterator[Interval]) -> Iterator[Interval]:
    """Yield *intervals* with the figures of *devices* alone; None: of all."""
    if devices is None:
        return intervals
    return (with_loads_of(interval, devices) for interval in intervals)


class ForeignText:
    """Notes, once each, that a text is of another machine or boot than *ours*, and that it is of two hosts."""

    def __init__(self, ours: Machine, note: Note) -> None:
        self._ours = ours
        self._note = note
        self._noted = False
        self._host = self._second = ""

    def check_hosts(self, chunk: bytes) -> None:
        """Note how the machines that *chunk* of the text names differ from *ours* and from each other."""
        for line in _BANNER_LINE.findall(chunk) if b"Linux" in chunk else ():
            run = run_of(line.decode(errors="replace"))
            if run is None:
                continue
            theirs = run[0]
            self.check(theirs)
            ours = Machine(self._host or theirs.host)
            if not self._second and of_another(ours, Machine(theirs.host)):
                self._second = theirs.host
                self._note(
                    f"the text is from {ours.host} and {theirs.host}: names of both are looked up on one machine"
                )
            self._host = ours.host

    def check(self, theirs: Machine) -> None:
        """Note how *theirs*, the machine that the text names, differs."""
        what = "" if self._noted else of_another(self._ours, theirs)
        if what:
            self._noted = True
            self._note(f"device names may mean other devices: the text is from {what}")


def tell_unknown_names(rows: Mapping[str, int], note: Note, outcome: str = "skipped") -> None:
    """Note the names that no device has, and the *outcome* for their *rows*."""
    if not rows:
        return
    names = ", ".join(list(rows)[:MAX_NAMED]) + (", …" if len(rows) > MAX_NAMED else "")
    count = sum(rows.values())
    known = "name in the text is" if len(rows) == 1 else "names in the text are"
    note(
        f"{len(rows)} device {known} unknown here ({count} row{'s' * (count != 1)} {outcome}): {names}"
    )


def read_baseline(topology: Topology, path: str, note: Note) -> Interval:
    """Return the average of the capture or text at *path*, under the device names of *topology*."""
    baseline = next((_of_capture if is_capture(path) else _of_text)(topology, path, note), None)
    if baseline is None:
        raise InputError(f"{path}: no interval to compare with")
    another = of_another(Machine(topology.machine.host), Machine(baseline.machine.host))
    if another:  # another kernel may well be that of an earlier boot
        note(f"the baseline may not fit: {path} is of {another}")
    return corrected(topology, baseline)


def _of_capture(topology: Topology, path: str, note: Note) -> Iterator[Interval]:
    """Yield the average of a capture: devices are matched by label, for kernel names change."""
    source = CaptureSource(CapturedHost(path, note))
    before = source.topology()
    now = {device.title: name for name, device in topology.devices.items()}
    for interval in source.select_steady(IntervalSelection(which="average")):
        loads = {
            now[before[name].title]: load
            for name, load in interval.loads.items()
            if name in before and before[name].title in now
        }
        yield replace(interval, loads=loads, machine=before.machine)


def _of_text(topology: Topology, path: str, note: Note) -> Iterator[Interval]:
    with open_text(path) as text:
        chunks = iter(lambda: text.read(CHUNK), b"")
        for interval in average(statistics.intervals(chunks, path, note)):
            yield Names(topology).resolved(interval)
