"""
The recorder: a host in front of a host, that keeps every question with its answer.

So a capture holds exactly what the program asked, refusals included, and
cannot drift from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from stackmap.errors import CaptureError, SourceError
from stackmap.host import log
from stackmap.host.capture import FORMAT, LISTING, MANIFEST, REFUSALS, UNFINISHED
from stackmap.host.log import Lines, Refused
from stackmap.host.places import command_file, encoded, udev_file
from stackmap.host.segment import Segment

if TYPE_CHECKING:
    from stackmap.host import Host, Json

T = TypeVar("T")


class RecordingHost:
    """
    Pass each question on to *host* and keep the answer under *directory*.

    What is asked before the first tick is kept as plain files, a capture as
    soon as that tick comes; from then on answers go to the log, those of a
    tick in one write. Use it as a context, which ends it. ``CaptureError``
    where something cannot be written: what was written before is a capture.
    """

    def __init__(self, host: Host, directory: str) -> None:
        self._host = host
        self._directory = Path(directory)
        self._first: dict[str, str | Refused] = {}
        # In the manifest: /sys/block/sda is a link, and a folder of files too.
        self._links: dict[str, str] = {}
        self._later: dict[str, Lines | Refused] = {}
        self._entries: list[bytes] = []
        self._segment: Segment | None = None
        self._time: float | None = None
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

    def read(self, path: str) -> str:
        """Ask, and keep the file."""
        return self._ask(f"read {path}", path, lambda: self._host.read(path), str)

    def names_in(self, path: str) -> list[str]:
        """Ask, and keep the listing."""
        return self._ask(
            f"names_in {path}", f"{path}/{LISTING}", lambda: self._host.names_in(path), _lines
        )

    def link(self, path: str) -> str:
        """Ask, and keep the link."""
        target = self._ask(f"link {path}", None, lambda: self._host.link(path), str)
        if self._time is None:
            self._links[path] = target
        return target

    def run(self, *command: str) -> str:
        """Ask, and keep what was printed."""
        question = "run " + " ".join(command)
        return self._ask(question, command_file(command), lambda: self._host.run(*command), str)

    def udev(self, number: str) -> dict[str, str]:
        """Ask, and keep the properties in udev's own format."""
        return self._ask(
            f"udev {number}", udev_file(number), lambda: self._host.udev(number), _properties
        )

    def volumes(self) -> list[dict[str, Json]]:
        """Ask, and keep LVM's records."""
        return self._ask("volumes", "/volumes.json", self._host.volumes, _json)

    def arrays(self) -> list[dict[str, Json]]:
        """Ask, and keep md's records."""
        return self._ask("arrays", "/arrays.json", self._host.arrays, _json)

    def uevents(self) -> list[dict[str, str]]:
        """Ask, and keep what was told in this frame."""
        question = "uevents"
        try:
            told = self._host.uevents()
        except SourceError as error:
            self._keep(question, None, Refused(_kind(error), str(error)))
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

    def _ask(
        self, question: str, path: str | None, answer: Callable[[], T], text: Callable[[T], str]
    ) -> T:
        try:
            value = answer()
        except SourceError as error:
            self._keep(question, path, Refused(_kind(error), str(error)))
            raise
        self._keep(question, path, text(value))
        return value

    def _keep(self, question: str, path: str | None, answer: str | Refused) -> None:
        """Keep an answer; a later one only where it differs."""
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
        refused = {
            question: [answer.kind, answer.message]
            for question, answer in self._first.items()
            if isinstance(answer, Refused)
        }
        manifest = {"format": FORMAT, "refused": refused, "links": self._links}
        self._write(UNFINISHED, _json(manifest))
        place = self._directory / UNFINISHED.lstrip("/")
        try:
            place.rename(self._directory / MANIFEST.lstrip("/"))
        except OSError as error:
            raise CaptureError(f"{place}: {error.strerror}") from error

    def _write_frame(self) -> None:
        """Write the frame that ends; at the end of a segment begin another, which tells all anew."""
        time = self._time or 0.0
        if self._segment is not None and time >= self._segment.start + log.SPAN:
            self._segment.end()
            self._segment = None
        if self._segment is None:
            self._segment = Segment(f"{self._directory}{log.name_of(time)}", time)
            passing = [each for each in self._entries if each.startswith(log.PASSING)]
            told = [log.entry(question, answer) for question, answer in self._later.items()]
            self._entries = told + passing
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


def _kind(error: SourceError) -> str:
    """Return the word in ``REFUSALS`` that makes this error again."""
    return next(word for word, kind in REFUSALS.items() if type(error) is kind)


def _lines(names: list[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def _properties(properties: dict[str, str]) -> str:
    return "".join(f"E:{key}={value}\n" for key, value in sorted(properties.items()))


def _json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"
