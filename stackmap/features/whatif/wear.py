"""How long the disks of a volume last now and on another layout, by what is written to each of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from stackmap.document.sentences import year_range
from stackmap.features.whatif.projection import DeviceLoad, Projection
from stackmap.features.whatif.quantities import Band, exact
from stackmap.ledger.wear import Years, life_of, whole_disk, years
from stackmap.model.health import Life
from stackmap.model.topology import Topology


class WearChange(NamedTuple):
    """Years that the disks last ``now`` and ``projected``; ``rated``: by a rating of the user's."""

    now: Years
    projected: Years
    rated: bool = False


def wear_change(
    projection: Projection, topology: Topology, names: Collection[str], lives: Mapping[str, Life]
) -> WearChange | None:
    """
    Return how long disks last under the mean of their writes; None if the writes or a life is not known.

    *names*: the disks now, or paths to them. Of disks with different lives, the shortest counts.
    """
    disks = {whole_disk(topology, name) for name in names}
    all_lives = [life_of(topology, lives, disk) for disk in disks]
    known = [life for life in all_lives if life is not None]
    if not known or len(known) < len(all_lives):
        return None
    shortest = Life(min(life.low for life in known), min(life.high for life in known))
    for where in ("disks", "members"):
        now, then = (getattr(side, where) for side in (projection.now, projection.projected))
        written, projected = _per_device(now), _per_device(then)
        if written is not None and now.count == len(names):
            written = written.scaled(len(names) / len(disks))
        if written is not None and projected is not None:
            before = years(shortest, written.low, written.high)
            after = years(shortest, projected.low, projected.high)
            rated = any(life.rated for life in known)
            return None if before is None or after is None else WearChange(before, after, rated)
    return None


def _per_device(load: DeviceLoad) -> Band | None:
    """Return the bytes written per second to one of the devices, with metadata."""
    if load.moved is None or load.read_bytes is None or not load.count:
        return None
    return (load.moved + exact(-load.read_bytes)).scaled(1 / load.count)


def wear_sentence(change: WearChange) -> str:
    """Return what changes, in one sentence."""
    basis = "the given rating" if change.rated else "their own count of wear"
    before, after = year_range(change.now), year_range(change.projected)
    if before == after:
        return f"Disk life: {after} at this rate, as now, by {basis}."
    return f"Disk life: {after} at this rate instead of {before}, by {basis}."
