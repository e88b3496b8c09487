"""``top`` on this machine: the clock brings the next interval, and keys are answered until then."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from stackmap.cli.options import split_words
from stackmap.cli.session import tell_unknown
from stackmap.discover.find import find_all
from stackmap.errors import StackmapError
from stackmap.features.top.follow import LiveIntervals
from stackmap.features.top.watcher import Watcher
from stackmap.host.live import LiveHost
from stackmap.host.recent import RecentFiles
from stackmap.host.recording import RecordingHost
from stackmap.host.retention import Limits
from stackmap.render.text import safe

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.features.top.state import Request
    from stackmap.features.top.terminal import Terminal
    from stackmap.model.topology import Topology

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
    keys = _Keys(terminal, memory)
    with RecordingHost(LiveHost(keys.wait), memory, LIMITS) as host:
        source = LiveIntervals(host)
        check_names(session, source.topology, names)
        watcher = keys.watcher = Watcher(terminal, host, names, live=True)
        length = min(1.0, seconds)  # of the first one, to show it soon
        gc.freeze()  # thousands of devices are no garbage: do not look at them in each interval
        with terminal():
            while True:
                watcher.begin(seconds)
                try:
                    for each in source.intervals(length):
                        watcher.take(*each)
                        if length != seconds:
                            break
                except _NewInterval as new:
                    seconds = new.seconds
                except _Quit:
                    return
                length = seconds


class _Keys:
    """Answers keys while the machine waits for its next sample."""

    def __init__(self, terminal: Terminal, memory: RecentFiles) -> None:
        self.watcher: Watcher | None = None
        self._terminal, self._memory = terminal, memory

    def wait(self, seconds: float) -> None:
        """Answer keys for *seconds*; ``_Quit`` or ``_NewInterval`` if one asks for that."""
        end = time.monotonic() + seconds
        while (key := self._terminal.key(max(0.0, end - time.monotonic()))) is not None:
            if self.watcher is not None:
                self.watcher.suggestion = suggestion(self.watcher.host)
                _serve(self.watcher, self.watcher.press(key), self._memory)


def _serve(watcher: Watcher, request: Request | None, memory: RecentFiles) -> None:
    """Do what a key asked for on this machine."""
    if request is None:
        return
    if request.what == "quit":
        raise _Quit
    try:
        if request.what == "interval":
            raise _NewInterval(_interval(request.value))
        memory.save(request.value)
        watcher.say(f"written: {request.value}")
    except click.UsageError as error:
        watcher.say(error.message)
    except (StackmapError, OSError) as error:
        watcher.say(f"not written: {error}")


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
