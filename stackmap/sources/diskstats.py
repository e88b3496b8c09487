"""
``/proc/diskstats``: the counters of every block device; ``/proc/uptime`` for their averages since boot.

One line per device: major, minor, name, then counters. Kernels append fields
(discards in 4.18, flushes in 5.5). Fields are taken by position and by their
number, never by kernel version; unknown ones are ignored.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import compress, count
from math import inf, nan
from operator import ne

from stackmap.errors import InputError, ParseError
from stackmap.host import Host
from stackmap.model.device import MAX_DEVICES
from stackmap.model.interval import Counters, Interval
from stackmap.model.load import IDLE, IDLE_WITHOUT_DISCARDS, IDLE_WITHOUT_FLUSHES, Load
from stackmap.model.units import SECTOR

PATH = "/proc/diskstats"

# Words in a line: 3 for the name, 11 counters, then 4 for discards, then 2 for flushes.
BASE, WITH_DISCARDS, WITH_FLUSHES = 14, 18, 20
SHORT = 7  # partitions before 2.6.25: reads, sectors read, writes, sectors written

COUNTER_LIMIT = 10**20  # more than a 64-bit counter holds
MAX_QUOTED = 200  # characters of a line in a message
NAME, GAUGE = 2, 11  # indexes of the device's name and of the one field that is not a counter


_counters = partial(tuple.__new__, Counters)  # what Counters() does, without a step in Python


class Sample:
    """
    The file at one instant. Its lines are parsed when needed, and once.

    *last*: the sample before. If it has the same devices in the same order, what is known of them and of
    the lines that did not change is taken from it.
    """

    def __init__(self, time: float, lines: Iterable[str], last: "Sample | None" = None) -> None:
        self.time = time
        self.lines = [*lines]
        self._counters: dict[int, Counters] = {}  # by place
        self._changed: list[int] = []  # the places whose idle load may be out of date
        # The loads since a sample in which no line was another, which an average counts and adds up once.
        self._all_idle: dict[str, Load] | None = None
        if last is not None and len(last.lines) == len(self.lines):
            changed = [*_different(last.lines, self.lines)]
            begins = last._begins
            if all(self.lines[place].startswith(begins[place]) for place in changed):
                self._begins, self.names = begins, last.names
                self._idle_loads = last._idle_loads.copy()
                self._changed = changed
                if not changed:
                    self._all_idle = last._all_idle
                self._update_idle_loads(last.lines, last._changed)

    @cached_property
    def _begins(self) -> list[str]:
        """Each line up to its first counter."""
        return [*map(_begin, self.lines)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The kernel names of the devices, one per line."""
        return tuple(begin.split()[NAME] for begin in self._begins)

    @cached_property
    def _idle_loads(self) -> list[Load]:
        return [*map(_idle, self.lines)]

    @property
    def counters(self) -> dict[str, Counters]:
        """The counters of each device by its kernel name."""
        return {name: self.counters_at(place) for place, name in enumerate(self.names)}

    def counters_at(self, place: int) -> Counters:
        """Return the counters in the line at *place*; ``ParseError`` if it has none."""
        counters = self._counters.get(place)
        if counters is None:
            _, counters = parse_line(self.lines[place])
            self._counters[place] = counters
        return counters

    def idle_since(self, earlier: "Sample", devices: Container[str] | None) -> dict[str, Load]:
        """Return the loads since *earlier* of *devices* with equal lines; those of others are not valid."""
        self._update_idle_loads(earlier.lines, self._changed)
        if devices is None and earlier.lines == self.lines:
            if self._all_idle is None:
                self._all_idle = dict(zip(self.names, self._idle_loads, strict=True))
            return self._all_idle
        pairs = zip(self.names, self._idle_loads, strict=True)
        return dict(pairs if devices is None else [pair for pair in pairs if pair[0] in devices])

    def _update_idle_loads(self, earlier: Sequence[str], places: Iterable[int]) -> None:
        for place in places:
            if earlier[place] == self.lines[place]:
                self._idle_loads[place] = _idle(self.lines[place])


def read(host: Host, time: float, last: Sample | None = None) -> Sample:
    """Return the counters at *time*, the instant of asking; *last*: the sample before."""
    lines = host.read(PATH).splitlines()
    if len(lines) > MAX_DEVICES:
        raise InputError(f"{PATH}: more than {MAX_DEVICES} devices")
    return Sample(time, lines, last)


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
    d, dm, ds, dt = more[:4] if len(words) >= WITH_DISCARDS else (None, None, None, None)
    f, ft = more[4:] if len(words) >= WITH_FLUSHES else (None, None)
    return words[NAME], _counters((
        r, rm, rs * SECTOR, rt, w, wm, ws * SECTOR, wt, busy, weighted,
        d, dm, None if ds is None else ds * SECTOR, dt, f, ft, in_flight, True,
    ))  # fmt: skip


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
    if earlier.names == later.names:
        loads = later.idle_since(earlier, devices)
        places = [(place, place) for place in _different(earlier.lines, later.lines)]
    else:
        was = {name: place for place, name in enumerate(earlier.names)}
        now = {name: place for place, name in enumerate(later.names)}
        events += [f"{name} appeared" for name in now if name not in was]
        events += [f"{name} went away" for name in was if name not in now]
        places = [(was[name], place) for name, place in now.items() if name in was]
    for before, after in places:
        name = later.names[after]
        if devices is not None and name not in devices:
            continue
        counters, then = later.counters_at(after), earlier.counters_at(before)
        if counters.went_back_from(then):
            loads.pop(name, None)
            events.append(
                f"{name}: its counters went back: it was replaced or a counter wrapped;"
                " no figures for it"
            )
        else:
            loads[name] = counters.load_since(then, seconds)
    return Interval(loads, time=later.time, seconds=seconds, events=tuple(events))


def since_boot(sample: Sample, uptime: float) -> Interval:
    """Return the averages over the *uptime* seconds since boot."""
    nothing = Counters(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    loads = {name: now.load_since(nothing, uptime) for name, now in sample.counters.items()}
    return Interval(loads, time=sample.time, seconds=uptime, since_boot=True)


def only_counted_up(earlier: Sample, later: Sample, devices: Container[str] | None = None) -> bool:
    """Whether both samples have the same devices and no counter decreased; *devices*: of these."""
    return earlier.names == later.names and all(
        _counted_up(earlier.lines[place], later.lines[place])
        for place in _different(earlier.lines, later.lines)
        if devices is None or later.names[place] in devices
    )


def _different(earlier: Sequence[str], later: Sequence[str]) -> Iterator[int]:
    """Yield the places of the lines that differ."""
    return compress(count(), map(ne, earlier, later))


def _counted_up(before: str, after: str) -> bool:
    """Whether no counter decreased between two lines of a device."""
    was, now = before.split(), after.split()
    if len(was) != len(now):
        return False
    if len(now) >= BASE:
        was[GAUGE] = now[GAUGE]
    elif len(now) != SHORT:
        return False
    # Compared as text: more digits are more, and equal lengths sort as numbers. Recording does this per
    # sample, and converting to numbers takes twice as long.
    for then, number in zip(was, now, strict=True):
        if then != number and (len(number), number) < (len(then), then):
            return False
    return True


def _idle(line: str) -> Load:
    """Return the load of a device over an interval in which its line did not change."""
    words = line.split()
    if len(words) < BASE or len(words) >= WITH_FLUSHES:
        idle = IDLE
    else:
        idle = IDLE_WITHOUT_FLUSHES if len(words) >= WITH_DISCARDS else IDLE_WITHOUT_DISCARDS
    in_flight = words[GAUGE] if len(words) >= BASE else "0"
    if in_flight == "0" or not in_flight.isdecimal():
        return idle
    return idle._replace(in_flight_at_ends=2 * int(in_flight))


def _begin(line: str) -> str:
    """Return a line up to its first counter."""
    words = line.split(None, NAME + 1)
    if len(words) <= NAME:
        raise ParseError(f"{PATH}: no device in the line {line[:MAX_QUOTED]!r}")
    return line if len(words) == NAME + 1 else line[: len(line) - len(words[-1])]


UPTIME = "/proc/uptime"


def read_uptime(host: Host) -> float:
    """Return the seconds since boot."""
    return parse_uptime(host.read(UPTIME))


def parse_uptime(text: str) -> float:
    """Return the first of the two numbers; the other is idle time."""
    try:
        seconds = float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        seconds = nan
    if not 0 < seconds < inf:
        raise ParseError(f"{UPTIME}: not a number of seconds: {text[:60]!r}")
    return seconds
