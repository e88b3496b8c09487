"""
The one walk through a topology, for every way to draw it: rows, top down or disks up.

A device is drawn once. Where it turns up again a row points back to it, and
devices that turn up again side by side share that row. LVM's hidden LVs of
one role are folded into a row, and so is what stands below them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Topology, natural_key

# What carries the data first.
ORDER = (
    Role.DATA,
    Role.ORIGIN,
    Role.PATH,
    Role.CACHE,
    Role.COW,
    Role.JOURNAL,
    Role.METADATA,
    Role.SPARE,
)


class Row(NamedTuple):
    """
    One line of a tree.

    ``branches``: for each step down to it whether more follow there, so that
    any look can draw its guides. ``role``: what its devices are for to the
    one they hang on, None at the root. ``again``: they were drawn before.
    ``above``: the devices of the row they hang on.
    """

    devices: tuple[Device, ...]
    role: Role | None = None
    branches: tuple[bool, ...] = ()
    again: bool = False
    above: tuple[Device, ...] = ()

    @property
    def device(self) -> Device:
        """The first of its devices, or the only one."""
        return self.devices[0]


Hanging = list[tuple[Role, str]]
Next = Callable[[Sequence[Device]], Hanging]


def rows(topology: Topology, *, inverse: bool = False, expand: bool = False) -> Iterator[Row]:
    """Yield the rows of *topology*; *inverse* from the disks up, *expand* with every hidden LV."""
    following = _upwards(topology, expand=expand) if inverse else _downwards(topology)
    starts = _roots(topology) if inverse else topology.tops
    drawn: set[str] = set()
    todo = [Row((device,)) for device in reversed(starts)]
    while todo:
        row = todo.pop()
        # What was a pointer's turn to be drawn may have been drawn meanwhile, deeper down.
        again = row.again or drawn.issuperset([device.name for device in row.devices])
        yield row if again == row.again else row._replace(again=again)
        if not again:
            drawn.update([device.name for device in row.devices])
            todo.extend(reversed(_children(topology, row, following, drawn, expand=expand)))


def _roots(topology: Topology) -> list[Device]:
    """Return the devices that stand on nothing, in the order people sort names."""
    return [device for device in topology.devices.values() if not topology.below(device.name)]


def _children(
    topology: Topology, row: Row, following: Next, drawn: set[str], *, expand: bool
) -> list[Row]:
    """Return the rows that hang on *row*, in the order of roles."""
    groups: dict[tuple[Role, str], list[Device]] = {}
    for role, name in dict.fromkeys(following(row.devices)):
        device = topology[name]
        key = "again" if name in drawn else name
        if key == name and device.kind is Kind.MEMBER and not expand:
            key = "folded"
        groups.setdefault((role, key), []).append(device)
    ordered = sorted(groups.items(), key=lambda group: ORDER.index(group[0][0]))
    last = len(ordered) - 1
    return [
        Row(tuple(devices), role, (*row.branches, place < last), key == "again", row.devices)
        for place, ((role, key), devices) in enumerate(ordered)
    ]


def _downwards(topology: Topology) -> Next:
    def below(devices: Sequence[Device]) -> Hanging:
        return [
            (edge.role, edge.below) for device in devices for edge in topology.below(device.name)
        ]

    return below


def _upwards(topology: Topology, *, expand: bool) -> Next:
    """Return what stands on devices: past hidden LVs to what they are part of, unless *expand*."""

    def above(devices: Sequence[Device]) -> Hanging:
        found = [owner for device in devices for owner in owners(device.name, Role.DATA)]
        # One that has data here is not said to have its metadata here too.
        best: dict[str, Role] = {}
        for role, name in found:
            best[name] = min(role, best.get(name, role), key=ORDER.index)
        ordered = sorted(best, key=lambda name: natural_key(topology[name].title))
        return [(best[name], name) for name in ordered]

    def owners(name: str, role: Role) -> Hanging:
        found: Hanging = []
        for edge in topology.above(name):
            here = edge.role if role is Role.DATA else role
            if expand or topology[edge.above].kind is not Kind.MEMBER:
                found.append((here, edge.above))
            else:
                found += owners(edge.above, here)
        return found

    return above
