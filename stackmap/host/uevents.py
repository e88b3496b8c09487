"""What the kernel tells of block devices as it happens, through pyudev's monitor."""

from __future__ import annotations

import contextlib
import errno

from stackmap.errors import SourceError, SourceMissing
from stackmap.host import EVENTS_LOST

# Of what an event has: who it was, and what it was then.
PROPERTIES = ("ACTION", "DEVNAME", "DEVTYPE", "MAJOR", "MINOR", "DISKSEQ", "DM_NAME", "SEQNUM")
RECEIVE_BUFFER = 16 << 20  # bytes of events not yet read, where root asks: some 10,000


class UeventListener:
    """
    Listens from when it is made.

    To the kernel and not to udevd, who tells later, and not at all in a
    container: the figures come from the kernel at once, too.
    """

    def __init__(self) -> None:
        try:
            import pyudev
        except ImportError as error:
            raise SourceMissing(f"uevents: pyudev cannot be used: {error}") from error
        try:
            self._monitor = pyudev.Monitor.from_netlink(pyudev.Context(), "kernel")
            self._monitor.filter_by("block")
            with contextlib.suppress(OSError):  # root's; others get the system's default
                self._monitor.set_receive_buffer_size(RECEIVE_BUFFER)
            self._monitor.start()
        except OSError as error:
            raise SourceMissing(f"uevents: {error.strerror or error}") from error

    def events(self) -> list[dict[str, str]]:
        """Return what was told since this was last asked."""
        told = []
        try:
            while (device := self._monitor.poll(0)) is not None:
                words = {word: str(device.properties.get(word, "")) for word in PROPERTIES}
                told.append({word: value for word, value in words.items() if value})
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise SourceError(f"uevents: {error.strerror or error}") from error
            told.append(dict(EVENTS_LOST))
        return told
