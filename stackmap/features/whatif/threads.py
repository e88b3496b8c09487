"""
Threads of a simulation: what each still has to do, its plug of writes to copies, and what waits for several ends.

Copies are written by the thread that submits them, when its plug ends. Until then nothing is sent (raid1-10.c,
raid1_add_bio_to_plug); the bitmap is written once for all of them (raid10_unplug, md-bitmap.c, unplug).
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from stackmap.features.whatif.simulation import Arrival, Simulation
    from stackmap.features.whatif.throttling import Then

MUCH = 0.1  # of the requests: a loop that decides
# Seconds: a thread that sends two requests within these waited for nothing in between.
AT_ONCE = 1e-3


class Job(NamedTuple):
    """A call that a thread has to make, at least ``gap`` seconds after it began the job before."""

    do: Then
    gap: float = 0.0


@dataclass(slots=True)
class Plug:
    """
    ``writes`` of copies that a thread sends when its plug ends, to ``regions`` of the bitmap.

    ``apart``: how many of them do not go on with the one before; ``end``: of the last one.
    """

    writes: list[Callable[[Thread], None]] = field(default_factory=list)
    regions: set[int] = field(default_factory=set)
    apart: int = 0
    end: int = -1


@dataclass(slots=True)
class Thread:
    """
    The ``jobs`` of a thread in their order; ``is_blocked``: it sleeps in the kernel.

    ``came``: when its last job came, ``began``: when it began the last one. ``is_late``: it begins the next one after
    a gap. ``plug``: the writes that it has not sent yet.
    """

    jobs: deque[Job] = field(default_factory=deque)
    is_blocked: bool = False
    is_late: bool = False
    began: float = -inf
    came: float = -inf
    plug: Plug = field(default_factory=Plug)

    def add(self, do: Then, now: float, *, follows: bool) -> None:
        """
        Add what came *now*. Between jobs that came ``AT_ONCE`` the thread needed that time, and does so again.

        *follows*: it came when another one ended, or it is not known who sent it: the time since the last is not the
        thread's.
        """
        gap = now - self.came
        self.came = now
        self.jobs.append(Job(do, gap if gap < AT_ONCE and not follows else 0.0))


class PluggedCopies:
    """The writes to copies of a run; *most*: the writes under a plug at which it ends."""

    def __init__(self, run: Simulation, most: float) -> None:
        self._run, self._most = run, most

    def add(
        self,
        request: Arrival,
        regions: Collection[int],
        write: Callable[[Thread], None],
        thread: Thread,
    ) -> None:
        """Add *request* to the plug of *thread*; *write* sends it, *regions*: of the bitmap that it touches."""
        plug = thread.plug
        plug.writes.append(write)
        plug.regions.update(regions)
        plug.apart += request.offset != plug.end
        plug.end = request.offset + request.size
        # One stream merges in the plug of the block layer, which its thread goes on to fill.
        if not request.more or (len(plug.writes) >= self._most and plug.apart > 1):
            self.unplug(thread, thread)

    def unplug(self, thread: Thread, by: Thread) -> None:
        """Send the writes under the plug of *thread* once the bitmap is written; *by*: itself, or md's if it sleeps."""
        plug, thread.plug = thread.plug, Plug()
        if not plug.writes:
            return
        jobs = [Job(partial(write, by)) for write in plug.writes]

        def marked() -> None:
            if by is thread:
                by.is_blocked = False
            by.jobs.extendleft(reversed(jobs))
            self._run.go_on(by)

        marking = self._run.marking
        if marking and marking.waits(plug.regions, marked):
            by.is_blocked = by.is_blocked or by is thread
        elif by is thread:
            by.jobs.extendleft(reversed(jobs))
        else:
            marked()


class Countdown:
    """Calls *then* after *count* calls of ``one``; at once if *count* is 0."""

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
