"""
The log of a capture: what was told after its first answers, one frame a sample.

It lies in segments, ``log/<instant of the first frame>.gz``, of ``SPAN``
seconds each. A segment stands by itself: it is one gzip stream, flushed after
each frame so that every frame is whole as soon as it is written; its first
frame holds all that the log had told until then, the others what changed. Of
a stream that ends anywhere, all whole frames are read. Unpacked, it is::

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
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from operator import ne

from stackmap.errors import CaptureError
from stackmap.host.places import encoded

FOLDER = "/log"
ENDING = ".gz"
SPAN = 600.0  # seconds
GZIP = 31  # zlib's wbits: the largest window, and gzip's heading
STEP = 1 << 20  # bytes unpacked at once
LONGEST = 1 << 26  # of a frame: 2,000 devices with all that is asked of them take 20 MB
PASSING = b'["+"'  # how an entry begins that holds for its frame alone
HEADING = 100  # bytes, more than a frame's heading takes


@dataclass(frozen=True, slots=True)
class Refused:
    """No answer: ``kind`` is a key of ``capture.REFUSALS``, ``message`` the words."""

    kind: str
    message: str


Lines = list[str]
Told = Mapping[str, Lines | Refused]  # by question; an answer is split at its line ends


def name_of(time: float) -> str:
    """Return where the segment that begins at *time* lies."""
    return f"{FOLDER}/{time:.6f}{ENDING}"


def start_of(name: str) -> float | None:
    """Return when the segment *name* begins, None if it is no segment."""
    try:
        return float(name.removesuffix(ENDING)) if name.endswith(ENDING) else None
    except ValueError:
        return None


def frame(time: float, entries: list[bytes]) -> bytes:
    """Return a frame."""
    content = b"".join(entries)
    return b"frame %.6f %d %d\n%b" % (time, len(content), zlib.crc32(content), content)


def entry(question: str, now: Lines | Refused, before: Lines | Refused | None = None) -> bytes:
    """Return the entry that says *now*; where the answer *before* has as many lines, how they differ."""
    if isinstance(now, Refused):
        return _heading("!", question, now.kind, now.message)
    if isinstance(before, list) and len(before) == len(now) > 1:
        places = [*compress(range(len(now)), map(ne, now, before))]
        if 2 * len(places) < len(now):
            changed = "\n".join([" ".join(map(str, places)), *[now[place] for place in places]])
            return _with_body("~", question, encoded(changed))
    return _with_body("=", question, encoded("\n".join(now)))


def passing(question: str, answer: str) -> bytes:
    """Return an entry for this frame alone."""
    return _with_body("+", question, encoded(answer))


def frames(content: bytes, where: str) -> Iterator[tuple[float, bytes]]:
    """Yield instant and entries of each whole frame of a segment; what comes after damage is lost."""
    rest = b""
    for part in _unpacked(content):
        rest += part
        start = 0
        while (end := rest.find(b"\n", start, start + HEADING)) >= 0:
            time, length, crc = _frame_heading(rest[start:end], where)
            if len(rest) - end - 1 < length:
                break
            entries = rest[end + 1 : end + 1 + length]
            if zlib.crc32(entries) != crc:
                return
            yield time, entries
            start = end + 1 + length
        rest = rest[start:]
        if end < 0 and len(rest) > HEADING:
            raise CaptureError(f"{where}: damaged: no heading of a frame: {rest[:HEADING]!r}")


def applied(told: dict[str, Lines | Refused], entries: bytes, where: str) -> dict[str, str]:
    """Bring *told* up to a frame; return what holds for that frame alone."""
    alone: dict[str, str] = {}
    start = 0
    try:
        while start < len(entries):
            end = entries.index(b"\n", start)
            kind, question, *more = json.loads(entries[start:end])
            start = end + 1
            if kind == "!":
                told[question] = Refused(*map(str, more))
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


def _patched(before: Lines | Refused, changes: str) -> Lines:
    places, *lines = changes.split("\n")
    if isinstance(before, Refused):
        raise TypeError("changes of an answer that was refused")
    now = [*before]
    for place, line in zip(map(int, places.split()), lines, strict=True):
        now[place] = line
    return now


def _unpacked(content: bytes) -> Iterator[bytes]:
    """Yield *content* unpacked, as far as it goes."""
    unpacking = zlib.decompressobj(GZIP)
    while content:
        try:
            yield unpacking.decompress(content, STEP)
        except zlib.error:  # written half, or over by a crash of the machine
            return
        content = unpacking.unconsumed_tail


def _frame_heading(line: bytes, where: str) -> tuple[float, int, int]:
    word, time, length, crc = (*line.split(b" "), *[b""] * 4)[:4]
    try:
        heading = float(time), int(length), int(crc)
    except ValueError:
        heading = 0.0, -1, 0
    if word != b"frame" or not 0 <= heading[1] <= LONGEST:
        raise CaptureError(f"{where}: damaged: no heading of a frame: {line[:60]!r}")
    return heading


def _heading(kind: str, *words: str | int) -> bytes:
    return json.dumps([kind, *words]).encode() + b"\n"


def _with_body(kind: str, question: str, body: bytes) -> bytes:
    return b"%b%b\n" % (_heading(kind, question, len(body)), body)
