"""
The expected amplification of layouts and targets, to show beside the measured one.

Bytes just below per byte above, as a range: the lowest and the highest, which
is None where it is unlimited (a first write to a thin chunk may zero all of it).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stackmap.ledger.device_state import missing_members
from stackmap.ledger.layers import Layer
from stackmap.model.device import Device
from stackmap.model.passthrough import is_passthrough
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

Range = tuple[float, float | None]

ONE: Range = (1.0, 1.0)


class Expected(NamedTuple):
    """Bytes below per byte read and per byte written; ``why``: what decides within the range, in words."""

    read: Range
    write: Range
    why: str = ""

    def times(self, other: Expected) -> Expected:
        """Return the amplification of two layers, one below the other."""
        return Expected(
            _product(self.read, other.read),
            _product(self.write, other.write),
            "; ".join(filter(None, (self.why, other.why))),
        )


UNCHANGED = Expected(ONE, ONE)

TARGETS = {
    "thin": UNCHANGED,
    "thin-pool": Expected((0.0, None), (1.0, None), "a first write zeroes or copies its chunk"),
    "snapshot": Expected(ONE, (1.0, None), "a first write copies its chunk out"),
    "snapshot-merge": Expected(ONE, (1.0, None), "the snapshot is being merged"),
    "snapshot-origin": Expected(
        ONE, (1.0, None), "a first write copies its chunk to each snapshot"
    ),
    "cache": Expected((0.0, None), (1.0, None), "hits, promotions and writeback"),
    "writecache": Expected((0.0, 1.0), (1.0, 2.0), "each byte is written back later"),
    "integrity": Expected(
        (0.0, None), (1.0, 2.2), "the journal writes it twice, a bitmap 1.2 times"
    ),
    "era": UNCHANGED,
    "verity": Expected((1.0, None), (0.0, 0.0), "hashes are read too"),
}


def expected(device: Device, missing: int = 0) -> Expected | None:
    """Return the expected amplification of *device*, which lacks *missing* members; None if its target is not in the table."""
    if device.layout is not None:
        return _degraded(device.layout, missing) if missing else _of_layout(device.layout)
    return UNCHANGED if is_passthrough(device) else TARGETS.get(device.target)


def by_layer(topology: Topology, stack: list[Layer]) -> dict[Layer, Expected | None]:
    """Return the expected amplification from the top to each layer; None where paths to it differ."""
    found: dict[Layer, Expected | None] = {}
    over = topology.edges_above(name for layer in stack for name in layer.devices)
    devices: dict[str, Expected | None] = dict.fromkeys(stack[0].devices, UNCHANGED)
    for layer in stack:
        for name in layer.devices if layer is not stack[0] else ():
            above = {edge.above for edge in over.get(name, ())} & devices.keys()
            devices[name] = _same(_below(topology, each, devices[each]) for each in above)
        found[layer] = _same(devices[name] for name in layer.devices)
    return found


def _same(several: Iterable[Expected | None]) -> Expected | None:
    """Return the value of *several* if they are all equal; else None."""
    values = set(several)
    return values.pop() if len(values) == 1 else None


def _below(topology: Topology, above: str, at_device: Expected | None) -> Expected | None:
    step = expected(topology[above], missing_members(topology, topology[above]))
    return None if step is None or at_device is None else at_device.times(step)


def _of_layout(layout: Layout) -> Expected:
    if not layout.parity:
        copies = float(layout.copies)
        return Expected(ONE, (copies, copies), f"{layout.copies} copies" if copies > 1 else "")
    return Expected(
        (1.0, None),
        (layout.ideal_write, 1.0 + layout.parity),
        f"full stripes {layout.ideal_write:.2f}, single pages {1 + layout.parity:.2f} plus parity reads",
    )


def _degraded(layout: Layout, missing: int) -> Expected:
    """Return what RAID arithmetic says of an array that lacks *missing* members, for random requests."""
    present = 1 - missing / layout.members
    if layout.parity:
        read = present + (1 - present) * layout.data
        why = (
            f"degraded: random reads {read:.2f}, each read of a missing member reads {layout.data}"
        )
        least = (layout.members - missing) / layout.data
        return Expected((1.0, None), (min(1.0, least), 1.0 + layout.parity), why)
    if layout.copies == layout.members:
        copies = float(layout.copies - missing)
        return Expected(ONE, (copies, copies), f"degraded: {copies:g} of {layout.copies} copies")
    least = float(max(0, layout.copies - missing))
    why = f"degraded: random writes {layout.copies * present:.2f}"
    return Expected(ONE, (least, float(layout.copies)), why)


def _product(a: Range, b: Range) -> Range:
    return a[0] * b[0], None if a[1] is None or b[1] is None else a[1] * b[1]
