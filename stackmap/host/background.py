"""
Questions answered in the background while sampling goes on, in a recording.

A recording holds the answers in the frame in which all of them had arrived.
Until then it answers ``PENDING`` to ``BACKGROUND``, a question for recordings only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

BACKGROUND, PENDING = "aside", "waited for"
ANSWERED_IN_BACKGROUND = (
    "answered"  # ACTION of an event: an answer arrived that this replay does not wait for
)

T = TypeVar("T")


class ReplayedAnswer(Generic[T]):
    """The result of *ask* in the first frame in which it is no longer *pending*."""

    def __init__(self, ask: Callable[[], T], is_pending: Callable[[], bool]) -> None:
        self._ask = ask
        self._is_pending = is_pending
        self.taken = False

    def ready(self, seconds: float) -> bool:  # noqa: ARG002 - a recording has its own pace
        """Return whether it is there in this frame."""
        return not self._is_pending()

    def result(self) -> T:
        """Return it."""
        self.taken = True
        return self._ask()
