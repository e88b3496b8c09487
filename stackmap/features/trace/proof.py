"""Whether the counters of LVM RAID volumes are doubled, by device-mapper's own statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stackmap.features.trace import dm_stats
from stackmap.model.trace import Proof
from stackmap.sources import diskstats

if TYPE_CHECKING:
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.model.topology import Topology

TARGET = "raid"  # the dm target whose volumes may be counted twice


@contextmanager
def proving(
    host: LiveTracingHost, topology: Topology, chosen: Iterable[str]
) -> Iterator[list[Proof]]:
    """Count while the context is entered; the list is filled at its end. ``SourceError`` if dm refuses."""
    names = {name for each in chosen for name in topology.with_all_below(each)}
    volumes = [d for d in topology if d.target == TARGET and (d.name in names or not names)]
    found: list[Proof] = []
    with dm_stats.Statistics(host, histogram=False) as statistics:
        for device in volumes:
            statistics.add(device.number)
        before = _counted(host)
        yield found
        after = _counted(host)
        for device in volumes:
            moved = dm_stats.parse(statistics.read(device.number))
            counted = after.get(device.name, 0) - before.get(device.name, 0)
            found.append(Proof(device, counted, moved.read_bytes + moved.write_bytes))


def _counted(host: LiveTracingHost) -> dict[str, int]:
    """Return the bytes read and written so far, by device."""
    counters = diskstats.parse(host.read(diskstats.PATH).splitlines())
    return {name: each.read_bytes + each.write_bytes for name, each in counters.items()}
