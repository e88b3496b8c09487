"""``top`` on a recording: keys bring the next interval, the previous one, or that of a time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from stackmap.cli.record import samples
from stackmap.errors import StackmapError
from stackmap.features.top.follow import PARTS, RecordedIntervals
from stackmap.features.top.screen import TimeLine
from stackmap.features.top.watcher import Watcher
from stackmap.features.top.watching import KEPT, check_names, suggestion
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.host.timeline import TimeWindow
from stackmap.model.load import total_of

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.features.top.state import Request
    from stackmap.features.top.terminal import Terminal
    from stackmap.sampling.snapshots import TopologyInterval

SLOWEST = 1.0  # seconds per interval of a recording that is played


def on_recording(session: Session, terminal: Terminal, names: Sequence[str]) -> None:
    """Show a recording until the user quits; it begins with its first interval."""
    host = session.capture
    source = RecordedIntervals(host)
    overview = source.overview()
    found = list(source.from_start())
    check_names(session, found[0][0], names)
    player = Player(source, Watcher(terminal, host, names, live=False), overview)
    with terminal():
        player.go(found)
        while True:
            key = terminal.key(player.left())
            request = None if key is None else player.watcher.press(key)
            if key is None:
                player.go_on(source.after())
            elif request is not None and request.what == "quit":
                return
            elif request is not None:
                player.serve(request)


class Player:
    """Moves *watcher* through the intervals of *source*; *overview*: all of it in few intervals."""

    def __init__(
        self, source: RecordedIntervals, watcher: Watcher, overview: Iterable[TopologyInterval]
    ) -> None:
        self.watcher = watcher
        self._source = source
        self._timeline = _timeline(source, overview)
        self._due = 0.0  # when the next interval is shown, if it is played

    def left(self) -> float | None:
        """Return the seconds until the next interval; None if it is not played."""
        return max(0.0, self._due - time.monotonic()) if self.watcher.state.playing else None

    def go(self, found: Iterable[TopologyInterval]) -> None:
        """Show the last interval of *found*; the others are its history."""
        intervals = list(found)
        if not intervals:
            self.watcher.say("there is no other interval")
            return
        self.watcher.forget_all()
        for each in intervals[:-1]:
            self.watcher.remember(*each)
        self._take(intervals[-1])

    def go_on(self, found: Iterable[TopologyInterval]) -> None:
        """Show the first interval of *found*, which follows the present one; without one, the recording has ended."""
        following = next(iter(found), None)
        if following is None:
            self.watcher.stop_playing()
            self.watcher.say("end of the recording")
            return
        self._take(following)

    def serve(self, request: Request) -> None:
        """Do what a key asked for."""
        try:
            if request.what == "step" and request.value == "1":
                self.go_on(self._source.after())
            elif request.what == "step":
                self.go(self._source.before())
            elif request.what == "jump":
                self.go(self._source.at(request.value))
            elif request.what == "write":
                self._write(request.value)
        except click.UsageError as error:
            self.watcher.say(error.message)
        except (StackmapError, OSError) as error:
            self.watcher.say(str(error))

    def _take(self, found: TopologyInterval) -> None:
        topology, interval = found
        now = interval.time or 0.0
        self._due = time.monotonic() + min(SLOWEST, interval.seconds or SLOWEST)
        self.watcher.timeline = self._timeline._replace(time=now)
        self.watcher.suggestion = suggestion(topology.machine.host, now)
        self.watcher.take(topology, interval)

    def _write(self, path: str) -> None:
        """Record the five minutes before the present interval, as ``record`` does."""
        now = 0.0 if self.watcher.timeline is None else self.watcher.timeline.time
        source = CapturedHost(self._source.host.path)
        source.select(TimeWindow(now - KEPT, now))
        with RecordingHost(source, path) as host:
            for _ in samples(host, 1.0, None):
                pass
        self.watcher.say(f"written: {path}")


def _timeline(source: RecordedIntervals, overview: Iterable[TopologyInterval]) -> TimeLine:
    """Return the requests per second at all disks over the recording, and where devices changed."""
    begin, end = source.span
    loads: list[float | None] = [None] * PARTS
    events = set()
    part = (end - begin) / PARTS or 1.0
    for topology, interval in overview:
        last = (interval.time or begin) - begin
        places = range(int((last - (interval.seconds or 0.0)) / part), int(last / part))
        disks = (d.name for d in topology if not topology.below(d.name))
        known = (interval.loads[name].total.ios for name in disks if name in interval.loads)
        value = total_of(known)
        for place in places:
            if 0 <= place < PARTS:
                loads[place] = value
        if interval.events:
            events.add(min(PARTS - 1, int(last / part)))
    return TimeLine(begin, end, loads, frozenset(events), begin)
