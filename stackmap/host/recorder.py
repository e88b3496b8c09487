"""A host in front of a host, through which each question goes, and each answer is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from stackmap.errors import SourceError
from stackmap.host.capture import LISTING, REFUSALS
from stackmap.host.capture_paths import command_file, udev_file
from stackmap.host.log import Refusal

if TYPE_CHECKING:
    from stackmap.host import Answer, Host, Json

T = TypeVar("T")

RecordedAnswer = tuple[
    str, str | None, str | Refusal
]  # question, the file its answer has in a capture, answer
LINK = "link "  # before the path, in the question for a link


class InterceptingHost:
    """Pass each question on to *host*, and have each answer kept by *keep*, refusals too."""

    def __init__(self, host: Host, keep: Callable[[RecordedAnswer], None]) -> None:
        self._host = host
        self._kept_by = keep

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
        return self._ask(LINK + path, None, lambda: self._host.link(path), str)

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
        return self._ask("volumes", "/volumes.json", self._host.volumes, as_json)

    def arrays(self) -> list[dict[str, Json]]:
        """Ask, and keep md's records."""
        return self._ask("arrays", "/arrays.json", self._host.arrays, as_json)

    def uevents(self) -> list[dict[str, str]]:
        """Ask; what passes is kept by who samples."""
        return self._host.uevents()

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask aside."""
        return self._host.in_background(ask)

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Pass the instants on."""
        return self._host.ticks(interval, count)

    def _ask(
        self, question: str, path: str | None, answer: Callable[[], T], text: Callable[[T], str]
    ) -> T:
        try:
            value = answer()
        except SourceError as error:
            self._kept_by((question, path, refusal_of(error)))
            raise
        self._kept_by((question, path, text(value)))
        return value


class RecordedBackgroundAnswer(Generic[T]):
    """An *answer* whose questions were *kept*; *take_in* is given these when it is taken."""

    def __init__(
        self,
        answer: Answer[T],
        kept: list[RecordedAnswer],
        take_in: Callable[[RecordedBackgroundAnswer[T], list[RecordedAnswer]], None],
    ) -> None:
        self._answer = answer
        self._kept = kept
        self._take_in = take_in

    def ready(self, seconds: float) -> bool:
        """Wait for it, *seconds* at most; return whether it is there."""
        return self._answer.ready(seconds)

    def result(self) -> T:
        """Return it, and have its questions kept."""
        try:
            return self._answer.result()
        finally:
            self._take_in(self, self._kept)


def refusal_of(error: SourceError) -> Refusal:
    """Return what is kept of a refusal: the word in ``REFUSALS`` that makes it again, and what it said."""
    kind = next(word for word, kind in REFUSALS.items() if type(error) is kind)
    return Refusal(kind, str(error))


def as_json(value: object) -> str:
    """Return *value* as a capture has it."""
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def _lines(names: list[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def _properties(properties: dict[str, str]) -> str:
    return "".join(f"E:{key}={value}\n" for key, value in sorted(properties.items()))
