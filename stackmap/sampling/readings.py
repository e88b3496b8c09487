"""When the status of dm targets and md's threads is read, and the newest reading."""

from __future__ import annotations

from stackmap.model.device import StatusReading
from stackmap.sources.polled_state import Polled, PolledDevices

COMMAND_INTERVAL = 30.0  # seconds between questions that run a command
READING_INTERVAL = 10.0  # the same where the answers have figures


class Readings:
    """
    The newest reading of a machine; None before the first, or without such devices.

    *replayed*: ask at every sample, because a recording's answers cost nothing.
    """

    def __init__(self, *, replayed: bool) -> None:
        self.newest: StatusReading | None = None
        self._replayed = replayed
        self._source: tuple[PolledDevices, Polled] | None = None  # of the newest

    def are_due(self, devices: PolledDevices, since_last: float, *, last: bool) -> bool:
        """Whether to ask, *since_last* seconds after the last time; *last*: at the last sample."""
        if not devices.have_figures:
            return since_last >= COMMAND_INTERVAL
        return since_last >= READING_INTERVAL or last or self._replayed

    def take(self, devices: PolledDevices, polled: Polled, time: float) -> None:
        """Take what was *polled* at *time* as the newest reading."""
        if not devices.have_figures:
            return
        before, self._source = self._source, (devices, polled)
        if self.newest is None or before != self._source:
            self.newest = devices.reading(polled, time)
        elif not self._replayed or time - self.newest.time >= READING_INTERVAL:
            # A replay asks more often than the recording did: equal answers may be the same one.
            self.newest = self.newest._replace(time=time)
