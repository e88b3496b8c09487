"""
Questions answered in the background while sampling goes on: in a thread, or in a recording.

A recording holds the answers in the frame in which all of them had arrived.
Until then it answers ``PENDING`` to ``BACKGROUND``, a question for recordings only. It answers
``OUTDATED`` where the answers are older than changes that are known.
"""

import signal
from collections.abc import Callable
from typing import Generic, TypeVar

BACKGROUND, PENDING, OUTDATED = "aside", "waited for", "outdated"
# ACTION of an event: an answer arrived that this replay does not wait for.
ANSWERED_IN_BACKGROUND = "answered"

T = TypeVar("T")


class ReplayedAnswer(Generic[T]):
    """
    The result of *ask* in the first frame whose *state* is not ``PENDING``.

    A question that begins in an ``OUTDATED`` frame is not answered there.
    """

    def __init__(self, ask: Callable[[], T], state: Callable[[], object]) -> None:
        self._ask = ask
        self._state = state
        self._not_ready = {PENDING, OUTDATED} if state() == OUTDATED else {PENDING}
        self.taken = False

    def ready(self, seconds: float) -> bool:  # noqa: ARG002 - a recording has its own pace
        """Return whether it is there in this frame."""
        return self._state() not in self._not_ready

    def result(self) -> T:
        """Return the result, asked for in this frame."""
        self.taken = True
        return self._ask()


class ThreadedAnswer(Generic[T]):
    """The result of *ask*, from a daemon thread, which does not keep the program from ending."""

    def __init__(self, ask: Callable[[], T]) -> None:
        from threading import Event, Thread  # 3 ms

        self._ask = ask
        self._done = Event()
        self._results: list[T] = []
        self._error: Exception | None = None
        Thread(target=self._run, daemon=True).start()

    def ready(self, seconds: float) -> bool:
        """Wait up to *seconds* for it; return whether it is there."""
        return self._done.wait(seconds)

    def result(self) -> T:
        """Wait for the result and return it, or raise the error of *ask*."""
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
