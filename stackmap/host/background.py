"""
Answers that take long: asked for aside, while samples go on.

A recording has the answers in the frame in which they were all there. Until
then it says ``WAITED_FOR`` to the question ``ASIDE``, which no host is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

BACKGROUND, PENDING = "aside", "waited for"
ANSWERED = "answered"  # stands for an event where nobody waits who began to

T = TypeVar("T")


class ReplayedAnswer(Generic[T]):
    """What *ask* returns in the first frame in which it is no longer *waited_for*."""

    def __init__(self, ask: Callable[[], T], waited_for: Callable[[], bool]) -> None:
        self._ask = ask
        self._waited_for = waited_for
        self.taken = False

    def ready(self, seconds: float) -> bool:  # noqa: ARG002 - a recording has its own pace
        """Whether it was there in this frame."""
        return not self._waited_for()

    def result(self) -> T:
        """Ask."""
        self.taken = True
        return self._ask()
