"""How much of a recording is kept: the oldest segments are removed first."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from stackmap.host.directory import Directory
from stackmap.host.file_tree import FIRST_ANSWERS, MANIFEST
from stackmap.host.log import FOLDER, SEGMENT_SECONDS, segment_start
from stackmap.host.log_writer import SegmentWriter

if TYPE_CHECKING:
    from stackmap.host.recent import RecentFiles

SHARE = 4  # a segment has at most this part of the permitted size


class Limits(NamedTuple):
    """At most ``size`` bytes, and nothing older than ``age`` seconds; None: no limit. ``segment``: the seconds of one."""

    size: int | None = None
    age: float | None = None
    segment: float = SEGMENT_SECONDS


NO_LIMITS = Limits()


class _Ended(NamedTuple):
    name: str
    start: float
    size: int


class Retention:
    """The ended segments of the recording in *directory*, those of an earlier recorder included."""

    def __init__(self, directory: Directory | RecentFiles, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        starts = [(segment_start(name), name) for name in directory.names(FOLDER)]
        found = sorted((start, name) for start, name in starts if start is not None)
        self._ended = deque(self._measured(name, start) for start, name in found)

    def is_newest(self, time: float) -> bool:
        """Whether a segment that begins at *time* is read after all others."""
        return not self._ended or time > self._ended[-1].start

    def is_full(self, segment: SegmentWriter, time: float) -> bool:
        """Whether the next frame, of *time*, belongs to a new segment."""
        limit = self._limits.size
        is_large = limit is not None and segment.size > limit // SHARE
        return time >= segment.start + self._limits.segment or is_large

    def end(self, segment: SegmentWriter) -> None:
        """End *segment*, from now on one of those that may be removed."""
        segment.end()
        self._ended.append(_Ended(segment.name, segment.start, segment.size))

    def trim(self, segment: SegmentWriter, time: float) -> None:
        """Remove what is beyond the limits at *time*, but not *segment*, which is being written."""
        while self._ended and self._is_beyond(segment, time):
            with contextlib.suppress(FileNotFoundError):
                self._directory.remove(f"{FOLDER}/{self._ended[0].name}")
            self._ended.popleft()

    def _is_beyond(self, segment: SegmentWriter, time: float) -> bool:
        size, age = self._limits.size, self._limits.age
        if size is not None:
            others = sum(self._size(path.lstrip("/")) for path in (MANIFEST, FIRST_ANSWERS))
            if others + segment.size + sum(each.size for each in self._ended) > size:
                return True
        end = self._ended[1].start if len(self._ended) > 1 else segment.start
        return age is not None and end < time - age

    def _measured(self, name: str, start: float) -> _Ended:
        return _Ended(name, start, self._size(f"{FOLDER}/{name}".lstrip("/")))

    def _size(self, name: str) -> int:
        status = self._directory.status(name)
        return 0 if status is None else status.st_size
