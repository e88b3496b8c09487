"""A segment of a capture's log, being written."""

from __future__ import annotations

import contextlib
import os
import signal
import zlib
from collections.abc import Iterator

from stackmap.errors import CaptureError
from stackmap.host.log import GZIP

# Most of what level 6 makes of counters, in a fifth of its time.
LEVEL = 1


class SegmentWriter:
    """
    A file that grows by a frame a write, and never holds half of one for long.

    A write that did not go through, as on a full disk, is taken back.
    """

    def __init__(self, path: str, start: float) -> None:
        self.start = start
        self._path = path
        self._packing = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._size = 0
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o666)
        except OSError as error:
            raise CaptureError(f"{path}: {error.strerror}") from error

    def append(self, frame: bytes) -> None:
        """Write *frame*, so that it can be read from now on."""
        with _signals_blocked():
            self._write(self._packing.compress(frame) + self._packing.flush(zlib.Z_SYNC_FLUSH))

    def end(self) -> None:
        """Close the stream and the file."""
        with _signals_blocked():
            self._write(self._packing.flush())
        os.close(self._file)

    def _write(self, packed: bytes) -> None:
        try:
            written = os.write(self._file, packed)
            # A full disk takes a part first, and only says so when asked for more.
            while written < len(packed):
                written += os.write(self._file, packed[written:])
        except OSError as error:
            with contextlib.suppress(OSError):  # what was cut off is left out by who reads it, too
                os.ftruncate(self._file, self._size)
            os.close(self._file)
            raise CaptureError(f"{self._path}: {error.strerror}") from error
        self._size += len(packed)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Have an interrupt wait: what was packed must be written, or nothing after it can be read."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
