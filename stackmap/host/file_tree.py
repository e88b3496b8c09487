"""
Trees of files that stand for a machine: a directory, or a tar read into memory.

A capture may come from anyone. A tree never follows a link out of itself, opens
only plain files, and reads no more than the limits below. A tar is never unpacked to
disk, so a hostile one cannot overwrite anything. (Uses os, not pathlib, whose
import costs a tenth of the time that `tree` takes.)
"""

from __future__ import annotations

import errno
import io
import os
import stat
from bisect import bisect_left
from collections.abc import Callable
from typing import BinaryIO, TypeVar

from stackmap.errors import CaptureError, SourceDenied, SourceError, SourceMissing

T = TypeVar("T")

MANIFEST = "/capture.json"
FIRST_ANSWERS = "/answers.tar.gz"  # of a recording, those before its first sample
MAX_MEMORY = 160 << 20  # bytes, for a tar; that of a host with 20,000 devices takes 110 MiB
ENTRY_BYTES = 300  # what Python needs to keep a path, besides its letters
MAX_FILE = 32 << 20  # bytes; all answers of a host with 2,000 devices take 20 MB
CHUNK = 1 << 16  # bytes read at once
MAX_NAME = 1024  # characters
MAX_DEPTH = 40  # folders; a path of sysfs has up to 15
USED_TOPS = frozenset((
    "capture.json", "capture.json.new", "answers.tar.gz", "volumes.json", "arrays.json", ".names",
    "proc", "sys", "run", "cmd", "log", "frames", "etc", "var", "dev", "sos_commands",
))  # fmt: skip
UNFOLLOWED = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW  # no pipe is waited for, no link followed
MAX_LINKS = 40  # followed for one path; the kernel's own limit (path_resolution(7))


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
        """Return what *look* finds in the file or directory at *path*, given its descriptor."""
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


def _not_waiting(path: str, flags: int) -> int:
    """Open the file at *path*; a pipe is not waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


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
    """Return what the system refuses at *path* as the error of a capture."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError)):
        return SourceMissing(f"{path}: not in this capture")
    return SourceDenied(f"{error.filename or path}: {error.strerror}")


class ArchiveTree:
    """A tree in memory, like ``DirectoryTree``."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._room = MAX_MEMORY
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._paths: list[str] = []  # of files and links, sorted
        self._top: list[str] = []

    @classmethod
    def load(cls, path: str) -> ArchiveTree:
        """Return the tree in the tar at *path*; ``CaptureError`` if it is not a safe tar."""
        tree = cls(path)
        try:
            with open(path, "rb", opener=_not_waiting) as file:
                tree._take(file, _is_used)
        except FileNotFoundError as error:
            raise CaptureError(f"{path}: no such file or directory") from error
        except OSError as error:
            raise CaptureError(f"{path}: {error.strerror or error}") from error
        tops = {name.split("/")[1] for name in tree._files}
        if len(tops) == 1 and not tops & USED_TOPS:
            tree._top = [*tops]
        return tree

    @classmethod
    def of(cls, content: bytes, path: str) -> ArchiveTree:
        """Return the tree in a tar that a recorder wrote, with this *content*."""
        tree = cls(path)
        try:
            tree._take(io.BytesIO(content), bool)
        except OSError as error:  # damaged
            raise CaptureError(f"{path}: {error}") from error
        return tree

    def read(self, path: str) -> bytes:
        """Return the content of the file at *path*."""
        content = self._files.get(path if not self._top else "")
        if content is None:
            content = self._files.get(self._resolve(path))
        if content is None:
            raise SourceMissing(f"{path}: not in this capture")
        return content

    def names(self, path: str) -> list[str]:
        """Return the names in the directory at *path*."""
        above = f"{self._resolve(path)}/"
        names: dict[str, None] = {}
        place = bisect_left(self._paths, above)
        while place < len(self._paths) and self._paths[place].startswith(above):
            name, slash, _ = self._paths[place][len(above) :].partition("/")
            names[name] = None
            # "0" follows "/": the next path that is not below this name.
            place = bisect_left(self._paths, f"{above}{name}0", place) if slash else place + 1
        if not names and above != "/":
            raise SourceMissing(f"{path}: not in this capture")
        return list(names)

    def link(self, path: str) -> str:
        """Return the target of the link at *path*."""
        above, _, name = path.rpartition("/")
        target = self._links.get(f"{self._resolve(above)}/{name}")
        if target is None:
            raise SourceMissing(f"{path}: not a link in this capture")
        return target

    def _take(self, file: BinaryIO, is_used: Callable[[str], bool]) -> None:
        """Keep the files and links of the tar in *file* whose paths are used; refuse anything else."""
        from stackmap.host.tar_reader import MemberType, TarReader  # only a tar pays for it

        archive = TarReader(file, self._path)
        for member in archive:
            name = self._safe_name(member.name)
            if member.type is MemberType.FOLDER or not is_used(name):
                continue
            self._charge(ENTRY_BYTES + len(name) + member.size)
            if member.type is MemberType.LINK:
                self._links[name] = self._safe_target(name, member.target)
            elif member.type is MemberType.FILE:
                self._files[name] = archive.content(member.size)
            else:
                raise self._refusal(f"{member.name!r} is a device, pipe or hard link")
        self._paths = sorted(self._files.keys() | self._links.keys())

    def _charge(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise self._refusal(
                f"needs more than {MAX_MEMORY >> 20} MiB of memory; "
                "if you trust it, unpack it and give the directory"
            )

    def _resolve(self, path: str) -> str:
        """Return *path* with its links followed; ``..`` stays below the top."""
        done = [*self._top]
        todo = path.split("/")[::-1]
        followed = 0
        while todo:
            name = todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                done = done[: max(len(self._top), len(done) - 1)]
                continue
            target = self._links.get("/".join(["", *done, name]))
            if target is None:
                done.append(name)
                continue
            followed += 1
            if followed > MAX_LINKS:
                raise SourceMissing(f"{path}: too many links")
            todo.extend(target.split("/")[::-1])
        return "/".join(["", *done]) if done else ""

    def _safe_name(self, name: str) -> str:
        """Return *name* as an absolute path in the tree."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts:
            raise self._refusal(f"{name[:80]!r} lies outside of the capture")
        if len(name) > MAX_NAME or len(parts) > MAX_DEPTH:
            raise self._refusal(f"a name of {len(name)} characters in {len(parts)} folders")
        return "/" + "/".join(parts)

    def _safe_target(self, name: str, target: str) -> str:
        """Return the *target* of the link *name*; ``CaptureError`` if it leaves the tree."""
        depth = name.count("/") - 1
        for part in target.split("/"):
            depth += -1 if part == ".." else part not in ("", ".")
            if depth < 0 or target.startswith("/"):
                raise self._refusal(f"a link out of the capture, {name!r} to {target!r}")
        return target

    def _refusal(self, why: str) -> CaptureError:
        return CaptureError(f"{self._path}: refused: {why}")


class RecordingTree:
    """A recording: *answers*, those before its first sample, and the tree that has this archive."""

    def __init__(self, answers: ArchiveTree, tree: DirectoryTree | ArchiveTree) -> None:
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

    def _first(self, look: Callable[[DirectoryTree | ArchiveTree], T]) -> T:
        answers, tree = self._trees
        try:
            return look(answers)
        except SourceMissing:
            return look(tree)


FileTree = DirectoryTree | ArchiveTree | RecordingTree


def open_tree(path: str) -> FileTree:
    """Return the tree at *path*: a directory or a tar (gzip, bzip2, xz or plain)."""
    tree = DirectoryTree(path) if os.path.isdir(path) else ArchiveTree.load(path)
    try:
        packed = tree.read(FIRST_ANSWERS)
        tree.read(MANIFEST)  # it is written after the archive, which without it may be cut short
    except SourceMissing:
        return tree
    return RecordingTree(ArchiveTree.of(packed, f"{path}{FIRST_ANSWERS}"), tree)


def _is_used(path: str) -> bool:
    """Whether *path* can hold an answer: the logs of a sosreport are not kept."""
    parts = path.split("/", 3)
    return not USED_TOPS.isdisjoint(parts[1:3]) and "/var/log/" not in path
