"""
When a volume's requests arrive, by a trace of them: the loads that they may be.

A request that comes within ``FOLLOWS`` of another one's end was waiting for it: a faster volume makes it come
sooner (a *closed* loop). Where most requests do, all of that thread's are in a loop. Where few do, each comes at its
time (*open*). Counters show neither, see ``counted_loads.py``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from stackmap.features.whatif.disks import WRITE
from stackmap.features.whatif.simulated_bitmap import SAFE_MODE
from stackmap.features.whatif.simulation import PACE, Arrival
from stackmap.features.whatif.threads import AT_ONCE
from stackmap.model.raid import PAGE

if TYPE_CHECKING:
    from stackmap.features.trace.arrivals import TracedRequest
    from stackmap.features.whatif.measured import Measured

FOLLOWS = 0.5e-3  # seconds
FEW_FOLLOW, MOST_FOLLOW = 0.3, 0.7  # shares of requests, of those beyond chance
THINK = 2e-5  # seconds of a program between an end and its next request, where not measured
MOST = 6000  # requests of one run: enough for a 95th percentile
ALWAYS_BUSY = 0.97
COVERED, SUFFICIENT = 0.8, 2000  # share of the time; requests
SLOWEST = 2e-4  # seconds per page of a row, on an emulated CPU
USUAL_GAP = AT_ONCE / 20  # seconds between two requests that are sent at once
SORTED = 0.1  # of the writes that are followed at once: the least share with gaps behind them
MOST_SORTED = 0.9  # of those: the least share that go on further up
MOST_PLUGGED = 0.7  # of all requests: sent at once with the next one, as under a plug
FEW_GAPS = 20  # requests with such a gap
# To submit a request takes as long as FIXED pages more; md's thread takes PER_GAP times as long for a page (lab runs).
FIXED, PER_GAP = 3, 4.5
PAUSE, FEW_PAUSES, ALIKE = 0.1, 5, 0.2  # seconds without a request; pauses; share of the middle one
IDLE = 0.1  # of the usual rate of a request's interval: intervals with less are pauses
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


Kind = Literal["open", "closed"]
# Seconds and requests per second of one interval after the other.
Intervals = tuple[tuple[float, float], ...]


class Load(NamedTuple):
    """
    Requests as they may have arrived. ``kind``: whether they wait for each other; ``depth``: of a closed loop.
    ``traced``: each was seen. ``sequential``: the share of writes, if not traced. ``plugged``: what a thread sends at
    once is under one plug.
    """

    kind: Kind
    arrivals: Sequence[Arrival]
    depth: float = 0.0
    traced: bool = False
    sequential: float = 0.0
    plugged: bool = False


def is_representative(requests: Sequence[TracedRequest], parts: Sequence[Measured]) -> bool:
    """Whether traced *requests* show the load of the intervals *parts*: most of the time, or enough of them."""
    if len(requests) < 2:
        return False
    seconds = sum(length for length, _ in active(parts))
    span = requests[-1].time - requests[0].time
    return span > COVERED * seconds or len(requests) > SUFFICIENT


def traced_loads(requests: Sequence[TracedRequest]) -> list[Load]:
    """Return the loads that *requests* may be, the likely one first."""
    traced = list(requests[:MOST])
    followed = _followed_at_once(traced)
    if sum(followed) <= MOST_PLUGGED * len(traced):
        return _open_or_closed(traced)
    if not _is_sorted(traced, followed):
        loads = _open_or_closed(traced)
        return loads + [_plugged(load, followed) for load in loads]
    traced = _without_sleeps(traced)
    followed = _followed_at_once(traced)
    return [_plugged(load, followed, cached=True) for load in _open_or_closed(traced)]


def _open_or_closed(requests: Sequence[TracedRequest]) -> list[Load]:
    """Return *kept* as a load whose requests come at their times, or after ends; both where it is not clear."""
    loads: list[Load] = []
    share = _followed(requests)
    rate = (
        len(requests) / max(1e-9, requests[-1].time - requests[0].time)
        if len(requests) > 1
        else 0.0
    )
    chance = min(0.5, rate * FOLLOWS)
    beyond = (share - chance) / (1 - chance)
    if beyond < MOST_FOLLOW:
        start = requests[0].time
        arrivals = [
            Arrival(r.time - start, *r[1:4], thread=r.thread, background=r.background)
            for r in requests
        ]
        loads.append(Load("open", arrivals, traced=True))
    if beyond > FEW_FOLLOW:
        loads.insert(0, Load("closed", _looped(requests), depth=_in_flight(requests), traced=True))
    return loads


def _without_sleeps(requests: Sequence[TracedRequest]) -> list[TracedRequest]:
    """
    Return writes of the page cache as they would come if their thread never slept in between, in their new order.

    The thread sleeps while throttling or the bitmap holds back its writes. Then it goes on at a higher place, while
    some of its writes are in flight. Another layout holds it back at other times.
    """
    moved = []
    last: dict[int, tuple[TracedRequest, float, float]] = {}  # by thread, with when it is idle
    for request in requests:
        done = inf if request.done is None else request.done
        if request.operation != WRITE:
            last.pop(request.thread, None)
            moved.append(request)
            continue
        time = request.time
        before, busy, slept = last.get(request.thread, (None, -inf, 0.0))
        if before is None or request.offset <= before.offset or request.time > busy:
            busy, slept = done, 0.0
        else:
            gap = request.time - before.time
            slept += max(0.0, gap - USUAL_GAP)
            time -= slept
            busy = max(busy, done)
        last[request.thread] = request, busy, slept
        moved.append(request._replace(time=time))
    return sorted(moved, key=attrgetter("time"))


def _plugged(load: Load, followed: Sequence[bool], *, cached: bool = False) -> Load:
    pairs = zip(load.arrivals, followed, strict=True)
    arrivals = [arrival._replace(more=more, cached=cached) for arrival, more in pairs]
    return load._replace(arrivals=arrivals, plugged=True)


def _followed_at_once(requests: Sequence[TracedRequest]) -> list[bool]:
    """
    Whether each of *requests* is a write that its thread follows with another ``AT_ONCE``, before any of these ends.

    The kernel writes back the page cache like that, and programs that submit several requests in one call: such
    writes are under one plug. A trace does not show it. After a pause, the first one waits for md's superblocks, and
    its thread with it.
    """
    followed = [False] * len(requests)
    # By thread: its last write, the first end of those at once, and how soon the next one of these comes.
    last: dict[int, tuple[int, float, float]] = {}
    busy = -inf  # until then a write is in flight
    for place, request in enumerate(requests):
        if request.operation != WRITE:
            last.pop(request.thread, None)
            continue
        done = inf if request.done is None else request.done
        soon = inf if request.time > busy + SAFE_MODE else AT_ONCE
        before, ends, within = last.get(request.thread, (None, inf, 0.0))
        if before is not None and request.time < min(ends, requests[before].time + within):
            followed[before] = True
            ends = min(done, ends)
        else:
            ends = done
        last[request.thread] = place, ends, soon
        busy = max(busy, done)
    return followed


def _is_sorted(requests: Sequence[TracedRequest], followed: Sequence[bool]) -> bool:
    """
    Return whether the writes that are *followed* at once are in the order of their places, with gaps between them.

    The page cache is written back so (mm/page-writeback.c, write_cache_pages): then they are under a plug. A
    sequential program leaves no gaps.
    """
    before: dict[int, TracedRequest] = {}
    further: list[bool] = []
    for request, is_followed in zip(requests, followed, strict=True):
        if (last := before.pop(request.thread, None)) and request.offset != last.offset + last.size:
            further.append(request.offset > last.offset)
        if is_followed:
            before[request.thread] = request
    return len(further) > SORTED * sum(followed) and sum(further) > MOST_SORTED * len(further)


class RequestEnds:
    """When requests ended: which end another one followed, each followed once."""

    def __init__(self, requests: Iterable[TracedRequest]) -> None:
        self.times = sorted(request.done for request in requests if request.done is not None)
        self._followed = 0

    def followed(self, time: float) -> int | None:
        """Return the number of the first end within ``FOLLOWS`` before *time* that no request follows yet, if any."""
        first = max(self._followed, bisect_left(self.times, time - FOLLOWS))
        if first >= len(self.times) or self.times[first] > time:
            return None
        self._followed = first + 1
        return self._followed

    def before(self, time: float) -> int:
        """Return the number of ends up to *time*."""
        return bisect_right(self.times, time)


def _followed(requests: Sequence[TracedRequest]) -> float:
    """Return the share of requests that began when another one ended."""
    ends = RequestEnds(requests)
    return sum(ends.followed(request.time) is not None for request in requests) / max(
        1, len(requests)
    )


def _looped(requests: Sequence[TracedRequest]) -> list[Arrival]:
    """
    Return the requests of loops: each comes after as many ends of its thread as it did, and as long after that.

    A program that pauses waited for all that ended. What was in flight before the trace began is not in it: until
    one of its own ends, a thread's come at their time.
    """
    by_thread: defaultdict[int, list[TracedRequest]] = defaultdict(list)
    for request in requests:
        by_thread[request.thread].append(request)
    ends = {thread: RequestEnds(sent) for thread, sent in by_thread.items()}
    arrivals = []
    for request in requests:
        ends_of_thread = ends[request.thread]
        after = ends_of_thread.followed(request.time) or ends_of_thread.before(request.time)
        last = ends_of_thread.times[after - 1] if after else requests[0].time
        wait = request.time - last
        arrivals.append(Arrival(wait, *request[1:4], after, request.thread, request.background))
    return arrivals


def _in_flight(requests: Sequence[TracedRequest]) -> float:
    """Return the mean number of requests in flight."""
    known = [request.done - request.time for request in requests if request.done is not None]
    span = requests[-1].time - requests[0].time
    return sum(known) / span if span and known else 0.0


def busiest(parts: Sequence[Measured]) -> list[Measured]:
    """Return the intervals in which most requests were, without pauses."""
    total = sum((part.seconds or 1.0) * part.requests for part in parts)
    usual = (
        sum((part.seconds or 1.0) * part.requests**2 for part in parts) / total if total else 0.0
    )
    return [part for part in parts if part.requests > IDLE * usual]


def active(parts: Sequence[Measured]) -> Intervals:
    """Return seconds and requests per second of the busiest of *parts*."""
    return tuple((part.seconds or 1.0, part.requests) for part in busiest(parts))


def most_in_flight(requests: Sequence[TracedRequest]) -> int:
    """Return the most of *requests* in flight at once, except at a few instants."""
    known = [(request.time, request.done) for request in requests if request.done is not None]
    ends = sorted(end for _, end in known)
    depths = sorted(
        begun - bisect_right(ends, time) for begun, (time, _) in enumerate(known, start=1)
    )
    return depths[int(0.98 * (len(depths) - 1))] if depths else 0


def pace_of(requests: Sequence[TracedRequest], copies: int = 1) -> float:
    """
    Return the seconds that md's thread takes for a page of a row, by how fast a thread submits *requests* here.

    The CPU that is slow with one is slow with the other: what comes meanwhile is in one batch. A thread that writes
    *copies* submits each of them.
    """
    last: dict[int, TracedRequest] = {}
    gaps = []
    for request in requests:
        before = last.get(request.thread)
        if before is not None and request.time - before.time < AT_ONCE:
            pages = FIXED + before.size / PAGE
            gaps.append(
                (request.time - before.time) / pages / (copies if before.operation == WRITE else 1)
            )
        last[request.thread] = request
    if len(gaps) < FEW_GAPS:
        return PACE
    return min(SLOWEST, max(PACE, PER_GAP * sorted(gaps)[len(gaps) // 10]))


def pauses_after_ends(requests: Sequence[TracedRequest]) -> bool:
    """Whether the program of *requests* pauses equally long after ends: a faster layout has no longer pauses."""
    pauses = []
    last = inf
    for request in requests:
        if request.time - last >= PAUSE:
            pauses.append(request.time - last)
        if request.done is not None:
            last = request.done if last == inf else max(last, request.done)
    pauses.sort()
    if len(pauses) < FEW_PAUSES:
        return False
    low, middle, high = (pauses[len(pauses) * tenths // 10] for tenths in (1, 5, 9))
    return high - low <= ALIKE * middle


def grown(load: Load, factor: float) -> Load:
    """Return *load* with *factor* times as many requests per second; a loop with as many times its depth."""
    if load.kind == "open":
        return load._replace(arrivals=[a._replace(delay=a.delay / factor) for a in load.arrivals])
    depth = max(1, round(max(1.0, load.depth) * factor))
    return saturating(load, depth)


def saturating(load: Load, depth: int) -> Load:
    """Return the requests of *load* as a loop of *depth*, shared by its threads as the first requests are."""
    depths = Counter(arrival.thread for arrival in load.arrivals[:depth])
    sent: Counter[int] = Counter()
    arrivals = []
    for arrival in load.arrivals:
        sent[arrival.thread] += 1
        after = max(0, sent[arrival.thread] - max(1, depths[arrival.thread]))
        arrivals.append(arrival._replace(delay=THINK, after=after, more=False))
    return load._replace(kind="closed", arrivals=arrivals, depth=depth)
