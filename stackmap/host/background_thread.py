"""A question asked in a thread."""

from __future__ import annotations

import signal
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadedAnswer(Generic[T]):
    """What *ask* returns, or raises, from a thread of its own that keeps no program from ending."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._done = Event()
        self._found: list[T] = []
        self._error: Exception | None = None
        Thread(target=self._run, daemon=True).start()

    def ready(self, seconds: float) -> bool:
        """Wait for it, *seconds* at most; return whether it is there."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """Return it, or raise what asking for it raised."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def _run(self) -> None:
        # Signals are the main thread's: what it defers (``Segment``) must not come by way of this one.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._found.append(self._ask())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where the answer is taken
            self._error = error
        finally:
            self._done.set()
