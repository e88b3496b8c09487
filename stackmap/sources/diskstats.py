"""
``/proc/diskstats``: the counters of every block device.

One line per device: major, minor, name, then counters. Kernels append fields
(discards in 4.18, flushes in 5.5). Fields are taken by position and by their
number, never by kernel version; unknown ones are ignored.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress, starmap
from operator import ne

from stackmap.errors import ParseError
from stackmap.host import Host
from stackmap.model.counters import Counters
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, NONE, Load
from stackmap.model.units import SECTOR

PATH = "/proc/diskstats"

# Words in a line: 3 for the name, 11 counters, then 4 for discards, then 2 for flushes.
BASE, WITH_DISCARDS, WITH_FLUSHES = 14, 18, 20
SHORT = 7  # partitions before 2.6.25: reads, sectors read, writes, sectors written

COUNTER_LIMIT = 10**20  # more than a 64-bit counter holds
MAX_QUOTED = 200  # characters of a line in a message
NAME, GAUGE = 2, 11  # indexes of the device's name and of the one field that is not a counter
# The parsed lines of the newest interval's end: they begin the next one.
_newest: dict[str, tuple[str, Counters]] = {}


@dataclass(frozen=True, slots=True)
class Sample:
    """The file at one instant, unparsed: most lines equal those of the previous sample."""

    time: float
    lines: tuple[str, ...]


def read(host: Host, time: float) -> Sample:
    """Return the counters at *time*, the instant of asking."""
    return Sample(time, tuple(host.read(PATH).splitlines()))


def parse(lines: Iterable[str]) -> dict[str, Counters]:
    """Return the counters of each device by its kernel name."""
    return dict(parse_line(line) for line in lines if not line.isspace())


def parse_line(line: str) -> tuple[str, Counters]:
    """Return a device's name and counters; ``ParseError`` for any other line."""
    words = line.split()
    if len(words) < BASE and len(words) != SHORT:
        raise ParseError(
            f"{PATH}: {len(words)} fields, expected at least {BASE}: {line[:MAX_QUOTED]!r}"
        )
    try:
        numbers = [*map(int, words[NAME + 1 : WITH_FLUSHES])]
    except ValueError as error:
        raise ParseError(f"{PATH}: not a number in {line[:MAX_QUOTED]!r}") from error
    if max(numbers) >= COUNTER_LIMIT or min(numbers) <= -COUNTER_LIMIT:
        raise ParseError(f"{PATH}: number too large in {line[:MAX_QUOTED]!r}")
    if len(words) == SHORT:
        r, rs, w, ws = numbers
        return words[NAME], Counters(r, 0, rs * SECTOR, 0, w, 0, ws * SECTOR, 0, 0, 0, timed=False)
    r, rm, rs, rt, w, wm, ws, wt, in_flight, busy, weighted, *more = numbers
    discards = flushes = None
    if len(words) >= WITH_DISCARDS:
        discards = more[:4]
    if len(words) >= WITH_FLUSHES:
        flushes = more[4:]
    d, dm, ds, dt = discards or (None, None, None, None)
    f, ft = flushes or (None, None)
    return words[NAME], Counters(
        r, rm, rs * SECTOR, rt, w, wm, ws * SECTOR, wt, busy, weighted,
        d, dm, None if ds is None else ds * SECTOR, dt, f, ft, in_flight,
    )  # fmt: skip


def names(sample: Sample) -> Iterator[str]:
    """Yield the names of the devices in *sample*."""
    return map(_name, sample.lines)


def between(earlier: Sample, later: Sample, devices: Container[str] | None = None) -> Interval:
    """
    Return the load of every device between two samples; *devices*: only these, None: all.

    A device that came or went, or whose counters went back, has no load but an
    event; for other devices only coming and going is an event.
    """
    seconds = later.time - earlier.time
    if seconds <= 0:
        raise ParseError(f"{PATH}: samples out of order: {later.time} after {earlier.time}")
    loads: dict[str, Load] = {}
    events: list[str] = []
    if devices is not None and (part := _part(earlier, later, devices)) is not None:
        earlier, later = part
    changed = _changed_counters(earlier, later)
    if changed is not None:
        loads = _idle_lines.loads(earlier, later)
    else:
        was, now = parse(earlier.lines), parse(later.lines)
        events = [f"{name} appeared" for name in now if name not in was]
        events += [f"{name} went away" for name in was if name not in now]
        changed = [
            (name, now[name], was[name])
            for name in now
            if name in was and (devices is None or name in devices)
        ]
    for name, counters, before in changed:
        if counters.went_back_from(before):
            loads.pop(name, None)
            events.append(
                f"{name}: its counters went back: it was replaced or a counter wrapped;"
                " no figures for it"
            )
        else:
            loads[name] = counters.load_since(before, seconds)
    return Interval(loads, time=later.time, seconds=seconds, events=tuple(events))


def since_boot(sample: Sample, uptime: float) -> Interval:
    """Return the averages over the *uptime* seconds since boot."""
    nothing = Counters(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    loads = {n: now.load_since(nothing, uptime) for n, now in parse(sample.lines).items()}
    return Interval(loads, time=sample.time, seconds=uptime, since_boot=True)


def only_counted_up(earlier: Sample, later: Sample, devices: Container[str] | None = None) -> bool:
    """Whether both samples have the same devices and no counter decreased; *devices*: of these."""
    if devices is not None and (part := _part(earlier, later, devices)) is not None:
        earlier, later = part
    return len(earlier.lines) == len(later.lines) and all(
        starmap(_line_counted_up, _changed_lines(earlier, later))
    )


def _line_counted_up(before: str, after: str) -> bool:
    """Whether both lines are of the same device and no counter decreased."""
    was, now = before.split(), after.split()
    if len(was) != len(now) or was[NAME : NAME + 1] != now[NAME : NAME + 1]:
        return False
    if len(now) >= BASE:
        was[GAUGE] = now[GAUGE]
    elif len(now) != SHORT:
        return False
    # Compared as text: more digits are more, and equal lengths sort as numbers. Recording does this per
    # sample, and converting to numbers takes twice as long.
    for then, count in zip(was, now, strict=True):
        if then != count and (len(count), count) < (len(then), then):
            return False
    return True


def _changed_lines(earlier: Sample, later: Sample) -> Iterator[tuple[str, str]]:
    return compress(
        zip(earlier.lines, later.lines, strict=True), map(ne, earlier.lines, later.lines)
    )


def _changed_counters(
    earlier: Sample, later: Sample
) -> list[tuple[str, Counters, Counters]] | None:
    """
    Return the name, the counters and the earlier counters of the devices whose lines differ.

    None if the devices or their order differ. Only these lines are parsed, and the later ones are
    kept for the next interval.
    """
    if len(earlier.lines) != len(later.lines):
        return None
    found, parsed = [], {}
    for before, after in _changed_lines(earlier, later):
        name, now = parsed[after] = parse_line(after)
        same, was = _newest.get(before) or parse_line(before)
        if name != same:
            return None
        found.append((name, now, was))
    _newest.clear()
    _newest.update(parsed)
    return found


class _Rows:
    """The rows of *devices* in samples whose rows are those of *sample*."""

    def __init__(self, sample: Sample, devices: Container[str]) -> None:
        self.devices = devices
        self._begins = [_begin(line) for line in sample.lines]
        self._places = [n for n, name in enumerate(names(sample)) if name in devices]
        self._newest: Sample | None = None
        self._newest_part: Sample | None = None

    def part(self, sample: Sample) -> Sample | None:
        """Return the rows of the devices; None if *sample* has other rows."""
        if sample is not self._newest:
            self._newest, self._newest_part = sample, self._chosen(sample)
        return self._newest_part

    def _chosen(self, sample: Sample) -> Sample | None:
        lines = sample.lines
        if len(lines) != len(self._begins) or not all(map(str.startswith, lines, self._begins)):
            return None
        return Sample(sample.time, tuple([lines[place] for place in self._places]))


def _begin(line: str) -> str:
    """Return a row up to its first counter."""
    words = line.split(None, NAME + 1)
    return line if len(words) <= NAME + 1 else line[: len(line) - len(words[-1])]


_rows: list[_Rows] = []  # of the newest interval


def _part(earlier: Sample, later: Sample, devices: Container[str]) -> tuple[Sample, Sample] | None:
    """Return both samples with the rows of *devices* only; None if the two differ in their rows."""
    if not _rows or _rows[0].devices is not devices or _rows[0].part(earlier) is None:
        _rows[:] = [_Rows(earlier, devices)]
    part, next_part = _rows[0].part(earlier), _rows[0].part(later)
    return None if part is None or next_part is None else (part, next_part)


class _IdleLines:
    """The load of each device if its line does not change: most stay the same."""

    def __init__(self) -> None:
        self._newest: tuple[str, ...] = ()
        self._lines: list[str] = []  # from which the rows were made
        self._rows: list[tuple[str, Load]] = []

    def loads(self, earlier: Sample, later: Sample) -> dict[str, Load]:
        """Return them by name; those of devices whose lines differ between the two are out of date."""
        lines = later.lines
        if self._newest is not earlier.lines:
            self._lines, self._rows = [*lines], [_idle(line) for line in lines]
        for place in compress(range(len(lines)), map(ne, self._lines, lines)):
            if earlier.lines[place] == lines[place]:
                self._lines[place] = lines[place]
                self._rows[place] = _idle(lines[place])
        self._newest = lines
        return dict(self._rows)


_idle_lines = _IdleLines()


def _idle(line: str) -> tuple[str, Load]:
    """Return a device's name and its load over an interval in which its line did not change."""
    words = line.split()
    if len(words) < BASE or (len(words) >= WITH_FLUSHES and words[GAUGE] == "0"):
        return (words[NAME] if len(words) > NAME else _name(line)), IDLE
    in_flight = int(words[GAUGE]) if words[GAUGE].isdecimal() else 0
    return words[NAME], IDLE._replace(
        discard=IDLE.discard if len(words) >= WITH_DISCARDS else NONE,
        flush=IDLE.flush if len(words) >= WITH_FLUSHES else NONE,
        in_flight_at_ends=2 * in_flight,
    )


def _name(line: str) -> str:
    try:
        return line.split(None, NAME + 1)[NAME]
    except IndexError:
        raise ParseError(f"{PATH}: no device in the line {line[:MAX_QUOTED]!r}") from None
