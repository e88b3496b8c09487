"""A host as an ordinary user sees it, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, TypeVar

from stackmap.errors import SourceDenied

if TYPE_CHECKING:
    from stackmap.host import Answer, Host, Json

T = TypeVar("T")


class UnprivilegedHost:
    """
    Pass on what anyone may ask of *host*, and refuse what needs root.

    The recorder asks through it once more, so that a capture taken by root
    also holds what a topology without dmsetup is read from.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    def read(self, path: str) -> str:
        """Ask for a file."""
        return self._host.read(path)

    def names_in(self, path: str) -> list[str]:
        """Ask for a listing."""
        return self._host.names_in(path)

    def link(self, path: str) -> str:
        """Ask for a link."""
        return self._host.link(path)

    def udev(self, number: str) -> dict[str, str]:
        """Ask udev."""
        return self._host.udev(number)

    def uevents(self) -> list[dict[str, str]]:
        """Ask what changed."""
        return self._host.uevents()

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask aside."""
        return self._host.in_background(lambda host: ask(UnprivilegedHost(host)))

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Ask for instants."""
        return self._host.ticks(interval, count)

    def run(self, *command: str) -> NoReturn:
        """Refuse: the commands that know more than sysfs all need root."""
        raise SourceDenied(f"{' '.join(command[:2])}: needs root")

    def volumes(self) -> list[dict[str, Json]]:
        """Refuse."""
        raise SourceDenied("libblockdev: needs root")

    def arrays(self) -> list[dict[str, Json]]:
        """Refuse."""
        raise SourceDenied("libblockdev: needs root")
