"""
Correction of JSON whose sizes are not in the unit of their keys.

sysstat 12.1.2 to 12.2.0 (Ubuntu 20.04) wrote sectors under rkB/s and rMB/s; 11.5.1 to 11.5.6
wrote "rkB" for any unit. Requests times their mean size show the true bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, log2

from stackmap.model.units import GIB, KIB, MIB, SECTOR
from stackmap.text.columns import COMBINED, DISCARD, READ, WRITE
from stackmap.text.flow_columns import FlowColumns
from stackmap.text.table_layout import TableLayout

Row = Sequence[float | None]

MISLABELLED = {
    SECTOR: "corrected: sizes were in sectors, whatever the keys say (sysstat 12.1.2 to 12.2.0)",
    KIB: "corrected: sizes were in kB, whatever the keys say",
    MIB: "corrected: sizes were in MB, whatever the keys say (sysstat 11.5.1 to 11.5.6)",
    GIB: "corrected: sizes were in GB, whatever the keys say",
}  # fmt: skip
PERHAPS_SECTORS = (
    "sizes are twice too large if sysstat 12.1.2 to 12.2.0 wrote this; only -x can show it"
)

# Figures have two decimals: smaller ones are too coarse as evidence.
MIN_IOS, MIN_SIZE = 0.2, 0.1
TOLERANCE = 0.5  # log2; a wrong unit is off by 1 or more, rounding by 0.1


def find_unit(rows: Iterable[tuple[TableLayout, Row]]) -> tuple[float, int] | None:
    """Return the unit of the keys and the true one; None without evidence."""
    labelled, shown, meant = 0.0, 0.0, 0.0
    for layout, row in rows:
        for unit, value, size in _evidence(layout, row):
            labelled = unit
            shown += value
            meant += size
    unit = min(MISLABELLED, key=lambda unit: _log2_distance(shown * unit, meant))
    return (labelled, unit) if _log2_distance(shown * unit, meant) < TOLERANCE else None


def _log2_distance(one: float, other: float) -> float:
    """Return the distance of the two in doublings."""
    ratio = one / other if other else 0.0
    return abs(log2(ratio)) if 0 < ratio < inf else inf


def _evidence(layout: TableLayout, row: Row) -> Iterator[tuple[float, float, float]]:
    """Yield the unit, the value shown, and the true bytes by requests and mean size."""
    flows = [layout.spots.get(flow, FlowColumns()) for flow in (READ, WRITE, DISCARD, COMBINED)]
    checks = [([flow.ios], [flow.bytes], flow.unit, flow) for flow in flows]
    read, write, _, whole = flows
    if whole.ios is None:  # avgrq-sz, of both
        checks.append(([read.ios, write.ios], [read.bytes, write.bytes], read.unit, whole))
    for requests, sizes, unit, mean in checks:
        ios, value, size = _sum(row, requests), _sum(row, sizes), _sum(row, [mean.size])
        if ios is None or value is None or size is None:
            continue
        if ios >= MIN_IOS and value >= MIN_SIZE and size > 0:
            yield unit, value, ios * size * mean.size_unit


def _sum(row: Row, places: Iterable[int | None]) -> float | None:
    total = 0.0
    for place in places:
        value = None if place is None else row[place]
        if value is None:
            return None
        total += value
    return total
