"""
What a capture tells later than its first answers: by frame, of a window of them.

Two forms: the log (format 2), and ``frames/N/`` with an answer a file (format
1, and trees made by hand). Both move through a window's frames, forwards.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Protocol

from stackmap.errors import SourceMissing
from stackmap.host import log
from stackmap.host.log import FOLDER, Ending, Lines, Refused
from stackmap.host.places import decoded

if TYPE_CHECKING:
    from stackmap.host.tree import Tree

LATE = 0.2  # seconds that a sample may have come too late; of a short ``every``, a tenth of it
JUMPED = "jumped"  # stands for what was told in frames that were not read


@dataclass(frozen=True, slots=True)
class Window:
    """Which frames: from ``since`` to ``until``, both included, one in ``every`` seconds; None: no bound."""

    since: float | None = None
    until: float | None = None
    every: float | None = None


WHOLE = Window()


class Pace:
    """
    Which frames of a window are due, going forwards.

    ``due``: the earliest instant that the next may have. ``first``: that of
    the first one, None before it.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self.due = -inf if window.since is None else window.since
        self.first: float | None = None

    def over(self, time: float) -> bool:
        """Whether the window ended before *time*."""
        return self._window.until is not None and time > self._window.until

    def takes(self, time: float) -> bool:
        """Whether the frame of *time* is due; then the next one is due later."""
        if time < self.due:
            return False
        if self.first is None:
            self.first = time
        self.due = self._after(time, self.first)
        return True

    def _after(self, time: float, first: float) -> float:
        every = self._window.every
        if not every:
            return time
        late = min(LATE, every / 10)
        return first + ((time - first + late) // every + 1) * every - late


Tell = Callable[[str], None]
Step = tuple[float, int]  # the instant of a frame, and how many intervals it ends


class Timeline(Protocol):
    """The frames of a capture."""

    def span(self) -> tuple[float, float] | None:
        """Return the instants of the first and the last frame, None if there is none."""

    def pace(self) -> float | None:
        """Return the seconds between the first two frames, None if there are no two."""

    def moved(self, window: Window, *, ends: bool = False) -> Iterator[Step]:
        """
        Move from frame to frame of *window*.

        *ends*: of those that are known to be of a stretch in which all devices
        only counted on, no more than the ends.
        """

    def told(self, question: str, path: str | None) -> str | Refused | None:
        """Return what was told to *question* up to this frame, None if nothing after the first answers."""

    def passing(self, question: str) -> list[str]:
        """Return what was told since the frame before and held then alone; ``JUMPED`` for what was not read."""


class Numbered:
    """``frames/N/``: later answers of frame N as files."""

    def __init__(self, tree: Tree, times: list[float]) -> None:
        self._tree = tree
        self._times = times
        self._frame = 0

    def span(self) -> tuple[float, float] | None:
        """Return the first and the last instant."""
        return (self._times[0], self._times[-1]) if self._times else None

    def pace(self) -> float | None:
        """Return it."""
        return _pace(self._times)

    def moved(self, window: Window, *, ends: bool = False) -> Iterator[Step]:  # noqa: ARG002 - nothing is known of any stretch
        """Move through the window."""
        self._frame = 0
        pace = Pace(window)
        for frame, time in enumerate(self._times or [0.0]):
            if pace.over(time):
                return
            if pace.takes(time):
                self._frame = frame
                yield time, 1

    def told(self, question: str, path: str | None) -> str | Refused | None:  # noqa: ARG002 - files are known by their path
        """Return the newest answer at or before this frame."""
        for frame in range(self._frame if path else 0, 0, -1):
            try:
                return decoded(self._tree.read(f"/frames/{frame}{path}"))
            except SourceMissing:
                continue
        return None

    def passing(self, question: str) -> list[str]:  # noqa: ARG002 - the log's alone
        """Return nothing: nobody kept any."""
        return []


class Logged:
    """
    The log's segments; only those that a window needs are read.

    *tell* takes a line for each that is damaged, which says what is left out.
    """

    def __init__(self, tree: Tree, names: list[str], tell: Tell) -> None:
        found = sorted((start, name) for name in names if (start := log.start_of(name)) is not None)
        self._tree = tree
        self._tell = tell
        self._starts = [*(start for start, _ in found), inf]
        self._names = [f"{FOLDER}/{name}" for _, name in found]
        self._told: dict[str, Lines | Refused] = {}
        self._passing: dict[str, list[str]] = {}
        self._counts: dict[int, tuple[int, int] | None] = {}
        self._damaged: set[int] = set()

    def span(self) -> tuple[float, float] | None:
        """Return the first instant by its segment's name, and the last by reading the last segment."""
        for place in reversed(range(len(self._names))):
            last = None
            for time, _ in self._frames(place):
                last = time
            if last is not None:
                return self._starts[0], last
        return None

    def pace(self) -> float | None:
        """Return it, by reading the begin of the first segment."""
        return _pace([time for time, _ in islice(self._frames(0), 2)] if self._names else [])

    def moved(self, window: Window, *, ends: bool = False) -> Iterator[Step]:
        """Move through the window, from segment to segment."""
        self._told, self._passing = {}, {}
        pace = Pace(window)
        place = self._at(pace.due)
        passed = 0
        while place < len(self._names) and not pace.over(self._starts[place]):
            still = self._stillness(place) if ends and not window.every else 0
            for time, count in self._shown(place, pace, still):
                passed += count
                if time is not None:
                    yield time, passed
                    passed = 0
            if place in self._damaged or pace.due > self._starts[place + 1]:
                self._jump()
            place = max(place + 1, self._at(pace.due))

    def _shown(self, place: int, pace: Pace, still: int) -> Iterator[tuple[float | None, int]]:
        """
        Yield the frames of a segment that are due, and how many each stands for; None: one that is passed over.

        Of one that is *still* for so many frames only what may be an end of the window is shown.
        """
        waiting: tuple[float | None, int] = None, 0
        for number, (time, entries) in enumerate(self._frames(place)):
            if pace.over(time):
                break
            first = pace.first is None
            self._take(entries, self._names[place], fresh=first)
            if not pace.takes(time):
                continue
            if not still or first:
                yield time, 1
            elif pace.over(self._starts[place + 1]):
                waiting = time, waiting[1] + 1
            else:
                yield None, still - number
                return
            if pace.due > self._starts[place + 1]:
                return
        yield waiting

    def told(self, question: str, path: str | None) -> str | Refused | None:  # noqa: ARG002 - questions are known by their words
        """Return what the log told last."""
        now = self._told.get(question)
        return "\n".join(now) if isinstance(now, list) else now

    def passing(self, question: str) -> list[str]:
        """Return what was told in the frames since the one before, this one's included, and forget it."""
        return self._passing.pop(question, [])

    def _at(self, time: float) -> int:
        """Return the place of the segment that has *time*, or of the first one."""
        return max(0, bisect_right(self._starts, time) - 1)

    def _take(self, entries: bytes, where: str, *, fresh: bool) -> None:
        """Bring what was told up to a frame; *fresh*: it is not after any that was shown."""
        if fresh:
            self._passing = {}
        for question, answer in log.applied(self._told, entries, where).items():
            if question != log.COUNT:
                self._passing.setdefault(question, []).append(answer)

    def _jump(self) -> None:
        """Leave out what comes before the segment that is read next; that tells all anew."""
        self._told = {}
        self._passing = {"uevents": [JUMPED]}

    def _stillness(self, place: int) -> int:
        """Return how many frames a segment has if none is marked, nor the one after them; else 0."""
        before, after = self._count(place), self._count(place + 1)
        if before is None or after is None or before[1] != after[1]:
            return 0
        return max(0, after[0] - before[0])

    def _count(self, place: int) -> tuple[int, int] | None:
        """Return what a segment's first frame says of frames and marks; None where it does not."""
        if place not in self._counts and place < len(self._names):
            entries = next((entries for _, entries in self._frames(place)), b"")
            name = self._names[place]
            told = log.applied({}, entries, name).get(log.COUNT)
            self._counts[place] = None if told is None else log.count_of(told, name)
        return self._counts.get(place)

    def _frames(self, place: int) -> Iterator[tuple[float, bytes]]:
        """Yield the frames of a segment; of one that is damaged say what is left out."""
        last = self._starts[place]
        frames = log.Frames(self._tree.read(self._names[place]))
        for last, entries in frames:
            yield last, entries
        cut = frames.ending is Ending.CUT and place + 1 < len(
            self._names
        )  # the last may be, by a crash
        if (cut or frames.ending is Ending.DAMAGED) and place not in self._damaged:
            self._damaged.add(place)
            until = self._starts[place + 1]
            span = f"from {written(last)} " + ("on" if until == inf else f"to {written(until)}")
            self._tell(f"{self._names[place]}: damaged: what was recorded {span} is left out")


def _pace(times: list[float]) -> float | None:
    return times[1] - times[0] if len(times) > 1 else None


def written(time: float) -> str:
    """Return an instant as the reports have it."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
