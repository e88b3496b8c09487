"""
Trees of files that stand for a machine: a directory, or a tar read into memory.

A capture may come from anyone. A tree never follows a link out of itself, opens
only plain files and reads at most ``MAX_BYTES``. A tar is never unpacked to
disk, so a hostile one cannot overwrite anything. (Uses os, not pathlib, whose
import costs a tenth of the time that `tree` takes.)
"""

from __future__ import annotations

import importlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from stackmap.errors import WHAT_A_CAPTURE_IS, CaptureError, SourceDenied, SourceMissing

if TYPE_CHECKING:
    import tarfile

MAX_BYTES = 512 * 1024 * 1024  # unpacked; 25 times the largest capture of a 2,000-device host
MAX_FILES = 500_000
MAX_NAME = 4096  # PATH_MAX
UNPACKERS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}
MAX_LINKS = 40  # followed for one path; the kernel's own limit (path_resolution(7))


class DirectoryTree:
    """A tree on disk, by absolute path; ``/`` is the top of the capture. ``SourceMissing`` for what is not there."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def read(self, path: str) -> bytes:
        """Return the content of the file at *path*."""
        place = self._inside(path)
        with _refusals(path, place):
            about = os.stat(place)
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
                raise CaptureError(
                    f"{path}: refused: not a plain file, or larger than {MAX_BYTES} bytes"
                )
            with open(place, "rb") as file:
                return file.read()

    def names(self, path: str) -> list[str]:
        """Return the names in the directory at *path*."""
        place = self._inside(path)
        with _refusals(path, place):
            return os.listdir(place)

    def link(self, path: str) -> str:
        """Return the target of the link at *path*."""
        above, _, name = path.rpartition("/")
        try:
            return os.readlink(os.path.join(self._inside(above), name))
        except OSError as error:
            raise SourceMissing(f"{path}: not a link in this capture") from error

    def _inside(self, path: str) -> str:
        if "\0" in path:
            raise SourceMissing(f"{path!r}: not a file name")
        real = os.path.realpath(self._root + "/" + path)
        if real != self._root and not real.startswith(self._root + "/"):
            raise CaptureError(f"{path}: refused: a link out of the capture, to {real}")
        return real


@contextmanager
def _refusals(path: str, place: str) -> Iterator[None]:
    """Raise what the system refuses at *place* as the error of a capture."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise SourceMissing(f"{path}: not in this capture") from error
    except OSError as error:
        raise SourceDenied(f"{place}: {error.strerror}") from error


class ArchiveTree:
    """A tree in memory, like ``DirectoryTree``."""

    def __init__(self, files: dict[str, bytes], links: dict[str, str]) -> None:
        self._files = files
        self._links = links
        self._names: dict[str, set[str]] = {"": set()}
        for path in (*files, *links):
            above, _, name = path.rpartition("/")
            while name not in self._names.setdefault(above, set()):
                self._names[above].add(name)
                above, _, name = above.rpartition("/")
                if not name:
                    break

    @classmethod
    def load(cls, path: str) -> ArchiveTree:
        """Return the tree in the tar at *path*; ``CaptureError`` if it is not a safe tar."""
        import tarfile  # only a tar pays for it
        import zlib
        from lzma import LZMAError

        try:
            with open(path, "rb") as file, _unpacked(file) as stream:
                bounded = cast("BinaryIO", _BoundedStream(stream, path))
                with tarfile.open(fileobj=bounded, mode="r|") as archive:
                    return cls(*_members(archive, path))
        except FileNotFoundError as error:
            raise CaptureError(f"{path}: no such file or directory") from error
        except (tarfile.TarError, EOFError, zlib.error, LZMAError) as error:
            raise CaptureError(
                f"{path}: not a capture, or damaged: {error}; {WHAT_A_CAPTURE_IS}"
            ) from error
        except OSError as error:
            raise CaptureError(f"{path}: {error.strerror or error}") from error

    def read(self, path: str) -> bytes:
        """Return the content of the file at *path*."""
        content = self._files.get(self._resolve(path))
        if content is None:
            raise SourceMissing(f"{path}: not in this capture")
        return content

    def names(self, path: str) -> list[str]:
        """Return the names in the directory at *path*."""
        names = self._names.get(self._resolve(path))
        if names is None:
            raise SourceMissing(f"{path}: not in this capture")
        return list(names)

    def link(self, path: str) -> str:
        """Return the target of the link at *path*."""
        above, _, name = path.rpartition("/")
        target = self._links.get(f"{self._resolve(above)}/{name}")
        if target is None:
            raise SourceMissing(f"{path}: not a link in this capture")
        return target

    def _resolve(self, path: str) -> str:
        """Return *path* with its links followed; ``..`` stays below the top."""
        done: list[str] = []
        todo = path.split("/")[::-1]
        followed = 0
        while todo:
            name = todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                done[-1:] = []
                continue
            target = self._links.get("/".join(["", *done, name]))
            if target is None:
                done.append(name)
                continue
            followed += 1
            if followed > MAX_LINKS:
                raise SourceMissing(f"{path}: too many links")
            if target.startswith("/"):
                done = []
            todo.extend(target.split("/")[::-1])
        return "/".join(["", *done]) if done else ""


FileTree = DirectoryTree | ArchiveTree


def open_tree(path: str) -> FileTree:
    """Return the tree at *path*: a directory or a tar (gzip, bzip2, xz or plain)."""
    if os.path.isdir(path):
        return DirectoryTree(path)
    return ArchiveTree.load(path)


class _BoundedStream:
    """A stream with a size limit: tarfile reads headers of any length in one call."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream = stream
        self._path = path
        self._room = MAX_BYTES

    def read(self, size: int) -> bytes:
        """Return the next *size* bytes, fewer at the end; ``CaptureError`` beyond the limit."""
        self._room -= size
        if self._room < 0:
            raise CaptureError(f"{self._path}: refused: unpacks to more than {MAX_BYTES >> 20} MiB")
        return self._stream.read(size)


def _unpacked(file: BinaryIO) -> BinaryIO:
    """Return *file*, decompressed according to its first bytes."""
    start = file.read(6)
    file.seek(0)
    for magic, module in UNPACKERS.items():
        if start.startswith(magic):
            return cast("BinaryIO", importlib.import_module(module).open(file))
    return file


def _members(archive: tarfile.TarFile, path: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files and links of *archive*; refuse anything else."""
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    room = MAX_BYTES
    for count, member in enumerate(archive):
        name = _safe_name(member.name, path)
        room -= member.size
        if room < 0 or count >= MAX_FILES:
            raise CaptureError(
                f"{path}: refused: unpacks to more than {MAX_BYTES >> 20} MiB or {MAX_FILES} files; "
                "if you trust it, unpack it and give the directory"
            )
        if member.issym():
            links[name] = _safe_target(name, member.linkname, path)
        elif member.isreg():
            content = archive.extractfile(member)
            files[name] = content.read() if content else b""
        elif not member.isdir():
            raise CaptureError(f"{path}: refused: {member.name!r} is a device, pipe or hard link")
    top = _top_folder(files)
    return (
        {name.removeprefix(top): content for name, content in files.items()},
        {name.removeprefix(top): target for name, target in links.items()},
    )


def _safe_name(name: str, path: str) -> str:
    """Return *name* as an absolute path in the tree."""
    if len(name) > MAX_NAME or name.startswith("/") or ".." in name.split("/"):
        raise CaptureError(f"{path}: refused: {name[:80]!r} lies outside of the capture")
    return "/" + "/".join(part for part in name.split("/") if part not in ("", "."))


def _safe_target(name: str, target: str, path: str) -> str:
    """Return the *target* of the link *name*; ``CaptureError`` if it leaves the tree."""
    depth = name.count("/") - 1
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0 or target.startswith("/"):
            raise CaptureError(
                f"{path}: refused: a link out of the capture, {name!r} to {target!r}"
            )
    return target


def _top_folder(files: dict[str, bytes]) -> str:
    """Return the one folder that holds all *files* ("/host-1"), as `tar c NAME/` makes it; "" if none."""
    tops = {path.split("/")[1] for path in files}
    if len(tops) != 1 or tops & {"sys", "proc", "run", "cmd", "capture.json"}:
        return ""
    return "/" + tops.pop()
