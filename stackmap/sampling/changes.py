"""Changes from one topology to the next, and which devices are still the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from stackmap.model.device import Device
from stackmap.model.topology import Edge, Topology
from stackmap.sources.uevent import NO_CHANGES, UeventDelta

Identities = Mapping[str, str | None]

_FIGURES = re.compile(r"[0-9.]+ ?%?")


def identities(before: Topology, after: Topology, changes: UeventDelta = NO_CHANGES) -> Identities:
    """
    Return the device behind each name at an instant between two surveys; None: unknown.

    *changes*: every uevent between the two. A name without an entry is in neither
    topology and had no uevent. Devices of two boots differ: diskseq and counters begin again.
    """
    boot = after.machine.boot
    if before is after and not changes.touched:
        own = ((name, device.identity) for name, device in after.devices.items())
        return {name: same and f"{same} {boot}".rstrip() for name, same in own}
    was = {name: device.identity for name, device in before.devices.items()}
    now = {name: device.identity for name, device in after.devices.items()}
    found = (
        (name, _identity_between(name, was.get(name), now.get(name), after, changes))
        for name in (*was, *(now.keys() - was.keys()), *(changes.touched - was.keys() - now.keys()))
    )
    return {name: same and f"{same} {boot}".rstrip() for name, same in found}


def _identity_between(
    name: str, was: str | None, now: str | None, after: Topology, changes: UeventDelta
) -> str | None:
    came, went = changes.added.get(name, 0), changes.removed.get(name, 0)
    if was == now:
        counted = name in after and after[name].diskseq
        return was if counted or not (came or went) else None
    if changes.unknown:
        return None
    if was is None and (came, went) == (1, 0):
        return now  # if the sample has the name at all, it had been added
    if now is None and (came, went) == (0, 1):
        return was
    return None


def topology_events(before: Topology, after: Topology, changes: UeventDelta) -> Iterator[str]:
    """Yield what happened to devices that stayed, and whether uevents were lost."""
    # A source that refused in only one of the two surveys changed nothing: compare its facts only
    # between two surveys with the same refusals.
    same_refusals = before.unknown == after.unknown
    for name, now in after.devices.items():
        was = before.devices.get(name)
        if was is None or was.identity != now.identity:
            continue
        if was is now and before.below(name) == after.below(name):
            continue
        if was.title != now.title:
            yield f"{now.name}: renamed from {was.title} to {now.title}"
        if same_refusals:
            yield from _device_events(was, now)
            if _below(before.below(name)) != _below(after.below(name)) or was.layout != now.layout:
                yield f"{now.title}: its layout changed; ratios below it mix both layouts"
    if changes.lost:
        yield "events were missed: every device was checked for changes instead"


def unsampled_events(
    changes: UeventDelta, after: Topology, sampled: frozenset[str], sample_events: Iterable[str]
) -> Iterator[str]:
    """
    Yield the *changes* that no two samples show; *sample_events*: the events that they do show.

    A device added after the sample will be seen to appear later; a *sampled* one that
    was removed will be seen to go.
    """
    named = {event.partition(" ")[0].rstrip(":") for event in sample_events}
    for name in sorted(changes.touched - named):
        if name in changes.added and name in changes.removed:
            yield f"{name} appeared and went away"
        elif name in changes.added and name not in after:
            yield f"{name} appeared"
        elif name in changes.removed and name not in sampled:
            yield f"{name} went away"


def _device_events(was: Device, now: Device) -> Iterator[str]:
    if was.size != now.size:
        yield f"{now.title}: its size changed from {was.size} to {now.size} bytes"
    if _FIGURES.sub("", was.state or "") != _FIGURES.sub("", now.state or ""):
        yield f"{now.title}: was {was.state or 'in an unknown state'}, now {now.state or 'unknown'}"


def _below(edges: Iterable[Edge]) -> set[tuple[str, str, int | None]]:
    return {(edge.below, edge.role, edge.start) for edge in edges}
