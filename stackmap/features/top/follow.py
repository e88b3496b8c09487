"""The intervals of this machine or of a recording, one at a time, for a screen that is watched."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from stackmap.discover import discover
from stackmap.discover.rediscovery import Rediscovery
from stackmap.errors import NoInterval, UsageError
from stackmap.host.timeline import TimeWindow
from stackmap.measurement.capture_part import WHOLE, CapturePart, instant
from stackmap.measurement.machines import listen
from stackmap.sampling import NEED_TWO
from stackmap.sampling.snapshots import Snapshot, TopologyInterval, interval_between
from stackmap.sampling.watch import Watch

if TYPE_CHECKING:
    from stackmap.host.capture import CapturedHost
    from stackmap.host.recording import RecordingHost

BEFORE = 150.0  # seconds of a recording that are read before the interval to show, for what is remembered
PARTS = 240  # of a recording's overview

_discover = partial(discover, geometry=True)


class LiveIntervals:
    """Intervals of this machine; *host* records what they are made of. A survey in progress delays none."""

    def __init__(self, host: "RecordingHost") -> None:
        self.host = host
        listen(host)
        again = Rediscovery(geometry=True)
        self.topology = again.whole(host)
        self._watch = Watch(host, self.topology, again.whole, update=again.update)

    def intervals(self, seconds: float) -> Iterator[TopologyInterval]:
        """Yield intervals of *seconds* from now on, without end."""
        before: Snapshot | None = None
        for time in self.host.ticks(seconds, None):
            now = self._watch.snapshot(time)
            interval = None if before is None else interval_between(before, now)
            if interval is not None and (interval.events or now.events):
                self.host.mark()
            self.host.set_outdated(self._watch.is_behind)
            topology, before = (before or now).topology, now
            if interval is not None:
                yield topology, interval


class RecordedIntervals:
    """
    The intervals of a capture, or of a *part* of it, forwards and backwards.

    ``InputError`` or ``NoInterval`` if it has none. ``span``: the instants of its first and last sample.
    """

    def __init__(self, host: "CapturedHost", part: CapturePart = WHOLE) -> None:
        part.show(host)
        self.host, self._window = host, host.window
        begin, end = host.span() or (0.0, 0.0)
        since, until = self._window.since, self._window.until
        self.span = (
            begin if since is None else max(begin, since),
            end if until is None else min(end, until),
        )
        self._spacing = self._window.every or host.spacing() or 1.0
        self._stream: Iterator[TopologyInterval] = iter(())
        self._ends: list[float] = []  # of the intervals since the stream was opened

    def from_start(self) -> Iterator[TopologyInterval]:
        """Yield the first interval."""
        return self._until(self.span[0])

    def after(self) -> Iterator[TopologyInterval]:
        """Yield the next interval; nothing after the last one."""
        for pair in self._stream:
            self._ends.append(pair[1].time or 0.0)
            yield pair
            return

    def before(self) -> Iterator[TopologyInterval]:
        """Yield the intervals up to the previous one; nothing before the first one."""
        now = self._ends[-1]
        target = next((end for end in reversed(self._ends) if end < now), None)
        if target is not None:
            return self._until(target)
        # The stream was opened at this interval: the one before it ends at this one's begin.
        earlier = now - self._spacing
        return iter(()) if earlier < self.span[0] + self._spacing / 2 else self._until(earlier)

    def at(self, text: str) -> Iterator[TopologyInterval]:
        """
        Yield the intervals up to the time *text*; ``UsageError`` if that is no time.

        Of the times of day before and after the present interval, the nearest one in the recording is meant.
        """
        near = self._ends[-1] if self._ends else self.span[0]
        times = {instant(text, self.span, near, later=later) for later in (False, True)}
        begin, end = self.span
        inside = [time for time in times if len(times) == 1 or begin - self._spacing <= time <= end]
        if not inside:
            raise UsageError(f"{text} is not in this recording")
        return self._until(min(inside, key=lambda time: abs(time - near)))

    def overview(self) -> list[TopologyInterval]:
        """Return the whole recording in at most about ``PARTS`` intervals."""
        begin, end = self.span
        every = max((end - begin) / PARTS, self._window.every or 0.0)
        step = every if every > self._spacing else self._window.every
        return list(self._opened(TimeWindow(self._window.since, self._window.until, step)))

    def _until(self, time: float) -> Iterator[TopologyInterval]:
        """Yield some intervals before the one that ends at *time* or contains it, and that one."""
        begin, end = self.span
        time = min(max(time, begin), end)
        before = max(BEFORE, 2 * self._spacing)
        since = max(begin, time - before)
        self._stream = self._opened(TimeWindow(since, self._window.until, self._window.every))
        self._ends = []
        for pair in self._stream:
            self._ends.append(pair[1].time or 0.0)
            yield pair
            if self._ends[-1] >= time - 1e-6:
                return
        if not self._ends:
            raise NoInterval(f"{self.host.path}: {NEED_TWO}; run `stackmap iostat -l --since-boot`")

    def _opened(self, window: TimeWindow) -> Iterator[TopologyInterval]:
        self.host.select(window)
        watch = Watch(self.host, _discover(self.host), _discover, replayed=self.host.version)
        return watch.intervals(1.0, None)
