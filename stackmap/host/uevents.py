"""The kernel's events of block devices, through pyudev's monitor."""

from __future__ import annotations

import contextlib
import errno

from stackmap.errors import SourceError, SourceMissing
from stackmap.host import EVENTS_LOST

# The properties of an event that are kept.
PROPERTIES = ("ACTION", "DEVNAME", "DEVTYPE", "MAJOR", "MINOR", "DISKSEQ", "DM_NAME", "SEQNUM")
RECEIVE_BUFFER = 16 << 20  # bytes, for about 10,000 unread events; needs root


class UeventListener:
    """
    Listens from its creation on.

    It listens to the kernel, not to udevd: udevd reports later, and not at all in
    some containers, while the counters change at once.
    """

    def __init__(self) -> None:
        try:
            import pyudev
        except ImportError as error:
            raise SourceMissing(f"uevents: pyudev cannot be used: {error}") from error
        try:
            self._monitor = pyudev.Monitor.from_netlink(pyudev.Context(), "kernel")
            self._monitor.filter_by("block")
            with contextlib.suppress(OSError):  # without root the system's default stays
                self._monitor.set_receive_buffer_size(RECEIVE_BUFFER)
            self._monitor.start()
        except (OSError, ImportError) as error:  # libudev is loaded only here
            reason = error.strerror if isinstance(error, OSError) else None
            raise SourceMissing(f"uevents: {reason or error}") from error

    def events(self) -> list[dict[str, str]]:
        """Return the events since the previous call."""
        events = []
        try:
            while (device := self._monitor.poll(0)) is not None:
                kept = {name: str(device.properties.get(name, "")) for name in PROPERTIES}
                events.append({name: value for name, value in kept.items() if value})
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise SourceError(f"uevents: {error.strerror or error}") from error
            events.append(dict(EVENTS_LOST))
        return events
