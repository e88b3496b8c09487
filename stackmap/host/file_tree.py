"""
Trees of files that stand for a machine: a directory, a tar, or a recording with both.

A capture may come from anyone: no link is followed out of it, only plain files are opened, and a file has a
limit. (Uses os, not pathlib, whose import costs a tenth of the time that `tree` takes.)
"""

import errno
import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar

from stackmap.errors import CaptureError, SourceDenied, SourceError, SourceMissing
from stackmap.host.budget import Budget

if TYPE_CHECKING:
    from stackmap.host.archive_tree import ArchiveTree

T = TypeVar("T")

MANIFEST = "/capture.json"
FIRST_ANSWERS = "/answers.tar.gz"  # of a recording, those before its first sample

MAX_FILE = 32 << 20  # bytes; all answers of a host with 2,000 devices take 20 MB
CHUNK = 1 << 16  # bytes read at once
UNFOLLOWED = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW  # no pipe is waited for, no link followed

TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")


class DirectoryTree:
    """A tree on disk, by absolute path; ``/`` is the top of the capture. ``SourceMissing`` if *path* does not exist."""

    def __init__(self, root: str) -> None:
        try:
            self._root = os.path.realpath(root)
        except OSError as error:  # the working directory was removed
            raise CaptureError(f"{root}: {error.strerror}") from error
        self._folders: dict[str, str] = {}  # where they are, with links followed, by path

    def read(self, path: str) -> bytes:
        """Return the content of the file at *path*."""
        content = self._of_opened(path, _content)
        if content is None:
            raise CaptureError(
                f"{path}: refused: not a plain file, or larger than {MAX_FILE >> 20} MiB"
            )
        return content

    def names(self, path: str) -> list[str]:
        """Return the names in the directory at *path*."""
        return self._of_opened(path, os.listdir)

    def link(self, path: str) -> str:
        """Return the target of the link at *path*."""
        above, _, name = path.rpartition("/")
        try:
            return os.readlink(os.path.join(self._inside(above), name))
        except OSError as error:
            raise SourceMissing(f"{path}: not a link in this capture") from error

    def _of_opened(self, path: str, look: Callable[[int], T]) -> T:
        """Return the result of *look*, given the descriptor of the file or directory at *path*."""
        try:
            descriptor = self._opened(path)
            try:  # others may swap what is there: what is open is judged
                self._require_below(path, _place(descriptor) or self._root)
                return look(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _refusal(path, error) from error

    def _opened(self, path: str) -> int:
        """Return a descriptor of the file or directory at *path*."""
        above, _, name = path.rpartition("/")
        try:
            return os.open(f"{self._folder(above)}/{name}", UNFOLLOWED)
        except ValueError:
            raise _no_name(path) from None
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        return os.open(self._inside(path), UNFOLLOWED)  # *path* itself is a link

    def _folder(self, path: str) -> str:
        """Return where the directory at *path* is, with all links followed; of one name, the first answer."""
        if path not in self._folders:
            above, _, name = path.rpartition("/")
            place = f"{self._folder(above)}/{name}" if above else ""
            is_plain = place and name != ".." and not os.path.islink(place)
            self._folders[path] = place if is_plain else self._inside(path)
        return self._folders[path]

    def _inside(self, path: str) -> str:
        """Return where *path* is, with all links followed."""
        try:
            real = os.path.realpath(self._root + "/" + path)
        except ValueError:
            raise _no_name(path) from None
        self._require_below(path, real)
        return real

    def _require_below(self, path: str, real: str) -> None:
        if real != self._root and not real.startswith(self._root.rstrip("/") + "/"):
            raise CaptureError(f"{path}: refused: a link out of the capture, to {real}")


class RecordingTree:
    """A recording: *answers*, those before its first sample, and the tree that has this archive."""

    def __init__(self, answers: "ArchiveTree", tree: "DirectoryTree | ArchiveTree") -> None:
        self._trees = answers, tree

    def read(self, path: str) -> bytes:
        """Return the content of the file at *path*."""
        return self._first(lambda tree: tree.read(path))

    def names(self, path: str) -> list[str]:
        """Return the names in the directory at *path*."""
        return self._first(lambda tree: tree.names(path))

    def link(self, path: str) -> str:
        """Return the target of the link at *path*."""
        return self._first(lambda tree: tree.link(path))

    def _first(self, look: "Callable[[DirectoryTree | ArchiveTree], T]") -> T:
        answers, tree = self._trees
        try:
            return look(answers)
        except SourceMissing:
            return look(tree)


FileTree: TypeAlias = "DirectoryTree | ArchiveTree | RecordingTree"


def open_tree(path: str, budget: Budget) -> FileTree:
    """Return the tree at *path*, charged to *budget*: a directory or a tar (gzip, bzip2, xz or plain)."""
    tree = DirectoryTree(path) if os.path.isdir(path) else _archive().load(path, budget)
    try:
        packed = tree.read(FIRST_ANSWERS)
        tree.read(MANIFEST)  # it is written after the archive, which without it may be cut short
    except SourceMissing:
        return tree
    return RecordingTree(_archive().of(packed, f"{path}{FIRST_ANSWERS}", budget), tree)


def is_capture(path: str) -> bool:
    """Return whether *path* is that of a capture: a directory, or a tar by its ending."""
    return os.path.isdir(path) or path.endswith(TARS)


def open_text(path: str) -> BinaryIO:
    """Open the text at *path*."""
    return open(path, "rb")


def _place(descriptor: int) -> str:
    """Return where the file that was opened as *descriptor* is, "" if /proc is missing."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _content(descriptor: int) -> bytes | None:
    """Return the content of an open file, None if it is not a plain file or too large; ``OSError`` for a directory."""
    status = os.fstat(descriptor)
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    if not is_plain or status.st_size > MAX_FILE:
        return None
    step = status.st_size or CHUNK  # a file of /proc has no size
    parts, size = [], 0
    while size <= MAX_FILE and (part := os.read(descriptor, step)):
        parts.append(part)
        size += len(part)
    return b"".join(parts) if size <= MAX_FILE else None


def _no_name(path: str) -> SourceMissing:
    """Return the error for a path with NUL, or with a character that no file name has."""
    return SourceMissing(f"{path!r}: not a file name")


def _refusal(path: str, error: OSError) -> SourceError:
    if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError)):
        return SourceMissing(f"{path}: not in this capture")
    return SourceDenied(f"{error.filename or path}: {error.strerror}")


def _archive() -> "type[ArchiveTree]":
    from stackmap.host.archive_tree import ArchiveTree  # only a tar pays for it

    return ArchiveTree
