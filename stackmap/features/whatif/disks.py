"""
A disk as a queue with servers: which requests wait at it, which merge, and when they are served.

Times are seconds. What is drawn comes from the run's own generator: the same input gives the same result.
"""

from bisect import bisect, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from stackmap.features.whatif.geometry import Part
from stackmap.features.whatif.throttling import Hold, Then, Throttle

if TYPE_CHECKING:
    from stackmap.features.whatif.simulation import Simulation

READ, WRITE, FLUSH = OPERATIONS = "read", "write", "flush"
OTHERS = "others"  # the cause of what other volumes send
BATCH, STARVED = 16, 2  # block/mq-deadline.c, fifo_batch and writes_starved
LARGEST = 1280 << 10  # bytes of a request where the disk's limit is not known (BLK_DEF_MAX_SECTORS)

Order = Literal["arrival", "turns", "reads"]
Edge = tuple[str, int, int, bool]  # operation, member, place, and whether a request may begin there


class Service(NamedTuple):
    """
    How a disk serves: ``read`` and ``write`` are the times of single requests, all equally likely.

    ``servers``: requests at once. ``depth``: of its queue for the throttling of writes, None without throttling or if
    not known. ``rotational``: it has a head at one place. ``others``: reads and writes per second of other volumes.
    ``crowd``: the number of these that are always in flight; 0: they come at random. ``flush``: seconds of an empty
    flush. ``order`` of waiting requests: as they arrived; reads and writes in turns, as QEMU's limit of IOPS; or batches
    by offset, of reads first, as mq-deadline. ``target``: seconds that a read may take before writes are throttled more,
    0 if not known. ``cached``: it has a volatile cache. ``room``: requests that the kernel gives it at once; others wait
    and may merge, up to ``largest`` bytes.
    """

    read: Sequence[float]
    write: Sequence[float]
    servers: int = 1
    depth: int | None = None
    rotational: bool = False
    others: tuple[float, float] = (0.0, 0.0)
    flush: float = 0.0
    crowd: int = 0
    order: Order = "arrival"
    target: float = 0.0
    cached: bool = False
    room: float = inf
    largest: int = LARGEST


class Queued(NamedTuple):
    """A request that waits at a disk, with its ``place`` among those of its direction."""

    place: float
    number: int
    operation: str
    then: Then


@dataclass(slots=True)
class HeldRequest:
    """A request that the kernel has not given to the disk yet, so that others may merge with it."""

    operation: str
    part: Part
    thens: list[Then]

    @property
    def keys(self) -> tuple[Edge, Edge]:
        """Where a request begins that merges behind this one, and where one ends that merges before it."""
        member, start, size = self.part
        return (self.operation, member, start + size, True), (self.operation, member, start, False)

    def end(self) -> None:
        """End all requests that merged."""
        for then in self.thens:
            then()


class Disk:
    """
    A queue with ``servers``. ``counts``: the requests it completes, by cause; ``sizes``: their bytes; ``parts``: what
    it was sent, before that merged.

    What a thread sends at one instant is under one plug, and merges; later on a request merges with one that the
    disk has no room for yet (block/blk-merge.c).
    """

    def __init__(self, run: "Simulation", service: Service) -> None:
        self._run, self.service = run, service
        self._queues: tuple[list[Queued], list[Queued]] = ([], [])  # of reads, of writes
        self._direction = self._starved = self._number = 0
        self._batch = BATCH  # the first request begins one
        self._places = [-1.0, -1.0]  # of the last reads and writes that were served
        self._serving = 0
        self.pending = 0
        self.head = 0
        self.served = 0.0
        self.counts: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()
        self.parts: Counter[str] = Counter()
        self._held: dict[int, HeldRequest] = {}
        self._edges: dict[Edge, int] = {}
        self._is_plugged = False
        # When requests were dispatched that the disk does not serve yet.
        self._dispatched: dict[int, float] = {}
        self._oldest = 0  # the number of the first request under the plug
        self._unmerged = 0  # pages under the plug that take room of their own
        self._throttle = Throttle(service.depth, service.target, cached=service.cached)

    def pages(self, part: Part, hold: Hold) -> float:
        """
        Return how many pages of md's write *part* may be sent one by one until throttling stops them.

        What merges takes no room of its own. Under a plug, a page merges with the oldest request for its disk, and
        with no other before the plug is pulled (block/blk-merge.c, ``blk_attempt_plug_merge``; since Linux 6.13,
        and in updates of 6.12).
        """
        if self._merges_at_once(self._held_beside(WRITE, part)):
            return inf
        # Below 0 after the limit was lowered.
        room = max(0, self._throttle.room(hold, self._run.now))
        return room if not room or self._is_plugged else inf

    def _merges_at_once(self, number: int | None) -> bool:
        """Whether what merges with the request *number* takes no room."""
        return number is not None and not (self._is_plugged and number > self._oldest)

    def wait(self, hold: Hold, then: Then) -> None:
        """Call *then* when a write may be sent."""
        self._throttle.wait(hold, then)

    def submit(
        self,
        operation: str,
        then: Then,
        *,
        hold: Hold = None,
        cause: str = OTHERS,
        part: Part | None = None,
        pages: int = 1,
    ) -> None:
        """
        Serve a request of *cause*; *part*: where it is, if it may merge.

        *hold*: how throttling holds it, a write of md. md sends its *pages* one by one, and each takes room.
        """
        if operation == READ:
            self._throttle.read(self._run.now)
        if part is not None:
            self.sizes[cause] += part.size
            self.parts[cause] += 1
            number = self._held_beside(operation, part)
            if number is not None:
                if hold and not self._merges_at_once(number):
                    self._throttle.sent(pages)
                    self._unmerged += pages
                self._merge(number, part, then)
                return
        self.counts[cause] += 1
        self.pending += 1
        self._number += 1
        if hold:
            rooms = pages if self._is_plugged else 1
            self._throttle.sent(rooms)
            self._unmerged += rooms - 1
            then = partial(self._throttle.ended, then, self._run)
        if part is not None:
            held = HeldRequest(operation, part, [then])
            self._hold(self._number, held)
            then = held.end
        queue = self._queues[operation != READ]
        if self.service.order == "reads":
            insort(queue, Queued(self._run.random(), self._number, operation, then))
        else:
            queue.append(Queued(self._number, self._number, operation, then))
        if self._is_plugged:
            return
        if part is None:  # nothing merges with it
            self._serve()
        else:
            self._is_plugged, self._oldest = True, self._number
            self._run.at(self._run.now, self._unplug)

    def write_through(self, cause: str, then: Then) -> None:
        """Empty the cache, then write a page to the medium (md.c, ``md_super_write``: REQ_PREFLUSH, REQ_FUA)."""
        write = partial(self.submit, WRITE, then, cause=cause)
        if self.service.cached and self.service.flush:
            self.submit(FLUSH, write, cause=FLUSH)
        else:
            write()

    def _held_beside(self, operation: str, part: Part) -> int | None:
        """Return the number of a request that *part* may merge with; None if there is none."""
        member, start, size = part
        for edge in ((operation, member, start, True), (operation, member, start + size, False)):
            number = self._edges.get(edge)
            if number is not None and self._held[number].part.size + size <= self.service.largest:
                return number
        return None

    def _merge(self, number: int, part: Part, then: Then) -> None:
        """Add *part*, which is beside the request *number*, to it."""
        held = self._release(number)
        start = min(part.offset, held.part.offset)
        held.part = Part(part.member, start, part.size + held.part.size)
        held.thens.append(then)
        self._hold(number, held)

    def _hold(self, number: int, held: HeldRequest) -> None:
        self._held[number] = held
        self._edges.update(dict.fromkeys(held.keys, number))

    def _unplug(self) -> None:
        self._is_plugged = False
        self._throttle.sent(-self._unmerged)
        self._unmerged = 0
        self._dispatch()
        self._serve()

    def _dispatch(self) -> None:
        """Send waiting requests to the disk while it has room; from then on they do not merge."""
        while self._held and self.pending - len(self._held) < self.service.room:
            number = next(iter(self._held))
            self._release(number)
            self._dispatched[number] = self._run.now

    def _release(self, number: int) -> HeldRequest:
        held = self._held.pop(number)
        for edge in held.keys:
            if self._edges.get(edge) == number:
                del self._edges[edge]
        return held

    def _serve(self) -> None:
        run, service = self._run, self.service
        reads, writes = self._queues
        while (reads or writes) and self._serving < service.servers:
            _, number, operation, then = self._next_queued()
            if number in self._held:
                self._release(number)
            self._serving += 1
            times = service.read if operation == READ else service.write
            drawn = times[int(run.random() * len(times))]
            took = service.flush if operation == FLUSH else drawn
            self.served += took
            within = took + run.now - self._dispatched.pop(number, run.now)
            run.at(run.now + took, self._end, operation, then, within)

    def _next_queued(self) -> Queued:
        """Take the request that is next out of its queue."""
        if self.service.order == "reads":
            return self._next_of_batch()
        reads, writes = self._queues
        if not reads or not writes:
            self._direction = not reads
        elif self.service.order == "turns":
            self._direction = not self._direction
        else:
            self._direction = writes[0].number < reads[0].number
        return self._queues[self._direction].pop(0)

    def _next_of_batch(self) -> Queued:
        """Take the next request by offset; begin a batch where one ends (``__dd_dispatch_request``)."""
        reads, writes = self._queues
        queue, at = self._queues[self._direction], self._place_after_last(self._direction)
        if self._batch >= BATCH or at == len(queue):
            self._batch = 0
            self._direction = not reads or (bool(writes) and self._starved >= STARVED)
            self._starved = 0 if self._direction else self._starved + bool(writes)
            queue, at = self._queues[self._direction], self._place_after_last(self._direction)
            if at == len(queue):
                at = min(range(at), key=lambda place: queue[place].number)
        self._batch += 1
        self._places[self._direction] = queue[at].place
        return queue.pop(at)

    def _place_after_last(self, direction: int) -> int:
        """Return the place in the queue of *direction* of the first request beyond the last served one."""
        return bisect(self._queues[direction], self._places[direction], key=itemgetter(0))

    def _end(self, operation: str, then: Then, within: float) -> None:
        """Complete a request that was in the disk for *within* seconds."""
        self._serving -= 1
        self.pending -= 1
        if operation != FLUSH:
            self._throttle.took(within, self._run.now, is_read=operation == READ)
        then()
        if self.pending:
            self._dispatch()
            self._serve()
