"""What a trace installs on the devices of some *numbers*, () for all: at every layer, at disks, for parity arrays."""

from __future__ import annotations

from stackmap.features.trace import probes as trace_probes
from stackmap.features.trace.definitions import ProbeSet
from stackmap.features.trace.probes import ISSUE_EVENT, QUEUE_EVENT, Offsets


def sizes(numbers: tuple[int, ...]) -> ProbeSet:
    """Return what counts sizes at every layer and at disks; it needs no probes."""
    events = (QUEUE_EVENT, ISSUE_EVENT)
    return ProbeSet(triggers=tuple(trace_probes.size_trigger(each, numbers) for each in events))


def at_layers(offsets: Offsets, again: int | None, numbers: tuple[int, ...]) -> ProbeSet:
    """Return what counts sizes, latency and the sequence of requests; *again*: see ``trace_probes.is_first``."""
    return ProbeSet(
        (trace_probes.submit_probe(offsets), trace_probes.end_probe(offsets)),
        trace_probes.AT_LAYERS,
        (
            trace_probes.size_trigger(QUEUE_EVENT, numbers),
            *trace_probes.sequence_triggers(numbers, again),
            *trace_probes.latency_triggers(numbers, again),
        ),
    )


def at_disks(offsets: Offsets | None, numbers: tuple[int, ...], count: int) -> ProbeSet:
    """
    Return what counts sizes on dispatch, and what divides the latency of *count* disks there.

    *offsets*: None if the kernel has no function to probe. Without these or a request's members, only sizes are counted.
    """
    size = trace_probes.size_trigger(ISSUE_EVENT, numbers)
    if offsets is None or not all(member in offsets for member in trace_probes.REQUEST):
        return ProbeSet(triggers=(size,))
    return ProbeSet(
        (trace_probes.dispatch_probe(offsets),),
        trace_probes.AT_DISKS,
        (size, *trace_probes.dispatch_triggers(numbers, count)),
    )


def of_rows(offsets: Offsets, member_end: int, *, has_dm: bool) -> ProbeSet:
    """Return what counts row updates; *member_end*: the address of ``trace_probes.MEMBER_END``."""
    return ProbeSet(
        (trace_probes.row_probe(offsets),),
        triggers=tuple(trace_probes.row_triggers(member_end, has_dm=has_dm)),
    )
