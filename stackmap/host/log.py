"""
The log of a capture: what was told after its first answers, one frame a sample.

It lies in segments, ``log/<instant of the first frame>.gz``, of ``SPAN``
seconds each. A segment stands by itself: it is one gzip stream, flushed after
each frame so that every frame is whole as soon as it is written; its first
frame holds all that the log had told until then, the others what changed. Of
a stream that ends anywhere, or is damaged, all whole frames before that are
read. Unpacked, it is::

    frame 1763732400.000127 6021 2774113
    ["=", "read /proc/diskstats", 5980]
    … 5980 bytes …
    ["!", "run dmsetup table", "denied", "dmsetup: /dev/mapper/control needs root"]

A frame's heading has its instant, the bytes that follow, and their CRC-32. In
it, each entry's heading is JSON: what it is, the question, its bytes:

- ``=``  the answer, whole;
- ``~``  those of its lines that differ: their numbers from 0 in one line, then the lines;
- ``!``  no answer: the kind of refusal and its words;
- ``+``  an answer that holds for this frame alone.

To ``COUNT``, which a segment's first frame answers, no host is asked: how many
frames there were before it, and how many of the frames up to this one are
marked, which are those in which more happened than that devices counted on.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import compress
from operator import ne

from stackmap.errors import CaptureError
from stackmap.host.capture_paths import encoded

FOLDER = "/log"
ENDING = ".gz"
SEGMENT_SECONDS = 600.0  # seconds
GZIP = 31  # zlib's wbits: the largest window, and gzip's heading
UNPACK_STEPS = (
    1 << 14,
    1 << 20,
)  # bytes unpacked at once: at first, for the first frame alone, and at most
MAX_FRAME = 1 << 26  # of a frame: 2,000 devices with all that is asked of them take 20 MB
TRANSIENT = b'["+"'  # how an entry begins that holds for its frame alone
MAX_HEADING = 100  # bytes, more than a frame's heading takes
FRAME_COUNT = "count"


@dataclass(frozen=True, slots=True)
class Refusal:
    """No answer: ``kind`` is a key of ``capture.REFUSALS``, ``message`` the words."""

    kind: str
    message: str


Lines = list[str]
Answers = Mapping[str, Lines | Refusal]  # by question; an answer is split at its line ends


def segment_path(time: float) -> str:
    """Return where the segment that begins at *time* lies."""
    return f"{FOLDER}/{time:.6f}{ENDING}"


def segment_start(name: str) -> float | None:
    """Return when the segment *name* begins, None if it is no segment."""
    try:
        return float(name.removesuffix(ENDING)) if name.endswith(ENDING) else None
    except ValueError:
        return None


def encode_frame(time: float, entries: list[bytes]) -> bytes:
    """Return a frame."""
    content = b"".join(entries)
    return b"frame %.6f %d %d\n%b" % (time, len(content), zlib.crc32(content), content)


def encode_entry(
    question: str, now: Lines | Refusal, before: Lines | Refusal | None = None
) -> bytes:
    """Return the entry that says *now*; where the answer *before* has as many lines, how they differ."""
    if isinstance(now, Refusal):
        return _heading("!", question, now.kind, now.message)
    if isinstance(before, list) and len(before) == len(now) > 1:
        places = [*compress(range(len(now)), map(ne, now, before))]
        if 2 * len(places) < len(now):
            changed = "\n".join([" ".join(map(str, places)), *[now[place] for place in places]])
            return _with_body("~", question, encoded(changed))
    return _with_body("=", question, encoded("\n".join(now)))


def encode_transient(question: str, answer: str) -> bytes:
    """Return an entry for this frame alone."""
    return _with_body("+", question, encoded(answer))


class Ending(Enum):
    """How a segment ends that was read: as it was ended, cut off as by a crash, or in what no recorder wrote."""

    WHOLE = auto()
    CUT = auto()
    DAMAGED = auto()


class Frames:
    """Instant and entries of each whole frame of a segment, up to any damage; after the last, its ``ending``."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.ending = Ending.CUT

    def __iter__(self) -> Iterator[tuple[float, bytes]]:
        rest = b""
        try:
            for part in self._unpacked():
                rest += part
                start = 0
                while (frame := _frame_at(rest, start)) is not None:
                    time, begin, end = frame
                    yield time, rest[begin:end]
                    start = end
                rest = rest[start:]
        except (ValueError, zlib.error):  # written over, as by a crash of the machine
            self.ending = Ending.DAMAGED
            return
        if rest and self.ending is Ending.WHOLE:
            self.ending = Ending.DAMAGED

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the content unpacked, as far as it goes."""
        unpacking = zlib.decompressobj(GZIP)
        step, most = UNPACK_STEPS
        while self._content and not unpacking.eof:
            yield unpacking.decompress(self._content, step)
            self._content = unpacking.unconsumed_tail
            step = min(2 * step, most)
        if unpacking.eof:
            self.ending = Ending.WHOLE


def parse_count(answer: str, where: str) -> tuple[int, int]:
    """Return the frames before and the marks, as ``COUNT`` is answered; ``CaptureError`` if it is not."""
    try:
        before, marks = map(int, answer.split())
    except ValueError as error:
        raise CaptureError(f"{where}: damaged: no count of frames: {answer[:60]!r}") from error
    return before, marks


def apply_entries(told: dict[str, Lines | Refusal], entries: bytes, where: str) -> dict[str, str]:
    """Bring *told* up to a frame; return what holds for that frame alone."""
    alone: dict[str, str] = {}
    start = 0
    try:
        while start < len(entries):
            end = entries.index(b"\n", start)
            kind, question, *more = json.loads(entries[start:end])
            start = end + 1
            if kind == "!":
                told[question] = Refusal(*map(str, more))
                continue
            body = entries[start : start + more[0]].decode()
            start += more[0] + 1
            if kind == "+":
                alone[question] = body
            elif kind == "~":
                told[question] = _patched(told[question], body)
            else:
                told[question] = body.split("\n")
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise CaptureError(f"{where}: damaged: {error!r}") from error
    return alone


def _patched(before: Lines | Refusal, changes: str) -> Lines:
    places, *lines = changes.split("\n")
    if isinstance(before, Refusal):
        raise TypeError("changes of an answer that was refused")
    now = [*before]
    for place, line in zip(map(int, places.split()), lines, strict=True):
        now[place] = line
    return now


def _frame_at(rest: bytes, start: int) -> tuple[float, int, int] | None:
    """Return the instant of the frame at *start*, and where its entries begin and end; None: it is not all there."""
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
    if zlib.crc32(rest[begin : begin + size]) != int(crc):
        raise ValueError("its checksum is another")
    return float(time), begin, begin + size


def _heading(kind: str, *words: str | int) -> bytes:
    return json.dumps([kind, *words]).encode() + b"\n"


def _with_body(kind: str, question: str, body: bytes) -> bytes:
    return b"%b%b\n" % (_heading(kind, question, len(body)), body)
