"""A host as an ordinary user sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from stackmap.errors import SourceDenied
from stackmap.host import Answer, Host
from stackmap.host.recorder import InterceptingHost

T = TypeVar("T")


class UnprivilegedHost(InterceptingHost):
    """
    Pass on what anyone may ask of *host*, and refuse what needs root.

    Recording asks through it once more, so that a capture taken by root also has
    the files that are read without dmsetup.
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host, lambda _: None)

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask in the background, equally unprivileged."""
        return self._host.in_background(lambda host: ask(UnprivilegedHost(host)))

    def start(self, *command: str) -> None:
        """Do nothing: ``run`` refuses."""

    def run(self, *command: str) -> NoReturn:
        """Refuse: every command that stackmap runs needs root."""
        raise SourceDenied(f"{' '.join(command[:2])}: needs root")

    def volumes(self) -> NoReturn:
        """Refuse: libblockdev needs root."""
        raise SourceDenied("libblockdev: needs root")

    def arrays(self) -> NoReturn:
        """Refuse: libblockdev needs root."""
        raise SourceDenied("libblockdev: needs root")
