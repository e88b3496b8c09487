"""
The program behind the screen of ``top``: intervals and keys in, lines and requests out.

On this machine the clock brings the next interval, and keys are answered until then. On a recording, keys bring
the next interval, the previous one, or that of a time.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from stackmap.cli.options import split_words
from stackmap.cli.session import Session, tell_unknown
from stackmap.discover.find import find_all, find_existing
from stackmap.errors import StackmapError
from stackmap.features.top.cells import Span
from stackmap.features.top.follow import PARTS, LiveIntervals, RecordedIntervals
from stackmap.features.top.incidents import Incidents
from stackmap.features.top.judge import Judge
from stackmap.features.top.moment import Event, GroupLoad, Moment, RecentLoad, Scope
from stackmap.features.top.rows import rows_of
from stackmap.features.top.screen import pane_lines, screen
from stackmap.features.top.state import VIEWS, Request, Row, Screen, State, pressed, scrolled
from stackmap.features.top.tables import Look, TimeLine
from stackmap.host.capture import CapturedHost
from stackmap.host.live import LiveHost
from stackmap.host.recording import RecordingHost
from stackmap.host.segments import Limits, RecentFiles
from stackmap.host.timeline import TimeWindow
from stackmap.model.cgroup_io import CgroupSample, ProcessIo, cgroup_loads
from stackmap.model.load import total_of
from stackmap.render.text import safe
from stackmap.sources import cgroup, process_io
from stackmap.sources.cgroup import group_of_owner, owner

if TYPE_CHECKING:
    from stackmap.features.top.terminal import Terminal
    from stackmap.host import Host
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval

SHARE = 0.0025  # of a processor that judging may take, and
SHARE_SHOWN = 0.02  # while findings are shown
MAX_EVENTS = 500
MEASURING = "stackmap top: measuring the first interval; q quits"


class Watcher:
    """
    What is remembered from interval to interval, and the screen of the newest one.

    *names*: the NAMEs; *host* answers what no interval has. *live*: findings are judged only as
    often as is cheap.
    """

    def __init__(self, display: Terminal, host: Host, names: Sequence[str], *, live: bool) -> None:
        self.state = State()
        self.moment: Moment | None = None
        self.timeline: TimeLine | None = None
        self.suggestion = ""  # for the name of a capture
        self.seconds: float | None = None
        self._display, self._host, self._names, self._live = display, host, names, live
        self._rows: list[Row] = []
        self._scope: Scope | None = None
        self._newest: Moment | None = None
        self.forget_all()

    def forget_all(self) -> None:
        """Begin anew: the next interval does not follow the last one."""
        self._recent = RecentLoad()
        self._judge = Judge(self._host if self._live else None)
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._incidents = Incidents()
        self._topology: Topology | None = None
        self._groups: CgroupSample | None = None
        self._processes: Mapping[str, tuple[int, int]] | None = None

    def begin(self, seconds: float) -> None:
        """Show intervals of *seconds* from now on; the next one need not begin where the last one ended."""
        self.seconds, self._groups, self._processes = seconds, None, None
        self.show()

    def remember(self, topology: Topology, interval: Interval) -> Moment:
        """Take the next interval, and return its figures; they are not shown."""
        if topology is not self._topology:
            self._change_topology(topology)
        if self._scope is None or not self._scope.fits(topology, interval.loads):
            chosen = find_existing(topology, self._names)
            part = topology if chosen or not self._names else topology.subset(())
            self._scope = Scope(part, interval.loads, chosen)
        self._events += (Event(interval.time, text) for text in interval.events)
        moment = Moment(self._scope, self._scope.corrected(interval), recent=self._recent)
        self._recent.add(moment.interval)
        self._judge.take(interval, moment.interval)
        self._incidents.take(topology, moment.interval)
        return moment

    def take(self, topology: Topology, interval: Interval) -> None:
        """Take the next interval, and show it."""
        self._newest = moment = self.remember(topology, interval)
        shown = VIEWS[self.state.view] == "findings"
        self._judge.run_for(SHARE_SHOWN if shown else SHARE, moment.scope)
        moment.findings, moment.verdict = self._judge.findings, self._judge.verdict
        moment.stalled = self._judge.stalled
        moment.groups = self._group_loads(topology, interval)
        moment.processes = self._process_loads(interval)
        moment.events = tuple(
            sorted((*self._events, *self._incidents.events), key=lambda event: event.time or 0.0)
        )
        moment.past = self._incidents.intervals
        if not self.state.paused:
            self.moment = self._newest
        self.show()

    def show(self) -> None:
        """Draw the screen."""
        look = self._look()
        if self.moment is None:
            self._display.draw([[Span(MEASURING)]])
            return
        self._rows = rows_of(self.moment, self.state)
        self.state = scrolled(self.state, self._rows, look.page)
        self._display.draw(screen(self.moment, self.state, self._rows, look))

    def press(self, key: str) -> Request | None:
        """Take a key, draw, and return what is to be done."""
        if self.moment is None:
            return Request("quit") if key in ("q", "ctrl-c") else None
        look = self._look()
        lines = len(pane_lines(self.moment, self.state, self._rows, look)) if self.state.pane else 0
        shown = Screen(self._rows, look.page, lines, not self._live)
        self.state, request = pressed(self.state, key, shown, self.suggestion)
        if not self.state.paused:
            self.moment = self._newest
        self.show()
        return request

    @contextmanager
    def refusals(self, what: str = "") -> Iterator[None]:
        """Show in the last line why what a key asked for is refused, *what* before an error."""
        try:
            yield
        except click.UsageError as error:
            self.say(error.message)
        except (StackmapError, OSError) as error:
            self.say(f"{what}{error}")

    def say(self, message: str) -> None:
        """Show *message* in the last line."""
        self.state = replace(self.state, message=message)
        self.show()

    @property
    def host(self) -> str:
        """The name of the machine, "" while it is unknown."""
        return "" if self._topology is None else self._topology.machine.host

    def _look(self) -> Look:
        width, height = self._display.size
        display = self._display
        return Look(width, height, display.ascii_only, self.seconds, self.timeline, display.point)

    def _change_topology(self, topology: Topology) -> None:
        """Forget what is known of devices that were replaced or went away."""
        before, self._topology = self._topology, topology
        if before is None:
            return
        gone = {
            name
            for name, device in before.devices.items()
            if name not in topology or topology[name].identity != device.identity
        }
        self._recent.forget(gone)
        self._judge.forget(gone)
        self._incidents.forget(gone)

    def _process_loads(self, interval: Interval) -> list[ProcessIo]:
        """Return the processes with most I/O; none while they are not shown, or of a recording."""
        if VIEWS[self.state.view] != "services" or not self._live:
            self._processes = None
            return []
        host = LiveHost()  # not the recording one: a capture has no processes
        before, self._processes = self._processes, process_io.read(host)
        seconds = interval.seconds or 1.0
        return process_io.loads(host, before or {}, self._processes, seconds)

    def _group_loads(self, topology: Topology, interval: Interval) -> list[GroupLoad] | None:
        """Return the load of each control group; None while they are not shown, for reading them costs."""
        if VIEWS[self.state.view] != "services":
            self._groups = None
            return None
        before, self._groups = self._groups, cgroup.read(self._host)
        if before is None:
            return None
        seconds = interval.seconds or 1.0
        loads = {(g.group, g.number): g for g in cgroup_loads(before, self._groups, seconds)}
        devices = {device.number: device.name for device in topology}
        by_group: dict[tuple[str, str], GroupLoad] = {}
        for name, number in self._groups:
            if number not in devices:
                continue
            group, load = group_of_owner(name), loads.get((name, number))
            who = owner(group) or ("group", group)
            whole = by_group.get((group, number), GroupLoad(group, *who, devices[number], 0.0, 0.0))
            by_group[group, number] = whole if load is None else whole.plus(load)
        return sorted(by_group.values(), key=lambda group_load: -group_load.ios)


KEPT = 300.0  # seconds that W writes
LIMITS = Limits(age=KEPT, segment=60.0)  # older samples go in steps of a minute
LEAST = 0.1  # seconds of an interval


class _Quit(Exception):
    pass


class _NewInterval(Exception):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


def on_machine(session: Session, terminal: Terminal, names: Sequence[str], seconds: float) -> None:
    """Show this machine until the user quits."""
    _check_interval(seconds)
    memory = RecentFiles()
    watcher: Watcher | None = None

    def wait(length: float) -> None:
        """Answer keys for *length* seconds, while the machine waits for its next sample."""
        end = time.monotonic() + length
        while (key := terminal.key(max(0.0, end - time.monotonic()))) is not None:
            if watcher is not None:
                watcher.suggestion = suggestion(watcher.host)
                _serve(watcher, watcher.press(key), memory)

    with RecordingHost(LiveHost(wait), memory, LIMITS) as host:
        source = LiveIntervals(host)
        check_names(session, source.topology, names)
        watcher = Watcher(terminal, host, names, live=True)
        length = min(1.0, seconds)  # of the first one, to show it soon
        gc.freeze()  # thousands of devices live until the end: do not scan them for garbage
        with terminal():
            while True:
                watcher.begin(seconds)
                try:
                    for pair in source.intervals(length):
                        watcher.take(*pair)
                        if length != seconds:
                            break
                except _NewInterval as new:
                    seconds = new.seconds
                except _Quit:
                    return
                length = seconds


def _serve(watcher: Watcher, request: Request | None, memory: RecentFiles) -> None:
    """Do what a key asked for on this machine; ``_Quit`` or ``_NewInterval`` ends its interval."""
    if request is None:
        return
    if request.what == "quit":
        raise _Quit
    with watcher.refusals("not written: "):
        if request.what == "interval":
            raise _NewInterval(_interval(request.value))
        memory.save(request.value)
        watcher.say(f"written: {request.value}")


def _interval(text: str) -> float:
    """Return the seconds that were typed; ``UsageError`` if they are no INTERVAL."""
    _, seconds, count = split_words((text,))
    if seconds is None or count is not None:
        raise click.UsageError(f"INTERVAL is a number of seconds, not {text}")
    return _check_interval(seconds)


def _check_interval(seconds: float) -> float:
    if seconds < LEAST:
        raise click.UsageError(f"INTERVAL of top is at least {LEAST:g} seconds, not {seconds:g}")
    return seconds


def check_names(session: Session, topology: Topology, names: Sequence[str]) -> None:
    """Say which of *names* are not there; ``NameNotFound`` if none is."""
    find_all(topology, names)
    session.tell_missing(topology, names)
    tell_unknown(topology)


def suggestion(host: str, at: float | None = None) -> str:
    """Return a name for a capture: the host and the time."""
    moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    return f"{safe(host or 'host').replace('/', '_')}-{moment:%Y%m%dT%H%M%SZ}"


SLOWEST = 1.0  # seconds per interval of a recording that is played


def on_recording(session: Session, terminal: Terminal, names: Sequence[str]) -> None:
    """Show a recording until the user quits; it begins with its first interval."""
    host = session.capture
    source = RecordedIntervals(host)
    overview = source.overview()
    intervals = list(source.from_start())
    check_names(session, intervals[0][0], names)
    player = Player(source, Watcher(terminal, host, names, live=False), overview)
    with terminal():
        player.show_last(intervals)
        while True:
            key = terminal.key(player.seconds_left())
            request = None if key is None else player.watcher.press(key)
            if key is None:
                player.show_next(source.after())
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

    def seconds_left(self) -> float | None:
        """Return the seconds until the next interval; None if it is not played."""
        return max(0.0, self._due - time.monotonic()) if self.watcher.state.playing else None

    def show_last(self, intervals: Iterable[TopologyInterval]) -> None:
        """Show the last one of *intervals*; the others are its history."""
        history = list(intervals)
        if not history:
            self.watcher.say("there is no other interval")
            return
        newest = history.pop()
        self.watcher.forget_all()
        for topology, interval in history:
            self.watcher.remember(topology, interval)
        self._take(*newest)

    def show_next(self, intervals: Iterable[TopologyInterval]) -> None:
        """Show the first interval of *intervals*, which follows the present one; without one, the recording has ended."""
        following = next(iter(intervals), None)
        if following is None:
            self.watcher.state = replace(self.watcher.state, playing=False)
            self.watcher.say("end of the recording")
            return
        self._take(*following)

    def serve(self, request: Request) -> None:
        """Do what a key asked for."""
        with self.watcher.refusals():
            if request.what == "jump":
                self.show_last(self._source.at(request.value))
            elif request.what == "write":
                self._write(request.value)
            elif request.value == "1":
                self.show_next(self._source.after())
            else:
                self.show_last(self._source.before())

    def _take(self, topology: Topology, interval: Interval) -> None:
        now = interval.time or 0.0
        self._due = time.monotonic() + min(SLOWEST, interval.seconds or SLOWEST)
        self.watcher.timeline = self._timeline._replace(time=now)
        self.watcher.suggestion = suggestion(topology.machine.host, now)
        self.watcher.take(topology, interval)

    def _write(self, path: str) -> None:
        """Record the five minutes before the present interval, as ``record`` does."""
        now = 0.0 if self.watcher.timeline is None else self.watcher.timeline.time
        from stackmap.cli.record import samples

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
