"""
A host in front of a host that records every question with its answer.

A capture therefore holds exactly what the program asked, refusals included.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Self, TypeVar

from stackmap.errors import CaptureError, OutputRefused, ParseError, SourceError
from stackmap.host import Answer, Host, log, segments
from stackmap.host.background import BACKGROUND, OUTDATED, PENDING
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_files import FORMAT, UNFINISHED
from stackmap.host.capture_format import LATE, Refusal, encoded, late_answer, refusal_of
from stackmap.host.directory import Directory, make_directory, open_directory
from stackmap.host.file_tree import FIRST_ANSWERS, MANIFEST
from stackmap.host.intercepting import (
    LINK,
    InterceptingHost,
    RecordedAnswer,
    RecordedBackgroundAnswer,
    as_json,
)
from stackmap.host.log import Lines
from stackmap.host.signals import delayed
from stackmap.host.timeline import SKIPPED

T = TypeVar("T")


class RecordingHost(InterceptingHost):
    """
    Pass each question on to *host* and record the answer under *directory*.

    *directory*: the path of a new one, or one that is open. Answers before the first tick go into
    one archive; with that tick the directory is a valid capture. Later answers go to the log, one
    write per tick. Leaving the context ends the recording. ``CaptureError`` if writing fails: what was written before stays a valid capture.

    With *append*, *directory* may be a recording already: all answers go to new segments of its
    log. Segments beyond *limits* are removed.
    """

    def __init__(
        self,
        host: Host,
        directory: str | segments.RecentFiles,
        limits: segments.Limits = segments.NO_LIMITS,
        *,
        append: bool = False,
    ) -> None:
        super().__init__(host, self._record)
        self._path = directory if isinstance(directory, str) else directory.path
        self._first = FirstAnswers()
        self._later: dict[str, Lines | Refusal] = {}
        self._entries: list[bytes] = []
        self._segment: segments.SegmentWriter | None = None
        self._time: float | None = None
        self._background: set[RecordedBackgroundAnswer[Any]] = set()
        self._beside: dict[str, tuple[Answer[object], list[RecordedAnswer]]] = {}
        self._late: dict[str, float | None] = {}  # seconds after the first sample; None: not yet
        self._begun: float | None = None  # the instant of the first sample
        self._is_first_written = False
        # The questions asked while a background one was pending.
        self._asked_meanwhile: set[str] = set()
        self._marks = 0
        self._is_marked = False
        self._is_outdated = False
        self.frames = 0
        self._earlier: int | None = None  # frames of a recording that is continued
        self._directory: Directory | segments.RecentFiles = (
            self._begin(append=append) if isinstance(directory, str) else directory
        )
        self._retention = segments.Retention(self._directory, limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        failed = kind is not None and issubclass(kind, CaptureError)
        if failed and not self.frames and self._earlier is None:
            self._directory.discard()
        elif self._segment is not None and not failed:
            self._segment.end()
            self._require_directory()
        elif kind is None and not self._is_first_written:
            self._finish_first()
        self._directory.close()

    def mark(self) -> None:
        """Mark the frame of this tick: more happened since the previous one than counters going up."""
        self._marks += 1
        self._is_marked = True

    def add(self, path: str, text: str) -> None:
        """Add the file *path*, which no question answers, to the capture."""
        self._write(path, encoded(text))

    def set_outdated(self, is_outdated: bool) -> None:
        """Set whether changes are known in this frame that its answers do not show."""
        self._is_outdated = is_outdated

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask in the background, and record the answers in the frame in which all have arrived."""
        aside = RecordedBackgroundAnswer(*self._asked_aside(ask), self._record_background)
        self._background.add(aside)
        return aside

    def _asked_aside(self, ask: Callable[[Host], T]) -> tuple[Answer[T], list[RecordedAnswer]]:
        """Return the answer to come, and the list that takes the answers that it is made of."""
        kept: list[RecordedAnswer] = []
        answer = self._host.in_background(lambda host: ask(InterceptingHost(host, kept.append)))
        return answer, kept

    def ask_beside(self, what: str, ask: Callable[[Host], object]) -> bool:
        """
        Ask *what* in a thread of its own, for which no sample waits; return False if it is being asked.

        What the first time comes after the first sample is still one of the first answers.
        """
        if isinstance(self._host, CapturedHost):
            with suppress(SourceError, ParseError):  # a refusal is recorded, too
                ask(self)
            return True
        if what in self._beside:
            return False
        self._beside[what] = self._asked_aside(ask)
        return True

    def take_beside(self, seconds: float) -> None:
        """Record what has come of ``ask_beside``; wait up to *seconds* for it."""
        end = monotonic() + seconds
        for what, (answer, kept) in [*self._beside.items()]:
            if not answer.ready(max(0.0, end - monotonic())):
                # Later it is asked again, and the first answer is known.
                if not self._first.is_closed:
                    self._late.setdefault(what, None)
                continue
            del self._beside[what]
            with suppress(SourceError, ParseError):  # refusals and odd answers are recorded, too
                answer.result()
            for recorded in kept:
                is_known = recorded[0] in self._later or recorded[0] in self._first
                if self._first.is_closed or is_known:
                    self._record(recorded)
                else:
                    self._first[recorded[0]] = recorded
            if not self._first.is_closed and self._late.get(what, 0.0) is None:
                self._late[what] = (self._time or 0.0) - (self._begun or 0.0)
                self._is_first_written = False
        self._first.is_closed |= self._is_first_written and not self._beside

    def late(self) -> Iterator[str]:
        """Yield a sentence on each question whose first answer came late, or not yet."""
        spent = (self._time or 0.0) - (self._begun or 0.0)
        for what, seconds in self._late.items():
            if (spent if seconds is None else seconds) >= LATE:
                yield late_answer(what, seconds)

    def uevents(self) -> list[dict[str, str]]:
        """Return the events, and record them in this frame."""
        question = "uevents"
        try:
            answers = self._host.uevents()
        except SourceError as error:
            self._record((question, None, refusal_of(error)))
            raise
        if answers and self._time is not None:
            self._entries.append(log.encode_transient(question, json.dumps(answers)))
        return answers

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Yield the host's instants; questions after one, until the next, belong to its frame."""
        for time in self._host.ticks(interval, count):
            self._begun = time if self._begun is None else self._begun
            self._time = time
            yield time
            # Only here: an interrupted frame may lack the counters and is not written.
            self._write_frame()

    def _record_background(
        self, aside: RecordedBackgroundAnswer[T], kept: list[RecordedAnswer]
    ) -> None:
        """Record background answers, except those that sampling has asked again since."""
        self._background.discard(aside)
        newer, self._asked_meanwhile = self._asked_meanwhile, set()
        for answer in kept:
            question = answer[0]
            if question not in newer:
                self._record(answer)

    def _record(self, kept: RecordedAnswer) -> None:
        """Record an answer; a later one only if it differs."""
        question, _, answer = kept
        if self._background:
            self._asked_meanwhile.add(question)
        if self._time is None and not self._first.is_closed:
            self._first[question] = kept
            return
        before = self._later.get(question)
        now = answer if isinstance(answer, Refusal) else answer.split("\n")
        if now == before or (before is None and self._first.get(question) == kept):
            return
        self._later[question] = now
        self._entries.append(log.encode_entry(question, now, before))

    def _begin(self, *, append: bool) -> Directory:
        """Create the directory, marked as unreadable so far, or continue the recording in it."""
        try:
            directory = (
                make_directory(self._path) if not append else open_directory(self._path, make=True)
            )
        except OSError as error:
            raise CaptureError(f"{self._path}: {error.strerror}; give a new directory") from error
        if not directory.lock():
            raise OutputRefused(
                f"{self._path}: another stackmap records here; give a new directory"
            )
        try:
            if directory.status(MANIFEST) is not None:
                # What happened since its last frame is unknown.
                self._earlier = self._marks = segments.complete_last_segment(directory)
                self._is_first_written = self._first.is_closed = True
                self.mark()
                self._entries.append(log.encode_transient("uevents", SKIPPED))
            elif append and not {UNFINISHED.lstrip("/"), FIRST_ANSWERS.lstrip("/")}.issuperset(
                directory.names(".")
            ):
                raise OutputRefused(
                    f"{self._path}: exists and is no recording; give a new directory"
                )
            else:
                directory.write(UNFINISHED, b"")
        except OSError as error:
            if not append:
                directory.discard()
            raise CaptureError(f"{self._path}: {error.strerror}") from error
        return directory

    def _finish_first(self) -> None:
        """Write the manifest; from here on this is a capture."""
        new = FIRST_ANSWERS + ".new"
        self._write(new, self._first.archive())
        self._write(UNFINISHED, self._first.manifest(self._late))
        with self._errors(MANIFEST):
            self._directory.rename(new, FIRST_ANSWERS)
            self._directory.rename(UNFINISHED, MANIFEST)
        self._is_first_written = True
        self._first.is_closed = not self._beside

    def _write_frame(self) -> None:
        """Write the frame that ends; at the end of a segment start another, which repeats all answers."""
        self._require_directory()
        if not self._is_first_written:
            self._finish_first()
        time = self._time or 0.0
        state = PENDING if self._background else OUTDATED if self._is_outdated else ""
        if state or BACKGROUND in self._later:
            self._record((BACKGROUND, None, state))
        if self._segment is not None and self._retention.is_full(self._segment, time):
            self._retention.end(self._segment)
            self._segment = None
        marked, self._is_marked = self._is_marked, False
        if marked:
            self._entries.insert(0, log.MARKED)
        if self._segment is None:
            if not self._retention.is_newest(time):  # readers would take it for an earlier one
                raise CaptureError(
                    f"{self._path}: the clock is before the samples there; set it, or give a new directory"
                )
            self._segment = self._new_segment(log.segment_path(time), time)
            passing = [entry for entry in self._entries if entry.startswith(log.TRANSIENT)]
            mark = [] if marked else [log.UNMARKED]
            answers = [log.encode_entry(*later) for later in self._later.items()]
            before = self.frames + (self._earlier or 0)
            count = log.encode_transient(log.FRAME_COUNT, f"{before} {self._marks}")
            self._entries = [*mark, *passing, *answers, count]
        try:
            with delayed(segments.INTERRUPTS):  # a frame that is written is counted
                self._segment.append(log.encode_frame(time, self._entries))
                self._entries = []
                self.frames += 1
        except CaptureError:
            if not self._segment.size:
                with suppress(OSError):  # the failure is what counts
                    self._directory.remove(log.segment_path(self._segment.start))
            raise
        with self._errors(log.FOLDER):
            self._retention.trim(self._segment, time)

    def _new_segment(self, path: str, start: float) -> segments.SegmentWriter:
        with self._errors(path):
            file = self._directory.create(path)
        return segments.SegmentWriter(file, self._path + path, start)

    def _require_directory(self) -> None:
        """End the recording if others removed, moved or replaced its directory."""
        if self._directory.is_at_its_path():
            return
        if self._directory.is_removed():
            self.frames = 0
            raise CaptureError(f"{self._path}: the directory was removed; no sample is saved")
        raise CaptureError(f"{self._path}: the directory was moved or replaced")

    def _write(self, path: str, content: bytes) -> None:
        with self._errors(path):
            self._directory.write(path, content)

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CaptureError(f"{self._path}{path}: {error.strerror}") from error


class FirstAnswers(dict[str, RecordedAnswer]):
    """The answers that came before the first sample, by question; ``is_closed``: all are written, and no more are added."""

    is_closed = False

    def manifest(self, late: Mapping[str, float | None]) -> bytes:
        """Return the manifest as JSON: the format, the refused questions, where links lead, what came *late*."""
        refusals = {
            question: [answer.kind, answer.message]
            for question, _, answer in self.values()
            if isinstance(answer, Refusal)
        }
        # Links are listed: /sys/block/sda is both a link and a directory of files here.
        links = {
            question.removeprefix(LINK): answer
            for question, _, answer in self.values()
            if question.startswith(LINK) and isinstance(answer, str)
        }
        manifest = {"format": FORMAT, "refused": refusals, "links": links}
        return encoded(as_json({**manifest, "late": dict(late)} if late else manifest))

    def archive(self) -> bytes:
        """
        Return a compressed tar of the answers that have a path, as files of that name.

        A host with 1,000 devices gives some 22,000 first answers; as files they took seconds to
        write and 4 KiB each.
        """
        buffer = io.BytesIO()
        # Level 1: mostly padding, and the host under investigation has other work. Without a time: gzip has
        # none before 1970, where a clock without a battery may stand.
        with (
            gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
        ):
            for _, path, answer in self.values():
                if path is None or isinstance(answer, Refusal):
                    continue
                content = encoded(answer)
                member = tarfile.TarInfo(path.lstrip("/"))
                member.size = len(content)
                member.mode = 0o600
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()
