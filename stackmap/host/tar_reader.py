"""
The members of a tar (tar(5): ustar, GNU and pax), read once from front to end.

Python's tarfile takes ten times as long per member, and reads headers of any length into memory.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from enum import Enum, auto
from typing import BinaryIO, NamedTuple

from stackmap.errors import WHAT_A_CAPTURE_IS, CaptureError

BLOCK = 512
MAX_HEADER = 1 << 16  # bytes of a long name or of pax records
MAX_UNPACKED = 1 << 30  # bytes, skipped members included: less than ten seconds
LZMA_MEMORY = 80 << 20  # bytes; what xz -9 needs
PACKED = 1 << 16  # bytes read at once from a compressed file
ADLER = 65521  # the modulus of Adler-32
GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ"


class MemberType(Enum):
    """What a member is; ``OTHER``: a device, a pipe or a hard link."""

    FILE = auto()
    LINK = auto()
    FOLDER = auto()
    OTHER = auto()


TYPES = {
    **dict.fromkeys((b"0", b"\0", b"7"), MemberType.FILE),
    b"2": MemberType.LINK,
    b"5": MemberType.FOLDER,
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
        self._read = 0
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
            size = int(long["size"]) if long.get("size", "").isdecimal() else size
            name = long.get("path") or _name(header)
            target = long.get("linkpath") or _text(header[157:257])
            long = {}
            member_type = MemberType.FOLDER if name.endswith("/") else TYPES.get(kind)
            self._unread = -(-size // BLOCK) * BLOCK
            yield Member(name, member_type or MemberType.OTHER, size, target)
            self._skip(self._unread)

    def content(self, size: int) -> bytes:
        """Return the *size* bytes of the present member."""
        self._unread -= size
        return self._exactly(size)

    def _header(self) -> bytes | None:
        """Return the next header; None at the end."""
        header = self._bytes(BLOCK)
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


class _XzStream(io.RawIOBase):
    """An xz file, unpacked within ``LZMA_MEMORY``; ``OSError`` if it needs more or is damaged."""

    def __init__(self, file: BinaryIO) -> None:
        import lzma  # 2 ms

        self._file = file
        self._unpacker = lzma.LZMADecompressor(memlimit=LZMA_MEMORY)
        self._error = lzma.LZMAError

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # BufferedReader gives a memoryview
        """Fill *buffer* as far as content has come; return the bytes."""
        while not self._unpacker.eof:
            packed = self._file.read(PACKED) if self._unpacker.needs_input else b""
            if self._unpacker.needs_input and not packed:
                raise EOFError("the xz file is cut short")
            try:
                content = self._unpacker.decompress(packed, len(buffer))
            except self._error as error:
                raise OSError(
                    f"not an xz file, damaged, or it needs much memory: {error}"
                ) from error
            if content:
                buffer[: len(content)] = content
                return len(content)
        return 0


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
        return io.BufferedReader(_XzStream(file))
    return file


def _pax(raw: bytes, path: str) -> dict[str, str]:
    """Return the records ``length key=value`` of a pax header."""
    found = {}
    while raw:
        length, _, _ = raw.partition(b" ")
        size = int(length) if length.isdigit() and len(length) < 8 else 0
        record = raw[len(length) + 1 : size]
        key, equals, value = record.partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise CaptureError(f"{path}: damaged: a pax header of the tar cannot be read")
        if key.startswith(b"GNU.sparse"):
            raise CaptureError(f"{path}: refused: a sparse file; make the tar without --sparse")
        found[_text(key)] = _text(value[:-1])
        raw = raw[size:]
    return found


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
