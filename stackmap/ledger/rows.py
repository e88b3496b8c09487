"""
The rows of the ledger: traffic down one edge, for one owner, in one direction, for one cause.

``StackRows`` makes those of one stack from each device's share, top-down. A device that passes
requests on keeps their causes. Below one that makes requests of its own, the metadata devices are a
cause by themselves; of its data devices' bytes, those beyond what the layout needs (W written ×
copies, or the bytes read) are its parity, copy-on-write, cache or other extra traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from stackmap.ledger.amounts import NOTHING, Amount, Share, Traffic
from stackmap.ledger.device_state import is_degraded, is_working, missing_members
from stackmap.ledger.layers import carries_data
from stackmap.ledger.member_writes import has_bitmap
from stackmap.ledger.ownership import completed, is_pool
from stackmap.ledger.sent import Sent
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import target_of
from stackmap.model.load import ratio
from stackmap.model.raid import PAGE
from stackmap.model.topology import Edge


class Cause(StrEnum):
    """Why traffic happens."""

    DATA = "data"  # what was asked for at the top, each copy of it included
    PARITY = "parity"  # parity written
    PARITY_READ = "parity_read"  # read to compute parity
    DEGRADED = "degraded"  # read in place of a missing member; with writes, parity reads too
    BITMAP = "bitmap"  # a RAID array's bitmap; in an rmeta sub-LV its superblock too
    JOURNAL = "journal"
    INTEGRITY = "integrity"  # checksums and their journal
    METADATA = "metadata"  # of thin pools, caches and others
    COPY_ON_WRITE = "cow"
    ZEROING = "zeroing"  # of new blocks of a thin pool
    CACHE = "cache"  # promotions and write-back
    RESYNC = "resync"  # resync, check, reshape, merge; on arrays with parity, parity too
    OTHER = "other"  # more bytes than the layout explains


class Row(NamedTuple):
    """
    Traffic down *edge* that belongs to one top; ``edge.above`` is "" for what came to the top itself.

    ``reason``: why it is unknown.
    """

    edge: Edge
    direction: str
    cause: Cause
    traffic: Traffic
    reason: str = ""


BY_ROLE = {Role.JOURNAL: Cause.JOURNAL, Role.COW: Cause.COPY_ON_WRITE}


def cause_of_edge(above: Device, edge: Edge) -> Cause | None:
    """Return the cause of all traffic down *edge*; None where it carries the data of the device *above*."""
    if edge.role is not Role.METADATA:
        return BY_ROLE.get(edge.role)
    if above.target == "integrity":
        return Cause.INTEGRITY
    return Cause.BITMAP if above.layout is not None else Cause.METADATA


def cause_of_extra(device: Device, direction: str, *, reads: bool = False) -> Cause:
    """Return the cause of the I/O of *device* below that its layout does not need; *reads*: it was read."""
    if is_working(device):
        return Cause.RESYNC
    if device.layout is not None and device.layout.parity:
        if direction == "read" and reads and is_degraded(device):
            return Cause.DEGRADED
        return Cause.PARITY_READ if direction == "read" else Cause.PARITY
    if device.kind is Kind.BCACHE:
        return Cause.CACHE
    if has_bitmap(device) and direction == "write":
        return Cause.BITMAP
    return Cause(target_of(device).extra or Cause.OTHER)


SKEW = 0.02  # counters of two layers are read at different instants
ROUNDING = 1e-12  # of a sum of floats: a smaller share is no traffic

ByCause = dict[Cause, Traffic]


class Extra(NamedTuple):
    """
    Traffic below a device that its layout does not need, as shares, 0…1.

    ``causes``: of the bytes. ``requests``: of the requests, None where they are as
    large as the others. ``in_pages``: they are of one page each, as md makes them for parity.
    """

    causes: Mapping[Cause, float] = MappingProxyType({})
    requests: float | None = None
    in_pages: bool = False


class StackRows:
    """``rows``: those of the stack of *top*, higher devices first; *shares*: what belongs to it at each device."""

    def __init__(self, sent: Sent, top: str, shares: Mapping[str, Share]) -> None:
        self._topology = sent.topology
        self._sent = sent
        self._top = top
        self._shares = shares
        self._senders = sent.topology.edges_above(shares)  # its own edges
        self._arrived: dict[tuple[str, str], ByCause] = {}
        self.rows = list(self._from_the_top())

    def completed(self) -> dict[tuple[Cause, str], Traffic]:
        """Return the completions of the disks, by cause and direction."""
        done: dict[tuple[Cause, str], Traffic] = {}
        for (name, direction), by_cause in self._arrived.items():
            for cause, traffic in by_cause.items() if not self._topology.below(name) else ():
                done[cause, direction] = done.get((cause, direction), NOTHING) + traffic
        return done

    def _from_the_top(self) -> Iterator[Row]:
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
            yield Row(edge, direction, Cause.DATA, share.part(direction), share.reason)
            return
        ours = self._senders[name]
        if not self._sent.only_from_passthrough(name):
            yield from self._made_above(ours[0], direction, share)
            return
        for edge in ours:
            for cause, mine in self._arrived[edge.above, direction].items():
                reason = self._shares[edge.above].reason
                unknown = reason or ("split" if mine.ios is None and len(ours) > 1 else "")
                traffic = self._sent.part_down(edge, direction, mine, unknown)
                yield Row(edge, direction, cause, traffic, reason)

    def _made_above(self, edge: Edge, direction: str, share: Share) -> Iterator[Row]:
        """Yield the rows of a device below one that makes requests of its own."""
        above, all_of_it = self._topology[edge.above], share.part(direction)
        cause = cause_of_edge(above, edge)
        if cause:
            rows = {cause: all_of_it}
        else:
            extra = self._extra(edge.above, direction)
            rows = _split(all_of_it, extra, self._weights(edge.above, direction))
        for each, traffic in rows.items():
            yield Row(edge, direction, each, traffic, share.reason)

    def _weights(self, name: str, direction: str) -> dict[Cause, float]:
        """Return the share, 0…1, of each cause in the bytes that arrived at *name*; data if unknown."""
        known = self._arrived.get((name, direction), {})
        moved = {cause: traffic.bytes or 0.0 for cause, traffic in known.items()}
        total = sum(moved.values())
        weights = {cause: part / total for cause, part in moved.items() if part} if total else {}
        return weights or {Cause.DATA: 1.0}

    def _extra(self, name: str, direction: str) -> Extra:
        """Return the traffic below *name* that its layout does not need."""
        device, own = self._topology[name], self._shares[name]
        layout = device.layout
        more = self._beyond(name, direction, "bytes")
        if not more:
            return Extra()
        causes = {cause_of_extra(device, direction, reads=bool(own.read.bytes)): more}
        if is_pool(device) and direction == "write":
            below = self._below(name, "write").bytes or 0.0
            copied = self._beyond(name, "read", "bytes") * (self._below(name, "read").bytes or 0.0)
            part = min(more, copied / below if below else 0.0)
            causes = {Cause.COPY_ON_WRITE: part, Cause.ZEROING: more - part}
        whole = layout is None or layout.chunk is None
        return Extra(
            {cause: part for cause, part in causes.items() if part},
            self._beyond(name, direction, "arrivals") if whole else None,
            in_pages=layout is not None and layout.parity > 0,
        )

    def _beyond(self, name: str, direction: str, figure: str) -> float:
        """Return the share, 0…1, of *figure* below *name* that its layout does not need; 0 if unknown."""
        asked = getattr(self._shares[name].part(direction), figure)
        moved = getattr(self._below(name, direction), figure)
        if asked is None or not moved:
            return 0.0
        needed = asked * self._copies(name, direction)
        layout = self._topology[name].layout
        if layout is not None and layout.parity and direction == "write":
            # md writes whole pages, of data as many as of each parity: more than was written above.
            pages = moved / (1 + layout.parity)
            needed = pages if pages > needed * (1 + SKEW) else needed
        more = float(moved - needed) / moved
        return more if more > ROUNDING else 0.0

    def _below(self, name: str, direction: str) -> Traffic:
        """Return all traffic at the data devices below *name*."""
        below = (self._shares[device].part(direction) for device in self._data_below(name))
        return sum(below, start=NOTHING)

    def _copies(self, name: str, direction: str) -> float:
        """
        Return the bytes of data below per byte at *name*, at most where reads and writes are not separate.

        With members missing, what is left of them.
        """
        device = self._topology[name]
        layout = device.layout
        if layout is None or direction not in ("write", "total"):
            return 1.0
        return layout.copies * (1 - missing_members(self._topology, device) / layout.members)

    def _data_below(self, name: str) -> list[str]:
        """Return the data devices below *name*, always in the same order: sums depend on it."""
        edges = self._topology.below(name)
        return list(dict.fromkeys(edge.below for edge in edges if carries_data(edge)))

    def _completed(self, name: str, direction: str, rows: list[Row]) -> ByCause:
        """Return the arrivals at *name* by cause, with its completions in proportion."""
        by_cause: ByCause = {}
        for row in rows:
            by_cause[row.cause] = by_cause.get(row.cause, NOTHING) + row.traffic
        if len(by_cause) == 1:
            part = self._shares[name].part(direction)
            return {
                cause: t._replace(ios=part.ios, wait=part.wait) for cause, t in by_cause.items()
            }
        whole = self._sent.load(name).flow(direction)
        return {cause: completed(traffic, whole)[0] for cause, traffic in by_cause.items()}


def _split(whole: Traffic, extra: Extra, data: Mapping[Cause, float]) -> ByCause:
    """
    Return *whole* by cause; *data* has the causes of what is not *extra*, as shares.

    A range is that of bitmap writes: they are among the extra ones.
    """
    share = sum(extra.causes.values())
    if not extra.causes:
        return _spread(whole, data)
    if whole.bytes is None or whole.arrivals is None:
        return {Cause.DATA: whole, **dict.fromkeys(extra.causes, Traffic())}
    moved = whole.bytes * share
    requests = whole.arrivals * (share if extra.requests is None else extra.requests)
    if extra.in_pages:
        requests = min(moved / PAGE, whole.arrivals)
    part = ratio(requests, whole.arrivals) or 0.0
    more = whole.as_exact().times(part)._replace(bytes=moved)
    rest = whole.as_exact().times(1 - part)._replace(bytes=whole.bytes - moved)
    of_extra = {cause: each / share for cause, each in extra.causes.items()}
    rows = _spread(rest, data)
    if whole.low is None or not extra.in_pages or Cause.BITMAP in extra.causes:
        for cause, traffic in _spread(more, of_extra).items():
            rows[cause] = rows.get(cause, NOTHING) + traffic
        return rows
    low, _ = whole.bounds
    bitmap = Amount(
        min(requests, whole.arrivals - (low.arrivals or 0.0)),
        min(moved, whole.bytes - (low.bytes or 0.0)),
    )
    least = Amount(requests - (bitmap.arrivals or 0.0), moved - (bitmap.bytes or 0.0))
    (cause,) = extra.causes
    return {
        **rows,
        cause: more._replace(low=least, high=Amount(requests, moved)),
        Cause.BITMAP: NOTHING._replace(low=Amount(0.0, 0.0), high=bitmap),
    }


def _spread(whole: Traffic, shares: Mapping[Cause, float]) -> ByCause:
    """Return *whole* divided by *shares*, which sum to 1."""
    if len(shares) == 1:
        return dict.fromkeys(shares, whole)
    return {cause: whole.times(share) for cause, share in shares.items()}
