"""A writer of one segment of a capture's log."""

from __future__ import annotations

import contextlib
import os
import signal
import zlib
from collections.abc import Iterator

from stackmap.errors import CaptureError
from stackmap.host.log import GZIP

# Nearly the compression of level 6 on counters, in a fifth of its time.
LEVEL = 1


class SegmentWriter:
    """
    The new *file*, opened to append, grows by one frame per write; it never ends in half a frame.

    A failed write, for example on a full disk, is truncated away. *path* is for messages.
    """

    def __init__(self, file: int, path: str, start: float) -> None:
        self.start = start
        self.name = path.rpartition("/")[2]
        self._file = file
        self._path = path
        self._packing = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._size = 0

    @property
    def size(self) -> int:
        """The bytes written so far."""
        return self._size

    @property
    def is_empty(self) -> bool:
        """Whether no frame was written."""
        return self._size == 0

    def append(self, frame: bytes) -> None:
        """Write *frame*; it is readable from now on."""
        with _signals_blocked():
            self._write(self._packing.compress(frame) + self._packing.flush(zlib.Z_SYNC_FLUSH))

    def end(self) -> None:
        """End the stream and close the file."""
        with _signals_blocked():
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
                os.ftruncate(self._file, self._size)
            os.close(self._file)
            raise CaptureError(f"{self._path}: {error.strerror}") from error
        self._size += len(packed)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Delay an interrupt: after packed but unwritten data, nothing later could be read."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
