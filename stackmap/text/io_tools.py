"""
What tools that make or trace I/O say of disks: fio's "Disk stats", the events of biosnoop, the histograms of biolatency.

All are totals of the time that the tool ran. Of biosnoop that time is known, from the first event to the last.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import ZERO, Flow, Load
from stackmap.model.units import SECTOR
from stackmap.text.headings import MAX_DEVICES

FIO = re.compile(
    r"(?P<name>\S+): ios=(\d+)/(\d+),?(?: sectors=(\d+)/(\d+),?)? merge=(\d+)/(\d+),? ticks=(\d+)/(\d+),?"
    r" in_queue=(\d+),? util=(\d{1,3}\.\d+)%.*"
)
FIO_BEGINNING = re.compile(r"[\s>|]*\S+: ios=\d+/\d+[, ].*")
MAX_JOINED = 3  # lines of a row that a mail wrapped
FIO_TOTALS = (
    "totals, not rates: fio prints what disks did during its run, in older versions without bytes"
)


def read_fio(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the totals of each run; of a device with others below it only its own are used."""
    loads: dict[str, Load] = {}
    words: list[str] = []
    joined = 0
    for line in lines:
        begins = FIO_BEGINNING.fullmatch(line)
        if begins is None and (not words or joined == MAX_JOINED):
            words = []
            continue
        joined = 1 if begins else joined + 1
        words = [*([] if begins else words), *line.strip("> |").split()]
        row = FIO.fullmatch(" ".join(words))
        if row is None:
            continue
        words = []
        if row["name"] in loads:
            yield Interval(loads, notes=(FIO_TOTALS,))
            loads = {}
        ios, sectors, merges, ticks = (row.groups()[n : n + 2] for n in (1, 3, 5, 7))
        read, write = (
            Flow(
                float(ios[n]),
                float(merges[n]),
                None if sectors[n] is None else float(sectors[n]) * SECTOR,
                float(ticks[n]),
            )
            for n in (0, 1)
        )
        _add(loads, row["name"], Load(read, write, busy=float(row[11]) / 100))
    if loads:
        yield Interval(loads, notes=(FIO_TOTALS,))


BIOSNOOP = re.compile(r"\W*TIME\(\w+\)\s+COMM\s+PID\s+DISK\s+T\s+SECTOR\s+BYTES\s.*LAT\(ms\).*")
_EVENT = re.compile(
    r"[\s>]*(\d{1,10}\.\d{1,9})\s+(?:.{0,40}?\s)?-?\d{1,8}\s+([a-z]\S*)\s+([A-Z]{1,6})\s+-?\d+\s+(\d{1,12})"
    r"((?:\s+\d{1,9}\.\d{1,6})+)(?:\s+\S{1,3})?\s*"
)
SHORTEST = 1.0  # second: the rate of a few events in less says nothing
BIOSNOOP_TOTALS = "totals, not rates: biosnoop's events are of less than a second"
EVENTS = "rates from biosnoop's first to its last event; its latency begins when the disk got the request"
WITH_QUEUE = "rates from biosnoop's first to its last event"


def read_biosnoop(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the sums of the events below each heading."""
    flows: dict[str, list[Flow]] = {}
    times: list[float] = []
    queued = False
    for line in lines:
        if BIOSNOOP.match(line):
            yield from _of_events(flows, times, queued=queued)
            flows, times, queued = {}, [], "QUE(ms)" in line
        elif event := _EVENT.fullmatch(line):
            direction = next((n for n, letter in enumerate("RWD") if letter in event[3]), 3)
            wait = sum(map(float, event[5].split()))
            sums = flows.setdefault(event[2], [Flow(0.0, None, 0.0, 0.0)] * 4)
            one = sums[direction]
            sums[direction] = Flow(
                (one.ios or 0) + 1, None, (one.bytes or 0) + float(event[4]), (one.wait or 0) + wait
            )
            times = [min([*times, float(event[1])]), max([*times, float(event[1])])]
            if len(flows) > MAX_DEVICES:
                raise InputError(f"refused: more than {MAX_DEVICES} devices")
    yield from _of_events(flows, times, queued=queued)


def _of_events(
    flows: dict[str, list[Flow]], times: list[float], *, queued: bool
) -> Iterator[Interval]:
    if not flows:
        return
    span = times[1] - times[0]
    seconds = span if span >= SHORTEST else None
    note = BIOSNOOP_TOTALS if seconds is None else WITH_QUEUE if queued else EVENTS
    loads = {}
    for name, sums in flows.items():
        read, write, discard, flush = (flow.scaled(1 / (seconds or 1.0)) for flow in sums)
        loads[name] = Load(read, write, discard, flush)
    # A summary: a few events do not count beside reports of iostat.
    yield Interval(loads, seconds=seconds, stamp="biosnoop", summary=True, notes=(note,))


BIOLATENCY = re.compile(r"[\s>]*disk = (?:b?')?([^'\s]+)'?(?:\s.*)?")
_BUCKETS = re.compile(r"[\s>]*([um]secs)\s+:\s+count\s+distribution\s*")
_BUCKET = re.compile(r"[\s>]*(\d{1,15}) -> (\d{1,15})\s+:\s+(\d{1,15})\s+\|.*")
BIOLATENCY_TOTALS = (
    "totals, not rates: biolatency counts requests; await is estimated from its histogram"
)


def read_biolatency(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the histograms of each disk (-D) as its requests of all directions, with their time by the middle of each bucket."""
    loads: dict[str, Load] = {}
    seen: set[str] = set()  # a disk may have one per flag
    device, unit = "", 0.0
    for line in lines:
        if match := BIOLATENCY.fullmatch(line):
            if line in seen:
                yield Interval(loads, notes=(BIOLATENCY_TOTALS,))
                loads, seen = {}, set()
            device, unit = match[1], 0.0
            seen.add(line)
        elif match := _BUCKETS.fullmatch(line):
            unit = 1.0 if match[1] == "msecs" else 0.001
        elif device and unit and (match := _BUCKET.fullmatch(line)):
            low, high, count = map(float, match.groups())
            before = loads[device].total if device in loads else ZERO
            ios = (before.ios or 0.0) + count
            wait = (before.wait or 0.0) + count * (low + high) / 2 * unit
            _add(loads, device, Load(whole=Flow(ios, wait=wait)))
    if loads:
        yield Interval(loads, notes=(BIOLATENCY_TOTALS,))


def _add(loads: dict[str, Load], device: str, load: Load) -> None:
    loads[device] = load
    if len(loads) > MAX_DEVICES:
        raise InputError(f"refused: more than {MAX_DEVICES} devices in one report")


READERS: tuple[tuple[Callable[[str], object], Callable[[Iterable[str]], Iterator[Interval]]], ...]
READERS = (
    (FIO_BEGINNING.fullmatch, read_fio),
    (BIOSNOOP.match, read_biosnoop),
    (BIOLATENCY.fullmatch, read_biolatency),
)
