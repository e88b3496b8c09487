"""Of what a simulated stack consists: disks that serve queues, and threads that wait for room in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

READ, WRITE, FLUSH = "read", "write", "flush"
RECENT = 0.1  # seconds after a read, in which writes have the lower limit (blk-wbt.c, close_io)

Then = Callable[[], None]


class Service(NamedTuple):
    """
    How a disk serves: ``read`` and ``write`` are the times of single requests, all equally likely.

    ``servers``: requests at once. ``depth``: of its queue for the throttling of writes, None without throttling.
    ``rotational``: it has one place where its head is. ``others``: reads and writes per second of other
    volumes. ``flush``: seconds that an empty flush takes.
    """

    read: Sequence[float]
    write: Sequence[float]
    servers: int = 1
    depth: int | None = None
    rotational: bool = False
    others: tuple[float, float] = (0.0, 0.0)
    flush: float = 0.0


class Clock(Protocol):
    """What a disk needs of the simulation: ``now`` in seconds, calls at a time, and its random numbers, 0 to 1."""

    now: float
    random: Callable[[], float]

    def at(self, time: float, call: Callable[..., None], argument: object = None) -> None:
        """Call at *time*."""


class Disk:
    """A queue in order of arrival, with ``servers``."""

    def __init__(self, clock: Clock, service: Service) -> None:
        self._clock, self.service = clock, service
        self._queue: deque[tuple[str, Then]] = deque()
        self._serving = 0
        self.pending = 0
        self.head = 0
        self.served = 0.0
        self._writes = 0
        self._last_read = -1.0
        self._waiting: deque[Then] = deque()
        depth = min(16, service.depth or 0)
        most = 2 if depth == 1 else depth
        # blk-wbt.c, calc_wb_limits: a disk with a queue of one request has room for two.
        self._limits = (most, 1) if most <= 2 else ((most + 1) // 2, (most + 3) // 4)

    def accepts(self) -> bool:
        """Whether one more write of md may be sent."""
        if not self.service.depth:
            return True
        return self._writes < self._limits[self._clock.now - self._last_read < RECENT]

    def wait(self, then: Then) -> None:
        """Call *then* when a write may be sent."""
        self._waiting.append(then)

    def submit(self, operation: str, then: Then, *, counted: bool = False) -> None:
        """Serve a request; *counted*: it is a write of md, and takes room that ``accepts`` found."""
        self.pending += 1
        if operation == READ:
            self._last_read = self._clock.now
        if counted:
            self._writes += 1
            self._queue.append((operation, lambda: self._written(then)))
        else:
            self._queue.append((operation, then))
        self._next()

    def _written(self, then: Then) -> None:
        self._writes -= 1
        then()
        while self._waiting and self.accepts():
            before = self._writes
            self._waiting.popleft()()
            if self._writes == before:
                break

    def _next(self) -> None:
        while self._queue and self._serving < self.service.servers:
            operation, then = self._queue.popleft()
            self._serving += 1
            times = self.service.read if operation == READ else self.service.write
            took = times[int(self._clock.random() * len(times))]
            if operation == FLUSH:
                took = self.service.flush
            self.served += took
            self._clock.at(self._clock.now + took, self._end, (operation, then))

    def _end(self, ended: tuple[str, Then]) -> None:
        self._serving -= 1
        self.pending -= 1
        if ended[0] == READ:
            self._last_read = self._clock.now
        ended[1]()
        self._next()


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
