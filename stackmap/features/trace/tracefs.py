"""
tracefs: what can be defined in it, and the instance that holds all that a trace installs.

Documentation/trace/kprobetrace.rst and histogram.rst describe the texts. Everything has stackmap's name: the
instance, the group of the probes, and the first word of the synthetic events. So all of it can be found and removed.
"""

import atexit
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, Self

from stackmap.errors import SourceDenied, SourceError, SourceMissing, TraceRefused
from stackmap.host.signals import delayed, uninterrupted
from stackmap.host.tracing import InstanceExists, LiveTracingHost

GROUP = "stackmap"


class Probe(NamedTuple):
    """
    A kprobe event of the group; ``fields``: "dev=+8($arg1):u32".

    ``in_interrupts``: it fires in interrupts too. The kernel skips a kprobe that interrupts the handler of
    another; an fprobe, where the kernel has these (CONFIG_FPROBE_EVENTS), it does not.
    """

    name: str
    symbol: str
    fields: tuple[str, ...] = ()
    in_interrupts: bool = False

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

    ``counts``: whether its histogram is read. One that is not read keeps variables for another, and is never paused.
    """

    event: str
    text: str
    counts: bool = True

    def in_state(self, state: str) -> "Trigger":
        """
        Return the trigger that pauses this one ("pause"), continues it ("cont") or clears it ("clear").

        >>> Trigger("block/block_bio_queue", "hist:keys=dev if dev != 0").in_state("cont").text
        'hist:keys=dev:cont if dev != 0'
        """
        histogram, condition, rest = self.text.partition(" if ")
        return self._replace(text=f"{histogram}:{state}{condition}{rest}")


class ProbeSet(NamedTuple):
    """Probes, the synthetic events that their triggers make, and the triggers."""

    probes: tuple[Probe, ...] = ()
    synthetic: tuple[Synthetic, ...] = ()
    triggers: tuple[Trigger, ...] = ()


ROOT = "/sys/kernel/tracing"
INSTANCE = f"{ROOT}/instances/{GROUP}"
EVENTS = f"{INSTANCE}/events"
PROBES = f"{ROOT}/kprobe_events"
DYNAMIC = f"{ROOT}/dynamic_events"  # fprobes are defined here only
SYNTHETIC = f"{ROOT}/synthetic_events"
PROFILE = f"{ROOT}/kprobe_profile"
LOCKDOWN = "/sys/kernel/security/lockdown"
# The groups of events that have triggers of a trace.
TRIGGERED = (GROUP, "synthetic", "block")

MAX_FILTERED = 48  # devices in a filter, which must fit a page
RUNNING = "another trace is running; wait for its end"


def filter_of(numbers: Iterable[int]) -> str:
    """Return the condition for events of the devices *numbers*."""
    return " || ".join(f"dev == {number}" for number in numbers)


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


def probe_hits(host: LiveTracingHost) -> tuple[Counter[str], Counter[str]]:
    """Return how often each kprobe in the kernel fired, and how often it could not run; by name without group."""
    words = [line.split() for line in _text(host, PROFILE).splitlines()]
    return (
        Counter({name: int(fired) for name, fired, _ in words}),
        Counter({name: int(missed) for name, _, missed in words}),
    )


def probes(host: LiveTracingHost) -> list[str]:
    """Return the lines of the probes in stackmap's group."""
    lines = _text(host, PROBES).splitlines()
    lines += (line for line in _text(host, DYNAMIC).splitlines() if line.startswith("f"))
    return [line for line in lines if f":{GROUP}/" in line]


def synthetic_events(host: LiveTracingHost) -> list[str]:
    """Return the lines of the synthetic events with stackmap's name."""
    return [line for line in _text(host, SYNTHETIC).splitlines() if line.startswith(f"{GROUP}_")]


def has_instance(host: LiveTracingHost) -> bool:
    """Whether stackmap's instance exists."""
    try:
        host.names_in(INSTANCE)
    except SourceMissing:
        return False
    return True


def clean(host: LiveTracingHost) -> list[str]:
    """Remove what a killed trace left, and return its names. ``TraceRefused`` while one is running."""
    require_tracefs(host)
    if has_instance(host) and not host.lock(INSTANCE):
        raise TraceRefused(RUNNING)
    return remove_all(host)


def remove_all(host: LiveTracingHost) -> list[str]:
    """
    Remove the probes of the instance, then the instance; return the names of everything removed.

    Signals are ignored until it is done. ``SourceError`` if something cannot be removed.
    """
    with uninterrupted():
        if not has_instance(host):
            return []
        removed = remove_definitions(host)
        host.remove_directory(INSTANCE)
        return [*removed, f"instance {INSTANCE}"]


def remove_definitions(host: LiveTracingHost) -> list[str]:
    """Remove triggers, synthetic events and probes, and return their names; the instance stays."""
    host.write(f"{EVENTS}/enable", "0")
    removed = _remove_triggers(host)
    for line in synthetic_events(host):
        host.write(SYNTHETIC, f"!{line}")
        removed.append(f"synthetic event {line.split()[0]}")
    for line in probes(host):
        name = line.split()[0].partition(":")[2]
        host.write(DYNAMIC if line.startswith("f") else PROBES, f"-:{name}")
        removed.append(f"probe {name}")
    return removed


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
    for group in TRIGGERED:
        try:
            events = host.names_in(f"{EVENTS}/{group}")
        except SourceMissing:
            continue
        for event in events:
            path = f"{EVENTS}/{group}/{event}/trigger"
            for line in _text(host, path).splitlines():
                if not line.startswith("#"):
                    yield path, line.removesuffix(" [active]").removesuffix(" [paused]")


def _text(host: LiveTracingHost, path: str) -> str:
    """Return the file's text, "" if this kernel does not have it."""
    try:
        return host.read(path)
    except SourceMissing:
        return ""


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
        others = [*probes(self._host), *synthetic_events(self._host)]
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
        elif has_instance(self._host):  # there may be probes of others
            self._host.remove_directory(INSTANCE)
        atexit.unregister(self._at_exit)

    def install(self, probe_set: ProbeSet) -> None:
        """Define the probes and synthetic events, and add the triggers."""
        for probe in probe_set.probes:
            if probe.in_interrupts:
                with suppress(SourceError):  # a kernel without fprobes
                    self._host.write(DYNAMIC, f"f{probe.line.removeprefix('p')}")
                    continue
            self._host.write(PROBES, probe.line)
        for event in probe_set.synthetic:
            self._host.write(SYNTHETIC, f"{event.name} {event.fields}")
        for trigger in probe_set.triggers:
            self.trigger(trigger)

    def trigger(self, trigger: Trigger) -> None:
        """Add *trigger* to its event of the instance, or change the state of the one that is there."""
        self._host.write(f"{EVENTS}/{trigger.event}/trigger", trigger.text)

    def enable(self, event: str) -> None:
        """Let *event* write into the instance's buffer, until ``clear``."""
        self._host.write(f"{EVENTS}/{event}/enable", "1")

    def clear(self) -> None:
        """Remove all probes, events and triggers; the instance stays."""
        remove_definitions(self._host)

    def histograms(self, event: str) -> str:
        """Return the text of all hist triggers of *event*."""
        return self._host.read(f"{EVENTS}/{event}/hist")
