"""
The log of a capture: answers after the first ones, one frame per sample.

It is split into segments, ``log/<instant of the first frame>.gz``, of ``SEGMENT_SECONDS`` each. A
segment stands alone: it is one gzip stream, flushed after each frame so that every frame is
complete once written. Its first frame repeats all answers logged so far; later frames hold what
changed. If a stream is cut or damaged, all complete frames before that point are read. Unpacked::

    frame 1763732400.000127 6021 2774113
    ["=", "read /proc/diskstats", 5980]
    … 5980 bytes …
    ["!", "run dmsetup table", "denied", "dmsetup: /dev/mapper/control needs root"]

A frame's heading has its instant, the number of bytes that follow, and their CRC-32. Each entry
has a JSON heading: its kind, the question, its bytes:

- ``=``  the whole answer;
- ``~``  the lines that differ: their numbers from 0 in one line, then the lines;
- ``!``  no answer: the kind of refusal and its message;
- ``+``  an answer that is valid in this frame only.

``FRAME_COUNT`` is an entry of a segment's first frame, not a question to a host: the number of
frames before it, and how many frames up to this one are marked. In a marked frame more happened
than counters going up: it begins with the entry ``MARKED``. A segment without ``MARKED`` or
``UNMARKED`` in its first frame is of an earlier version, which did not tell which frames are marked.
"""

import json
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum, auto
from itertools import compress
from operator import ne
from typing import NamedTuple

from stackmap.errors import CaptureError
from stackmap.host.capture_format import Refusal, decoded, encoded, is_instant, recorded_text
from stackmap.host.table_keys import masked, masked_bytes

FOLDER = "/log"
ENDING = ".gz"
SEGMENT_SECONDS = 600.0  # seconds
GZIP = 31  # zlib's wbits: the largest window, and gzip's heading
UNPACK_STEPS = 1 << 12, 1 << 16  # packed bytes: at first, for the first frame alone, and at most
MAX_UNPACKED = 1 << 20  # bytes at once
MAX_FRAME = 40 << 20  # bytes; all answers of 2,000 devices take 20 MB
# What damaged entries raise.
DAMAGES = (ValueError, KeyError, IndexError, TypeError, RecursionError)
KINDS = (["="], ["~"], ["!"], ["+"])
TRANSIENT = b'["+"'  # the beginning of an entry that is valid in its frame only
MAX_HEADING = 100  # bytes, more than the heading of any frame
MAX_ENTRY_HEADING = 1 << 16  # bytes, more than that of any entry, a refusal's message included
# Beside what was recorded: the ratio of a bomb is 1,000, that of a recording 5 to 30.
MAX_RATIO, FREE = 100, 256 << 20  # unpacked bytes per packed one, and bytes that are free
# The same of frames, each of which the recorder flushes.
FRAME_BYTES, FREE_FRAMES = 24, 50_000
# The questions of a host, and those of recordings only, as they begin: no answer to another is kept.
QUESTIONS = (
    "read /", "names_in /", "link /", "run ", "udev ", "volumes", "arrays", "machine-id", "uevents", "aside",
)  # fmt: skip
FRAME_COUNT = "count"
MARKED, UNMARKED = (b'["+", "marked", 1]\n%b\n' % state for state in (b"1", b"0"))

Lines = list[str]  # an answer, split at its line ends


def segment_path(time: float) -> str:
    """Return the path of the segment that begins at *time*."""
    return f"{FOLDER}/{time:.6f}{ENDING}"


_SEGMENT = re.compile(r"(-?[0-9]{1,12}(?:\.[0-9]{1,9})?)\.gz", re.ASCII)


def segment_start(name: str) -> float | None:
    """Return when the segment *name* begins, None if it is not a segment."""
    match = _SEGMENT.fullmatch(name)
    return float(match[1]) if match and is_instant(float(match[1])) else None


def encode_frame(time: float, entries: list[bytes]) -> bytes:
    """Return a frame's bytes."""
    content = b"".join(entries)
    return b"frame %.6f %d %d\n%b" % (time, len(content), zlib.crc32(content), content)


def encode_entry(
    question: str, now: Lines | Refusal, before: Lines | Refusal | None = None
) -> bytes:
    """Return the entry for the answer *now*: the changed lines if *before* has as many lines."""
    if isinstance(now, Refusal):
        return _heading("!", question, now.kind, now.message)
    if isinstance(before, list) and len(before) == len(now) > 1:
        places = [*compress(range(len(now)), map(ne, now, before))]
        if 2 * len(places) < len(now):
            changed = "\n".join([" ".join(map(str, places)), *[now[place] for place in places]])
            return _with_body("~", question, encoded(changed))
    return _with_body("=", question, encoded("\n".join(now)))


def encode_transient(question: str, answer: str) -> bytes:
    """Return an entry for this frame only."""
    return _with_body("+", question, encoded(answer))


class Ending(Enum):
    """The end of a segment: complete, cut off as by a crash, or damaged."""

    WHOLE = auto()
    CUT = auto()
    DAMAGED = auto()


class Frames:
    """Instant and entries of each complete frame of a segment; ``last``: its instant; ``ending`` after the last."""

    def __init__(self, content: bytes, last: float = 0.0) -> None:
        self._content = content
        self.last = last
        self.ending = Ending.CUT

    def __iter__(self) -> Iterator[tuple[float, bytes]]:
        rest = bytearray()
        try:
            for part in self._unpacked():
                rest += part
                start = 0
                while (frame := _frame_at(rest, start)) is not None:
                    self.last, entries, start = frame
                    yield self.last, entries
                del rest[:start]
        except (ValueError, zlib.error):  # overwritten, as by a crash of the machine
            self.ending = Ending.DAMAGED
            return
        if rest and self.ending is Ending.WHOLE:
            self.ending = Ending.DAMAGED

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the unpacked content as far as it is intact."""
        unpacking = zlib.decompressobj(GZIP)
        step, most = UNPACK_STEPS
        content, place = memoryview(self._content), 0
        rest: bytes | memoryview = b""
        while (rest or place < len(content)) and not unpacking.eof:
            if not rest:
                rest, place = content[place : place + step], place + step
                step = min(2 * step, most)
            yield unpacking.decompress(rest, MAX_UNPACKED)
            rest = unpacking.unconsumed_tail
        if unpacking.eof:
            self.ending = Ending.WHOLE


class FrameCount(NamedTuple):
    """``before``: the frames before a segment; ``marked``: how many are marked, up to its first one; whether that one is."""

    before: int
    marked: int
    begins_marked: bool


def frame_count(entries: bytes, where: str) -> FrameCount | None:
    """Return the count in the *entries* of a segment's first frame; None without one."""
    try:
        counts = [
            body
            for kind, question, body in split_entries(entries)
            if kind == "+" and question == FRAME_COUNT and isinstance(body, bytes)
        ]
    except DAMAGES as error:
        raise CaptureError(f"{where}: damaged: {error!r}") from error
    if not counts:
        return None
    answer = recorded_text(counts[-1], where)
    try:
        before, marked = map(int, answer.split())
    except ValueError as error:
        raise CaptureError(
            f"{where}: damaged: no count of frames: {masked(answer)[:60]!r}"
        ) from error
    return FrameCount(before, marked, not entries.startswith(UNMARKED))


def split_entries(entries: bytes) -> Iterator[tuple[str, str, bytes | Refusal]]:
    """Yield each entry's kind, question, and body or refusal; one of ``DAMAGES`` where it is none."""
    start = 0
    while start < len(entries):
        end = entries.index(b"\n", start)
        line = entries[start:end]
        words = json.loads(line) if len(line) <= MAX_ENTRY_HEADING else None
        if not isinstance(words, list) or words[:1] not in KINDS or not isinstance(words[1], str):
            raise ValueError(f"no heading of an entry: {masked_bytes(line)[:60]!r}")
        kind, question, *more = words
        start = end + 1
        if kind == "!":
            yield kind, question, Refusal(*map(str, more))
            continue
        (length,) = more
        room = len(entries) - start
        if not isinstance(length, int) or not 0 <= length < room:
            raise ValueError(f"an entry of {length!r} bytes where {room} are left")
        end = start + length
        yield kind, question, entries[start:end]
        start = end + 1


def texts_of(segment: bytes, asked: str) -> Iterator[str]:
    """Yield the answers, changed lines and refusals in *segment* to questions that begin with *asked*."""
    for _, entries in Frames(segment):
        if asked.encode() not in entries:
            continue
        with suppress(*DAMAGES):  # a frame that no command reads either
            for _, question, body in split_entries(entries):
                if question.startswith(asked):
                    yield body.message if isinstance(body, Refusal) else decoded(body)


def patched(before: Lines | Refusal, changes: bytes, where: str) -> Lines:
    """Return the lines *before* with *changes*, the body of an entry; one of ``DAMAGES`` if it is none."""
    places, *lines = recorded_text(changes, where).split("\n")
    if isinstance(before, Refusal):
        raise TypeError("changes of an answer that was refused")
    now = [*before]
    for place, line in zip(_places(places), lines, strict=True):
        now[place] = line
    return now


def _places(numbers: str) -> list[int]:
    """Return the numbers of the changed lines."""
    places = [*map(int, numbers.split())]
    if places and min(places) < 0:
        raise IndexError(f"line {min(places)}")
    return places


def _frame_at(rest: bytearray, start: int) -> tuple[float, bytes, int] | None:
    """Return the frame's instant, its entries and where it ends; None if it is incomplete."""
    end = rest.find(b"\n", start, start + MAX_HEADING)
    if end < 0:
        if len(rest) - start > MAX_HEADING:
            raise ValueError("no heading of a frame")
        return None
    word, time, length, crc = rest[start:end].split(b" ")
    begin, size = end + 1, int(length)
    if word != b"frame" or not 0 <= size <= MAX_FRAME:
        raise ValueError("no heading of a frame")
    if len(rest) < begin + size:
        return None
    entries = bytes(rest[begin : begin + size])
    if zlib.crc32(entries) != int(crc):
        raise ValueError("its checksum is another")
    if not is_instant(instant := float(time)):
        raise ValueError("no instant of a frame")
    return instant, entries, begin + size


def _heading(kind: str, *words: str | int) -> bytes:
    return json.dumps([kind, *words]).encode() + b"\n"


def _with_body(kind: str, question: str, body: bytes) -> bytes:
    return b"%b%b\n" % (_heading(kind, question, len(body)), body)
