"""The only writer of output files: a new regular file, complete or not there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

from stackmap.errors import OutputRefused
from stackmap.host.directory import PRIVATE_FILE, Directory, open_directory

KINDS = {
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFSOCK: "a socket",
}
NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


class OutputFile:
    """
    The file to write at *path*; ``OutputRefused`` if something is there that must not be replaced.

    *force*: replace a regular file. *mode*: permissions, whatever the umask.
    """

    def __init__(self, path: str, *, force: bool = False, mode: int = PRIVATE_FILE) -> None:
        self.path = path
        self._force = force
        self._mode = mode
        folder, self._name = os.path.split(path)
        if self._name in ("", ".", ".."):
            raise OutputRefused(f"{path}: is a directory; give a file")
        self._folder = folder
        with self._errors(), open_directory(folder) as directory:
            self._check(directory)

    @contextlib.contextmanager
    def writing(self) -> Iterator[BinaryIO]:
        """Yield the file; it gets its name if this ends without an error, otherwise nothing remains."""
        new = f".stackmap-{secrets.token_hex(8)}.new"
        with self._errors(of_others=True), open_directory(self._folder) as directory:
            with self._errors():
                descriptor = directory.create(new)
            try:
                with open(descriptor, "wb") as file:
                    yield file
                    with self._errors():
                        file.flush()
                        os.fchmod(descriptor, self._mode)
                        os.fsync(descriptor)
                        self._give_name(directory, new, descriptor)
                directory.sync()
            finally:
                with contextlib.suppress(OSError):  # it has its name now, or an error is on its way
                    directory.remove(new)

    def _check(self, directory: Directory) -> None:
        status = directory.status(self._name)
        if status is None:
            return
        kind = KINDS.get(stat.S_IFMT(status.st_mode))
        if kind is not None:
            raise OutputRefused(f"{self.path}: is {kind}; give a file")
        if not self._force:
            raise OutputRefused(f"{self.path}: exists; use --force to overwrite it")

    def _give_name(self, directory: Directory, new: str, descriptor: int) -> None:
        """Name the complete file; what appeared there since the first check is judged again."""
        self._check(directory)
        try:
            if self._force:
                directory.rename(new, self._name)
            else:
                directory.link(new, self._name)
        except FileExistsError:
            self._check(directory)
            raise
        except OSError as error:
            if self._force or error.errno not in NO_HARD_LINKS:
                raise
            directory.rename(new, self._name)
        written = directory.status(self._name)
        if written is None or not os.path.samestat(written, os.fstat(descriptor)):
            raise OutputRefused(f"{self.path}: was replaced by another process; give another path")

    @contextlib.contextmanager
    def _errors(self, *, of_others: bool = False) -> Iterator[None]:
        """Name this file in errors of the system; *of_others*: other files keep their names."""
        try:
            yield
        except OSError as error:
            if error.filename is None or not of_others:
                error.filename, error.filename2 = self.path, None
            raise
