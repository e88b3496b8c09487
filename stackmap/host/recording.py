"""
The recorder: a host in front of a host, that keeps every question with its answer.

So a capture holds exactly what the program asked, refusals included, and
cannot drift from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from stackmap.errors import CaptureError, SourceError
from stackmap.host import log
from stackmap.host.background import BACKGROUND, PENDING
from stackmap.host.capture_paths import encoded
from stackmap.host.log import Lines, Refusal
from stackmap.host.log_writer import SegmentWriter
from stackmap.host.manifest import FORMAT, MANIFEST, UNFINISHED
from stackmap.host.recorder import (
    LINK,
    InterceptingHost,
    RecordedAnswer,
    RecordedBackgroundAnswer,
    as_json,
    refusal_of,
)

if TYPE_CHECKING:
    from stackmap.host import Answer, Host

T = TypeVar("T")


class RecordingHost(InterceptingHost):
    """
    Pass each question on to *host* and keep the answer under *directory*.

    What is asked before the first tick is kept as plain files, a capture as
    soon as that tick comes; from then on answers go to the log, those of a
    tick in one write. Use it as a context, which ends it. ``CaptureError``
    where something cannot be written: what was written before is a capture.
    """

    def __init__(self, host: Host, directory: str) -> None:
        super().__init__(host, self._record)
        self._directory = Path(directory)
        self._first: dict[str, str | Refusal] = {}
        self._later: dict[str, Lines | Refusal] = {}
        self._entries: list[bytes] = []
        self._segment: SegmentWriter | None = None
        self._time: float | None = None
        self._background: set[RecordedBackgroundAnswer[Any]] = set()
        self._asked_meanwhile: set[str] = set()  # what was asked besides, while one was waited for
        self._marks = 0
        self.frames = 0
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._segment is not None:
            if kind is None or not issubclass(kind, CaptureError):
                self._segment.end()
        elif kind is None:
            self._finish_first()

    def mark(self) -> None:
        """Mark the frame of this tick: more happened since the one before than that all devices counted on."""
        self._marks += 1

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask aside, and keep what was answered in the frame in which all of it is there."""
        kept: list[RecordedAnswer] = []
        answer = self._host.in_background(lambda host: ask(InterceptingHost(host, kept.append)))
        aside = RecordedBackgroundAnswer(answer, kept, self._record_background)
        self._background.add(aside)
        return aside

    def uevents(self) -> list[dict[str, str]]:
        """Ask, and keep what was told in this frame."""
        question = "uevents"
        try:
            told = self._host.uevents()
        except SourceError as error:
            self._record((question, None, refusal_of(error)))
            raise
        if told and self._time is not None:
            self._entries.append(log.encode_transient(question, json.dumps(told)))
        return told

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Pass the instants on; what is asked after one, until the next is asked for, is its frame."""
        for time in self._host.ticks(interval, count):
            if self._time is None:
                self._finish_first()
            self._time = time
            yield time
            # Only here: a frame that was interrupted may lack the counters, and is none.
            self._write_frame()

    def _record_background(
        self, aside: RecordedBackgroundAnswer[T], kept: list[RecordedAnswer]
    ) -> None:
        """Keep what was asked aside, but for what the samples have asked since: they have newer answers."""
        self._background.discard(aside)
        newer, self._asked_meanwhile = self._asked_meanwhile, set()
        for each in kept:
            if each[0] not in newer:
                self._record(each)

    def _record(self, kept: RecordedAnswer) -> None:
        """Keep an answer; a later one only where it differs."""
        question, path, answer = kept
        if self._background:
            self._asked_meanwhile.add(question)
        if self._time is None:
            if isinstance(answer, str) and path is not None and self._first.get(question) != answer:
                self._write(path, answer)
            self._first[question] = answer
            return
        before = self._later.get(question)
        now = answer if isinstance(answer, Refusal) else answer.split("\n")
        if now == before or (before is None and self._first.get(question) == answer):
            return
        self._later[question] = now
        self._entries.append(log.encode_entry(question, now, before))

    def _begin(self) -> None:
        """Take the directory, with a mark that nothing can be read from it yet."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            taken = any(self._directory.iterdir())
        except OSError as error:
            raise CaptureError(
                f"{self._directory}: {error.strerror}; give a new directory"
            ) from error
        if taken:
            raise CaptureError(f"{self._directory}: exists and is not empty; give a new directory")
        self._write(UNFINISHED, "")

    def _finish_first(self) -> None:
        """Write the manifest, at once: from here on this is a capture."""
        refusals = {
            question: [answer.kind, answer.message]
            for question, answer in self._first.items()
            if isinstance(answer, Refusal)
        }
        # /sys/block/sda is a link, and a folder of files too.
        links = {
            question.removeprefix(LINK): answer
            for question, answer in self._first.items()
            if question.startswith(LINK) and isinstance(answer, str)
        }
        manifest = {"format": FORMAT, "refused": refusals, "links": links}
        self._write(UNFINISHED, as_json(manifest))
        place = self._directory / UNFINISHED.lstrip("/")
        try:
            place.rename(self._directory / MANIFEST.lstrip("/"))
        except OSError as error:
            raise CaptureError(f"{place}: {error.strerror}") from error

    def _write_frame(self) -> None:
        """Write the frame that ends; at the end of a segment begin another, which tells all anew."""
        time = self._time or 0.0
        if self._background or BACKGROUND in self._later:
            self._record((BACKGROUND, None, PENDING if self._background else ""))
        if self._segment is not None and time >= self._segment.start + log.SEGMENT_SECONDS:
            self._segment.end()
            self._segment = None
        if self._segment is None:
            self._segment = SegmentWriter(f"{self._directory}{log.segment_path(time)}", time)
            passing = [each for each in self._entries if each.startswith(log.TRANSIENT)]
            told = [log.encode_entry(question, answer) for question, answer in self._later.items()]
            count = log.encode_transient(log.FRAME_COUNT, f"{self.frames} {self._marks}")
            self._entries = [*told, *passing, count]
        self._segment.append(log.encode_frame(time, self._entries))
        self._entries = []
        self.frames += 1

    def _write(self, path: str, content: str) -> None:
        place = self._directory / path.lstrip("/")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(encoded(content))
        except OSError as error:
            raise CaptureError(f"{place}: {error.strerror}") from error
