"""The log of a capture as a timeline: the frames of a window, segment by segment, and the newest answers in them."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from math import inf

from stackmap.errors import CaptureError, SourceMissing
from stackmap.host import log, timeline
from stackmap.host.budget import ENTRY_BYTES, LINE_BYTES, Budget
from stackmap.host.capture_format import Refusal, encoded, recorded_text
from stackmap.host.file_tree import FileTree
from stackmap.host.log import DAMAGES, FOLDER, Ending, Lines, patched, split_entries

COUNTERS = "read /proc/diskstats"  # the answer that changes with each frame
WORKING = 3  # bytes per byte of a frame while it is read
MAX_EVENTS = 4 << 20  # characters of uevents that wait to be asked for
MAX_WAITING = 64  # changes of an answer that wait; each has 7 KB for 60 busy devices


class LogReader:
    """
    Reads only the log segments that a window needs.

    *warn* takes a line for each damaged segment, with what is left out.
    """

    def __init__(
        self, tree: FileTree, names: list[str], warn: timeline.Warn, budget: Budget
    ) -> None:
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
        self._version = 0
        self._answers = Answers(budget)
        self._transient: dict[str, list[str]] = {}
        self._counts: dict[int, log.FrameCount | None] = {}  # by segment
        self._damaged: set[int] = set()  # those that a recorder removes meanwhile included
        self._paid: set[int] = set()  # those whose bytes count for what is asked
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
        return timeline.first_spacing([time for time, _ in islice(frames, 2)])

    def last_interval(self, window: timeline.TimeWindow) -> timeline.TimeWindow | None:
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
        return timeline.last_interval(parts, window.every, first)

    def frames(
        self, window: timeline.TimeWindow, *, sparse: bool = False
    ) -> Iterator[timeline.FrameTime]:
        """
        Move through the window, segment by segment.

        *sparse*: yield only what sums over several samples need. In a window with a step, those are also the frames
        that are not due where more may have happened than counters going up; they end 0 intervals. In any
        other, they are those frames, the first and the last.
        """
        self._forget_answers()
        self._has_begun = True
        only_ends = sparse and not window.every
        pace = timeline.FrameSchedule(window)
        place = self._segment_at(pace.due)
        passed = 0
        while place < len(self._names) and not pace.is_over(self._starts[place]):
            is_last = place + 1 == len(self._names) or pace.is_over(self._starts[place + 1])
            plain = self._plain_frames(place, place + 1) if only_ends else None
            newest: float | None = None  # the last frame of the window, if no other follows
            for number, (time, entries, more_happened) in enumerate(self._marked_frames(place)):
                if pace.is_over(time):
                    break
                is_first = pace.first is None
                self._take(entries, self._names[place], fresh=is_first)
                if pace.accepts(time):
                    passed += 1
                    newest = time
                    if not only_ends or is_first or more_happened:
                        yield time, passed
                        passed, newest = 0, None
                elif sparse and more_happened and not is_first:
                    yield time, 0
                if plain and not (is_first or is_last):  # then the rest is, too
                    passed += plain - number - 1
                    break
                if self._skipped_to(place, pace.due):
                    break
            if is_last and newest is not None:
                yield newest, passed
            if place in self._damaged:
                # The next segment read repeats all answers.
                self._forget_answers()
                self._transient = {"uevents": [timeline.SKIPPED]}
            place = self._skipped_to(place, pace.due) or place + 1

    def answer(self, question: str, path: str | None) -> str | Refusal | None:  # noqa: ARG002 - questions are known by their words
        """Return the newest logged answer; before any frame, that of the first one if others were removed before it."""
        if not self._has_begun:
            self._has_begun = True
            count = self._count(0)
            if count is not None and count.before:
                next(self.frames(timeline.WHOLE_RECORDING), None)
        now = self._answers.get(question)
        return "\n".join(now) if isinstance(now, list) else now

    def changed(self) -> set[str] | None:
        """Return the questions whose answers may have changed since the previous call; None: any."""
        return self._answers.changed()

    def version(self) -> int:
        """Return a number that changes when an answer other than counters and events may have changed."""
        return self._version + self._answers.version

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
                    waiting[:] = [timeline.SKIPPED]

    def _forget_answers(self) -> None:
        self._version += self._answers.version + 1
        self._answers.forget()
        self._answers, self._transient = Answers(self._budget), {}

    def _skipped_to(self, place: int, due: float) -> int | None:
        """Return the segment of *due*; None if it is *place*, or if a frame between the two may be marked."""
        later = self._segment_at(due)
        is_plain = later > place and self._plain_frames(place, later) is not None
        return later if is_plain else None

    def _plain_frames(self, place: int, end: int) -> int | None:
        """Return the frames from segment *place* to *end*; None if one from the second to the first of *end* may be marked."""
        before, after = self._count(place), self._count(end)
        if before is None or after is None or before.marked != after.marked:
            return None
        return max(0, after.before - before.before)

    def _count(self, place: int) -> log.FrameCount | None:
        """Return the count in a segment's first frame; None without one."""
        if place not in self._counts and place < len(self._names):
            name = self._names[place]
            entries = next((entries for _, entries in log.Frames(self._content(place))), b"")
            self._counts[place] = log.frame_count(entries, name)
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
        are_known = is_marked = False
        for time, entries in self._frames(place):
            was_marked = is_marked
            # An empty frame changed nothing.
            is_marked = entries.startswith(log.MARKED) if are_known else bool(entries)
            if held is None:
                are_known = entries.startswith((log.MARKED, log.UNMARKED))
                is_marked = not entries.startswith(log.UNMARKED)
            else:
                yield *held, was_marked or is_marked
            held = time, entries
        if held is not None:
            after = self._count(place + 1)
            is_end = after is None or after.begins_marked or place in self._damaged
            yield *held, is_marked or is_end

    def _frames(self, place: int) -> Iterator[tuple[float, bytes]]:
        """Yield the frames of a segment; warn about the part that is damaged."""
        content = self._content(place)
        frames = log.Frames(content, self._starts[place])
        size = int(self._budget.density * len(content))
        self._unpackable += log.MAX_RATIO * size
        self._frames_left += size // log.FRAME_BYTES
        # The same bytes may be read again for their marks, or for their times.
        if place not in self._paid:
            self._paid.add(place)
            self._budget.replay_of(content)
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
            span = f"from {timeline.utc_time(frames.last)} " + (
                "on" if until == inf else f"to {timeline.utc_time(until)}"
            )
            self._warn(f"{self._names[place]}: damaged: samples {span} are left out")


class Answers:
    """
    The newest answer to each question; ``version`` grows where one that is not of counters may be another.

    Of a sample that is left out, little is decoded: mostly, the next one changes the same lines.
    What is kept is charged to *budget*. An answer to a question that no host is asked is not kept.
    """

    def __init__(self, budget: Budget) -> None:
        self.version = 0  # of all answers but counters
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
                if kind != "+" and question != COUNTERS:
                    self.version += 1
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
            text = "".join(lines)
            size, wide = len(text), not text.isascii()  # up to four bytes per character
            self._charge(question, (4 * size if wide else size) + LINE_BYTES * len(lines))


def _encoded(answer: Lines | Refusal | None) -> bytes | None:
    return encoded("\n".join(answer)) if isinstance(answer, list) else None
