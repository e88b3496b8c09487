"""
Signals that end the program: what must not be left half done delays, ignores or handles them.

A handler ends the program by an exception. Python only reports one that is raised in a finalizer or in a callback of
an import: ``raise_again`` has it raised again.

While probes are installed, whichever ends the program, nothing of the trace may stay.
"""

from __future__ import annotations

import atexit
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from types import FrameType

RETRY_SECONDS = 0.01  # a finalizer has ended by then, or it is tried again
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
            signal.signal(number, end)
    # A stopped process would leave its probes in place beyond the time limit.
    signal.signal(signal.SIGTSTP, lambda *_: signal.raise_signal(signal.SIGINT))
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


def end(number: int, _: FrameType | None) -> None:
    """Handle a signal: end the program, with what is to be done at its end."""
    sys.exit(128 + number)


def raise_again() -> None:
    """Raise what a handler raised once more, a moment later, where Python would lose it."""
    report = sys.unraisablehook

    def hook(lost: sys.UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, SystemExit | KeyboardInterrupt):
            report(lost)
        elif "atexit" not in (lost.err_msg or ""):  # else it ends anyway
            signal.signal(signal.SIGALRM, partial(_raise, lost.exc_value))
            signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)

    sys.unraisablehook = hook
    # Python resets the handler before it ends: the signal itself would end it then.
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)


def _raise(error: BaseException, *_: object) -> None:
    raise error
