"""
A capture as a tar, read into memory.

It may come from anyone: it is never unpacked to disk, so it cannot overwrite anything; no link leads out
of it, and it has limits.
"""

from __future__ import annotations

import io
import os
from bisect import bisect_left
from collections.abc import Callable
from typing import BinaryIO

from stackmap.errors import CaptureError, SourceMissing
from stackmap.host.tar_reader import MemberType, TarReader

MAX_MEMORY = 160 << 20  # bytes; that of a host with 20,000 devices takes 110 MiB
ENTRY_BYTES = 300  # what Python needs to keep a path, besides its letters
MAX_NAME = 1024  # characters
MAX_DEPTH = 40  # folders; a path of sysfs has up to 15
USED_TOPS = frozenset((
    "capture.json", "capture.json.new", "answers.tar.gz", "volumes.json", "arrays.json", ".names",
    "proc", "sys", "run", "cmd", "log", "frames", "etc", "var", "dev", "sos_commands",
))  # fmt: skip
MAX_LINKS = 40  # followed for one path; the kernel's own limit (path_resolution(7))


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
                if not file.seekable():
                    raise CaptureError(f"{path}: is a pipe; save the archive as a file first")
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


def _not_waiting(path: str, flags: int) -> int:
    """Open the file at *path*; a pipe is not waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def _is_used(path: str) -> bool:
    """Whether *path* can hold an answer: the logs of a sosreport are not kept."""
    parts = path.split("/", 3)
    return not USED_TOPS.isdisjoint(parts[1:3]) and "/var/log/" not in path
