"""A line on stderr while a terminal waits for figures; it is gone before anything else is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import click

from stackmap.cli.output import CLEAR
from stackmap.render.text import safe

if TYPE_CHECKING:
    from threading import Event

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
                    self._hide(lock)
                yield item
        finally:
            ended.set()
            shower.join()

    def _show(self, ended: Event, lock: AbstractContextManager[object]) -> None:
        start = monotonic()
        while not ended.wait(STEP):
            spent = monotonic() - start
            with lock:
                if self._waiting and spent >= PATIENCE:
                    click.echo(f"{CLEAR}{self._line(spent)}", err=True, nl=False)
                    self._shown = True

    def _hide(self, lock: AbstractContextManager[object]) -> None:
        with lock:
            if self._shown:
                click.echo(CLEAR, err=True, nl=False)
            self._waiting = self._shown = False

    def _line(self, spent: float) -> str:
        """Return "measuring: 3 of 10 s", or "reading host1.tar: 3 s"."""
        if self._total is None or spent > self._total:
            return f"{self._doing}: {spent:.0f} s"
        return f"{self._doing}: {spent:.0f} of {self._total:.0f} s"


def waiting(doing: str, work: Callable[[], Result]) -> Result:
    """Return what *work* returns; on a terminal, show what is being done while it takes its time."""
    (result,) = Progress(doing)(work() for _ in range(1))
    return result
