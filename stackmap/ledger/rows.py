"""
The rows of the ledger: traffic down one edge, for one owner, in one direction, for one cause.

``StackRows`` makes those of one stack from each device's share, top-down. A device that passes
requests on keeps their causes. Below one that makes requests of its own, the metadata devices are a
cause by themselves; of its data devices' bytes, those beyond what the layout needs (W written ×
copies, or the bytes read) are its parity, copy-on-write, cache or other extra traffic.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackmap.ledger.amounts import NOTHING, Amount, Share, Traffic, share_of_all, sum_shares
from stackmap.ledger.causes import Cause, cause_of_edge, cause_of_extra
from stackmap.ledger.device_state import missing_members
from stackmap.ledger.layers import carries_data
from stackmap.ledger.member_writes import bitmap_write_size, flushes_below, member_flushes
from stackmap.ledger.ownership import completed, is_pool
from stackmap.ledger.sent import TOLERANCE, Sent
from stackmap.model.device import Kind, Role
from stackmap.model.dm_targets import THIN
from stackmap.model.load import plus, ratio, total_of
from stackmap.model.raid import PAGE
from stackmap.model.topology import Edge


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


SKEW = 0.02  # counters of two layers are read at different instants
ROUNDING = 1e-12  # of a sum of floats: a smaller share is no traffic

ZERO = Amount(0.0, 0.0)
COPIED = 512 * 1024  # bytes that a pool copies or zeroes with one request, at most

ByCause = dict[Cause, Traffic]
Weights = Mapping[Cause, float]  # shares that sum to 1
ALL_DATA: Weights = MappingProxyType({Cause.DATA: 1.0})


class Extra(NamedTuple):
    """
    Traffic below a device that its layout does not need, as shares, 0…1.

    ``causes``: of the bytes. ``requests``: of the requests, None where they are as
    large as the others. ``in_pages``: they are of one page each, as md makes them for parity.
    """

    causes: Mapping[Cause, float] = MappingProxyType({})
    requests: float | None = None
    in_pages: bool = False


def directions_of(share: Share) -> list[str]:
    """Return the directions of the rows of *share*: those whose arrivals are known, "total" if none are."""
    known = [d for d in ("read", "write", "discard") if share.part(d).arrivals is not None]
    return known or ["total"]


class StackRows:
    """
    ``rows``: those of the stack of *top*, higher devices first. ``estimated``: whether no counter tells one
    cause from another. *shares*: what belongs to the stack at each device.
    """

    def __init__(self, sent: Sent, top: str, shares: Mapping[str, Share]) -> None:
        self._topology = sent.topology
        self._sent = sent
        self._top = top
        self._shares = shares
        self._senders = sent.topology.edges_above(shares)  # its own edges
        self._arrived: dict[tuple[str, str], ByCause] = {}
        self.estimated = False
        self.rows = list(self._from_the_top())

    def completed(self) -> dict[tuple[Cause, str], Traffic]:
        """Return the completions of the disks, by cause and direction."""
        done: dict[tuple[Cause, str], Traffic] = {}
        for (name, direction), by_cause in self._arrived.items():
            for cause, traffic in by_cause.items() if not self._topology.below(name) else ():
                done[cause, direction] = done.get((cause, direction), NOTHING) + traffic
        return done

    def written_to_disks(self) -> dict[str, ByCause]:
        """Return the writes to each disk, by cause."""
        return {
            name: by_cause
            for (name, direction), by_cause in self._arrived.items()
            if direction == "write" and not self._topology.below(name)
        }

    def _from_the_top(self) -> Iterator[Row]:
        """Yield all rows, those of higher devices first."""
        directions = directions_of(self._shares[self._top])
        for name in self._shares:
            for direction in directions:
                rows = list(self._to_device(name, direction))
                yield from rows
                self._arrived[name, direction] = self._completed(name, direction, rows)

    def _to_device(self, name: str, direction: str) -> Iterator[Row]:
        share = self._shares[name]
        if name == self._top:
            edge = Edge("", name, Role.DATA)
            for cause, traffic in self._at_top(name, direction, share).items():
                yield Row(edge, direction, cause, traffic, share.reason)
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

    def _at_top(self, name: str, direction: str, share: Share) -> ByCause:
        """Return the traffic that arrived at the top, by cause: data; at a thin pool also its own work."""
        above = [
            edge.above for edge in self._topology.above(name) if edge.above in self._sent.loads
        ]
        if not is_pool(self._topology[name]) or not above:
            return {Cause.DATA: share.part(direction)}
        asked = sum_shares([share_of_all(self._sent.load(upper)) for upper in above])
        extra = self._chunks(name, share, asked, direction)
        return _split(share.part(direction), extra, ALL_DATA, ALL_DATA)

    def _made_above(self, edge: Edge, direction: str, share: Share) -> Iterator[Row]:
        """Yield the rows of a device below one that makes requests of its own."""
        above, all_of_it = self._topology[edge.above], share.part(direction)
        flushes, rest = (
            self._flushes(edge, all_of_it) if direction == "write" else (None, all_of_it)
        )
        own_cause = cause_of_edge(above, edge)
        rows = (
            {own_cause: rest}
            if own_cause
            else _split(rest, self._extra(edge, direction), *self._weights(edge.above, direction))
        )
        if flushes is not None:
            rows[Cause.FLUSH] = flushes + rows.get(Cause.FLUSH, NOTHING)
        for cause, traffic in rows.items():
            yield Row(edge, direction, cause, traffic, share.reason)

    def _flushes(self, edge: Edge, whole: Traffic) -> tuple[Traffic | None, Traffic]:
        """Return the empty flushes among the writes down *edge*, None where no counter shows them, and the other writes."""
        count = flushes_below(self._topology, self._sent.loads, edge)
        if whole.arrivals is None or count < TOLERANCE * whole.arrivals:
            return None, whole
        count = min(count, whole.arrivals)
        rest = whole._replace(arrivals=whole.arrivals - count)
        if whole.low is not None:
            low, high = whole.bounds
            fewer = Amount(count, 0.0)
            rest = rest._replace(low=low.beyond(fewer), high=high.beyond(fewer))
        return NOTHING._replace(arrivals=count), rest

    def _weights(self, name: str, direction: str) -> tuple[Weights, Weights]:
        """
        Return the share, 0…1, of each cause in the bytes that arrived at *name*, and in the requests.

        Data if unknown. An array with parity makes pages of all, so there requests follow bytes.
        """
        known = {**self._arrived.get((name, direction), {})}
        others = self._from_others(name, direction)
        if others.bytes:
            known[Cause.OTHER] = NOTHING._replace(arrivals=others.arrivals, bytes=others.bytes)
        moved = _shares({cause: traffic.bytes for cause, traffic in known.items()})
        layout = self._topology[name].layout
        if layout is not None and layout.parity:
            return moved, moved
        sent: dict[Cause, float | None] = {
            cause: traffic.arrivals for cause, traffic in known.items() if cause is not Cause.FLUSH
        }
        own, every = self._sent.load(name).flow(direction).ios, total_of(sent.values())
        if self._topology[name].kind is Kind.ARRAY and own is not None and own < (every or 0.0):
            # md does not count empty flushes: the requests it did not count are flushes, not data.
            sent[Cause.DATA] = max(0.0, own - (every or 0.0) + (sent.get(Cause.DATA) or 0.0))
        return moved, _shares(sent)

    def _extra(self, edge: Edge, direction: str) -> Extra:
        """Return the traffic down *edge* that the layout above does not need."""
        name = edge.above
        device, own = self._topology[name], self._shares[name]
        layout = device.layout
        if device.target == THIN:
            if edge.role is Role.ORIGIN:  # an external one, read for data alone
                return Extra()
            return self._chunks(edge.below, self._shares[edge.below], own, direction)
        more = self._beyond(name, direction, "bytes")
        if not more:
            return Extra()
        beyond = more * (self._below(name, direction).bytes or 0.0)
        per_write = ratio(beyond, own.write.arrivals)
        cause = cause_of_extra(device, direction, reads=bool(own.read.bytes), per_write=per_write)
        requests = None
        if cause is Cause.BITMAP:
            below = self._below(name, direction)
            members = len(self._data_below(name))
            flushes = members * member_flushes(self._topology, self._sent.loads, device)
            pages = more * (below.bytes or 0.0) / bitmap_write_size(self._topology, device)
            requests = min(1.0, ratio(pages, max(0.0, (below.arrivals or 0.0) - flushes)) or 0.0)
        elif layout is None or layout.chunk is None:
            requests = self._beyond(name, direction, "arrivals")
        in_pages = layout is not None and layout.parity > 0
        return Extra({cause: more}, requests, in_pages=in_pages)

    def _chunks(self, pool: str, moved: Share, asked: Share, direction: str) -> Extra:
        """Return the chunks that *pool* zeroed and those that it copied, from what volumes *asked* for and all it *moved*."""
        below = moved.part(direction)
        written = moved.write.amount.beyond(asked.write.amount).bytes or 0.0
        # A chunk is copied and zeroed in requests of at most so many bytes (dm-kcopyd.c, SUB_JOB_SIZE).
        size = min(self._topology[pool].fact_number("block") or COPIED, COPIED)
        low, copied, high = _copies(moved.read, asked.read, size, written)
        self.estimated |= high - low > SKEW * written
        parts = {Cause.COPY_ON_WRITE: copied}
        if direction == "write":
            parts[Cause.ZEROING] = written - copied
        known = direction in ("read", "write") and bool(below.bytes)
        causes = {
            c: part / below.bytes
            for c, part in parts.items()
            if known and below.bytes and part > ROUNDING * below.bytes
        }
        sent = ratio(sum(causes.values()) * (below.bytes or 0.0) / size, below.arrivals)
        return Extra(causes, min(1.0, sent or 0.0))

    def _beyond(self, name: str, direction: str, figure: str) -> float:
        """Return the share, 0…1, of *figure* below *name* that its layout does not need; 0 if unknown."""
        asked = getattr(self._shares[name].part(direction), figure)
        asked = plus(asked, getattr(self._from_others(name, direction), figure))
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

    def _from_others(self, name: str, direction: str) -> Amount:
        """Return the traffic at the RAID device *name* that no device above sent; 0 where others share its members."""
        own, share = self._sent.load(name).flow(direction), self._shares[name].part(direction)
        shared = any(self._shares[member].reason for member in self._data_below(name))
        if name == self._top or self._topology[name].layout is None or share.is_range or shared:
            return ZERO
        beyond = Amount(own.arrivals, own.bytes).beyond(share.amount)
        return beyond if (beyond.bytes or 0.0) > TOLERANCE * (own.bytes or 0.0) else ZERO

    def _below(self, name: str, direction: str) -> Traffic:
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
        flushes = by_cause.pop(Cause.FLUSH, None)
        if flushes is None or whole.ios is None:
            known = {} if flushes is None else {Cause.FLUSH: flushes._replace(ios=None, wait=None)}
        else:
            # An empty flush merges with no other request; md does not count it.
            count = 0.0 if self._topology[name].kind is Kind.ARRAY else flushes.arrivals or 0.0
            known = {Cause.FLUSH: flushes._replace(ios=min(count, whole.ios))}
            whole = whole._replace(ios=max(0.0, whole.ios - count))
        return known | {cause: completed(traffic, whole)[0] for cause, traffic in by_cause.items()}


def _copies(
    moved: Traffic, asked: Traffic, size: int, written: float
) -> tuple[float, float, float]:
    """
    Return the bytes per second of the reads of a pool that are copies: at least, likely, and at most.

    *moved*: all its reads. *asked*: those of its volumes, of which reads of blocks that were never
    written do not come to the pool. It is likely that those which come have the same mean size.
    *written*: what the pool wrote beyond its volumes' writes.
    """
    every = moved.bytes or 0.0
    high = min(every, written)
    low = min(high, max(0.0, every - (asked.bytes or 0.0)))
    own = ratio(asked.bytes, asked.arrivals) or 0.0
    count = (every - (moved.arrivals or 0.0) * own) / (size - own) if size > own else 0.0
    return low, min(max(count * size, low), high), high


def _split(whole: Traffic, extra: Extra, data: Weights, requests_of_data: Weights) -> ByCause:
    """
    Return *whole* by cause; *data* has the causes of the bytes that are not *extra*, as shares, and
    *requests_of_data* those of the requests.

    A range is that of bitmap writes: they are among the extra ones.
    """
    share = sum(extra.causes.values())
    if not extra.causes:
        return _spread(whole, data, requests_of_data)
    if whole.bytes is None or whole.arrivals is None:
        return {Cause.DATA: whole, **dict.fromkeys(extra.causes, Traffic())}
    moved = whole.bytes * share
    requests = whole.arrivals * (share if extra.requests is None else extra.requests)
    if extra.in_pages:
        requests = min(moved / PAGE, whole.arrivals)
    part = ratio(requests, whole.arrivals) or 0.0
    more = whole.as_exact().times(part)._replace(bytes=moved)
    rest = whole.as_exact().times(1 - part)._replace(bytes=whole.bytes - moved)
    of_extra = {cause: weight / share for cause, weight in extra.causes.items()}
    rows = _spread(rest, data, requests_of_data)
    if whole.low is None or not extra.in_pages or Cause.BITMAP in extra.causes:
        for cause, traffic in _spread(more, of_extra, of_extra).items():
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


def _spread(whole: Traffic, moved: Weights, sent: Weights) -> ByCause:
    """Return *whole* divided: its bytes by *moved*, its requests by *sent*; each sums to 1."""
    if len(moved) == 1 and moved.keys() >= sent.keys():
        return dict.fromkeys(moved, whole)
    if moved is sent:
        return {cause: whole.times(share) for cause, share in moved.items()}
    by_cause = {}
    for cause in {**moved, **sent}:
        by_bytes, by_requests = (
            whole.times(moved.get(cause, 0.0)),
            whole.times(sent.get(cause, 0.0)),
        )
        low, high = (
            of_requests and of_requests._replace(bytes=of_bytes.bytes if of_bytes else None)
            for of_requests, of_bytes in (
                (by_requests.low, by_bytes.low),
                (by_requests.high, by_bytes.high),
            )
        )
        by_cause[cause] = by_requests._replace(bytes=by_bytes.bytes, low=low, high=high)
    return by_cause


def _shares(parts: Mapping[Cause, float | None]) -> Weights:
    """Return *parts* as shares of their sum; data alone if that is unknown or 0."""
    total = total_of(parts.values())
    return (
        {cause: (part or 0.0) / total for cause, part in parts.items() if part}
        if total
        else ALL_DATA
    )
