"""
What a capture tells later than its first answers: by frame, of a window of them.

Two forms: the log (format 2), and ``frames/N/`` with an answer a file (format
1, and trees made by hand). Both move through a window's frames, forwards.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from stackmap.errors import SourceMissing
from stackmap.host import log
from stackmap.host.log import FOLDER, Lines, Refused
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

    def due_after(self, time: float, first: float) -> float:
        """Return the earliest instant that a frame after the one of *time* may have, *first* being the first."""
        if not self.every:
            return time
        late = min(LATE, self.every / 10)
        return first + ((time - first + late) // self.every + 1) * self.every - late


WHOLE = Window()


class Timeline(Protocol):
    """The frames of a capture."""

    def span(self) -> tuple[float, float] | None:
        """Return the instants of the first and the last frame, None if there is none."""

    def moved(self, window: Window) -> Iterator[float]:
        """Move from frame to frame of *window*, yielding the instant of each."""

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

    def moved(self, window: Window) -> Iterator[float]:
        """Move through the window."""
        self._frame = 0
        due = float("-inf") if window.since is None else window.since
        first: float | None = None
        for frame, time in enumerate(self._times or [0.0]):
            if window.until is not None and time > window.until:
                return
            if time >= due:
                self._frame = frame
                first = time if first is None else first
                due = window.due_after(time, first)
                yield time

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
    """The log's segments; only those that a window needs are read."""

    def __init__(self, tree: Tree, names: list[str]) -> None:
        found = sorted((start, name) for name in names if (start := log.start_of(name)) is not None)
        self._tree = tree
        self._starts = [start for start, _ in found]
        self._names = [f"{FOLDER}/{name}" for _, name in found]
        self._told: dict[str, Lines | Refused] = {}
        self._passing: dict[str, list[str]] = {}

    def span(self) -> tuple[float, float] | None:
        """Return the first instant by its segment's name, and the last by reading the last segment."""
        for name in reversed(self._names):
            last = None
            for time, _ in self._frames(name):
                last = time
            if last is not None:
                return self._starts[0], last
        return None

    def moved(self, window: Window) -> Iterator[float]:
        """Move through the window, from segment to segment."""
        self._told, self._passing = {}, {}
        due = float("-inf") if window.since is None else window.since
        place = max(0, bisect_right(self._starts, due) - 1)
        first: float | None = None
        while place < len(self._names):
            following = (*self._starts[place + 1 : place + 2], float("inf"))[0]
            for time, entries in self._frames(self._names[place]):
                if window.until is not None and time > window.until:
                    return
                self._take(entries, self._names[place], fresh=first is None)
                if time >= due:
                    first = time if first is None else first
                    due = window.due_after(time, first)
                    yield time
                    if due > following:
                        self._jump()
                        break
            place = max(place + 1, bisect_right(self._starts, due) - 1)

    def told(self, question: str, path: str | None) -> str | Refused | None:  # noqa: ARG002 - questions are known by their words
        """Return what the log told last."""
        now = self._told.get(question)
        return "\n".join(now) if isinstance(now, list) else now

    def passing(self, question: str) -> list[str]:
        """Return what was told in the frames since the one before, this one's included, and forget it."""
        return self._passing.pop(question, [])

    def _take(self, entries: bytes, where: str, *, fresh: bool) -> None:
        """Bring what was told up to a frame; *fresh*: it is not after any that was shown."""
        if fresh:
            self._passing = {}
        for question, answer in log.applied(self._told, entries, where).items():
            self._passing.setdefault(question, []).append(answer)

    def _jump(self) -> None:
        """Leave out what comes before the segment that is read next; that tells all anew."""
        self._told = {}
        self._passing = {"uevents": [JUMPED]}

    def _frames(self, name: str) -> Iterator[tuple[float, bytes]]:
        return log.frames(self._tree.read(name), name)
