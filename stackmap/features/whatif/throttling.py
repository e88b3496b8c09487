"""
Writeback throttling of a disk: how many writes of md it may have at once.

The kernel compares the fastest read of each window of 0.1 s with wbt_lat_usec, and halves or raises the number
(block/blk-wbt.c, ``wb_timer_fn`` and ``latency_exceeded``; block/blk-rq-qos.c, ``rq_depth_calc_max_depth``).
"""

from collections import deque
from collections.abc import Callable
from math import inf, sqrt
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from stackmap.features.whatif.simulation import Simulation

Then = Callable[[], None]
# How a write is held back: one that a program waits for, one that none does; None: it is not.
Hold = Literal["waited", "background"] | None

WINDOW = 0.1  # seconds (RWB_WINDOW_NSEC)
RECENT = 0.1  # seconds after a read, in which writes have the lower limit (close_io)
USUAL = 16  # RWB_DEF_DEPTH
FEWEST_WRITES = 3  # in a window that is judged (RWB_MIN_WRITE_SAMPLES)
PATIENCE = 5  # windows that show nothing, until the usual number is back (RWB_UNKNOWN_BUMP)


class Throttle:
    """
    Of a disk with a queue of *depth*, None without throttling; reads are to take *target* seconds, 0 if not known.

    *cached*: the disk has a volatile cache, so writes held back wait until it has none left.
    """

    def __init__(self, depth: int | None, target: float, *, cached: bool) -> None:
        self._depth, self._target, self._cached = depth, target, cached
        self._writes = 0
        self._waiting: deque[tuple[Hold, Then]] = deque()
        self._last_read = -inf
        self._fastest, self._written = inf, 0  # in this window
        self._closes = WINDOW
        self._scale(-1)  # a run begins in the middle of a load: writes have raised the limit before

    def _scale(self, step: int) -> None:
        """Set the limits of *step*: above 0 after reads that took too long, below 0 after none."""
        depth = self._depth or 1
        usual = min(USUAL, depth)
        self._step, self._unknown = step, 0
        if depth == 1:
            most, self._is_highest = (1, False) if step > 0 else (2, True)
        elif step < 0:
            raised, limit = 1 + ((usual - 1) << -step), max(1, 3 * depth // 4)
            most, self._is_highest = min(raised, limit), raised > limit
        else:
            most, self._is_highest = 1 + ((usual - 1) >> step), False
        self._most = most
        self._normal, self._low = (most, 1) if most <= 2 else ((most + 1) // 2, (most + 3) // 4)

    def room(self, hold: Hold, now: float) -> float:
        """Return the number of further writes that may be sent."""
        if hold is None or not self._depth:
            return inf
        if now >= self._closes and self._target:
            self._close(now)
        if hold == "waited":
            return self._most - self._writes
        return (self._low if now - self._last_read < RECENT else self._normal) - self._writes

    def wait(self, hold: Hold, then: Then) -> None:
        """Call *then* when a write may be sent."""
        self._waiting.append((hold, then))

    def sent(self, writes: int) -> None:
        """Count *writes* that are sent and take room; a negative number: they merged with others."""
        self._writes += writes

    def read(self, now: float) -> None:
        """Note that a read is sent."""
        self._last_read = now

    def took(self, seconds: float, now: float, *, is_read: bool) -> None:
        """Count a request with data that ended *now*, after *seconds* in the disk."""
        if is_read:
            self._last_read = now
        if not self._target:
            return
        if now >= self._closes:
            self._close(now)
        if is_read:
            self._fastest = min(self._fastest, seconds)
        else:
            self._written += 1

    def _close(self, now: float) -> None:
        """Judge the window that ended, and those until *now* in which nothing did."""
        while now >= self._closes:
            if self._fastest < inf and self._written >= FEWEST_WRITES:
                if self._fastest <= self._target:
                    self._raise()
                elif self._most > 1:
                    self._scale(0 if self._step < 0 else self._step + 1)
            elif self._written or self._writes:
                self._raise()
                if self._is_highest and self._writes:  # more windows without a read change nothing
                    self._closes = now
            else:
                self._unknown += 1
                if not self._step:
                    self._closes = now
                elif self._unknown >= PATIENCE:
                    self._scale(self._step - 1 if self._step > 0 else self._step + 1)
            self._fastest, self._written = inf, 0
            self._closes += WINDOW / sqrt(max(0, self._step) + 1)

    def _raise(self) -> None:
        if not self._is_highest:
            self._scale(self._step - 1)

    def ended(self, then: Then, run: "Simulation") -> None:
        """A write ended that took room; *then* is called before those that wait (``wbt_rqw_done``)."""
        self._writes -= 1
        then()
        if self._writes >= (1 if self._cached else self._normal):
            return
        if self._writes and self._normal - self._writes < self._low // 2:
            return
        while self._waiting and self.room(self._waiting[0][0], run.now) > 0:
            before = self._writes
            self._waiting.popleft()[1]()
            if self._writes == before:
                break
