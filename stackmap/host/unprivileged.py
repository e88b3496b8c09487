"""A host as an ordinary user sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

from stackmap.errors import SourceDenied
from stackmap.host import Answer, Host, Json

T = TypeVar("T")


class UnprivilegedHost:
    """
    Pass on what anyone may ask of *host*, and refuse what needs root.

    Recording asks through it once more, so that a capture taken by root also has
    the files that are read without dmsetup.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    def read(self, path: str) -> str:
        """Return the file's text."""
        return self._host.read(path)

    def names_in(self, path: str) -> list[str]:
        """Return the directory's names."""
        return self._host.names_in(path)

    def link(self, path: str) -> str:
        """Return the link's target."""
        return self._host.link(path)

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's properties."""
        return self._host.udev(number)

    def uevents(self) -> list[dict[str, str]]:
        """Return the events."""
        return self._host.uevents()

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask in the background, equally unprivileged."""
        return self._host.in_background(lambda host: ask(UnprivilegedHost(host)))

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Yield the host's instants."""
        return self._host.ticks(interval, count)

    def run(self, *command: str) -> NoReturn:
        """Refuse: every command that stackmap runs needs root."""
        raise SourceDenied(f"{' '.join(command[:2])}: needs root")

    def volumes(self) -> list[dict[str, Json]]:
        """Refuse: libblockdev needs root."""
        raise SourceDenied("libblockdev: needs root")

    def arrays(self) -> list[dict[str, Json]]:
        """Refuse: libblockdev needs root."""
        raise SourceDenied("libblockdev: needs root")
