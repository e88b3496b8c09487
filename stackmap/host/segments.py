"""
The files of a recording: the segments of its log, which of them are kept, and the last ones in memory.

Segments of a directory are appended to, completed after a crash, and the oldest removed first. A
screen that is watched writes nothing until it is asked to: its files are in memory.
"""

import contextlib
import os
import signal
import zlib
from collections import deque
from typing import NamedTuple

from stackmap.errors import CaptureError
from stackmap.host import log
from stackmap.host.capture_files import FORMAT, UNFINISHED, read_manifest
from stackmap.host.directory import Directory, make_directory
from stackmap.host.file_tree import FIRST_ANSWERS, MANIFEST, DirectoryTree
from stackmap.host.signals import delayed

# Nearly the compression of level 6 on counters, in a fifth of its time.
LEVEL = 1
# After packed but unwritten data, nothing later could be read: these wait.
INTERRUPTS = (signal.SIGINT, signal.SIGTERM)

SHARE = 4  # a segment has at most this part of the permitted size


class SegmentWriter:
    """
    The new *file*, opened to append, grows by one frame per write; it never ends in half a frame.

    A failed write, for example on a full disk, is truncated away. *path* is for messages. ``size``: the bytes written so far.
    """

    def __init__(self, file: int, path: str, start: float) -> None:
        self.start = start
        self.name = path.rpartition("/")[2]
        self._file = file
        self._path = path
        self._packing = zlib.compressobj(LEVEL, zlib.DEFLATED, log.GZIP)
        self.size = 0

    def append(self, frame: bytes) -> None:
        """Write *frame*, which is readable from now on; the caller delays ``INTERRUPTS`` until it has counted it."""
        self._write(self._packing.compress(frame) + self._packing.flush(zlib.Z_SYNC_FLUSH))

    def end(self) -> None:
        """End the stream and close the file."""
        with delayed(INTERRUPTS):
            self._write(self._packing.flush())
        os.close(self._file)

    def _write(self, packed: bytes) -> None:
        try:
            written = os.write(self._file, packed)
            # A full disk accepts a part first and fails on the next write.
            while written < len(packed):
                written += os.write(self._file, packed[written:])
        except OSError as error:
            with contextlib.suppress(OSError):  # readers ignore an incomplete frame, too
                os.ftruncate(self._file, self.size)
            os.close(self._file)
            raise CaptureError(f"{self._path}: {error.strerror}") from error
        self.size += len(packed)


def complete_last_segment(directory: Directory) -> int:
    """
    Complete the newest segment, which a crash may have cut off, and return the frames so far.

    Segments that were cut off before the end of their first frame are removed. ``CaptureError`` if this is no recording of this format.
    """
    tree = DirectoryTree(directory.path)
    if read_manifest(tree, directory.path).get("format") != FORMAT:
        raise CaptureError(
            f"{directory.path}: not a recording of this version; give a new directory"
        )
    names = [name for name in directory.names(log.FOLDER) if log.segment_start(name) is not None]
    for name in sorted(names, key=lambda name: log.segment_start(name) or 0.0, reverse=True):
        path = f"{log.FOLDER}/{name}"
        content = tree.read(path)
        frames = log.Frames(content)
        first = next(iter(frames), None)
        if first is None:
            if frames.ending is not log.Ending.DAMAGED:
                directory.remove(path)
            continue
        earlier = log.frame_count(first[1], path)
        frames = log.Frames(content)
        count = sum(1 for _ in frames)
        if frames.ending is log.Ending.CUT:  # of a damaged one, readers tell what is left out
            directory.write(f"{path}.new", _ended(content))
            directory.rename(f"{path}.new", path)
        return count + (earlier.before if earlier else 0)
    return 0


def _ended(content: bytes) -> bytes:
    """Return the complete frames of a segment as one that ends."""
    packing = zlib.compressobj(LEVEL, zlib.DEFLATED, log.GZIP)
    frames = (log.encode_frame(time, [entries]) for time, entries in log.Frames(content))
    return b"".join([*map(packing.compress, frames), packing.flush()])


class Limits(NamedTuple):
    """At most ``size`` bytes, and nothing older than ``age`` seconds; None: no limit. ``segment``: the seconds of one."""

    size: int | None = None
    age: float | None = None
    segment: float = log.SEGMENT_SECONDS


NO_LIMITS = Limits()


class _Ended(NamedTuple):
    name: str
    start: float
    size: int


class Retention:
    """The ended segments of the recording in *directory*, those of an earlier recorder included."""

    def __init__(self, directory: "Directory | RecentFiles", limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        starts = [(log.segment_start(name), name) for name in directory.names(log.FOLDER)]
        segments = sorted((start, name) for start, name in starts if start is not None)
        self._ended = deque(self._measured(name, start) for start, name in segments)

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
                self._directory.remove(f"{log.FOLDER}/{self._ended[0].name}")
            self._ended.popleft()

    def _is_beyond(self, segment: SegmentWriter, time: float) -> bool:
        size, age = self._limits.size, self._limits.age
        if size is not None:
            others = sum(self._size(path) for path in (MANIFEST, FIRST_ANSWERS))
            if others + segment.size + sum(ended.size for ended in self._ended) > size:
                return True
        end = self._ended[1].start if len(self._ended) > 1 else segment.start
        return age is not None and end < time - age

    def _measured(self, name: str, start: float) -> _Ended:
        return _Ended(name, start, self._size(f"{log.FOLDER}/{name}"))

    def _size(self, name: str) -> int:
        status = self._directory.status(name)
        return 0 if status is None else status.st_size


class RecentFiles:
    """The files of a recording in memory, in place of a ``Directory``."""

    path = "memory"

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._segments: dict[str, int] = {}  # the descriptor of each one's memory, by its path

    def create(self, name: str) -> int:
        """Return the descriptor of a new segment, which its writer closes."""
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        self._segments[name] = descriptor
        return os.dup(descriptor)

    def names(self, folder: str) -> list[str]:  # noqa: ARG002 - as of a Directory
        """Return []: no recording is continued in memory."""
        return []

    def status(self, name: str) -> None:
        """Return None: the memory of a file is not measured."""

    def write(self, name: str, content: bytes) -> None:
        """Keep *content* as the file *name*."""
        self._files[name] = content

    def rename(self, old: str, new: str) -> None:
        """Rename the file *old*."""
        self._files[new] = self._files.pop(old)

    def remove(self, name: str) -> None:
        """Drop the segment *name*."""
        os.close(self._segments.pop(name))

    def is_at_its_path(self) -> bool:
        """Return True: it is in memory."""
        return True

    def is_removed(self) -> bool:
        """Return False: it is in memory."""
        return False

    def discard(self) -> None:
        """Do nothing: ``close`` frees the memory."""

    def close(self) -> None:
        """Free the memory."""
        while self._segments:
            os.close(self._segments.popitem()[1])

    def save(self, path: str) -> None:
        """
        Write the capture into the new directory *path*.

        ``OutputRefused`` if it exists; ``CaptureError`` if writing fails, and then nothing is left of it.
        """
        if MANIFEST not in self._files or not self._segments:
            raise CaptureError(f"{path}: nothing is recorded yet")
        try:
            directory = make_directory(path)
        except OSError as error:
            raise CaptureError(f"{path}: {error.strerror}; give a new directory") from error
        with directory:
            try:
                for name, content in self._files.items():
                    directory.write(UNFINISHED if name == MANIFEST else name, content)
                for name, descriptor in self._segments.items():
                    size = os.fstat(descriptor).st_size
                    directory.write(name, os.pread(descriptor, size, 0))
                directory.rename(UNFINISHED, MANIFEST)
            except OSError as error:
                directory.discard()
                raise CaptureError(f"{path}: {error.strerror}") from error
