"""What a terminal shows while it waits for figures, and Ctrl-C in a measurement."""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

import click

from stackmap.cli.output import CLEAR, tell
from stackmap.render.text import safe

if TYPE_CHECKING:
    from threading import Event

    from stackmap.ledger.averages import Average
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 2.0  # seconds of waiting before the line appears
STEP = 0.5  # seconds between two updates


class Progress:
    """What is being waited for: *doing*, for *total* seconds if that is known."""

    def __init__(self, doing: str, total: float | None = None) -> None:
        self._doing = safe(doing)
        self._total = total
        self._waiting = self._shown = False

    def __call__(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield *items*; on a terminal, show the line while the next one takes its time."""
        if not sys.stderr.isatty():
            yield from items
            return
        from threading import Event, Lock, Thread  # only a terminal pays for it

        ended, lock = Event(), Lock()
        shower = Thread(target=self._show, args=(ended, lock), daemon=True)
        shower.start()
        try:
            while True:
                self._waiting = True
                try:
                    item = next(items)
                except StopIteration:
                    return
                finally:
                    with lock:
                        if self._shown:
                            click.echo(CLEAR, err=True, nl=False)
                        self._waiting = self._shown = False
                yield item
        finally:
            ended.set()
            shower.join()

    def _show(self, ended: "Event", lock: AbstractContextManager[object]) -> None:
        start = monotonic()
        while not ended.wait(STEP):
            spent = monotonic() - start
            with lock:
                if self._waiting and spent >= PATIENCE:
                    click.echo(f"{CLEAR}{self._line(spent)}", err=True, nl=False)
                    self._shown = True

    def _line(self, spent: float) -> str:
        """Return "measuring: 3 of 10 s", or "reading host1.tar: 3 s"."""
        if self._total is None or spent > self._total:
            return f"{self._doing}: {spent:.0f} s"
        return f"{self._doing}: {spent:.0f} of {self._total:.0f} s"


def waiting(doing: str, work: Callable[[], Result]) -> Result:
    """Return the result of *work*; on a terminal, show *doing* while it takes its time."""
    (result,) = Progress(doing)(work() for _ in range(1))
    return result


SHORTEST = 0.1  # seconds; the rates of a shorter interval are chance


def until_interrupted(
    reports: "Iterable[TopologyInterval]", count: int | None, stop: Callable[[], None]
) -> "Iterator[TopologyInterval]":
    """
    Yield *reports* as they arrive; after an interrupt, their average if there are several.

    *count*: how many were asked for. *stop* ends the interval under way.
    """
    from stackmap.ledger.averages import Average  # a terminal's line does not pay for it

    received: list[int] = []
    waiting = False
    running = Average()

    def handle(number: int, _: FrameType | None) -> None:
        if received:
            signal.default_int_handler(number, None)  # the second one: at once
        received.append(number)
        if waiting and running.count:
            raise KeyboardInterrupt
        stop()

    signal.signal(signal.SIGINT, handle)
    source = iter(reports)
    topology: Topology | None = None
    try:
        while not received:
            waiting = True
            report = next(source, None)
            waiting = False
            if report is None or (received and (report[1].seconds or 0.0) < SHORTEST):
                break
            topology = report[0]
            running.add(report[1])
            yield report
    except KeyboardInterrupt:
        waiting = False
    if received:
        _tell_partial(running, count)
        if topology is not None:
            # A device that was replaced is not in that interval, and so not in the average.
            yield from ((topology, whole) for whole in running.closing())


def _tell_partial(measured: "Average", count: int | None) -> None:
    """Report how many of *count* intervals were measured; nothing if all were, or if no count was given."""
    if not measured.count:
        tell("interrupted before anything was measured")
    elif measured.count == 1 and count == 1:
        tell("interrupted: the figures are of a shorter interval")
    elif count is not None and measured.count < count:
        tell(f"interrupted: the figures are of {measured.count} of {count} intervals")
