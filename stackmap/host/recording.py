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
from stackmap.host.background import ASIDE, WAITED_FOR
from stackmap.host.capture_paths import encoded
from stackmap.host.log import Lines, Refused
from stackmap.host.log_writer import Segment
from stackmap.host.manifest import FORMAT, MANIFEST, UNFINISHED
from stackmap.host.recorder import LINK, Aside, KeepingHost, Kept, as_json, refused

if TYPE_CHECKING:
    from stackmap.host import Answer, Host

T = TypeVar("T")


class RecordingHost(KeepingHost):
    """
    Pass each question on to *host* and keep the answer under *directory*.

    What is asked before the first tick is kept as plain files, a capture as
    soon as that tick comes; from then on answers go to the log, those of a
    tick in one write. Use it as a context, which ends it. ``CaptureError``
    where something cannot be written: what was written before is a capture.
    """

    def __init__(self, host: Host, directory: str) -> None:
        super().__init__(host, self._keep)
        self._directory = Path(directory)
        self._first: dict[str, str | Refused] = {}
        self._later: dict[str, Lines | Refused] = {}
        self._entries: list[bytes] = []
        self._segment: Segment | None = None
        self._time: float | None = None
        self._asides: set[Aside[Any]] = set()
        self._newer: set[str] = set()  # what was asked besides, while one was waited for
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

    def aside(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask aside, and keep what was answered in the frame in which all of it is there."""
        kept: list[Kept] = []
        answer = self._host.aside(lambda host: ask(KeepingHost(host, kept.append)))
        aside = Aside(answer, kept, self._take_in)
        self._asides.add(aside)
        return aside

    def uevents(self) -> list[dict[str, str]]:
        """Ask, and keep what was told in this frame."""
        question = "uevents"
        try:
            told = self._host.uevents()
        except SourceError as error:
            self._keep((question, None, refused(error)))
            raise
        if told and self._time is not None:
            self._entries.append(log.passing(question, json.dumps(told)))
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

    def _take_in(self, aside: Aside[T], kept: list[Kept]) -> None:
        """Keep what was asked aside, but for what the samples have asked since: they have newer answers."""
        self._asides.discard(aside)
        newer, self._newer = self._newer, set()
        for each in kept:
            if each[0] not in newer:
                self._keep(each)

    def _keep(self, kept: Kept) -> None:
        """Keep an answer; a later one only where it differs."""
        question, path, answer = kept
        if self._asides:
            self._newer.add(question)
        if self._time is None:
            if isinstance(answer, str) and path is not None and self._first.get(question) != answer:
                self._write(path, answer)
            self._first[question] = answer
            return
        before = self._later.get(question)
        now = answer if isinstance(answer, Refused) else answer.split("\n")
        if now == before or (before is None and self._first.get(question) == answer):
            return
        self._later[question] = now
        self._entries.append(log.entry(question, now, before))

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
            if isinstance(answer, Refused)
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
        if self._asides or ASIDE in self._later:
            self._keep((ASIDE, None, WAITED_FOR if self._asides else ""))
        if self._segment is not None and time >= self._segment.start + log.SPAN:
            self._segment.end()
            self._segment = None
        if self._segment is None:
            self._segment = Segment(f"{self._directory}{log.name_of(time)}", time)
            passing = [each for each in self._entries if each.startswith(log.PASSING)]
            told = [log.entry(question, answer) for question, answer in self._later.items()]
            count = log.passing(log.COUNT, f"{self.frames} {self._marks}")
            self._entries = [*told, *passing, count]
        self._segment.append(log.frame(time, self._entries))
        self._entries = []
        self.frames += 1

    def _write(self, path: str, content: str) -> None:
        place = self._directory / path.lstrip("/")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(encoded(content))
        except OSError as error:
            raise CaptureError(f"{place}: {error.strerror}") from error
