"""The log of a capture as a timeline: the frames of a window, segment by segment, and the newest answers in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from math import inf
from sys import maxsize
from typing import NamedTuple

from stackmap.errors import CaptureError, SourceMissing
from stackmap.host import log
from stackmap.host.budget import ENTRY_BYTES, LINE_BYTES, Budget
from stackmap.host.capture_format import Refusal, encoded, recorded_text
from stackmap.host.file_tree import FileTree
from stackmap.host.log import DAMAGES, FOLDER, Ending, Lines, patched, split_entries
from stackmap.host.timeline import (
    SKIPPED,
    WHOLE_RECORDING,
    FrameSchedule,
    FrameTime,
    TimeWindow,
    Warn,
    first_spacing,
    last_interval,
    utc_time,
)

WORKING = 3  # bytes per byte of a frame while it is read
MAX_EVENTS = 4 << 20  # characters of uevents that wait to be asked for
MAX_WAITING = 64  # changes of an answer that wait; each has 7 KB for 60 busy devices


class _Wanted(NamedTuple):
    """
    The frames of a segment that are wanted beside those that are due.

    ``still``: of so many unmarked ones, only possible ends of the window. ``shown``: of so many,
    also those that are not due. ``ends`` and ``between``: as in ``LogReader.frames``.
    """

    still: int
    shown: int
    ends: bool
    between: bool


class LogReader:
    """
    Reads only the log segments that a window needs.

    *warn* takes a line for each damaged segment, with what is left out.
    """

    def __init__(self, tree: FileTree, names: list[str], warn: Warn, budget: Budget) -> None:
        segments = sorted(
            (start, name) for name in names if (start := log.segment_start(name)) is not None
        )
        self._tree = tree
        self._warn = warn
        self._starts = [*(start for start, _ in segments), inf]
        self._names = [f"{FOLDER}/{name}" for _, name in segments]
        self._budget = budget
        self._unpackable = log.FREE  # bytes
        self._frames_left = log.FREE_FRAMES
        self._answers = Answers(budget)
        self._transient: dict[str, list[str]] = {}
        self._counts: dict[int, tuple[int, int] | None] = {}
        self._may_begin_marked: set[int] = set()  # of the segments whose first frame was read
        self._damaged: set[int] = set()  # those that a recorder removes meanwhile included
        self._has_begun = False

    def span(self) -> tuple[float, float] | None:
        """Return the first instant, from a segment's name, and the last, from the last segment."""
        for place in reversed(range(len(self._names))):
            times = [time for time, _ in self._frames(place)]
            if times:
                return self._starts[0], times[-1]
        return None

    def spacing(self) -> float | None:
        """Return the seconds between the first two frames, from the first segment; None without two."""
        frames = self._frames(0) if self._names else iter(())
        return first_spacing([time for time, _ in islice(frames, 2)])

    def last_interval(self, window: TimeWindow) -> TimeWindow | None:
        """Return the window of the last interval in *window*, reading segments from the end; None without one."""
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

    def frames(
        self, window: TimeWindow, *, ends: bool = False, between: bool = False
    ) -> Iterator[FrameTime]:
        """
        Move through the window, segment by segment.

        *between*: where more may have happened than counters going up, also yield the
        frames that are not due; they end 0 intervals.
        """
        self._forget_answers()
        self._has_begun = True
        pace = FrameSchedule(window)
        place = self._segment_at(pace.due)
        passed, examined = 0, False
        while place < len(self._names) and not pace.is_over(self._starts[place]):
            unmarked = self._unmarked_frames(place) if ends or between else 0
            only_ends = ends and not window.every
            still = unmarked if only_ends else 0
            before, examined = examined, between and not unmarked
            # The mark of a segment may be that of the next one's first frame.
            wanted = _Wanted(still, maxsize if examined else int(before), only_ends, between)
            for time, count in self._due_frames(place, pace, wanted):
                passed += count
                if time is not None:
                    yield time, passed
                    passed = 0
            skips = pace.due > self._starts[place + 1]
            plain = self._is_plain(place, pace.due, between=between) if skips else True
            if place in self._damaged or plain is None:
                # The next segment read repeats all answers.
                self._forget_answers()
                self._transient = {"uevents": [SKIPPED]}
            place = place + 1 if plain is False else max(place + 1, self._segment_at(pace.due))

    def _due_frames(
        self, place: int, pace: FrameSchedule, wanted: _Wanted
    ) -> Iterator[tuple[float | None, int]]:
        """Yield the due frames of a segment, with the intervals that each ends; None for skipped ones."""
        waiting: tuple[float | None, int] = None, 0
        for number, (time, entries, more_happened) in enumerate(self._marked_frames(place)):
            if pace.is_over(time):
                break
            first = pace.first is None
            self._take(entries, self._names[place], fresh=first)
            if not pace.accepts(time):
                if number < wanted.shown and more_happened and not first:
                    yield time, 0
                continue
            if not wanted.ends or first or (more_happened and not wanted.still):
                yield time, waiting[1] + 1
                waiting = None, 0
            elif place + 1 == len(self._names) or pace.is_over(self._starts[place + 1]):
                waiting = time, waiting[1] + 1
            elif wanted.still:
                yield None, wanted.still - number
                return
            else:
                waiting = None, waiting[1] + 1
            skips = pace.due > self._starts[place + 1]
            if skips and self._is_plain(place, pace.due, between=wanted.between) is not False:
                return
        yield waiting

    def answer(self, question: str, path: str | None) -> str | Refusal | None:  # noqa: ARG002 - questions are known by their words
        """Return the newest logged answer; before any frame, that of the first one if others were removed before it."""
        if not self._has_begun:
            self._has_begun = True
            if (self._count(0) or (0, 0))[0] > 0:
                next(self.frames(WHOLE_RECORDING), None)
        now = self._answers.get(question)
        return "\n".join(now) if isinstance(now, list) else now

    def changed(self) -> set[str] | None:
        """Return the questions whose answers may have changed since the previous call; None: any."""
        return self._answers.changed()

    def transient(self, question: str) -> list[str]:
        """Return the transient answers since the previous call, and forget them."""
        return self._transient.pop(question, [])

    def _segment_at(self, time: float) -> int:
        """Return the index of the segment that has *time*, or of the first one."""
        return max(0, bisect_right(self._starts, time) - 1)

    def _take(self, entries: bytes, where: str, *, fresh: bool) -> None:
        """Apply a frame's entries; *fresh*: no frame was yielded before it."""
        if fresh:
            self._transient = {}
        size = WORKING * len(entries)  # the frame and its parts, until it is taken
        self._budget.charge(size)
        self._budget.charge(-size)
        for question, answer in self._answers.take(entries, where).items():
            if question == "uevents":
                waiting = self._transient.setdefault(question, [])
                waiting.append(answer)
                if sum(map(len, waiting)) > MAX_EVENTS:  # too many to tell one by one
                    waiting[:] = [SKIPPED]

    def _forget_answers(self) -> None:
        self._answers.forget()
        self._answers, self._transient = Answers(self._budget), {}

    def _is_plain(self, place: int, due: float, *, between: bool) -> bool | None:
        """
        Whether no frame is marked from the second one of *place* to the segment of *due*.

        If that is unknown: None, or False if the frames *between* are wanted then.
        """
        before, after = self._count(place), self._count(max(place + 1, self._segment_at(due)))
        if before is None or after is None:
            return False if between else None
        return before[1] == after[1]

    def _unmarked_frames(self, place: int) -> int:
        """Return the number of frames if neither this segment nor the next frame has a mark, else 0."""
        before, after = self._count(place), self._count(place + 1)
        if before is None or after is None or before[1] != after[1]:
            return 0
        return max(0, after[0] - before[0])

    def _count(self, place: int) -> tuple[int, int] | None:
        """Return the count of frames and marks in a segment's first frame; None without one."""
        if place not in self._counts and place < len(self._names):
            name = self._names[place]
            entries = next((entries for _, entries in log.Frames(self._content(place))), b"")
            self._counts[place] = log.frame_count(entries, name)
            if not entries.startswith(log.UNMARKED):
                self._may_begin_marked.add(place)
        return self._counts.get(place)

    def _content(self, place: int) -> bytes:
        """Return a segment, b"" if a recorder removed it meanwhile."""
        try:
            return self._tree.read(self._names[place])
        except SourceMissing:
            self._damaged.add(place)
            return b""

    def _marked_frames(self, place: int) -> Iterator[tuple[float, bytes, bool]]:
        """Yield the frames of a segment, and whether it or the next frame may be marked."""
        held: tuple[float, bytes] | None = None
        known = may_be = False
        for time, entries in self._frames(place):
            before, may_be = may_be, not known or entries.startswith(log.MARKED)
            if held is None:
                known = entries.startswith((log.MARKED, log.UNMARKED))
                may_be = not entries.startswith(log.UNMARKED)
            else:
                yield *held, before or may_be
            held = time, entries
        if held is not None:
            self._count(place + 1)
            may_be = may_be or place + 1 in self._may_begin_marked
            yield *held, may_be or place in self._damaged

    def _frames(self, place: int) -> Iterator[tuple[float, bytes]]:
        """Yield the frames of a segment; warn about the part that is damaged."""
        content = self._content(place)
        frames = log.Frames(content, self._starts[place])
        self._unpackable += log.MAX_RATIO * len(content)
        self._frames_left += len(content) // log.FRAME_BYTES
        for frame in frames:
            self._unpackable -= len(frame[1])
            self._frames_left -= 1
            if self._unpackable < 0 or self._frames_left < 0:
                raise CaptureError(
                    f"{self._names[place]}: refused: unpacks to more than a recording of its size has"
                )
            yield frame
        newest = place == len(self._names) - 1  # a crash may have cut it off
        fine = (Ending.WHOLE, Ending.CUT) if newest else (Ending.WHOLE,)
        if frames.ending not in fine and place not in self._damaged:
            self._damaged.add(place)
            until = self._starts[place + 1]
            span = f"from {utc_time(frames.last)} " + (
                "on" if until == inf else f"to {utc_time(until)}"
            )
            self._warn(f"{self._names[place]}: damaged: samples {span} are left out")


class Answers:
    """
    The newest answer to each question.

    Of a sample that is left out, little is decoded: mostly, the next one changes the same lines.
    What is kept is charged to *budget*. An answer to a question that no host is asked is not kept.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._charged: dict[str, int] = {}  # bytes by question, those of both below
        self._known: dict[str, Lines | Refusal] = {}
        # Newer than known, not decoded yet: a whole answer, with None, and changes of it, with their places.
        self._waiting: dict[str, list[tuple[bytes | None, bytes]]] = {}
        self._where = ""  # the newest frame
        self._changed: set[str] | None = None  # since they were asked for; None: all

    def take(self, entries: bytes, where: str) -> dict[str, str]:
        """Bring the answers up to a frame; return what holds for that frame alone."""
        alone: dict[str, str] = {}
        self._where = where
        try:
            for kind, question, body in split_entries(entries):
                if not question.startswith(log.QUESTIONS):
                    continue
                if self._changed is not None and kind != "+" and not self._is_known(question, body):
                    self._changed.add(question)
                if isinstance(body, Refusal):
                    self._waiting.pop(question, None)
                    self._known[question] = body
                    self._charge(question, len(body.message))
                elif kind == "+":
                    alone[question] = recorded_text(body, where)
                elif kind == "~":
                    self._change(question, body)
                else:
                    self._waiting[question] = [(None, body)]
                    self._known.pop(question, None)
                    self._charge(question, len(body))
        except DAMAGES as error:
            raise CaptureError(f"{where}: damaged: {error!r}") from error
        return alone

    def get(self, question: str) -> Lines | Refusal | None:
        """Return the newest answer; ``CaptureError`` if it is damaged."""
        if question in self._waiting:
            try:
                self._put_together(question)
            except DAMAGES as error:
                raise CaptureError(f"{self._where}: damaged: {error!r}") from error
        return self._known.get(question)

    def forget(self) -> None:
        """Forget all answers, and give back what they were charged."""
        self._budget.charge(-sum(self._charged.values()))
        self._known, self._waiting, self._charged = {}, {}, {}

    def _charge(self, question: str, size: int) -> None:
        """Set the charge of the answer to *question* to *size* bytes."""
        size += ENTRY_BYTES + 2 * len(question)
        self._budget.charge(size - self._charged.get(question, 0))
        self._charged[question] = size

    def changed(self) -> set[str] | None:
        """Return the questions with other answers than at the previous call; None: any, as at the first call."""
        changed, self._changed = self._changed, set()
        return changed

    def _is_known(self, question: str, body: bytes | Refusal) -> bool:
        """Whether the newest answer is a refusal or a whole answer that is there again."""
        if waiting := self._waiting.get(question):
            return waiting == [(None, body)]
        known = self._known.get(question)
        return known == body if isinstance(body, Refusal) else _encoded(known) == body

    def _change(self, question: str, body: bytes) -> None:
        """Keep changed lines; earlier ones of the same lines are forgotten."""
        if question not in self._known and question not in self._waiting:
            raise KeyError(question)
        places = body[: body.find(b"\n")]
        waiting = self._waiting.setdefault(question, [])
        if waiting and waiting[-1][0] == places:
            waiting[-1] = places, body
            return
        waiting.append((places, body))
        if len(waiting) > MAX_WAITING or not self._budget.has_room(2 * len(body)):
            self._put_together(question)
        else:
            self._charge(question, self._charged.get(question, 0) + len(body))

    def _put_together(self, question: str) -> None:
        for places, body in self._waiting.pop(question):
            if places is None:
                self._known[question] = recorded_text(body, self._where).split("\n")
            else:
                self._known[question] = patched(self._known[question], body, self._where)
        lines = self._known[question]
        if not isinstance(lines, Refusal):
            size = sum(map(len, lines))
            wide = any(not line.isascii() for line in lines)  # up to four bytes per character
            self._charge(question, (4 * size if wide else size) + LINE_BYTES * len(lines))


def _encoded(answer: Lines | Refusal | None) -> bytes | None:
    return encoded("\n".join(answer)) if isinstance(answer, list) else None
