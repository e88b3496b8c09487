"""
Signals that end the program: what must not be left half done delays, ignores or handles them.

While probes are installed, whichever ends the program, nothing of the trace may stay.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType

# Signals that do not end a program, that Python ignores, or after which no Python can run.
NOT_ENDING = frozenset({
    signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT, signal.SIGCHLD, signal.SIGURG,
    signal.SIGWINCH, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS,
    signal.SIGFPE, signal.SIGILL,
})  # fmt: skip


@lru_cache
def _ending() -> tuple[int, ...]:
    """Return the signals that end a program; found when first needed, for commands need few of them."""
    return tuple(signal.valid_signals() - NOT_ENDING)


def handle_all() -> None:
    """Let every signal that would end or stop the program raise an exception, so that contexts are left."""
    for number in _ending():
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    # A stopped process would leave its probes in place beyond the time limit.
    signal.signal(signal.SIGTSTP, _interrupt)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore signals that would end the program, so that a removal is completed."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ending()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def delayed(numbers: Iterable[int] | None = None) -> Iterator[None]:
    """Delay *numbers*, by default all signals that would end the program, until the context ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers or _ending())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def after(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Call *action* if the context lasts longer, even while a write waits for a reader."""
    before = signal.signal(signal.SIGALRM, lambda *_: action())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
