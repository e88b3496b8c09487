"""
``Host``: the questions that can be asked of a machine.

Answers are text (or JSON values), so every answer can be recorded; nothing
outside this folder opens a file, runs a command, sleeps, or asks the time.
Three hosts answer: ``LiveHost`` this machine, ``CapturedHost`` a recorded one,
``RecordingHost`` whatever stands behind it, keeping each answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

# What ``uevents`` says where some were missed: anything may have changed.
EVENTS_LOST = {"ACTION": "lost"}

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Answer(Protocol[T_co]):
    """What was asked for aside."""

    def ready(self, seconds: float) -> bool:
        """Wait for it, *seconds* at most; return whether it is there."""

    def result(self) -> T_co:
        """Return it, or raise what asking for it raised."""


class Host(Protocol):
    """
    A machine to look at.

    Every question may raise ``SourceMissing``, ``SourceDenied`` or
    ``SourceTimeout``; a capture repeats the refusals it recorded.
    """

    def read(self, path: str) -> str:
        """Return the text of the file at *path*, an absolute path."""

    def names_in(self, path: str) -> list[str]:
        """Return the names in the directory at *path*, sorted."""

    def link(self, path: str) -> str:
        """Return what the symbolic link at *path* says, unresolved."""

    def run(self, *command: str) -> str:
        """
        Return what *command* prints.

        Options that take a value are written ``--option=value``, so that the
        words without a dash name the question (``dmsetup table``).
        """

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's properties of the block device with *number* ("8:0"); {} if it has none."""

    def volumes(self) -> list[dict[str, Json]]:
        """Return LVM's LVs, every VG's, hidden ones too, as libblockdev (or ``lvs``) tells them."""

    def arrays(self) -> list[dict[str, Json]]:
        """Return md's arrays as libblockdev tells them."""

    def uevents(self) -> list[dict[str, str]]:
        """
        Return what the kernel told of block devices since this was last asked.

        Each with ACTION ("add", "remove", "change" …), DEVNAME and what else
        it had; ``LOST`` where some were missed. The first time it begins to
        listen, and returns []. ``SourceMissing`` where nobody can listen.
        """

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Begin to *ask* a host like this one what takes long, while this one is asked other things."""

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """
        Yield *count* instants *interval* seconds apart, as seconds since the epoch.

        A live host sleeps between them; a captured one moves to its next
        frame, whatever the interval. None: for ever, or to the last frame.
        """
