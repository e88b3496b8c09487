"""The last minutes of a recording in memory: a screen that is watched writes nothing until it is asked to."""

from __future__ import annotations

import os

from stackmap.errors import CaptureError
from stackmap.host.capture_files import UNFINISHED
from stackmap.host.directory import make_directory
from stackmap.host.file_tree import MANIFEST


class RecentFiles:
    """The files of a recording in memory, in place of a ``Directory``."""

    path = "memory"

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._segments: dict[str, int] = {}  # the descriptor of each one's memory, by its path

    def create(self, name: str) -> int:
        """Return the descriptor of a new segment, which its writer closes."""
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        self._segments[name] = descriptor
        return os.dup(descriptor)

    def names(self, folder: str) -> list[str]:  # noqa: ARG002 - as of a Directory
        """Return []: no recording is continued in memory."""
        return []

    def status(self, name: str) -> None:
        """Return None: the memory of a file is not measured."""

    def write(self, name: str, content: bytes) -> None:
        """Keep *content* as the file *name*."""
        self._files[name] = content

    def rename(self, old: str, new: str) -> None:
        """Rename the file *old*."""
        self._files[f"/{new}"] = self._files.pop(f"/{old}")

    def remove(self, name: str) -> None:
        """Drop the segment *name*."""
        os.close(self._segments.pop(name))

    def is_at_its_path(self) -> bool:
        """Return True: it is in memory."""
        return True

    def is_removed(self) -> bool:
        """Return False: it is in memory."""
        return False

    def discard(self) -> None:
        """Do nothing: ``close`` frees the memory."""

    def close(self) -> None:
        """Free the memory."""
        while self._segments:
            os.close(self._segments.popitem()[1])

    def save(self, path: str) -> None:
        """
        Write the capture into the new directory *path*.

        ``OutputRefused`` if it exists; ``CaptureError`` if writing fails, and then nothing is left of it.
        """
        if MANIFEST not in self._files or not self._segments:
            raise CaptureError(f"{path}: nothing is recorded yet")
        try:
            directory = make_directory(path)
        except OSError as error:
            raise CaptureError(f"{path}: {error.strerror}; give a new directory") from error
        with directory:
            try:
                for name, content in self._files.items():
                    directory.write(UNFINISHED if name == MANIFEST else name, content)
                for name, descriptor in self._segments.items():
                    size = os.fstat(descriptor).st_size
                    directory.write(name, os.pread(descriptor, size, 0))
                directory.rename(UNFINISHED.lstrip("/"), MANIFEST.lstrip("/"))
            except OSError as error:
                directory.discard()
                raise CaptureError(f"{path}: {error.strerror}") from error
