"""``stackmap.whatif`` of the Python API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.discover.find import find_all
from stackmap.features.whatif.project import project
from stackmap.model.layout_request import parse
from stackmap.sampling.snapshots import with_first_topology

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stackmap.features.whatif.projection import Projection
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology


def whatif(intervals: Iterable[tuple[Topology, Interval]], name: str, layout: str) -> Projection:
    """Return the measured load of the volume *name* on another *layout*, such as "raid10"."""
    topology, steady = with_first_topology(intervals)
    return project(topology, steady, find_all(topology, [name])[0], parse(layout))
