"""
Lines of a text as it reached us: pasted, piped, compressed, coloured, in any encoding.

What never belongs to a figure goes here (colours, NULs of sysstat 11.5.7,
compression); what a line means is for others to say.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator

from stackmap.errors import InputError

LONGEST = 1 << 20  # a line beyond this is cut: no table has one, and memory has an end
GZIP = b"\x1f\x8b"

# Colours and other orders to a terminal: CSI … letter, OSC … BEL, and a lone ESC with its letter.
ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


class Lines:
    """Lines one after the other; the last one can be put back, and its number told."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._lines = _split(_unpacked(chunks))
        self._returned: list[str] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        while self._returned:
            self.number += 1
            yield self._returned.pop()
        for line in self._lines:
            self.number += 1
            yield line

    def put_back(self, line: str) -> None:
        """Have *line*, the last that was taken, come again to the next who asks."""
        self._returned.append(line)
        self.number -= 1


def _unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks, unpacked if they are gzip; a file cut short gives what it holds."""
    start = b""
    chunks = iter(chunks)
    for chunk in chunks:
        start += chunk
        if len(start) >= len(GZIP):
            break
    if not start.startswith(GZIP):
        yield start
        yield from chunks
        return
    yield from _gunzip(start, chunks)


def _gunzip(start: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    packed, any_came = start, False
    try:
        while packed:
            came = unpacker.decompress(packed, LONGEST)
            any_came = any_came or bool(came)
            yield came
            packed = unpacker.unconsumed_tail
            if unpacker.eof and unpacker.unused_data.startswith(GZIP):  # one file after another
                packed = unpacker.unused_data
                unpacker = zlib.decompressobj(wbits=31)
            packed = packed or next(chunks, b"")
    except zlib.error as error:
        if not any_came:
            raise InputError(f"not a gzip file, though it begins as one: {error}") from error


def _split(chunks: Iterable[bytes]) -> Iterator[str]:
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            parts.append(chunk[:cut])
            yield from _text(b"".join(parts)).split("\n")[:-1]
            parts, held = [], 0
        if cut < len(chunk):
            parts.append(chunk[cut:])
            held += len(chunk) - cut
        if held > LONGEST:
            whole = b"".join(parts)
            cut = whole.rfind(b" ") + 1 or len(whole)
            yield _text(whole[:cut])
            parts, held = [whole[cut:]], len(whole) - cut
    if held:
        yield _text(b"".join(parts))


def _text(raw: bytes) -> str:
    """Decode whole lines, and take out what no table means."""
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return ESCAPES.sub("", text) if "\x1b" in text else text
