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
from stackmap.host.capture import FORMAT, LISTING, MANIFEST, REFUSALS
from stackmap.host.places import command_file, udev_file

if TYPE_CHECKING:
    from stackmap.host import Host, Json

T = TypeVar("T")


class RecordingHost:
    """
    Pass each question on to *host* and keep the answer under *directory*.

    Use it as a context: what was refused and the instants of the frames are
    written when it ends.
    """

    def __init__(self, host: Host, directory: str) -> None:
        self._host = host
        self._directory = Path(directory)
        self._kept: dict[str, str] = {}
        self._refused: dict[str, list[str]] = {}
        # In the manifest: /sys/block/sda is a link, and a folder of files too.
        self._links: dict[str, str] = {}
        self._times: list[float] = []
        try:
            taken = self._directory.exists() and any(self._directory.iterdir())
        except OSError as error:
            raise CaptureError(f"{directory}: {error.strerror}; give a new directory") from error
        if taken:
            raise CaptureError(f"{directory}: exists and is not empty; give a new directory")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._write(
            MANIFEST,
            _json(
                {
                    "format": FORMAT,
                    "times": self._times,
                    "refused": self._refused,
                    "links": self._links,
                }
            ),
        )

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

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Pass the instants on; answers after the first belong to later frames."""
        for time in self._host.ticks(interval, count):
            self._times.append(time)
            yield time

    def _ask(
        self, question: str, path: str | None, answer: Callable[[], T], text: Callable[[T], str]
    ) -> T:
        try:
            value = answer()
        except SourceError as error:
            self._refused.setdefault(question, [_kind(error), str(error)])
            raise
        if path is not None:
            self._keep(path, text(value))
        return value

    def _keep(self, path: str, content: str) -> None:
        """Write an answer; a later one only where it differs."""
        if self._kept.get(path) == content:
            return
        frame = max(0, len(self._times) - 1)
        first = path not in self._kept
        self._kept[path] = content
        self._write(path if first or frame == 0 else f"/frames/{frame}{path}", content)

    def _write(self, path: str, content: str) -> None:
        place = self._directory / path.lstrip("/")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, encoding="utf-8")
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
