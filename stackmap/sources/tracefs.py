"""
The kernel's tracing: probes, synthetic events and hist triggers in a tracefs instance of stackmap's own.

Everything has stackmap's name: the instance, the group of the probes, and the first word of the synthetic
events. So ``remove_all`` finds all of it, at the end of a trace and after one that was killed.
Documentation/trace/kprobetrace.rst and histogram.rst describe the texts.
"""

from __future__ import annotations

import atexit
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, Self

from stackmap.errors import SourceDenied, SourceError, SourceMissing, TraceRefused
from stackmap.host.signals import delayed, uninterrupted
from stackmap.host.tracing import InstanceExists, LiveTracingHost

ROOT = "/sys/kernel/tracing"
GROUP = "stackmap"
INSTANCE = f"{ROOT}/instances/{GROUP}"
EVENTS = f"{INSTANCE}/events"
PROBES = f"{ROOT}/kprobe_events"
SYNTHETIC = f"{ROOT}/synthetic_events"
PROFILE = f"{ROOT}/kprobe_profile"
LOCKDOWN = "/sys/kernel/security/lockdown"
# The groups of events that have triggers of a trace.
TRIGGERED = (GROUP, "synthetic", "block", "raw_syscalls")

LEFT = "a trace that was killed left its probes: run `stackmap trace --clean`"
RUNNING = "another trace is running; wait for its end"


class Probe(NamedTuple):
    """A kprobe event of the group; ``fields``: "dev=+8($arg1):u32"."""

    name: str
    symbol: str
    fields: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The line that defines it."""
        return " ".join((f"p:{GROUP}/{self.name}", self.symbol, *self.fields))


class Synthetic(NamedTuple):
    """A synthetic event; its name begins with the group's name; ``fields``: "u32 dev; u64 lat"."""

    name: str
    fields: str


class Trigger(NamedTuple):
    """
    A hist trigger of an *event* ("block/block_bio_queue"): "hist:keys=dev if dev != 0".

    ``counts``: whether its histogram is read. One without only keeps variables for another, and is never paused.
    """

    event: str
    text: str
    counts: bool = True

    def in_state(self, state: str) -> Trigger:
        """
        Return the trigger that pauses this one ("pause") or lets it go on ("cont").

        >>> Trigger("block/block_bio_queue", "hist:keys=dev if dev != 0").in_state("cont").text
        'hist:keys=dev:cont if dev != 0'
        """
        histogram, condition, rest = self.text.partition(" if ")
        return self._replace(text=f"{histogram}:{state}{condition}{rest}")


class Hits(NamedTuple):
    """How often a probe fired, and how often the kernel could not run it."""

    fired: int
    missed: int


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
        require_tracefs(self._host)
        with delayed():
            try:
                self._host.make_directory(INSTANCE)
            except InstanceExists:
                free = self._host.lock(INSTANCE)
                raise TraceRefused(LEFT if free else RUNNING) from None
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
            raise TraceRefused(RUNNING)
        probes = [line for line in _lines(self._host, PROBES) if f":{GROUP}/" in line]
        others = [*probes, *_synthetic_events(self._host)]
        if others:
            raise TraceRefused(f"an event exists that stackmap did not make: {others[0]}")

    def __exit__(self, *_: object) -> None:
        self._remove()

    def _at_exit(self) -> None:
        with suppress(SourceError):  # leaving the context raised it
            self._remove()

    def _remove(self) -> None:
        if self._is_own:
            remove_all(self._host)
        elif _has_instance(self._host):  # there may be probes of others
            self._host.remove_directory(INSTANCE)
        atexit.unregister(self._at_exit)

    def probe(self, probe: Probe) -> None:
        """Define a probe."""
        self._host.write(PROBES, probe.line)

    def synthetic(self, event: Synthetic) -> None:
        """Define a synthetic event."""
        self._host.write(SYNTHETIC, f"{event.name} {event.fields}")

    def trigger(self, trigger: Trigger) -> None:
        """Add *trigger* to its event of the instance, or change the state of the one that is there."""
        self._host.write(f"{EVENTS}/{trigger.event}/trigger", trigger.text)

    def enable(self, event: str, *, is_on: bool) -> None:
        """Let *event* write into the instance's buffer, or no longer."""
        self._host.write(f"{EVENTS}/{event}/enable", str(int(is_on)))

    @contextmanager
    def temporary(
        self,
        probes: Collection[Probe],
        synthetic: Collection[Synthetic],
        triggers: Collection[Trigger],
    ) -> Iterator[None]:
        """Have these while the context is entered; an exception leaves them to the end."""
        for probe in probes:
            self.probe(probe)
        for event in synthetic:
            self.synthetic(event)
        for trigger in triggers:
            self.trigger(trigger)
        yield
        for trigger in reversed(tuple(triggers)):
            self.trigger(trigger._replace(text=f"!{trigger.text}"))
        for event in synthetic:
            self._host.write(SYNTHETIC, f"!{event.name} {event.fields}")
        for probe in probes:
            self._host.write(PROBES, f"-:{GROUP}/{probe.name}")

    def clear(self) -> None:
        """Remove all probes, events and triggers; the instance stays."""
        _remove_content(self._host)

    def histograms(self, event: str) -> str:
        """Return the text of all hist triggers of *event*."""
        return self._host.read(f"{EVENTS}/{event}/hist")


def require_tracefs(host: LiveTracingHost) -> None:
    """Raise ``SourceMissing`` or ``SourceDenied``, with the reason, if *host* cannot be traced."""
    try:
        host.names_in(ROOT)
        host.names_in(f"{ROOT}/instances")
    except SourceDenied as error:
        raise SourceDenied("trace needs root") from error
    except SourceMissing as error:
        raise SourceMissing(
            f"{ROOT}: tracefs is not mounted; run `mount -t tracefs tracefs {ROOT}`"
        ) from error
    denied = host.write_denied(PROBES)
    if denied and "[confidentiality]" in _text(host, LOCKDOWN):
        raise SourceDenied("kernel lockdown in confidentiality mode forbids tracing")
    if denied:
        raise SourceDenied(f"trace needs root: {denied}")


def probe_hits(host: LiveTracingHost) -> dict[str, Hits]:
    """Return the hits of each probe in the kernel, those of others too, by name without group."""
    words = (line.split() for line in _lines(host, PROFILE))
    return {name: Hits(int(fired), int(missed)) for name, fired, missed in words}


def remove_all(host: LiveTracingHost) -> list[str]:
    """
    Remove whatever the instance is for, and the instance last; return the names of what was removed.

    Signals are ignored until it is done. ``SourceError`` if something cannot be removed.
    """
    with uninterrupted():
        if not _has_instance(host):
            return []
        removed = _remove_content(host)
        host.remove_directory(INSTANCE)
        return [*removed, f"instance {INSTANCE}"]


def clean(host: LiveTracingHost) -> list[str]:
    """Remove what a killed trace left, and return its names. ``TraceRefused`` while one is running."""
    require_tracefs(host)
    if _has_instance(host) and not host.lock(INSTANCE):
        raise TraceRefused(RUNNING)
    return remove_all(host)


def _remove_content(host: LiveTracingHost) -> list[str]:
    host.write(f"{EVENTS}/enable", "0")
    return [*_remove_triggers(host), *_remove_probes(host)]


def _has_instance(host: LiveTracingHost) -> bool:
    try:
        host.names_in(INSTANCE)
    except SourceMissing:
        return False
    return True


def _remove_triggers(host: LiveTracingHost) -> list[str]:
    """Remove the triggers; one that others refer to is refused until those are removed."""
    removed: list[str] = []
    left = list(_triggers(host))
    while left:
        kept = []
        for path, text in left:
            try:
                host.write(path, f"!{text}")
                removed.append(f"trigger {text}")
            except SourceError as error:
                kept.append((path, text))
                refusal = error
        if len(kept) == len(left):
            raise refusal
        left = kept
    return removed


def _triggers(host: LiveTracingHost) -> Iterator[tuple[str, str]]:
    """Yield path and text of each trigger in the instance."""
    for group in TRIGGERED:
        try:
            events = host.names_in(f"{EVENTS}/{group}")
        except SourceMissing:
            continue
        for event in events:
            path = f"{EVENTS}/{group}/{event}/trigger"
            for line in _lines(host, path):
                if not line.startswith("#"):
                    yield path, line.removesuffix(" [active]").removesuffix(" [paused]")


def _remove_probes(host: LiveTracingHost) -> list[str]:
    """Remove synthetic events and probes."""
    removed = []
    for line in _synthetic_events(host):
        host.write(SYNTHETIC, f"!{line}")
        removed.append(f"synthetic event {line.split()[0]}")
    for line in _lines(host, PROBES):
        name = line.split()[0].partition(":")[2]
        if name.startswith(f"{GROUP}/"):
            host.write(PROBES, f"-:{name}")
            removed.append(f"probe {name}")
    return removed


def _synthetic_events(host: LiveTracingHost) -> list[str]:
    return [line for line in _lines(host, SYNTHETIC) if line.startswith(f"{GROUP}_")]


def _lines(host: LiveTracingHost, path: str) -> list[str]:
    return _text(host, path).splitlines()


def _text(host: LiveTracingHost, path: str) -> str:
    """Return the file's text, "" if this kernel does not have it."""
    try:
        return host.read(path)
    except SourceMissing:
        return ""
