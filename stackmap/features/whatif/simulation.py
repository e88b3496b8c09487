"""
A volume's requests on a layout, one by one: when they arrive, what they wait for, and when they end.

Disks are queues with servers and a measured service. Above them a thread sends requests in their order, and waits
where the kernel makes it wait. Parity is written by md's own thread; to copies, the thread that submits a request
writes (raid1-10.c, raid10_unplug), so the program waits before its next request is even seen at the volume. These
waits are what a sum of requests does not show:

- the bitmap: a write to a clean region waits until the bitmap's page is on all members (md-bitmap.c, unplug);
- writeback throttling: a disk takes a limited number of md's writes at once, fewer if no program waits for them
  (block/blk-wbt.c, ``get_limit``); direct writes that reach a disk without md are exempt (``wbt_should_throttle``);
- a write of parity to sectors of an earlier one: the program waits until md handles that (parity_rows.py).

Times are seconds. All that is drawn comes from a seeded generator: the same input gives the same result.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from heapq import heappop, heappush
from itertools import chain
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from stackmap.features.whatif.bitmap import regions_of
from stackmap.features.whatif.disks import FLUSH, OPERATIONS, READ, WRITE, Disk, Service
from stackmap.features.whatif.geometry import Geometry, Part
from stackmap.features.whatif.outcome import BelowCounts, InFlight, Outcome, longest_silence
from stackmap.features.whatif.parity_rows import ParityRows
from stackmap.features.whatif.simulated_bitmap import SimulatedBitmap
from stackmap.features.whatif.threads import Countdown, PluggedCopies, Thread, loops_of, nothing
from stackmap.features.whatif.throttling import Hold, Then
from stackmap.model.raid import PAGE, Layout

if TYPE_CHECKING:
    from stackmap.features.whatif.cache import SimulatedCache

PACE = 5e-6  # seconds per page of a row, on a CPU of these years
SEED = 20
SAME = 1e-9  # seconds that make no difference
FILLING = 1 / 3  # of the requests, in which a loop fills the queues


class Arrival(NamedTuple):
    """
    A request of the volume; ``offset`` and ``size`` in bytes.

    ``thread``: the program's thread that submits it, 0 if not known. It comes ``delay`` seconds after the end number
    ``after`` of its thread's requests, or after the begin of the run if that is 0. ``background``: a write that no
    program waits for. ``more``: its thread sends another one under the same plug. ``cached``: a write of the page cache
    for which a program waits.
    """

    delay: float
    operation: str
    offset: int
    size: int
    after: int = 0
    thread: int = 0
    background: bool = False
    more: bool = False
    cached: bool = False


class Stack(NamedTuple):
    """
    A layout of ``size`` bytes on disks: member *i* is on the disk ``places[i]``. ``covers``: bytes of the volume
    per bit of the bitmap, None without one. ``held``: writeback throttling also holds back md's writes for which a
    program waits. ``missing``: members that failed. ``front``: a cache that answers some requests. ``writes``: per
    second before the first request. ``pace``: seconds that md's thread takes for a page of a row. ``plugged``: the most
    writes to copies under a plug.
    """

    layout: Layout
    size: int
    services: tuple[Service, ...]
    places: Sequence[int]
    covers: float | None
    held: bool
    missing: AbstractSet[int] = frozenset()
    front: "SimulatedCache | None" = None
    writes: float = 0.0
    pace: float = PACE
    plugged: float = inf


class Simulation:
    """One run of requests on a stack."""

    def __init__(self, stack: Stack) -> None:
        self._stack, layout = stack, stack.layout
        self.geometry = Geometry(layout, stack.size, stack.missing)
        # md writes copies and parity.
        self._managed = layout.parity > 0 or layout.copies > 1
        self._draw = Random(SEED)  # noqa: S311 - no secret
        self.random = self._draw.random
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._disks = [Disk(self, service) for service in stack.services]
        self._members = [self._disks[place] for place in stack.places]
        self._cache = (stack.front, Disk(self, stack.front.service)) if stack.front else None
        self._copying = 0
        self._threads: dict[int, Thread] = {}
        self.md = Thread()
        self.marking = (
            SimulatedBitmap(self, stack.covers, self._mark_members) if stack.covers else None
        )
        self._rows = ParityRows(self, stack.pace)
        self._copies = PluggedCopies(self, stack.plugged)
        self._latencies: dict[str, list[float]] = {operation: [] for operation in OPERATIONS}
        self._seen: dict[str, list[float]] = {operation: [] for operation in OPERATIONS}
        self._following: dict[int, deque[Arrival]] = {}
        self._ended: Counter[int] = Counter()  # requests by thread
        self._in_flight = InFlight()
        self._last = self._filled = 0.0
        self._open = self._done = 0
        self._members_sent: Counter[str] = Counter()
        self._began: Counter[str] = Counter()
        self._moved: Counter[str] = Counter()

    def at(self, time: float, call: Callable[..., None], *arguments: Any) -> None:
        """Call at *time*."""
        self._count += 1
        heappush(self._events, (time, self._count, call, arguments))

    def run(self, arrivals: Sequence[Arrival], skipped: int = 0) -> Outcome:
        """
        Run *arrivals* to the end of the last, or of one of several loops: it would go on beside the others.

        What the first *skipped* do below is not counted.
        """
        self._open, self._skipped = len(arrivals), skipped
        self._coming = Counter(arrival.thread for arrival in arrivals)
        self._loops = loops_of(arrivals)
        self._filling = int(FILLING * len(arrivals))
        self._before = self._below()
        writes = [arrival for arrival in arrivals if arrival.operation == WRITE]
        if self.marking:
            self.marking.start(writes, self._stack.writes)
        if self._stack.layout.parity:
            self.geometry.remember(
                [(arrival.offset, arrival.size) for arrival in writes], self.random
            )
        for arrival in arrivals:
            if arrival.after:
                self._following.setdefault(arrival.thread, deque()).append(arrival)
            else:
                self.at(arrival.delay, self._arrive, arrival)
        for disk in self._disks:
            for _ in range(disk.service.crowd):
                self._crowd(disk)
            for rate, operation in zip(disk.service.others, (READ, WRITE), strict=True):
                if rate and not disk.service.crowd:
                    self._other(disk, operation, rate)
        stuck = longest_silence([arrival.delay for arrival in arrivals], self._stack.services)
        while self._open and self._events:
            self.now, _, call, arguments = heappop(self._events)
            if self.now > self._last + stuck:  # the bitmap's daemon goes on for ever
                raise RuntimeError(f"{self._open} simulated requests do not end")
            call(*arguments)
        span = max(self._last, 1e-9)
        busy = [disk.served / span / disk.service.servers for disk in self._disks]
        counted = self._done - self._filling if self._filled else self._done
        settled = counted / max(self._last - self._filled, 1e-9)
        below, queue = self._below().since(self._before), self._in_flight.mean
        return Outcome(self._latencies, self._seen, busy, span, below, settled, queue)

    def _below(self) -> BelowCounts:
        """Return the requests sent below so far."""
        counts, sizes, parts = (
            sum((getattr(disk, kind) for disk in self._disks), Counter[str]())
            for kind in ("counts", "sizes", "parts")
        )
        sent, began, moved = map(Counter, (self._members_sent, self._began, self._moved))
        return BelowCounts(sent, counts, sizes, parts, began, moved)

    def _other(self, disk: Disk, operation: str, rate: float) -> None:
        """Plan the next request of another volume, which *disk* gets *rate* times per second."""

        def sent() -> None:
            disk.submit(operation, nothing)
            self._other(disk, operation, rate)

        self.at(self.now + self._draw.expovariate(rate), sent)

    def _crowd(self, disk: Disk) -> None:
        """Send *disk* a request of other volumes, and at its end the next one."""
        reads, writes = disk.service.others
        operation = READ if self.random() * (reads + writes) < reads else WRITE
        disk.submit(operation, partial(self._crowd, disk))

    def _arrive(self, request: Arrival) -> None:
        if not self._managed:
            self._begin(request, self.now)
            return
        thread = self._threads.setdefault(request.thread, Thread())
        do = partial(self._begin, request, self.now, thread)
        thread.add(do, self.now, follows=request.after > 0 or not request.thread)
        self.go_on(thread)

    def _begin(self, request: Arrival, arrived: float, thread: Thread | None = None) -> None:
        """Let a request reach the volume; *thread*: the one that writes its copies."""
        began, operation = self.now, request.operation
        if operation != FLUSH:
            self._in_flight.begin(began)
        if self._began.total() == self._skipped:
            self._before = self._below()
        self._began[operation] += 1
        self._moved[operation] += request.size
        self._coming[request.thread] -= 1
        # A cache may answer the last request of a burst; a thread that waits for an end sends no more under its plug.
        waiting = self._following.get(request.thread, ())
        if self._cache or self._coming[request.thread] == len(waiting):
            request = request._replace(more=False)

        def end() -> None:
            self._latencies[operation].append(self.now - arrived)
            self._seen[operation].append(self.now - began)
            if operation != FLUSH:
                self._in_flight.end(self.now, began)
            self._open -= 1
            self._last = self.now
            self._done += 1
            if self._done == self._filling:
                self._filled = self.now
            self._ended[request.thread] += 1
            if self._ended[request.thread] == self._loops.get(request.thread):
                self._open = 0
            following = self._following.get(request.thread)
            while following and following[0].after <= self._ended[request.thread]:
                self.at(self.now + following[0].delay, self._arrive, following.popleft())

        if self._cache and operation != FLUSH:
            self._in_front(*self._cache, request, end, thread)
        elif operation == READ:
            self._read(request, end)
        elif operation == WRITE:
            self._write(request, end, thread)
        else:
            left = Countdown(len(self._members), end)
            for disk in self._members:
                disk.submit(FLUSH, left.one, cause=FLUSH)

    def _in_front(
        self,
        front: "SimulatedCache",
        cache: Disk,
        request: Arrival,
        end: Then,
        thread: Thread | None,
    ) -> None:
        """Send a request to the cache if it hits, else to the volume; a write through the cache to both."""
        is_read = request.operation == READ
        is_hit = self.random() < front.hits[not is_read]
        if is_hit and (is_read or front.writeback):
            cache.submit(request.operation, end)
            if front.copying and not is_read:
                self._write(request, nothing, None)
            return
        left = Countdown(1 + is_hit, end)
        if is_read:
            self._read(request, left.one)
        else:
            self._write(request, left.one, thread)
        if is_hit:
            cache.submit(WRITE, left.one)
        elif self._copying < front.copying:
            self._copying += 1

            def copied() -> None:
                self._copying -= 1
                cache.submit(WRITE, nothing)

            start = request.offset // front.block * front.block
            size = min(front.block, self._stack.size - start)
            self._read(Arrival(0.0, READ, start, size), copied)

    def _write(self, request: Arrival, end: Then, thread: Thread | None) -> None:
        marking = self.marking
        if marking is None:
            self._update(request, end, thread)
            return
        regions = regions_of(request.offset, request.size, marking.covers)

        def ended() -> None:
            marking.ended(regions)
            end()

        def started() -> None:
            if thread is not None:
                thread.is_blocked = False
            self._write_marked(request, regions, ended, thread)
            if thread is not None:
                self.go_on(thread)

        if not marking.starts(started):
            self._write_marked(request, regions, ended, thread)
        elif thread is not None:
            thread.is_blocked = True
            self._copies.unplug(thread, self.md)

    def _write_marked(
        self, request: Arrival, regions: range, end: Then, thread: Thread | None
    ) -> None:
        """
        Write when the bits of *regions* are on all members.

        Rows of parity wait for that, their submitter does not (md-bitmap.c, unplug); copies wait where its plug ends.
        """
        if thread is not None and not self._stack.layout.parity:
            self._update(request, end, thread, regions)
            return

        def marked() -> None:
            # Meanwhile the plug of the thread was pulled.
            self._update(request._replace(more=False), end, thread)

        if not (self.marking and self.marking.waits(regions, marked)):
            self._update(request, end, thread)

    def _mark_members(self, cause: str, pages: int, then: Then) -> None:
        """Write *pages* of the bitmap, or superblocks, on all members; md's thread waits meanwhile."""

        def marked() -> None:
            then()
            self.go_on(self.md)

        left = Countdown(len(self._members) * pages, marked)
        for disk in self._members:
            self._members_sent[cause] += pages
            for _ in range(pages):
                disk.write_through(cause, left.one)

    def _read(self, request: Arrival, end: Then) -> None:
        pieces = list(self.geometry.read(request.offset, request.size))
        left = Countdown(len(pieces), end)
        for is_choice, parts in pieces:
            self.send((self._chosen(parts),) if is_choice else parts, READ, READ, left.one)

    def _update(
        self, request: Arrival, end: Then, thread: Thread | None, regions: Collection[int] = ()
    ) -> None:
        """Write the data; *thread*: the one that writes copies itself, to *regions* that are not marked yet."""
        is_held = self._stack.held or request.cached
        hold: Hold = "background" if request.background else "waited" if is_held else None
        if self._stack.layout.parity:
            self._rows.write(request, hold, end, thread)
            return
        parts = tuple(chain.from_iterable(self.geometry.write(request.offset, request.size)))
        if thread is None:
            self.send(parts, WRITE, WRITE, end)
        else:
            left = Countdown(len(parts), end)
            write = partial(self.write_on, parts=parts, hold=hold, left=left)
            self._copies.add(request, regions, write, thread)

    def _chosen(self, copies: tuple[Part, ...]) -> Part:
        """
        Return the copy to read: an idle one; else that with the fewest requests, or the nearest to a disk's head.

        RAID10 far takes the one nearest to the start (raid10.c, read_balance; raid1.c, read_balance).
        """
        if self._stack.layout.variant == "far":
            return min(copies, key=lambda part: part.offset)
        rotational = self._members[copies[0].member].service.rotational

        def rank(part: Part) -> tuple[int, ...]:
            disk = self._members[part.member]
            distance = abs(disk.head - part.offset)
            if not distance and disk.service.rotational:
                return (0,)  # it continues a stream
            return (2, distance if rotational else disk.pending) if disk.pending else (1,)

        return min(copies, key=rank)

    def _submit(
        self, part: Part, operation: str, cause: str, then: Then, hold: Hold = None
    ) -> None:
        disk = self._members[part.member]
        disk.head = part.offset + part.size
        # md sends pages, which merge again: those of one request are one here.
        in_pages = self._stack.layout.parity and cause != READ
        pages = part.size // PAGE if in_pages else 1
        self._members_sent[cause] += pages
        disk.submit(operation, then, hold=hold, cause=cause, part=part, pages=pages)

    def send(self, parts: tuple[Part, ...], operation: str, cause: str, then: Then) -> None:
        """Send *parts* to the members."""
        left = Countdown(len(parts), then)
        for part in parts:
            self._submit(part, operation, cause, left.one)

    def go_on(self, thread: Thread) -> None:
        """Do the jobs of *thread* until a disk has no room, or the bitmap is written."""
        marking = self.marking if thread is self.md else None
        while thread.jobs and not (thread.is_blocked or (marking and marking.is_busy)):
            begins = thread.began + thread.jobs[0].gap
            if begins > self.now + SAME:
                if not thread.is_late:
                    thread.is_late = True
                    self.at(begins, self._begin_late, thread)
                return
            thread.began = self.now
            thread.jobs.popleft().do()

    def _begin_late(self, thread: Thread) -> None:
        thread.is_late = False
        self.go_on(thread)

    def room(self, parts: tuple[Part, ...], hold: Hold) -> float:
        """Return the pages of each of *parts* that md may write in turn until a disk has no room."""
        return min(self._members[part.member].pages(part, hold) for part in parts)

    def write_on(
        self, thread: Thread, parts: tuple[Part, ...], hold: Hold, left: Countdown, place: int = 0
    ) -> None:
        """Send *parts* from *place* on; block *thread* where a disk has no room."""
        for number in range(place, len(parts)):
            part = parts[number]
            disk = self._members[part.member]
            if not disk.pages(part, hold):
                thread.is_blocked = True

                def resume(number: int = number) -> None:
                    thread.is_blocked = False
                    self.write_on(thread, parts, hold, left, number)
                    self.go_on(thread)

                disk.wait(hold, resume)
                return
            self._submit(part, WRITE, WRITE, left.one, hold)
