"""What a thread of a simulation still has to do, and what waits for several ends."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackmap.features.whatif.throttling import Then


class Thread:
    """What a thread still has to do, in order; ``is_blocked``: it sleeps in the kernel."""

    __slots__ = ("is_blocked", "jobs")

    def __init__(self) -> None:
        self.jobs: deque[Then] = deque()
        self.is_blocked = False


class Countdown:
    """Calls *then* when ``one`` was called *count* times; at once if that is never."""

    __slots__ = ("_left", "_then")

    def __init__(self, count: int, then: Then) -> None:
        self._left, self._then = count, then
        if not count:
            then()

    def one(self) -> None:
        """One is done."""
        self._left -= 1
        if not self._left:
            self._then()


def nothing() -> None:
    """No request waits for this end."""
