"""
A capture as a tar (tar(5): ustar, GNU and pax), read once from front to end into memory.

It may come from anyone: it is never unpacked to disk, so it cannot overwrite anything; no link leads out
of it, and it has limits. Python's tarfile takes ten times as long per member, and reads headers of any length into memory.
"""

import io
import os
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Literal, NamedTuple

from stackmap.errors import WHAT_A_CAPTURE_IS, CaptureError, SourceMissing
from stackmap.host.budget import ENTRY_BYTES, Budget
from stackmap.host.capture_format import is_output

BLOCK = 512
MAX_HEADER = 1 << 16  # bytes of a long name or of pax records
MAX_UNPACKED = 1 << 30  # bytes, skipped members included: less than ten seconds
LZMA_MEMORY = 80 << 20  # bytes; what xz -9 needs
PACKED = 1 << 16  # bytes read at once from a compressed file
ADLER = 65521  # the modulus of Adler-32
GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ"

MAX_MEMBERS = 500_000  # with those that are skipped; 50,000 volumes have 420,000
MAX_DIGITS = 20  # of a size in a pax header
MAX_NAME = 1024  # characters
MAX_TARGET = 4096  # bytes of a link's target: the kernel's own limit (PATH_MAX)
MAX_PARTS = 1000  # of a path and the targets of its links; a path of sysfs has 40
MAX_DEPTH = 40  # folders; a path of sysfs has up to 15
USED_TOPS = frozenset((
    "capture.json", "capture.json.new", "answers.tar.gz", "volumes.json", "arrays.json", ".names",
    "proc", "sys", "run", "cmd", "log", "frames", "etc", "var", "dev", "sos_commands",
))  # fmt: skip
MAX_LINKS = 40  # followed for one path; the kernel's own limit (path_resolution(7))


MemberType = Literal["file", "link", "folder", "other"]  # other: a device, a pipe or a hard link
TYPES: dict[bytes, MemberType] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"2": "link",
    b"5": "folder",
}
LONG_NAME, LONG_TARGET, PAX, PAX_GLOBAL = b"L", b"K", b"x", b"g"


class Member(NamedTuple):
    """A member: its path, type, ``size`` of content in bytes, and the ``target`` of a link."""

    name: str
    type: MemberType
    size: int
    target: str


class TarReader:
    """
    Yields each member; ``content`` then reads the one that was yielded last.

    ``CaptureError`` for what is not a tar, is damaged, or unpacks to more than ``MAX_UNPACKED``.
    """

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._stream = unpacked(file)
        self._path = path
        self._read = self._headers = 0
        self._unread = 0  # bytes of the member's content, with its padding

    def __iter__(self) -> Iterator[Member]:
        long: dict[str, str] = {}
        while (header := self._header()) is not None:
            kind, size = header[156:157], _number(header[124:136])
            if size < 0:
                raise self._error("damaged: a member of negative size")
            if kind in (LONG_NAME, LONG_TARGET, PAX, PAX_GLOBAL):
                long |= self._extension(kind, size)
                continue
            if (given := long.get("size", "")).isdecimal():
                if len(given) > MAX_DIGITS:
                    raise self._error(f"damaged: a size of {len(given)} digits")
                size = int(given)
            name = long.get("path") or _name(header)
            target = long.get("linkpath") or _text(header[157:257])
            long = {}
            member_type = "folder" if name.endswith("/") else TYPES.get(kind, "other")
            self._unread = -(-size // BLOCK) * BLOCK
            yield Member(name, member_type, size, target)
            self._skip(self._unread)

    def content(self, size: int) -> bytes:
        """Return the *size* bytes of the present member."""
        self._unread -= size
        return self._exactly(size)

    def _header(self) -> bytes | None:
        """Return the next header; None at the end."""
        header = self._bytes(BLOCK)
        self._headers += 1
        if self._headers > 2 * MAX_MEMBERS:  # a long name has one of its own
            raise self._error(f"refused: more than {2 * MAX_MEMBERS} headers")
        if not header.strip(b"\0") and self._read > BLOCK:
            return None
        if len(header) < BLOCK or _checksum(header) != _number(header[148:156]) % ADLER:
            raise self._not_a_tar(f"no tar header at byte {self._read - len(header)}")
        return header

    def _extension(self, kind: bytes, size: int) -> dict[str, str]:
        """Return the fields of the next member that do not fit its header."""
        if size > MAX_HEADER:
            raise self._error(f"refused: a header of {size} bytes in the tar")
        raw = self._exactly(size)
        self._skip(-size % BLOCK)
        if kind == PAX_GLOBAL:
            return {}
        if kind == PAX:
            return _pax(raw, self._path)
        return {"path" if kind == LONG_NAME else "linkpath": _text(raw)}

    def _exactly(self, size: int) -> bytes:
        content = self._bytes(size)
        if len(content) < size:
            raise self._error("damaged: the tar ends within a member")
        return content

    def _skip(self, size: int) -> None:
        self._unread = 0
        while size > 0:
            size -= len(self._exactly(min(size, PACKED)))

    def _bytes(self, size: int) -> bytes:
        self._read += size
        if self._read > MAX_UNPACKED:
            raise self._error(f"refused: unpacks to more than {MAX_UNPACKED >> 20} MiB")
        try:
            return self._stream.read(size)
        except (EOFError, zlib.error, ValueError) as error:
            raise self._not_a_tar(str(error)) from error

    def _error(self, what: str) -> CaptureError:
        return CaptureError(f"{self._path}: {what}")

    def _not_a_tar(self, why: str) -> CaptureError:
        return self._error(f"not a capture, or damaged: {why}; {WHAT_A_CAPTURE_IS}")


class _XzStream:
    """An xz file, unpacked within ``LZMA_MEMORY``; ``OSError`` if it needs more or is damaged."""

    def __init__(self, file: BinaryIO) -> None:
        import lzma  # 2 ms

        self._file = file
        self._unpacker = lzma.LZMADecompressor(memlimit=LZMA_MEMORY)
        self._error = lzma.LZMAError

    def read(self, size: int) -> bytes:
        """Return the next *size* bytes of content, fewer only at its end."""
        parts: list[bytes] = []
        while size > 0 and not self._unpacker.eof:
            packed = self._file.read(PACKED) if self._unpacker.needs_input else b""
            if self._unpacker.needs_input and not packed:
                raise EOFError("the xz file is cut short")
            try:
                parts.append(self._unpacker.decompress(packed, size))
            except self._error as error:
                raise OSError(
                    f"not an xz file, damaged, or it needs much memory: {error}"
                ) from error
            size -= len(parts[-1])
        return b"".join(parts)


def unpacked(file: BinaryIO) -> BinaryIO:
    """Return *file*, decompressed according to its first bytes."""
    start = file.read(6)
    file.seek(0)
    if start.startswith(GZIP):
        import gzip

        return gzip.open(file)  # type: ignore[return-value]  # a GzipFile has ``read``
    if start.startswith(BZIP2):
        import bz2

        return bz2.open(file)  # type: ignore[return-value]
    if start.startswith(XZ):
        return _XzStream(file)  # type: ignore[return-value]
    return file


class ArchiveTree:
    """A tree in memory, like ``DirectoryTree``."""

    def __init__(self, path: str, budget: Budget) -> None:
        self._path = path
        self._budget = budget
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._paths: list[str] = []  # of files and links, sorted
        self._top: list[str] = []

    @classmethod
    def load(cls, path: str, budget: Budget) -> "ArchiveTree":
        """Return the tree in the tar at *path*; ``CaptureError`` if it is not a safe tar."""
        tree = cls(path, budget)
        try:
            # A pipe is not waited for.
            with open(
                path, "rb", opener=lambda path, how: os.open(path, how | os.O_NONBLOCK)
            ) as file:
                if not file.seekable():
                    raise CaptureError(f"{path}: is a pipe; save the archive as a file first")
                tree._take(file, _is_used)
                packed = file.seek(0, os.SEEK_END)
        except FileNotFoundError as error:
            raise CaptureError(f"{path}: no such file or directory") from error
        except OSError as error:
            raise CaptureError(f"{path}: {error.strerror or error}") from error
        budget.density = min(1.0, packed / max(1, sum(map(len, tree._files.values()))))
        tops = {name.split("/")[1] for name in tree._files}
        if len(tops) == 1 and not tops & USED_TOPS:
            tree._top = [*tops]
        return tree

    @classmethod
    def of(cls, content: bytes, path: str, budget: Budget) -> "ArchiveTree":
        """Return the tree in a tar that a recorder wrote, with this *content*."""
        tree = cls(path, budget)
        try:
            tree._take(io.BytesIO(content), bool)
        except OSError as error:  # damaged
            raise CaptureError(f"{path}: {error}") from error
        return tree

    @classmethod
    def of_files(cls, files: Mapping[str, str], path: str, budget: Budget) -> "ArchiveTree":
        """Return the tree of these *files* by absolute path, which were read from the text at *path*."""
        tree = cls(path, budget)
        for name, content in files.items():
            budget.charge(ENTRY_BYTES + len(name) + len(content))
            tree._files[name] = content.encode(errors="replace")
        tree._paths = sorted(tree._files)
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
        for number, member in enumerate(archive):
            if number == MAX_MEMBERS:
                raise self._refusal(f"more than {MAX_MEMBERS} members")
            name = self._safe_name(member.name)
            if member.type == "folder" or not is_used(name):
                continue
            self._budget.charge(ENTRY_BYTES + len(name) + member.size)
            if member.type == "link":
                self._budget.charge(len(member.target))
                self._links[name] = self._safe_target(name, member.target)
            elif member.type == "file":
                self._files[name] = archive.content(member.size)
            else:
                raise self._refusal(f"{member.name!r} is a device, pipe or hard link")
        self._paths = sorted(self._files.keys() | self._links.keys())

    def _resolve(self, path: str) -> str:
        """Return *path* with its links followed; ``..`` stays below the top."""
        is_plain = path[:1] == "/" and "//" not in path and "/." not in path
        if is_plain and not (self._links or self._top):
            self._budget.step(path.count("/"))
            return path.removesuffix("/")
        done = [*self._top]
        todo = path.split("/")[::-1]
        followed = steps = 0
        while todo:
            steps += 1
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
            todo.extend(target.split("/")[::-1])
            if followed > MAX_LINKS or steps + len(todo) > MAX_PARTS:
                self._budget.step(steps)
                raise SourceMissing(f"{path}: too many links")
        self._budget.step(steps)
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
        if len(target) > MAX_TARGET:
            raise self._refusal(f"a link of {len(target)} characters")
        self._budget.step(target.count("/"))
        depth = name.count("/") - 1
        for part in target.split("/"):
            depth += -1 if part == ".." else part not in ("", ".")
            if depth < 0 or target.startswith("/"):
                raise self._refusal(f"a link out of the capture, {name!r} to {target!r}")
        return target

    def _refusal(self, why: str) -> CaptureError:
        return CaptureError(f"{self._path}: refused: {why}")


def _is_used(path: str) -> bool:
    """Whether *path* can hold an answer: the logs of a sosreport are not kept."""
    parts = path.split("/", 3)
    is_used = not USED_TOPS.isdisjoint(parts[1:3]) or is_output(path)
    return is_used and "/var/log/" not in path


def _pax(raw: bytes, path: str) -> dict[str, str]:
    """Return the records ``length key=value`` of a pax header."""
    records = {}
    while raw:
        length, _, _ = raw.partition(b" ")
        size = int(length) if length.isdigit() and len(length) < 8 else 0
        record = raw[len(length) + 1 : size]
        key, equals, value = record.partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise CaptureError(f"{path}: damaged: a pax header of the tar cannot be read")
        if key.startswith(b"GNU.sparse"):
            raise CaptureError(f"{path}: refused: a sparse file; make the tar without --sparse")
        records[_text(key)] = _text(value[:-1])
        raw = raw[size:]
    return records


def _name(header: bytes) -> str:
    """Return the path in a header; ustar has its first part in another field."""
    name, prefix = _text(header[:100]), header[345:500]
    if header[257:263] == b"ustar\0" and prefix[:1] != b"\0":
        return f"{_text(prefix)}/{name}"
    return name


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _number(field: bytes) -> int:
    """Return an octal number, or GNU's binary one; -1 if it is neither."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    digits = field.strip(b" \0")
    try:
        return int(digits or b"0", 8)
    except ValueError:
        return -1


def _checksum(header: bytes) -> int:
    """Return the sum of the bytes modulo ``ADLER``, with spaces in place of the checksum."""
    # The low half of an Adler-32; sum() takes a quarter of the time of reading a small archive.
    return zlib.adler32(header[:148] + b" " * 8 + header[156:], 0) & 0xFFFF
