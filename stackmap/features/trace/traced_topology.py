"""What a capture with a trace adds: the traced shares of full stripes to its topology, and the trace itself."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.host.capture_format import TRACE
from stackmap.model.topology import Topology

if TYPE_CHECKING:
    from stackmap.features.trace.record import Trace
    from stackmap.host import Host
    from stackmap.model.device import Device


def with_traced_rows(host: "Host", topology: Topology) -> Topology:
    """Return *topology*; arrays whose rows were traced have their share of full stripes."""
    trace = trace_of(host)
    if trace is None:
        return topology
    from stackmap.features.trace.figures import row_updates

    def devices() -> "Iterator[Device]":
        for device in topology.devices.values():
            parity = device.layout is not None and device.layout.parity
            rows = row_updates(topology, device, trace) if parity else None
            share = rows.full_share if rows and rows.self_check is not None else None
            if share is not None:
                yield device._replace(full_stripes=(share, trace.seconds))
            else:
                yield device

    return Topology(devices(), topology.edges, machine=topology.machine, unknown=topology.unknown)


def trace_of(host: "Host") -> "Trace | None":
    """Return the trace in a capture; None if it has none."""
    try:
        text = host.read(TRACE)
    except SourceError:
        return None
    # Only a capture with a trace pays for its readers.
    from stackmap.features.trace.record import TraceRecord, parse

    return parse(TraceRecord.from_json(text))
