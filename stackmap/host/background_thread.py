"""A question asked in a thread."""

from __future__ import annotations

import signal
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadedAnswer(Generic[T]):
    """The result of *ask*, from a daemon thread, which does not keep the program from ending."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._done = Event()
        self._results: list[T] = []
        self._error: Exception | None = None
        Thread(target=self._run, daemon=True).start()

    def ready(self, seconds: float) -> bool:
        """Wait up to *seconds* for it; return whether it is there."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """Wait for it and return it, or raise the error of *ask*."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        # Only the main thread takes signals: ``SegmentWriter`` blocks them there while it writes.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._results.append(self._ask())
        except Exception as error:  # noqa: BLE001 - any error is raised again in ``result``
            self._error = error
        finally:
            self._done.set()
