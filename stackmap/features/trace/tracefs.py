"""tracefs: whether this machine can be traced, how often probes fired, and the removal of all that is stackmap's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stackmap.errors import SourceDenied, SourceError, SourceMissing, TraceRefused
from stackmap.features.trace.definitions import GROUP
from stackmap.host.signals import uninterrupted
from stackmap.host.tracing import LiveTracingHost

ROOT = "/sys/kernel/tracing"
INSTANCE = f"{ROOT}/instances/{GROUP}"
EVENTS = f"{INSTANCE}/events"
PROBES = f"{ROOT}/kprobe_events"
SYNTHETIC = f"{ROOT}/synthetic_events"
PROFILE = f"{ROOT}/kprobe_profile"
LOCKDOWN = "/sys/kernel/security/lockdown"
# The groups of events that have triggers of a trace.
TRIGGERED = (GROUP, "synthetic", "block")

RUNNING = "another trace is running; wait for its end"


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
    """Return how often each probe in the kernel fired, and how often it could not run; by name without group."""
    words = [line.split() for line in _text(host, PROFILE).splitlines()]
    return (
        Counter({name: int(fired) for name, fired, _ in words}),
        Counter({name: int(missed) for name, _, missed in words}),
    )


def probes(host: LiveTracingHost) -> list[str]:
    """Return the lines of the probes in stackmap's group."""
    return [line for line in _text(host, PROBES).splitlines() if f":{GROUP}/" in line]


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
    Remove all that belongs to the instance, and the instance last; return the names of what was removed.

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
        host.write(PROBES, f"-:{name}")
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
    """Yield path and text of each trigger in the instance."""
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
