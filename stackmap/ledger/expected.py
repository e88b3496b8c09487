"""
The expected amplification of layouts and targets, to show beside the measured one.

The record of a target has its own (``model/dm_targets``); RAID arithmetic gives that of a layout.
"""

from collections.abc import Iterable

from stackmap.ledger.device_state import missing_members
from stackmap.ledger.layers import Layer
from stackmap.model.device import Device
from stackmap.model.dm_targets import ONE, UNCHANGED, Expected, is_passthrough, target_of
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology


def expected(device: Device, missing: int = 0) -> Expected | None:
    """Return the expected amplification of *device*, which lacks *missing* members; None if it is unknown."""
    if device.layout is not None:
        return _degraded(device.layout, missing) if missing else _of_layout(device.layout)
    return UNCHANGED if is_passthrough(device) else target_of(device).expected


def by_layer(topology: Topology, stack: list[Layer]) -> dict[Layer, Expected | None]:
    """Return the expected amplification from the top to each layer; None where paths to it differ."""
    amplifications: dict[Layer, Expected | None] = {}
    over = topology.edges_above(name for layer in stack for name in layer.devices)
    devices: dict[str, Expected | None] = dict.fromkeys(stack[0].devices, UNCHANGED)
    for layer in stack:
        for name in layer.devices if layer is not stack[0] else ():
            above = {edge.above for edge in over.get(name, ())} & devices.keys()
            devices[name] = _same(_below(topology, upper, devices[upper]) for upper in above)
        amplifications[layer] = _same(devices[name] for name in layer.devices)
    return amplifications


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
    """Return the amplification of random requests, by RAID arithmetic, for an array that lacks *missing* members."""
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
