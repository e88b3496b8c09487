"""
Lines of a text as it reached us: pasted, piped, compressed, coloured, in any encoding.

What never belongs to a figure goes here (colours, NULs of sysstat 11.5.7,
compression); what a line means is for others to say.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import length_hint
from typing import NamedTuple, TypeVar

from stackmap.errors import InputError

MAX_LINE = 1 << 20  # a line beyond this is cut: no table has one, and memory has an end
MAX_TIME_LINE = 32  # and this is short for a line of one
GZIP = b"\x1f\x8b"
TAR = slice(257, 262), b"ustar"  # where a tar's first heading says so: tar(5)

# Colours and other orders to a terminal: CSI … letter, OSC … BEL, and a lone ESC with its letter.
ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
Key = TypeVar("Key")
Value = TypeVar("Value")


class Paragraph(NamedTuple):
    """
    Lines that came together.

    ``whole``: all of them to before a blank line, from after one or from after
    a line that may be a time.
    """

    text: str
    whole: bool = False


BLANK = Paragraph("")


class Lines:
    """
    Lines one after the other; the last one can be put back, and its number told.

    ``paragraph``: the text of the whole paragraph that the last line is of, ""
    where it did not come as a whole. *tell* takes a line where what is packed
    ends before its end.
    """

    def __init__(self, chunks: Iterable[bytes], warn: Callable[[str], None] | None = None) -> None:
        self._paragraphs = _paragraphs(_texts(_no_tar(_unpacked(chunks, warn or _ignore))))
        self._lines: Iterator[str] = iter(())  # of the paragraph under way
        self._returned: list[str] = []
        self.paragraph = ""
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        while self._returned:
            self.number += 1
            yield self._returned.pop()
        while True:
            lines = self._lines
            for line in lines:
                self.number += 1
                yield line
            # Who was given a line may have had a paragraph begun (``take_known``).
            if self._lines is lines:
                following = next(self._paragraphs, None)
                if following is None:
                    break
                self._begin(following)

    def push_back(self, line: str) -> None:
        """Have *line*, the last that was taken, come again to the next who asks."""
        self._returned.append(line)
        self.number -= 1

    @property
    def ended(self) -> bool:
        """Whether the last line was the end of what came together; another paragraph is next."""
        return not (self._returned or length_hint(self._lines))

    def take_cached(self, known: Mapping[tuple[Key, str], Value], key: Key) -> Value | None:
        """
        Where one has ended, take the next paragraph, and its blank line, if it is *known*.

        Blank lines before it are passed over. Its own are not counted in
        ``number``: who knows it knows how many there are.
        """
        following = next(self._paragraphs, None)
        while following == BLANK:
            self.number += 1
            following = next(self._paragraphs, None)
        if following is None:
            return None
        found = known.get((key, following.text)) if following.whole else None
        if found is None:
            self._begin(following)
        return found

    def _begin(self, paragraph: Paragraph) -> None:
        self.paragraph = paragraph.text if paragraph.whole else ""
        self._lines = iter(paragraph.text.split("\n") + [""] * paragraph.whole)


def _ignore(what: str) -> None:
    """Leave *what* unsaid."""


def _unpacked(chunks: Iterable[bytes], warn: Callable[[str], None]) -> Iterator[bytes]:
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
    yield from _gunzip(start, chunks, warn)


def _gunzip(start: bytes, chunks: Iterator[bytes], warn: Callable[[str], None]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    packed, any_came = start, False
    try:
        while packed:
            came = unpacker.decompress(packed, MAX_LINE)
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
        warn("a damaged gzip file: what stands before the damage was read")
        return
    if not unpacker.eof:
        warn("a gzip file that was cut short: what there is of it was read")


def _no_tar(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks; refuse a tar: the files in it are not one text."""
    place, magic = TAR
    for number, chunk in enumerate(chunks):
        if not number and chunk[place] == magic:
            raise InputError("a tar, not a text: --from reads a capture that is one")
        yield chunk


def _paragraphs(texts: Iterable[str]) -> Iterator[Paragraph]:
    within = False
    for text in texts:
        *ended, rest = text.split("\n\n")
        for paragraph in ended:
            start = 0
            if paragraph.startswith("\n"):
                yield BLANK
                start, within = 1, False
            # What is below a time is the same at all times.
            cut = paragraph.find("\n", start, start + MAX_TIME_LINE)
            if cut >= 0:
                yield Paragraph(paragraph[start:cut])
                start = cut + 1
            if within:
                yield Paragraph(paragraph[start:] + "\n")
            else:
                yield Paragraph(paragraph[start:], whole=True)
            within = False
        if rest:
            yield Paragraph(rest.removesuffix("\n"))
            within = True


def _texts(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield whole lines together, as many as have come."""
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            parts.append(chunk[:cut])
            yield _text(b"".join(parts))
            parts, held = [], 0
        if cut < len(chunk):
            parts.append(chunk[cut:])
            held += len(chunk) - cut
        if held > MAX_LINE:
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
