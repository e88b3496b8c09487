"""
The walk through a topology that every drawing uses: rows, top down or disks up.

Each device is drawn once. A later occurrence is a row that points back to it;
adjacent ones share a row. Sub-LVs of one role share a row, and so do the
devices below them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stackmap.ledger.device_state import write_mostly
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Topology, natural_key

# Data first.
ORDER = (
    Role.DATA,
    Role.ORIGIN,
    Role.PATH,
    Role.CACHE,
    Role.COW,
    Role.JOURNAL,
    Role.METADATA,
    Role.REPLACEMENT,
    Role.SPARE,
    Role.FAILED,
)


WRITE_MOSTLY = "write-mostly"  # the role of a data member that is read last


class Row(NamedTuple):
    """
    One line of a tree.

    ``branches``: per level whether more rows follow there, to draw the lines of
    the tree. ``role``: of the edge from the row above, None at the root.
    ``again``: its devices were drawn before. ``above``: the devices one row up.
    ``write_mostly``: the devices above read them only if they cannot read others.
    ``inverse``: these are below in the stack; ``role`` is that of the disk in these devices.
    """

    devices: tuple[Device, ...]
    role: Role | None = None
    branches: tuple[bool, ...] = ()
    again: bool = False
    above: tuple[Device, ...] = ()
    write_mostly: bool = False
    inverse: bool = False

    @property
    def device(self) -> Device:
        """The first of its devices."""
        return self.devices[0]


Edges = list[tuple[Role, str]]
Next = Callable[[Sequence[Device]], Edges]


def rows(topology: Topology, *, inverse: bool = False, expand: bool = False) -> Iterator[Row]:
    """Yield the rows of *topology*; *inverse* from the disks up, *expand* with every hidden LV."""
    following = _upwards(topology, expand=expand) if inverse else _downwards(topology)
    disks = [device for device in topology.devices.values() if not topology.below(device.name)]
    starts = disks if inverse else topology.tops
    drawn: set[str] = set()
    todo = [Row((device,), inverse=inverse) for device in reversed(starts)]
    while todo:
        row = todo.pop()
        # It may have been drawn meanwhile, deeper down.
        again = row.again or drawn.issuperset([device.name for device in row.devices])
        yield row if again is row.again else row._replace(again=again)
        if not again:
            drawn.update([device.name for device in row.devices])
            todo.extend(reversed(_children(topology, row, following, drawn, expand=expand)))


def _children(
    topology: Topology, row: Row, following: Next, drawn: set[str], *, expand: bool
) -> list[Row]:
    groups: dict[tuple[Role, str, bool], list[Device]] = {}
    mostly = {name for device in row.devices for name in write_mostly(topology, device)}
    for role, name in dict.fromkeys(following(row.devices)):
        device = topology[name]
        key = "again" if name in drawn else name
        if key == name and device.kind is Kind.MEMBER and not expand:
            key = "folded"
        groups.setdefault((role, key, name in mostly), []).append(device)
    ordered = sorted(groups.items(), key=lambda group: ORDER.index(group[0][0]))
    last = len(ordered) - 1
    return [
        Row(
            tuple(devices),
            role,
            (*row.branches, place < last),
            key == "again",
            row.devices,
            read_last,
            row.inverse,
        )
        for place, ((role, key, read_last), devices) in enumerate(ordered)
    ]


def _downwards(topology: Topology) -> Next:
    def below(devices: Sequence[Device]) -> Edges:
        return [
            (edge.role, edge.below) for device in devices for edge in topology.below(device.name)
        ]

    return below


def _upwards(topology: Topology, *, expand: bool) -> Next:
    """Return the devices above; instead of a sub-LV its volume, unless *expand*."""

    def above(devices: Sequence[Device]) -> Edges:
        found = [owner for device in devices for owner in owners(device.name, Role.DATA)]
        # Data hides the metadata of the same device.
        best: dict[str, Role] = {}
        for role, name in found:
            best[name] = min(role, best.get(name, role), key=ORDER.index)
        ordered = sorted(best, key=lambda name: natural_key(topology[name].title))
        return [(best[name], name) for name in ordered]

    def owners(name: str, role: Role) -> Edges:
        found: Edges = []
        for edge in topology.above(name):
            here = edge.role if role is Role.DATA else role
            if expand or topology[edge.above].kind is not Kind.MEMBER:
                found.append((here, edge.above))
            else:
                found += owners(edge.above, here)
        return found

    return above
