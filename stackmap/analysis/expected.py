"""
What a layout or a target is expected to make of a byte, to stand beside what it did make.

Bytes just below a byte above, as a range: the least and the most, None where
there is no most (a first write to a thin chunk may zero all of it). KERNEL 2.7
has how each was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.analysis.layers import Layer
from stackmap.model.device import Device
from stackmap.model.passthrough import is_passthrough
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

Range = tuple[float, float | None]

ONE: Range = (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Expected:
    """Bytes below a byte read and a byte written, and in words what decides between the ends."""

    read: Range
    write: Range
    why: str = ""

    def times(self, other: Expected) -> Expected:
        """Return what two layers, one below the other, make together."""
        return Expected(
            _product(self.read, other.read),
            _product(self.write, other.write),
            "; ".join(filter(None, (self.why, other.why))),
        )


NOTHING_CHANGES = Expected(ONE, ONE)

TARGETS = {
    "thin": Expected((0.0, 1.0), (1.0, None), "a first write zeroes or copies its chunk"),
    "thin-pool": NOTHING_CHANGES,
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
    "era": NOTHING_CHANGES,
    "verity": Expected((1.0, None), (0.0, 0.0), "hashes are read too"),
}


def expected(device: Device) -> Expected | None:
    """Return what *device* is expected to make of a byte; None where nothing is known of its kind."""
    if device.layout is not None:
        return _of_layout(device.layout)
    if is_passthrough(device):
        return NOTHING_CHANGES
    return TARGETS.get(device.target)


def by_layer(topology: Topology, stack: list[Layer]) -> dict[Layer, Expected | None]:
    """Return what is expected of each layer, where all above its devices expect one thing of it."""
    found: dict[Layer, Expected | None] = {stack[0]: NOTHING_CHANGES}
    so_far: dict[str, Expected | None] = dict.fromkeys(stack[0].devices, NOTHING_CHANGES)
    for layer in stack[1:]:
        for name in layer.devices:
            above = {edge.above for edge in topology.above(name)} & so_far.keys()
            steps = {_step(topology[each], so_far[each]) for each in above}
            so_far[name] = steps.pop() if len(steps) == 1 else None
        all_here = {so_far[name] for name in layer.devices}
        found[layer] = all_here.pop() if len(all_here) == 1 else None
    return found


def _step(above: Device, so_far: Expected | None) -> Expected | None:
    here = expected(above)
    return None if here is None or so_far is None else so_far.times(here)


def _of_layout(layout: Layout) -> Expected:
    if not layout.parity:
        copies = float(layout.copies)
        return Expected(ONE, (copies, copies), f"{layout.copies} copies" if copies > 1 else "")
    return Expected(
        (1.0, None),
        (layout.ideal_write, 1.0 + layout.parity),
        f"writes: full stripes {layout.ideal_write:.2f}, single pages {1 + layout.parity:.2f}, "
        "and these read as well",
    )


def _product(a: Range, b: Range) -> Range:
    return a[0] * b[0], None if a[1] is None or b[1] is None else a[1] * b[1]
