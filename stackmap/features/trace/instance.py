"""The tracefs instance of stackmap: all that a trace installs is in it, and is removed at the end."""

from __future__ import annotations

import atexit
from contextlib import suppress
from typing import Self

from stackmap.errors import SourceError, TraceRefused
from stackmap.features.trace import tracefs
from stackmap.features.trace.definitions import ProbeSet, Trigger
from stackmap.features.trace.tracefs import EVENTS, INSTANCE
from stackmap.host.signals import delayed
from stackmap.host.tracing import InstanceExists, LiveTracingHost

LEFT = "a trace that was killed left its probes: run `stackmap trace --clean`"


class Tracing:
    """
    A tracefs instance while the context is entered; at its end everything in it is removed.

    Entering raises ``TraceRefused`` if the names are in use, ``SourceDenied`` or
    ``SourceMissing`` if this kernel or user cannot trace. Each method that installs
    something raises ``SourceError`` if the kernel refuses it.
    """

    def __init__(self, host: LiveTracingHost) -> None:
        self._host = host
        self._is_own = False

    def __enter__(self) -> Self:
        tracefs.require_tracefs(self._host)
        with delayed():
            try:
                self._host.make_directory(INSTANCE)
            except InstanceExists:
                free = self._host.lock(INSTANCE)
                raise TraceRefused(LEFT if free else tracefs.RUNNING) from None
            # A signal may come before the caller has entered the context, or while it ends.
            atexit.register(self._at_exit)
        try:
            self._require_own()
        except BaseException:  # a signal too
            self._remove()
            raise
        self._is_own = True
        return self

    def _require_own(self) -> None:
        """Raise ``TraceRefused`` if another process has the new instance, or events under our names exist."""
        if not self._host.lock(INSTANCE):
            raise TraceRefused(tracefs.RUNNING)
        others = [*tracefs.probes(self._host), *tracefs.synthetic_events(self._host)]
        if others:
            raise TraceRefused(f"an event exists that stackmap did not make: {others[0]}")

    def __exit__(self, *_: object) -> None:
        self._remove()

    def _at_exit(self) -> None:
        with suppress(SourceError):  # leaving the context raised it
            self._remove()

    def _remove(self) -> None:
        if self._is_own:
            tracefs.remove_all(self._host)
        elif tracefs.has_instance(self._host):  # there may be probes of others
            self._host.remove_directory(INSTANCE)
        atexit.unregister(self._at_exit)

    def install(self, found: ProbeSet) -> None:
        """Define the probes and synthetic events, and add the triggers."""
        for probe in found.probes:
            self._host.write(tracefs.PROBES, probe.line)
        for event in found.synthetic:
            self._host.write(tracefs.SYNTHETIC, f"{event.name} {event.fields}")
        for trigger in found.triggers:
            self.trigger(trigger)

    def trigger(self, trigger: Trigger) -> None:
        """Add *trigger* to its event of the instance, or change the state of the one that is there."""
        self._host.write(f"{EVENTS}/{trigger.event}/trigger", trigger.text)

    def enable(self, event: str) -> None:
        """Let *event* write into the instance's buffer, until ``clear``."""
        self._host.write(f"{EVENTS}/{event}/enable", "1")

    def clear(self) -> None:
        """Remove all probes, events and triggers; the instance stays."""
        tracefs.remove_definitions(self._host)

    def histograms(self, event: str) -> str:
        """Return the text of all hist triggers of *event*."""
        return self._host.read(f"{EVENTS}/{event}/hist")
