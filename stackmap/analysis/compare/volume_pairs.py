"""
Which devices of two recordings are one and the same volume, where nobody says.

A volume is found again by its title. What is a top in one and below another in
the other is not the same load: a spare disk that an array was made of since,
or an old member that nothing uses any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stackmap.model.topology import Topology

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A device that is a top in one recording, and ``when`` ("before" or "after") below another in the other."""

    title: str
    when: str


def pairs_of(
    before: Topology, old: Iterable[str], after: Topology, new: Iterable[str]
) -> tuple[Pairs, tuple[Unmatched, ...]]:
    """Return the tops *old* with what they are after, by kernel names; and which are not the same in both."""
    pairs: Pairs = []
    unmatched: list[Unmatched] = []
    then, now = by_title(before), by_title(after)
    for name in old:
        again = now.get(before[name].title)
        if again is not None and _gained(before, name, after, again):
            unmatched.append(Unmatched(before[name].title, "after"))
        elif again is not None:
            pairs.append((name, again))
    taken = {again for _, again in pairs}
    for name in new:
        was = then.get(after[name].title)
        if was is not None and name not in taken and _gained(after, name, before, was):
            unmatched.append(Unmatched(after[name].title, "before"))
    return pairs, tuple(dict.fromkeys(unmatched))


def by_title(topology: Topology) -> dict[str, str]:
    """Return the devices by what people call them."""
    return {device.title: device.name for device in topology}


def _gained(here: Topology, name: str, there: Topology, again: str) -> bool:
    """Whether something stands on it *there* that does not *here*, where only its counters may be missing."""
    return not _carried(there, again) <= _carried(here, name)


def _carried(topology: Topology, name: str) -> set[str]:
    return {topology[above].title for above in topology.with_all_above(name)[1:]}
