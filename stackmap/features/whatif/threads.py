"""What a thread of a simulation still has to do, and what waits for several ends."""

from __future__ import annotations

from collections import Counter, deque
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stackmap.features.whatif.simulation import Arrival
    from stackmap.features.whatif.throttling import Then


MUCH = 0.1  # of the requests: a loop that decides
AT_ONCE = 1e-3  # seconds: what a thread sends within, it did not wait for anything in between


class Job(NamedTuple):
    """What a thread has to *do*, ``gap`` seconds after it began the job before, or later."""

    do: Then
    gap: float = 0.0


class Plug:
    """
    ``writes`` of copies that a thread sends when its plug ends, to ``regions`` of the bitmap.

    ``apart``: how many of them do not go on with the one before; ``end``: of the last one.
    """

    __slots__ = ("apart", "end", "regions", "writes")

    def __init__(self) -> None:
        self.writes: list[Callable[[Thread], None]] = []
        self.regions: set[int] = set()
        self.apart, self.end = 0, -1


class Thread:
    """
    What a thread still has to do, in order; ``is_blocked``: it sleeps in the kernel.

    ``came``: when its last job came, ``began``: when it began the last one. ``is_late``: it begins the next one after
    a gap. ``plug``: the writes that it has not sent yet.
    """

    __slots__ = ("began", "came", "is_blocked", "is_late", "jobs", "plug")

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.is_blocked = self.is_late = False
        self.began = self.came = -inf
        self.plug = Plug()

    def add(self, do: Then, now: float, *, follows: bool) -> None:
        """
        Add what came *now*. Between jobs that came ``AT_ONCE`` the thread needed that time, and does so again.

        *follows*: it came when another one ended, or it is not known who sent it: the time since the last is not the
        thread's.
        """
        gap = now - self.came
        self.came = now
        self.jobs.append(Job(do, gap if gap < AT_ONCE and not follows else 0.0))

    def take_plug(self) -> Plug:
        """Return what is under its plug, and begin another one."""
        taken, self.plug = self.plug, Plug()
        return taken


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


def loops_of(arrivals: Sequence[Arrival]) -> dict[int, int]:
    """
    Return the requests of each thread that sends ``MUCH`` of *arrivals* and loops to the last part of them.

    Empty where only one does.
    """
    sent = Counter(arrival.thread for arrival in arrivals)
    looped = Counter(arrival.thread for arrival in arrivals if arrival.after)
    late = {arrival.thread for arrival in arrivals[int((1 - MUCH) * len(arrivals)) :]}
    loops = {thread: sent[thread] for thread in late if looped[thread] >= MUCH * len(arrivals)}
    return loops if len(loops) > 1 else {}
