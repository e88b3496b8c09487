"""
Which devices of two recordings are the same volume, if the user does not say.

A volume is matched by its title. A device that is a top in one recording and below another in the
other does not have the same load: a spare disk that became part of an array, or a former member.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stackmap.model.topology import Topology

Pairs = list[tuple[str, str]]


class Unmatched(NamedTuple):
    """A top of one recording that is below another device in the other: ``when``, "before" or "after"."""

    title: str
    when: str


def pairs_of(
    before: Topology, old: Iterable[str], after: Topology, new: Iterable[str]
) -> tuple[Pairs, tuple[Unmatched, ...]]:
    """Return the kernel names of tops *old* with their match after; and the tops that are not comparable."""
    pairs: Pairs = []
    unmatched: list[Unmatched] = []
    titles_before, titles_after = by_title(before), by_title(after)
    for name in old:
        match = titles_after.get(before[name].title)
        if match is not None and _gained(before, name, after, match):
            unmatched.append(Unmatched(before[name].title, "after"))
        elif match is not None:
            pairs.append((name, match))
    taken = {match for _, match in pairs}
    for name in new:
        was = titles_before.get(after[name].title)
        if was is not None and name not in taken and _gained(after, name, before, was):
            unmatched.append(Unmatched(after[name].title, "before"))
    return pairs, tuple(dict.fromkeys(unmatched))


def by_title(topology: Topology) -> dict[str, str]:
    """Return kernel names by title."""
    return {device.title: device.name for device in topology}


def _gained(topology: Topology, name: str, other: Topology, match: str) -> bool:
    """Whether *match* has a device above it in *other* that *name* lacks here, counted or not."""
    return not _titles_above(other, match) <= _titles_above(topology, name)


def _titles_above(topology: Topology, name: str) -> set[str]:
    return {topology[above].title for above in topology.with_all_above(name)[1:]}
