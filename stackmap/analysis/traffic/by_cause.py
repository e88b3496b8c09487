"""
The traffic of one stack row by row: each device's share, split by edge and cause, top-down.

A device that passes requests on keeps their causes. Below one that makes
requests of its own, the metadata devices are a cause by themselves; of its data
devices' bytes, those beyond what the layout needs (W written × copies, or the
bytes read) are its parity, copy-on-write, cache or other extra traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from stackmap.analysis.layers import carries_data
from stackmap.analysis.traffic.amounts import NOTHING, Amount, Share, Traffic
from stackmap.analysis.traffic.ownership import completed
from stackmap.analysis.traffic.rows import Cause, Row, cause_of_edge, cause_of_extra
from stackmap.analysis.traffic.sent import Sent
from stackmap.model.device import Role
from stackmap.model.load import ratio
from stackmap.model.passthrough import is_passthrough
from stackmap.model.raid import PAGE
from stackmap.model.topology import Edge

ByCause = dict[Cause, Traffic]


class StackRows:
    """The rows of the stack of *top*; *shares*: what belongs to it at each device."""

    def __init__(self, sent: Sent, top: str, shares: Mapping[str, Share]) -> None:
        self._topology = sent.topology
        self._sent = sent
        self._top = top
        self._shares = shares
        self._arrived: dict[tuple[str, str], ByCause] = {}

    def rows(self) -> Iterator[Row]:
        """Yield all rows, those of higher devices first."""
        head = self._shares[self._top]
        known = [d for d in ("read", "write", "discard") if head.part(d).arrivals is not None]
        for name in self._shares:
            for direction in known or ["total"]:
                rows = list(self._to_device(name, direction))
                yield from rows
                self._arrived[name, direction] = self._completed(name, direction, rows)

    def _to_device(self, name: str, direction: str) -> Iterator[Row]:
        """Yield the rows of one device in one direction."""
        share = self._shares[name]
        if name == self._top:
            edge = Edge("", name, Role.DATA)
            yield Row(edge, name, direction, Cause.DATA, share.part(direction), reason=share.reason)
            return
        senders = self._topology.above(name)
        ours = [edge for edge in senders if edge.above in self._shares]
        if not all(is_passthrough(self._topology[edge.above]) for edge in senders):
            yield from self._made_above(ours[0], direction, share)
            return
        for edge in ours:
            for cause, mine in self._arrived[edge.above, direction].items():
                reason = self._shares[edge.above].reason
                unknown = reason or ("split" if mine.ios is None and len(ours) > 1 else "")
                traffic = self._sent.part_down(edge, direction, mine, unknown)
                yield Row(edge, self._top, direction, cause, traffic, reason=reason)

    def _made_above(self, edge: Edge, direction: str, share: Share) -> Iterator[Row]:
        """Yield the rows of a device below one that makes requests of its own."""
        above, all_of_it = self._topology[edge.above], share.part(direction)
        cause = cause_of_edge(above, edge)
        extra = 0.0 if cause else self._extra(edge.above, direction)
        if not extra:
            rows = {cause or Cause.DATA: all_of_it}
        else:
            in_pages = above.layout is not None and above.layout.parity > 0
            rows = _split(all_of_it, extra, cause_of_extra(above, direction), in_pages=in_pages)
        for each, traffic in rows.items():
            divided = bool(extra) and extra < 1 and len(self._data_below(edge.above)) > 1
            yield Row(edge, self._top, direction, each, traffic, divided, share.reason)

    def _extra(self, name: str, direction: str) -> float:
        """Return the share, 0…1, of the bytes below *name* that its layout does not need."""
        asked = self._shares[name].part(direction).bytes
        moved = sum(
            (self._shares[below].part(direction) for below in self._data_below(name)), start=NOTHING
        ).bytes
        if asked is None or not moved:
            return 0.0
        layout = self._topology[name].layout
        copies = layout.copies if layout is not None and direction == "write" else 1
        return max(0.0, moved - asked * copies) / moved

    def _data_below(self, name: str) -> set[str]:
        return {edge.below for edge in self._topology.below(name) if carries_data(edge)}

    def _completed(self, name: str, direction: str, rows: list[Row]) -> ByCause:
        """Return what arrived at *name* by cause, with its completions in proportion."""
        found: ByCause = {}
        for row in rows:
            found[row.cause] = found.get(row.cause, NOTHING) + row.traffic
        if len(found) == 1:
            part = self._shares[name].part(direction)
            return {cause: replace(t, ios=part.ios, wait=part.wait) for cause, t in found.items()}
        whole = self._sent.load(name).flow(direction)
        return {cause: completed(traffic, whole)[0] for cause, traffic in found.items()}


def _split(whole: Traffic, share: float, cause: Cause, *, in_pages: bool) -> ByCause:
    """
    Return *whole* as data and as *share* of its bytes for *cause*.

    *in_pages*: the extra requests are of one page each, as md makes them for
    parity. A range is that of bitmap writes: they are among the extra ones.
    """
    if whole.bytes is None or whole.arrivals is None:
        return {Cause.DATA: whole, cause: Traffic()}
    moved = whole.bytes * share
    requests = min(moved / PAGE, whole.arrivals) if in_pages else whole.arrivals * share
    part = ratio(requests, whole.arrivals) or 0.0
    extra = replace(whole.as_exact().times(part), bytes=moved)
    data = replace(whole.as_exact().times(1 - part), bytes=whole.bytes - moved)
    if whole.low is None or cause is Cause.BITMAP:
        return {Cause.DATA: data, cause: extra}
    low, _ = whole.bounds
    bitmap = Amount(
        min(requests, whole.arrivals - (low.arrivals or 0.0)),
        min(moved, whole.bytes - (low.bytes or 0.0)),
    )
    least = Amount(requests - (bitmap.arrivals or 0.0), moved - (bitmap.bytes or 0.0))
    return {
        Cause.DATA: data,
        cause: replace(extra, low=least, high=Amount(requests, moved)),
        Cause.BITMAP: replace(NOTHING, low=Amount(0.0, 0.0), high=bitmap),
    }
