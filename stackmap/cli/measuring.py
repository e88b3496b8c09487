"""Where intervals come from, for every command that shows figures: the options, and the one chain of calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from stackmap.analysis.averages import average
from stackmap.discover import discover
from stackmap.sampling import choose, intervals, of_the_same, since_boot

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.cli.texts import Looked
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

LONGEST = 366 * 86400.0  # seconds

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


def at(session: Session, text: BinaryIO | None) -> tuple[Topology, Looked | None]:
    """Return the topology to show figures in: that of the host, unless *text* is of no such."""
    if text is None:
        return discover(session.host), None
    from stackmap.cli import texts

    return texts.topology_of(session, text)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which intervals a user asked for."""

    seconds: float | None
    count: int | None
    text: BinaryIO | Looked | None
    report: str | None
    boot: bool

    def intervals(self, session: Session, topology: Topology) -> Iterator[Interval]:
        """Yield them, as they come; ``InputError`` if there is none."""
        if self.boot and self.text is not None:
            raise click.UsageError("--since-boot is of a machine: --input has its own reports")
        recorded = self.text is not None or not session.live
        which = self.report or ("average" if recorded and self.seconds is None else "all")
        found = self._source(session, topology)
        if which == "average":
            found, which = average(found), "all"
        if self.text is not None:
            found = islice(found, self.count)
            return choose(found, which, self.text.name)
        if session.live and which == "all":
            return found  # interrupted before the first interval, there is none, and that is well
        return choose(found, which, "this machine" if session.live else "the capture")

    def _source(self, session: Session, topology: Topology) -> Iterator[Interval]:
        if self.text is not None:
            from stackmap.cli import texts

            return texts.intervals(topology, self.text)
        if self.boot:
            return iter([since_boot(session.host)])
        if session.live:
            once = 1 if self.seconds is None else self.count
            known = {name: d.diskseq for name, d in topology.devices.items() if d.diskseq}
            taken = intervals(session.host, self.seconds or 1.0, once)
            from stackmap.cli.interrupt import until_interrupted

            return until_interrupted(of_the_same(session.host, known, taken))
        return intervals(session.host, self.seconds or 1.0, self.count)
