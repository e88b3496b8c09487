"""
A recorded machine.

A capture is a tree of files under the names they have on the live machine::

    capture.json          format, links, refused questions
    answers.tar.gz        first answers; or they are files here, as in a capture that was unpacked
    proc/ sys/            files; a directory's listing is in ``.names``
    run/udev/data/b8:0    udev's properties of a device, in udev's own format
    cmd/dmsetup-table.txt the output of a command, named by its words
    volumes.json          LVM's and md's metadata, if requested
    log/…                 later answers: see ``log.py``

Format 2 had the first answers as files. Format 1 kept the instants in ``capture.json`` and later answers as files under
``frames/N/``. Without ``capture.json`` it is a plain tree with one frame: an
extracted sosreport, ``lsblk --sysroot`` input, or a dump made by hand.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

from stackmap.errors import CaptureError, InputError, SourceError, SourceMissing
from stackmap.host import Answer, Host, Json, Metadata, capture_format
from stackmap.host.background import ANSWERED_IN_BACKGROUND, BACKGROUND, PENDING, ReplayedAnswer
from stackmap.host.budget import LINES_PER_LETTER, NAME_LINES, QUESTION_LINES, Budget
from stackmap.host.capture_files import Sosreport, open_timeline, read_manifest, recorded_keys
from stackmap.host.file_tree import FileTree, open_tree
from stackmap.host.table_keys import masked
from stackmap.host.timeline import SKIPPED, WHOLE_RECORDING, FrameTime, TimeWindow, Warn

T = TypeVar("T")

PADDED = (
    "files of /sys are padded with NULs, as GNU tar pads them; each is read up to its first NUL"
)


class CapturedHost:
    """
    A host that answers from a capture; time moves from frame to frame.

    Before ``ticks`` it gives the first answers or, after ``select``, those of the
    first frame in the window. *files*: those of the tree by path, where *path* is a text that told them. *warn* takes a line for each damaged part, which is
    left out; without *warn* damage is a ``CaptureError``.
    """

    def __init__(
        self, path: str, warn: Warn | None = None, files: Mapping[str, str] | None = None
    ) -> None:
        self.path = path
        self._warn = warn
        self._budget = budget = Budget(path)
        self._is_replaying = False  # whether it answers after the first sample
        if files is None:
            self._tree: FileTree = open_tree(path, budget)
        else:
            from stackmap.host.archive_tree import ArchiveTree  # only a text pays for it

            self._tree = ArchiveTree.of_files(files, path, budget)
        manifest = read_manifest(self._tree, path)
        self._refused = cast("dict[str, list[str]]", manifest.get("refused", {}))
        self._links = cast("dict[str, str]", manifest.get("links", {}))
        late = cast("dict[str, float | None]", manifest.get("late", {}))
        if warn is not None:
            for what, seconds in late.items():
                if seconds is None or seconds >= capture_format.LATE:
                    warn(f"{path}: {capture_format.late_answer(what, seconds)}")
        self._timeline = open_timeline(self._tree, path, manifest, self._warn_left_out, budget)
        self._window = WHOLE_RECORDING
        self._padded = False
        self._made_of: list[set[str]] = []  # the questions of each result that is remembered
        self._noted: set[str] | None = None  # takes the questions that are asked
        self._sosreport = Sosreport(self._tree, path)
        self._background: ReplayedAnswer[object] | None = None
        self._was_background_pending = False

    def span(self) -> tuple[float, float] | None:
        """Return the instants of the first and the last frame; None without frames."""
        return self._timeline.span()

    def spacing(self) -> float | None:
        """Return the seconds between the first two frames; None with fewer than two."""
        return self._timeline.spacing()

    def recorded_keys(self) -> list[str]:
        """Return the names of the devices whose key is anywhere in the capture; see ``recorded_keys``."""
        return recorded_keys(self._tree, [message for _, message in self._refused.values()])

    @property
    def window(self) -> TimeWindow:
        """The part that it answers from."""
        return self._window

    def select(self, window: TimeWindow) -> None:
        """Answer from *window* only; ``InputError`` if it has no frame."""
        self._window = window
        if window == WHOLE_RECORDING:
            return
        if next(self._timeline.frames(window), None) is None:
            raise InputError(f"{self.path}: no sample in the requested time window")

    def select_last_interval(self) -> bool:
        """Answer from the last interval of the selected window only; return whether there is one."""
        window = self._timeline.last_interval(self._window)
        if window is not None:
            self.select(window)
        return window is not None

    def read(self, path: str) -> str:
        """Return the file as it was in this frame; an output of a command in a report without keys."""
        text = self._required_answer(f"read {path}", path)
        may_have_keys = capture_format.is_output(path) and not path.startswith(("/sys/", "/proc/"))
        return masked(text) if may_have_keys else text

    def names_in(self, path: str) -> list[str]:
        """Return the listing as it was in this frame."""
        listed = self._newest_answer(f"names_in {path}", f"{path}/{capture_format.LISTING}")
        if listed is not None:
            return listed.splitlines()
        names = sorted(self._tree.names(path))
        self.charge(NAME_LINES * len(names))
        return names

    def link(self, path: str) -> str:
        """Return the link's target."""
        return (
            self._logged_answer(f"link {path}", None)
            or self._links.get(path)
            or self._tree.link(path)
        )

    def start(self, *command: str) -> None:
        """Do nothing: the output is recorded."""

    def run(self, *command: str) -> str:
        """Return the recorded output of *command*."""
        path = capture_format.command_file(command)
        printed = self._newest_answer("run " + " ".join(command), path)
        if printed is None:
            raise SourceMissing(f"{' '.join(command[:2])}: not in {self.path}")
        return masked(printed) if command[0] == "dmsetup" else printed

    def udev(self, number: str) -> dict[str, str]:
        """Return the recorded udev properties."""
        text = self._newest_answer(f"udev {number}", capture_format.udev_file(number))
        return self._sosreport.udev(number) if text is None else capture_format.parse_udev(text)

    def metadata(self, of: Metadata) -> list[dict[str, Json]]:
        """Return the recorded records."""
        return self._json(self._required_answer(of, f"/{of}.json"), f"{of}.json")

    def machine_id(self) -> str:
        """Return the recorded hash."""
        return self._required_answer("machine-id", capture_format.MACHINE_ID_HASH).strip()

    def uevents(self) -> list[dict[str, str]]:
        """Return the events between the previous frame and this one."""
        question = "uevents"
        self._logged_answer(question, None)  # raises if listening was refused
        answer = self._timeline.transient(question)
        if not answer:
            return self._background_events()
        events = [
            event
            for text in answer
            for event in ([{"ACTION": SKIPPED}] if text == SKIPPED else self._json(text, question))
        ]
        if not all(isinstance(value, str) for event in events for value in event.values()):
            raise CaptureError(f"{self.path}: {question} is damaged: a value is not text")
        return events + self._background_events()

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Return an answer that is ready in the frame in which it was recorded as ready."""
        answer = ReplayedAnswer(partial(ask, self), self._background_state)
        self._background = cast("ReplayedAnswer[object]", answer)
        return answer

    def remembered(self, ask: Callable[[Host], T]) -> Callable[[Host], T]:
        """Return *ask* with its result kept until an answer changes that it asked this host for."""
        results: list[T] = []
        asked: set[str] = set()  # what the result is made of; empty if that changed
        self._made_of.append(asked)

        def again(host: Host) -> T:
            changed = self._timeline.changed()
            for questions in self._made_of:
                if changed is None or not questions.isdisjoint(changed):
                    questions.clear()
            if not (asked and results):
                results.clear()
                asked.clear()
                self._noted = asked
                try:
                    results.append(ask(host))
                finally:
                    self._noted = None
            return results[0]

        return again

    def version(self) -> int | None:
        """Return a number that stays the same while only counters and events change; None if that is unknown."""
        return self._timeline.version()

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:  # noqa: ARG002 - a recording has its own pace
        """Yield the instants of the frames, moving to each."""
        return (time for time, _ in islice(self._frames(), count))

    def steps(self) -> Iterator[tuple[float, int]]:
        """
        Yield the instants of as few frames as sums over several samples need, with the intervals that each ends.

        In a window with a step, its frames, and with 0 those between that the recording does not mark as plain
        counting. In any other, of consecutive frames that are marked so, the first and the last.
        """
        return self._frames(sparse=True)

    def _frames(self, *, sparse: bool = False) -> Iterator[FrameTime]:
        """Start from the first frame; background questions of an earlier pass are forgotten."""
        self._background, self._was_background_pending = None, False
        try:
            for frame in self._timeline.frames(self._window, sparse=sparse):
                yield frame
                self._is_replaying = True
        finally:
            self._is_replaying = False

    def _background_state(self) -> str | capture_format.Refusal | None:
        return self._timeline.answer(BACKGROUND, None)

    def _background_events(self) -> list[dict[str, str]]:
        """Return an event if an answer arrived that this replay does not wait for."""
        pending = self._background_state() == PENDING
        waits = self._background is not None and not self._background.taken
        came = self._was_background_pending and not pending and not waits
        self._was_background_pending = pending
        return [{"ACTION": ANSWERED_IN_BACKGROUND}] if came else []

    def _warn_left_out(self, what: str) -> None:
        if self._warn is None:
            raise CaptureError(f"{self.path}{what}")
        self._warn(f"{self.path}{what}")

    def _required_answer(self, question: str, path: str) -> str:
        """Return the newest answer; ``SourceMissing`` if the capture has none."""
        kept = self._newest_answer(question, path)
        if kept is None:
            raise SourceMissing(f"{path}: not in {self.path}")
        return kept

    def _newest_answer(self, question: str, path: str) -> str | None:
        """Return the newest answer up to this frame, None if the capture has none."""
        answer = self._logged_answer(question, path)
        if answer is None:
            answer = self._first_answer(path)
        if answer and self._is_replaying:
            lines = answer.count("\n") if self._noted is None else LINES_PER_LETTER * len(answer)
            self._budget.replay(int(lines))
        return answer

    def charge(self, lines: int) -> None:
        """Charge what is asked or made after the first sample as *lines* of counters."""
        if self._is_replaying:
            self._budget.replay(lines)

    def _first_answer(self, path: str) -> str | None:
        try:
            text = capture_format.recorded_text(self._tree.read(path), f"{self.path}{path}")
        except SourceMissing:
            return self._sosreport.answer(path)
        unpadded = text.rstrip("\0")
        if not path.startswith("/sys/") or unpadded == text or "\0" in unpadded:
            return text  # a page of vpd data is binary
        if self._warn and not self._padded:
            self._warn(f"{self.path}: {PADDED}")
        self._padded = True
        return unpadded

    def _logged_answer(self, question: str, path: str | None) -> str | None:
        """Return the newest answer after the first ones, None without one; a recorded refusal is raised."""
        if self._is_replaying:
            self._budget.replay(QUESTION_LINES)
        if self._noted is not None:
            self._noted.add(question)
        answer = self._timeline.answer(question, path)
        if answer is None and question in self._refused:
            answer = capture_format.Refusal(*self._refused[question])
        if isinstance(answer, capture_format.Refusal):
            raise capture_format.REFUSALS.get(answer.kind, SourceError)(masked(answer.message))
        return answer

    def _json(self, text: str, what: str) -> list[dict[str, Any]]:
        records = capture_format.parse_json(text, f"{self.path}: {what}")
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            raise CaptureError(f"{self.path}: {what} is damaged: not a list of records")
        return records
