"""
The frames of a capture and the answers in them, within a time window.

Two forms: the log (format 2), and ``frames/N/`` with one file per answer (format 1
and trees made by hand). Both move forwards only.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from math import inf
from typing import NamedTuple

from stackmap.errors import SourceMissing
from stackmap.host.budget import LOOK_LINES, Budget
from stackmap.host.capture_format import Refusal, recorded_text
from stackmap.host.file_tree import FileTree

MAX_LATENESS = 0.2  # seconds that a sample may be late; a tenth of ``every`` if that is less
SKIPPED = "jumped"  # ACTION of an event: frames were skipped, and their events are unknown


class TimeWindow(NamedTuple):
    """Frames from ``since`` to ``until``, both included, one per ``every`` seconds; None: no bound."""

    since: float | None = None
    until: float | None = None
    every: float | None = None

    def holds(self, time: float) -> bool:
        """Whether *time* is in the window."""
        return (self.since is None or time >= self.since) and not self.ended_before(time)

    def ended_before(self, time: float) -> bool:
        """Whether the window ends before *time*."""
        return self.until is not None and time > self.until


WHOLE_RECORDING = TimeWindow()


class FrameSchedule:
    """
    Which frames of a window are due, going forwards.

    ``due``: the earliest instant of the next one. ``first``: the instant of the
    first one, None before it.
    """

    def __init__(self, window: TimeWindow) -> None:
        self._window = window
        self.due = -inf if window.since is None else window.since
        self.first: float | None = None

    def is_over(self, time: float) -> bool:
        """Whether the window ends before *time*."""
        return self._window.ended_before(time)

    def accepts(self, time: float) -> bool:
        """Whether the frame at *time* is due; if so, advance to the next one."""
        if time < self.due:
            return False
        if self.first is None:
            self.first = time
        self.due = time
        if every := self._window.every:
            period = _period(time, self.first, every)
            self.due = self.first + (period + 1) * every - _max_lateness(every)
        return True


Warn = Callable[[str], None]
FrameTime = tuple[float, int]  # the instant of a frame, and how many intervals it ends


class NumberedFrames:
    """``frames/N/``: the later answers of frame N as files."""

    def __init__(self, tree: FileTree, times: list[float], budget: Budget) -> None:
        self._tree = tree
        self._budget = budget
        self._times = times
        self._frame = 0
        # By path: the newest answer, and the frame up to which it was looked for.
        self._known: dict[str, tuple[int, str | None]] = {}

    def span(self) -> tuple[float, float] | None:
        """Return the first and the last instant."""
        return (self._times[0], self._times[-1]) if self._times else None

    def spacing(self) -> float | None:
        """Return the seconds between the first two instants."""
        return first_spacing(self._times)

    def last_interval(self, window: TimeWindow) -> TimeWindow | None:
        """Return the window of the last interval in *window*."""
        times = list(filter(window.holds, self._times))
        return last_interval([times], window.every, times[0] if times else 0.0)

    def frames(self, window: TimeWindow, *, sparse: bool = False) -> Iterator[FrameTime]:
        """Move through the window; *sparse*: also yield the frames that are not due, with 0, as any may matter."""
        self._frame, self._known = 0, {}
        pace = FrameSchedule(window)
        for frame, time in enumerate(self._times or [0.0]):
            if pace.is_over(time):
                return
            if pace.accepts(time):
                self._frame = frame
                yield time, 1
            elif sparse and pace.first is not None:
                self._frame = frame
                yield time, 0

    def answer(self, question: str, path: str | None) -> str | Refusal | None:  # noqa: ARG002 - files are known by their path
        """Return the newest answer up to this frame."""
        if path is None:
            return None
        seen, answer = self._known.get(path, (0, None))
        for frame in range(self._frame, seen, -1):
            try:
                content = self._tree.read(f"/frames/{frame}{path}")
            except SourceMissing:
                self._budget.replay(LOOK_LINES)
                continue
            self._budget.replay_of(content)
            answer = recorded_text(content, path)
            break
        self._known[path] = self._frame, answer
        return answer

    def changed(self) -> set[str] | None:
        """Return None: any answer may have changed."""
        return None

    def version(self) -> None:
        """Return None: any answer may have changed."""

    def transient(self, question: str) -> list[str]:  # noqa: ARG002 - the log's alone
        """Return nothing: this format has no transient answers."""
        return []


def _max_lateness(every: float) -> float:
    return min(MAX_LATENESS, every / 10)


def _period(time: float, first: float, every: float) -> float:
    """Return the number of the *every*-second period since *first* that holds *time*."""
    return (time - first + _max_lateness(every)) // every


def last_interval(
    parts: Iterable[list[float]], every: float | None, first: float
) -> TimeWindow | None:
    """
    Return the window of the last interval, None without one.

    *parts*: the instants in a window, in parts, the last part first; only as many
    are read as needed. *every*: as in ``TimeWindow``, counted from *first*.
    """
    taken: dict[float, float] = {}
    known: list[float] = []
    for part in parts:
        known = [*part, *known]
        taken = {_period(t, first, every) if every else t: t for t in reversed(known)}
        if len(taken) > 2:  # the earliest period may have begun in an earlier part
            break
    if len(taken) < 2:
        return None
    end, begin, *_ = taken.values()
    return TimeWindow(begin, end, end - begin if every else None)


def first_spacing(times: list[float]) -> float | None:
    """Return the seconds between the first two of *times*, None without two."""
    return times[1] - times[0] if len(times) > 1 else None


def utc_time(time: float) -> str:
    """Return an instant as ISO 8601 text in UTC."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
