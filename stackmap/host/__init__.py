"""
``Host``: the questions that can be asked of a machine.

Answers are text or JSON values, so every answer can be recorded. Only this package opens files,
runs commands, sleeps or reads the clock. Three hosts answer: ``LiveHost`` (this machine),
``CapturedHost`` (a capture) and ``RecordingHost`` (either of them, keeping each answer). Start with the
protocol below. The rooms behind it need only ``errors`` of the core:

- this machine: ``live``, ``command``, ``dm_ioctl``, ``blockdev``; slow questions: ``background``;
- a capture that is read: ``capture``; its files ``capture_files``, ``file_tree``, ``archive_tree``; its frames
  ``timeline``, ``log``, ``log_reader``; how an answer is written: ``capture_format``;
- hosts in front of a host: ``intercepting``, ``recording``; the files of a recording: ``segments``;
- other files that are written, safely: ``directory``;
- what ``trace`` needs besides: ``tracing``, ``btf``, ``signals``;
- ``table_keys`` masks keys wherever a table comes from.

What is remembered of answers stands where it is used: ``KeptAnswers`` of devices until they change
(``intercepting``), ``Answers`` of a log (``log_reader``) and ``FirstAnswers`` of a recording (``recording``).
"""

from collections.abc import Callable, Iterator
from typing import Literal, Protocol, TypeVar

# An event that stands for missed ones: any device may have changed.
EVENTS_LOST = {"ACTION": "lost"}

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Metadata = Literal["volumes", "arrays"]
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Answer(Protocol[T_co]):
    """The result of a question that was asked in the background."""

    def ready(self, seconds: float) -> bool:
        """Wait up to *seconds* for it; return whether it is there."""

    def result(self) -> T_co:
        """Wait for it and return it, or raise the error of the question."""


class Host(Protocol):
    """
    A machine to look at.

    Every question may raise ``SourceMissing``, ``SourceDenied`` or
    ``SourceTimeout``; a capture repeats the errors it recorded.
    """

    def read(self, path: str) -> str:
        """Return the text of the file at the absolute *path*."""

    def names_in(self, path: str) -> list[str]:
        """Return the sorted names in the directory at *path*."""

    def link(self, path: str) -> str:
        """Return the target of the symbolic link at *path*, unresolved."""

    def start(self, *command: str) -> None:
        """Start *command* for a later ``run``, if this host can; ``run`` raises its errors."""

    def run(self, *command: str) -> str:
        """
        Return the output of *command*.

        Write options with a value as ``--option=value``: the words without a dash
        name the question in a capture (``dmsetup table``).
        """

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's properties of block device *number* ("8:0"), {} if there are none."""

    def metadata(self, of: Metadata) -> list[dict[str, Json]]:
        """Return libblockdev's records of the LVs and sub-LVs of every VG, or of md's arrays."""

    def machine_id(self) -> str:
        """Return a salted SHA-256 of the machine-id, which is confidential itself (machine-id(5))."""

    def uevents(self) -> list[dict[str, str]]:
        """
        Return the kernel's events of block devices since the previous call.

        Each has ACTION ("add", "remove", "change" …) and DEVNAME; ``EVENTS_LOST``
        if some were missed. The first call starts listening and returns [].
        ``SourceMissing`` if listening is impossible.
        """

    def in_background(self, ask: "Callable[[Host], T]") -> Answer[T]:
        """Start *ask* with a host like this one, while this one answers other questions."""

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """
        Yield *count* instants *interval* seconds apart, as seconds since the epoch.

        A live host sleeps between them. A capture moves to its next frame and ignores
        *interval*. Without *count* there is no end but the last frame.
        """
