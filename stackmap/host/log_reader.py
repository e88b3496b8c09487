"""The log of a capture as a timeline: through the frames of a window, segment by segment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from stackmap.host import log
from stackmap.host.log import FOLDER, Ending, Lines, Refusal
from stackmap.host.timeline import (
    SKIPPED,
    FrameSchedule,
    FrameTime,
    TimeWindow,
    Warn,
    first_spacing,
    last_interval,
    utc_time,
)

if TYPE_CHECKING:
    from stackmap.host.file_tree import FileTree


class LogReader:
    """
    The log's segments; only those that a window needs are read.

    *tell* takes a line for each that is damaged, which says what is left out.
    """

    def __init__(self, tree: FileTree, names: list[str], tell: Warn) -> None:
        found = sorted(
            (start, name) for name in names if (start := log.segment_start(name)) is not None
        )
        self._tree = tree
        self._tell = tell
        self._starts = [*(start for start, _ in found), inf]
        self._names = [f"{FOLDER}/{name}" for _, name in found]
        self._answers: dict[str, Lines | Refusal] = {}
        self._transient: dict[str, list[str]] = {}
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

    def spacing(self) -> float | None:
        """Return it, by reading the begin of the first segment."""
        return first_spacing(
            [time for time, _ in islice(self._frames(0), 2)] if self._names else []
        )

    def last_interval(self, window: TimeWindow) -> TimeWindow | None:
        """Return it, by reading segments from the end on."""
        begin = -inf if window.since is None else window.since
        end = inf if window.until is None else window.until
        latest = min(self._segment_at(end), len(self._names) - 1)
        places = range(latest, self._segment_at(begin) - 1, -1)
        parts = ([t for t, _ in self._frames(place) if window.holds(t)] for place in places)
        first = 0.0
        if window.every:
            frames = (t for place in reversed(places) for t, _ in self._frames(place))
            first = next((time for time in frames if time >= begin), 0.0)
        return last_interval(parts, window.every, first)

    def frames(self, window: TimeWindow, *, ends: bool = False) -> Iterator[FrameTime]:
        """Move through the window, from segment to segment."""
        self._answers, self._transient = {}, {}
        pace = FrameSchedule(window)
        place = self._segment_at(pace.due)
        passed = 0
        while place < len(self._names) and not pace.is_over(self._starts[place]):
            still = self._unmarked_frames(place) if ends and not window.every else 0
            for time, count in self._due_frames(place, pace, still):
                passed += count
                if time is not None:
                    yield time, passed
                    passed = 0
            if place in self._damaged or pace.due > self._starts[place + 1]:
                self._skip()
            place = max(place + 1, self._segment_at(pace.due))

    def _due_frames(
        self, place: int, pace: FrameSchedule, still: int
    ) -> Iterator[tuple[float | None, int]]:
        """
        Yield the frames of a segment that are due, and how many each stands for; None: one that is passed over.

        Of one that is *still* for so many frames only what may be an end of the window is shown.
        """
        waiting: tuple[float | None, int] = None, 0
        for number, (time, entries) in enumerate(self._frames(place)):
            if pace.is_over(time):
                break
            first = pace.first is None
            self._take(entries, self._names[place], fresh=first)
            if not pace.accepts(time):
                continue
            if not still or first:
                yield time, 1
            elif pace.is_over(self._starts[place + 1]):
                waiting = time, waiting[1] + 1
            else:
                yield None, still - number
                return
            if pace.due > self._starts[place + 1]:
                return
        yield waiting

    def answer(self, question: str, path: str | None) -> str | Refusal | None:  # noqa: ARG002 - questions are known by their words
        """Return what the log told last."""
        now = self._answers.get(question)
        return "\n".join(now) if isinstance(now, list) else now

    def transient(self, question: str) -> list[str]:
        """Return what was told in the frames since the one before, this one's included, and forget it."""
        return self._transient.pop(question, [])

    def _segment_at(self, time: float) -> int:
        """Return the place of the segment that has *time*, or of the first one."""
        return max(0, bisect_right(self._starts, time) - 1)

    def _take(self, entries: bytes, where: str, *, fresh: bool) -> None:
        """Bring what was told up to a frame; *fresh*: it is not after any that was shown."""
        if fresh:
            self._transient = {}
        for question, answer in log.apply_entries(self._answers, entries, where).items():
            if question != log.FRAME_COUNT:
                self._transient.setdefault(question, []).append(answer)

    def _skip(self) -> None:
        """Leave out what comes before the segment that is read next; that tells all anew."""
        self._answers = {}
        self._transient = {"uevents": [SKIPPED]}

    def _unmarked_frames(self, place: int) -> int:
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
            told = log.apply_entries({}, entries, name).get(log.FRAME_COUNT)
            self._counts[place] = None if told is None else log.parse_count(told, name)
        return self._counts.get(place)

    def _frames(self, place: int) -> Iterator[tuple[float, bytes]]:
        """Yield the frames of a segment; of one that is damaged say what is left out."""
        last = self._starts[place]
        frames = log.Frames(self._tree.read(self._names[place]))
        for last, entries in frames:
            yield last, entries
        newest = place == len(self._names) - 1  # which a crash may have cut off
        fine = (Ending.WHOLE, Ending.CUT) if newest else (Ending.WHOLE,)
        if frames.ending not in fine and place not in self._damaged:
            self._damaged.add(place)
            until = self._starts[place + 1]
            span = f"from {utc_time(last)} " + ("on" if until == inf else f"to {utc_time(until)}")
            self._tell(f"{self._names[place]}: damaged: what was recorded {span} is left out")
