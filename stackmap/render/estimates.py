"""How sure a figure is, as JSON: the range that the truth lies in."""

from __future__ import annotations

from stackmap.analysis.share import Portion


def range_json(part: Portion) -> dict[str, list[float | None]] | None:
    """Return the least and the most of an estimate's requests and bytes; None where it is none."""
    if not part.loose:
        return None
    low, high = part.ends
    return {"arrivals": [low.arrivals, high.arrivals], "bytes": [low.bytes, high.bytes]}
