"""Probes that belong together, with the triggers on them: at every layer, and at disks only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

from stackmap.sources import trace_probes
from stackmap.sources.tracefs import Probe, Trigger


class ProbeSet(NamedTuple):
    """``triggers``: those for the devices of some numbers, of all devices for ()."""

    probes: tuple[Probe, ...]
    triggers: Callable[[tuple[int, ...]], Iterable[Trigger]]


NONE = ProbeSet((), lambda _: ())


def at_layers(offsets: trace_probes.Offsets, again: int | None) -> ProbeSet:
    """Return what counts the latency and the sequence of requests; *again*: see ``trace_probes.is_first``."""
    return ProbeSet(
        (trace_probes.submit_probe(offsets), trace_probes.end_probe(offsets)),
        lambda numbers: chain(
            trace_probes.sequence_triggers(numbers, again),
            trace_probes.latency_triggers(numbers, again),
        ),
    )


def at_disks(offsets: trace_probes.Offsets, count: int) -> ProbeSet:
    """Return what divides the latency of *count* disks; ``NONE`` if *offsets* lack a request's members."""
    if not all(member in offsets for member in trace_probes.REQUEST):
        return NONE
    return ProbeSet(
        (trace_probes.dispatch_probe(offsets),),
        lambda numbers: trace_probes.dispatch_triggers(numbers, count),
    )


def with_sizes(layers: ProbeSet, disks: ProbeSet) -> tuple[ProbeSet, ProbeSet]:
    """Return them with the counts of sizes: on arrival at each layer, and on dispatch at disks."""

    def added(found: ProbeSet, place: int) -> ProbeSet:
        return found._replace(
            triggers=lambda numbers: (
                list(trace_probes.size_triggers(numbers))[place],
                *found.triggers(numbers),
            )
        )

    return added(layers, 0), added(disks, 1)
