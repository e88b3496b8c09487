"""Where intervals come from, for every command that shows figures: the options, and the one chain of calls."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from stackmap.analysis.averages import average
from stackmap.discover import discover
from stackmap.errors import SourceError
from stackmap.sampling import select, select_intervals, since_boot
from stackmap.sampling.downsampling import downsample
from stackmap.sampling.snapshots import only_same_devices
from stackmap.sampling.watch import Rediscover, Watch
from stackmap.sources import uevent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackmap.cli import Session
    from stackmap.cli.texts import Looked
    from stackmap.host import Host
    from stackmap.host.capture import CapturedHost
    from stackmap.model.interval import Interval
    from stackmap.model.load import Load
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval

LONGEST = 366 * 86400.0  # seconds
MOST = 7200  # samples of a recording, for who looks at each interval: two hours of seconds
SECONDS = 1.0  # of an interval, where nothing is said

Command = TypeVar("Command", bound=Callable[..., Any])


def split_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], float | None, int | None]:
    """
    Return the names, the interval and the count in ``[NAME...] [INTERVAL [COUNT]]``.

    >>> split_words(("vghdd", "5", "3"))
    (('vghdd',), 5.0, 3)
    """
    names = list(words)
    numbers: list[str] = []
    while names and len(numbers) < 2 and _is_number(names[-1]):
        numbers.insert(0, names.pop())
    if not numbers:
        return tuple(names), None, None
    interval, *count = numbers
    if not 0 < float(interval) <= LONGEST:
        raise click.UsageError(f"INTERVAL must be more than 0 seconds and no year, not {interval}")
    if count and not _is_count(count[0]):
        raise click.UsageError(f"COUNT must be a whole number above 0, not {count[0]}")
    return tuple(names), float(interval), int(count[0]) if count else None


def _is_number(word: str) -> bool:
    # Not all that float() takes: 1_0 and digits of other scripts are names.
    return re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[0-9]+)?|nan|[-+]?inf", word) is not None


def _is_count(word: str) -> bool:
    return re.fullmatch(r"0*[1-9][0-9]{0,8}", word) is not None


def _report(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None or value in ("last", "average", "all") or _is_count(value):
        return value
    raise click.BadParameter(f"takes a number from 1, last, average or all, not {value}")


OPTIONS = (
    click.argument("words", nargs=-1, metavar="[NAME...] [INTERVAL [COUNT]]"),
    click.option(
        "--input",
        "text",
        metavar="FILE",
        type=click.File("rb"),
        help="Statistics taken elsewhere: iostat or sar text, or /proc/diskstats under TS lines; "
        "- for standard input.",
    ),
    click.option(
        "--report",
        metavar="N|last|average|all",
        callback=_report,
        help="Which of the reports in FILE, or of the intervals in CAPTURE: average unless an "
        "INTERVAL asks for all.",
    ),
    click.option(
        "--since-boot", "boot", is_flag=True, help="Averages since boot, no current rate."
    ),
)


def measuring(command: Command) -> Command:
    """Give *command* the options of ``Wanted``, and the argument ``words``."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def at(
    session: Session, text: BinaryIO | None, *, repeated: bool = False, geometry: bool = False
) -> tuple[Topology, Looked | None]:
    """
    Return the topology to show figures in: that of the host, unless *text* is of no such.

    *repeated*: whether it will be watched; *geometry*: whether starts and sectors are asked for.
    """
    if text is None:
        if repeated:
            listen(session.host)
        return discover(session.host, geometry=geometry), None
    from stackmap.cli import texts

    return texts.topology_of(session, text, geometry=geometry)


def listen(host: Host) -> None:
    """Begin to hear of changes, before the topology is read that they will be changes of."""
    with contextlib.suppress(SourceError):  # then a count tells that there were some
        uevent.read(host)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which intervals a user asked for; ``only``: of which devices, None for all."""

    seconds: float | None
    count: int | None
    text: BinaryIO | Looked | None
    report: str | None
    boot: bool
    only: frozenset[str] | None = None

    def apart(self, session: Session, count: int) -> Wanted:
        """
        Return this for who looks at each interval: all there are, where one was not asked for by its number.

        Of a live machine, where nothing is said, *count* of them.
        """
        asked = replace(self, report="all" if self.report in (None, "average") else self.report)
        if self.text is not None or not session.live:
            return asked
        count = self.count or (1 if self.seconds else count)
        return replace(asked, seconds=self.seconds or SECONDS, count=count)

    def near(self, topology: Topology, names: Iterable[str]) -> Wanted:
        """
        Return this for who looks at *names* alone: of all that may have a part in what happens to them.

        Of no names that is all. What is not near them has its events, but no figures.
        """
        wanted = list(names)
        return replace(self, only=topology.connected(wanted)) if wanted else self

    def intervals(
        self, session: Session, topology: Topology, again: Rediscover | None = None
    ) -> Iterator[Interval]:
        """Yield them, as they come, each of the devices of *topology*; ``InputError`` if there is none."""
        if self.boot and self.text is not None:
            raise click.UsageError("--since-boot is of a machine: --input has its own reports")
        which = self._which(session)
        found = self._source(session, topology, again or discover, averaged=which == "average")
        if which == "average":
            found, which = average(found), "all"
        if self.text is not None:
            found = islice(found, self.count)
            return select_intervals(found, which, self.text.name)
        if session.live and which == "all":
            return found  # interrupted before the first interval, there is none, and that is well
        return select_intervals(found, which, session.place)

    def reports(
        self, session: Session, topology: Topology, again: Rediscover | None = None
    ) -> Iterator[TopologyInterval]:
        """
        Yield them with the topology of the time of each; ``InputError`` if there is none.

        *again* reads it as *topology* was read. An average has the first.
        """
        which = self._which(session)
        if self.text is not None or self.boot or which == "average":
            return ((topology, each) for each in self.intervals(session, topology, again))
        found = self._watched(session, topology, again or discover)
        if session.live and which == "all":
            return found
        return select(found, which, session.place)

    def _which(self, session: Session) -> str:
        recorded = self.text is not None or not session.live
        return self.report or ("average" if recorded and self.seconds is None else "all")

    def _source(
        self, session: Session, topology: Topology, again: Rediscover, *, averaged: bool
    ) -> Iterator[Interval]:
        """Yield all intervals; where they are only *averaged*, as few as have the same average."""
        if self.text is not None:
            from stackmap.cli import texts

            return _of(self.only, texts.intervals(topology, self.text))
        if self.boot:
            return iter([since_boot(session.host)])
        recorded = session.recorded
        if averaged and recorded is not None and self.count is None:
            return only_same_devices(topology, ends(recorded, topology, again))
        return only_same_devices(topology, self._watched(session, topology, again))

    def _watched(
        self, session: Session, topology: Topology, again: Rediscover
    ) -> Iterator[TopologyInterval]:
        recorded = session.recorded
        if recorded is not None and self._which(session) == "last" and self.count is None:
            topology = _at_last(recorded, topology, again)
        repeated = not session.live or self.seconds is not None
        watch = Watch(session.host, topology, again, listen=repeated)
        found = watch.intervals(self.seconds or SECONDS, self.count if repeated else 1, self.only)
        if not session.live:
            return found
        from stackmap.cli.interrupt import until_interrupted

        return until_interrupted(found)


def _of(only: frozenset[str] | None, intervals: Iterator[Interval]) -> Iterator[Interval]:
    """Yield *intervals* with the figures of *only* those devices; those that share theirs still do."""
    whole: Mapping[str, Load] | None = None
    part: Mapping[str, Load] = {}
    for each in intervals:
        if only is not None and each.loads is not whole:
            whole, part = each.loads, {n: load for n, load in each.loads.items() if n in only}
        yield each if only is None else replace(each, loads=part)


def _at_last(host: CapturedHost, topology: Topology, again: Rediscover) -> Topology:
    """Have *host* show its last interval alone; return the topology of then."""
    return again(host) if host.select_last_interval() else topology


def ends(host: CapturedHost, topology: Topology, again: Rediscover) -> Iterator[TopologyInterval]:
    """Yield the intervals of a recording, as few as have the average of all."""
    watch = Watch(host, topology, again)
    return downsample((watch.snapshot(time), passed) for time, passed in host.interval_ends())
