"""The program behind the screen of ``top``: intervals and keys in, lines and requests out."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stackmap.discover.find import find_existing
from stackmap.features.top.judge import Judge
from stackmap.features.top.moment import Moment, Scope
from stackmap.features.top.recent_load import RecentLoad
from stackmap.features.top.row import Event, GroupLoad, Row
from stackmap.features.top.rows import rows_of
from stackmap.features.top.screen import Look, TimeLine, pane_lines, screen
from stackmap.features.top.screen_cells import Span
from stackmap.features.top.state import (
    VIEWS,
    Request,
    Screen,
    State,
    pressed,
    scrolled,
)
from stackmap.model.cgroup_io import CgroupSample, cgroup_loads
from stackmap.sources import cgroup
from stackmap.sources.cgroup_names import group_of_owner, owner

if TYPE_CHECKING:
    from stackmap.features.top.terminal import Terminal
    from stackmap.host import Host
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

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
        self._topology: Topology | None = None
        self._groups: CgroupSample | None = None

    def begin(self, seconds: float) -> None:
        """Show intervals of *seconds* from now on; the next one need not begin where the last one ended."""
        self.seconds, self._groups = seconds, None
        self.show()

    def remember(self, topology: Topology, interval: Interval) -> Moment:
        """Take the next interval, and return its figures; they are not shown."""
        if topology is not self._topology:
            self._change_topology(topology)
        if self._scope is None or not self._scope.fits(topology, interval.loads):
            chosen = find_existing(topology, self._names)
            part = topology if chosen or not self._names else topology.subset(())
            self._scope = Scope(part, interval.loads, chosen)
        self._events += (Event(interval.time, each) for each in interval.events)
        moment = Moment(self._scope, self._scope.corrected(interval), recent=self._recent)
        self._recent.add(moment.interval)
        self._judge.take(interval, moment.interval)
        return moment

    def take(self, topology: Topology, interval: Interval) -> None:
        """Take the next interval, and show it."""
        self._newest = moment = self.remember(topology, interval)
        shown = VIEWS[self.state.view] == "findings"
        self._judge.go_on(moment.scope, SHARE_SHOWN if shown else SHARE)
        moment.findings, moment.verdict = self._judge.findings, self._judge.verdict
        moment.groups = self._group_loads(topology, interval)
        moment.events = tuple(self._events)
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

    def say(self, message: str) -> None:
        """Show *message* in the last line."""
        self.state = replace(self.state, message=message)
        self.show()

    @property
    def host(self) -> str:
        """The name of the machine, "" while it is unknown."""
        return "" if self._topology is None else self._topology.machine.host

    def stop_playing(self) -> None:
        """Stop, at the end of a recording."""
        self.state = replace(self.state, playing=False)

    def _look(self) -> Look:
        width, height = self._display.size
        return Look(width, height, self._display.ascii_only, self.seconds, self.timeline)

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

    def _group_loads(self, topology: Topology, interval: Interval) -> list[GroupLoad] | None:
        """Return what control groups sent; None while they are not shown, for reading them costs."""
        if VIEWS[self.state.view] != "services":
            self._groups = None
            return None
        before, self._groups = self._groups, cgroup.read(self._host)
        if before is None:
            return None
        seconds = interval.seconds or 1.0
        loads = {(g.group, g.number): g for g in cgroup_loads(before, self._groups, seconds)}
        devices = {device.number: device.name for device in topology}
        found: dict[tuple[str, str], GroupLoad] = {}
        for name, number in self._groups:
            if number not in devices:
                continue
            group, load = group_of_owner(name), loads.get((name, number))
            who = owner(group) or ("group", group)
            whole = found.get((group, number), GroupLoad(group, *who, devices[number], 0.0, 0.0))
            found[group, number] = whole if load is None else whole.plus(load)
        return sorted(found.values(), key=lambda each: -each.ios)
