"""
Join events of the block layer: which request above caused which below.

- A device-mapper target, md and a partition report each remap, just before the request below is queued.
- LVM's RAID reports none, and md none for parity: ``derived`` finds the cause by the layout.
- A disk merges requests: dispatched requests are matched to queued ones by sector.

A completion has no reference to its request. The kernel advances a request while it works on it,
so only its last sector stays the same.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator

from stackmap.features.trace.events.member_layout import Link, derived
from stackmap.features.trace.events.request import MERGED, REMAPPED, UNKNOWN, InFlight, Request
from stackmap.model.device import Kind
from stackmap.model.topology import Topology
from stackmap.sources.trace_text import BlockEvent, Step

FLUSH_SEQUENCE = "FF"  # of the disk's own flush requests; the bios that asked for them are followed
# Seconds after its completion until a request is shown although some below is not done.
PATIENCE = 1.0
MAX_WAITING = 50_000  # requests kept; with lost events, completions never come
MAX_LINKS = 10_000

Key = tuple[str, int, int]  # device number, sector, sectors


class Follower:
    """Follows the requests of the devices *listed* (all that no other request caused if empty)."""

    def __init__(self, topology: Topology, listed: Iterable[str] = ()) -> None:
        self._topology = topology
        self._listed = frozenset(listed)
        self._names = {device.number: device.name for device in topology}
        self._flying: defaultdict[str, InFlight] = defaultdict(InFlight)
        self._issued: dict[tuple[str, int], Request] = {}
        self._links: OrderedDict[Key, Link] = OrderedDict()
        self._waiting: dict[int, Request] = {}
        self._count = 0
        self._dispatched: list[Request] = []
        self._handlers: dict[Step, Callable[[BlockEvent], None]] = {
            Step.QUEUE: self._queue,
            Step.REMAP: self._remap,
            Step.RQ_REMAP: self._remap_request,
            Step.BIO_DONE: self._bio_done,
            Step.ISSUE: self._issue,
            Step.COMPLETE: self._complete,
        }

    def feed(self, events: Iterable[BlockEvent]) -> list[Request]:
        """Return the listed requests that *events* completed, with all that they caused."""
        now = 0.0
        for event in events:
            now = event.time
            if event.flags != FLUSH_SEQUENCE:
                self._handlers[event.step](event)
        ready = [
            request
            for request in self._waiting.values()
            if request.settled() or (request.done is not None and now - request.done > PATIENCE)
        ]
        excess = len(self._waiting) - len(ready) - MAX_WAITING
        if excess > 0:
            chosen = set(ready)
            ready += [r for r in self._waiting.values() if r not in chosen][:excess]
        return self._released(ready)

    def rest(self) -> list[Request]:
        """Return the listed requests that are not complete."""
        return self._released(list(self._waiting.values()))

    def dispatched(self) -> list[Request]:
        """Return the requests that devices with a queue were sent since the previous call."""
        dispatched, self._dispatched = self._dispatched, []
        return dispatched

    def _released(self, requests: list[Request]) -> list[Request]:
        for request in requests:
            del self._waiting[request.id]
        return sorted(requests, key=lambda released: released.id)

    def _name(self, number: str) -> str:
        return self._names.get(number, number)

    def _queue(self, event: BlockEvent) -> None:
        name = self._name(event.number)
        link = self._links.pop(_key(event), None)
        self._new(name, event, self._known(link, name, event))

    def _known(self, link: Link | None, name: str, event: BlockEvent) -> Link:
        """Return *link*, or what the layout says where there is no cause in it."""
        if link and link.causes and link.how == REMAPPED:
            return link
        by_layout = derived(self._topology, self._flying, name, event)
        return by_layout._replace(how=UNKNOWN) if link and by_layout == Link() else by_layout

    def _new(self, name: str, event: BlockEvent, link: Link) -> Request:
        self._count += 1
        request = Request(
            self._count,
            name,
            event.operation,
            event.flags,
            event.sector,
            event.sectors,
            event.command,
            event.pid,
            event.time,
            causes=link.causes,
            how=link.how,
            role=link.role,
        )
        self._flying[name].add(request)
        if name in self._listed if self._listed else not link.causes:
            self._waiting[request.id] = request
        return request

    def _remap(self, event: BlockEvent) -> None:
        number, sector = event.source or ("", 0)
        above = self._name(number)
        causes: tuple[Request, ...] = ()
        device = self._topology.devices.get(above)
        if device is not None and device.kind is Kind.PARTITION:
            # The disk is named in both events of a partition: of what reaches it, and of what leaves it.
            at_partition = event._replace(number=number, sector=sector)
            link = self._links.pop((event.number, sector, event.sectors), None)
            causes = (self._new(above, at_partition, self._known(link, above, at_partition)),)
        elif device is None or device.layout is None or not device.layout.parity:
            causes = tuple(self._covering(above, sector, event))
        self._link(event, Link(causes, REMAPPED))

    def _remap_request(self, event: BlockEvent) -> None:
        number, sector = event.source or ("", 0)
        above = self._issued.get((number, sector))
        self._link(event, Link((above,) if above else (), REMAPPED))

    def _link(self, event: BlockEvent, link: Link) -> None:
        self._links[_key(event)] = link
        if len(self._links) > MAX_LINKS:
            self._links.popitem(last=False)

    def _covering(self, name: str, sector: int, event: BlockEvent) -> Iterator[Request]:
        """Yield the request in flight at *sector* of *name* that *event* continues, if there is one."""
        if event.sectors:
            candidates = self._flying[name].over(sector, event.sectors)
            alike = [r for r in candidates if r.operation == event.operation]
        else:  # 6.12 reports the sector of the flush above as the one below
            candidates = self._flying[name].flushing()
            alike = [r for r in candidates if r.sector in (sector, event.sector)]
        # Of several for the same sectors, the one without a request below is the one that goes on now.
        idle = [r for r in alike if not r.below]
        yield from (idle or alike)[:1]

    def _bio_done(self, event: BlockEvent) -> None:
        name, end = self._name(event.number), event.sector + event.sectors
        at = self._flying[name].over(max(end - 1, 0), 1) + self._flying[name].over(end, 0)
        for request in at:
            same = request.operation == event.operation or not event.sectors
            if request.end == end and same and request.done is None:
                self._done(request, event.time)
                return

    def _issue(self, event: BlockEvent) -> None:
        name, key = self._name(event.number), (event.number, event.sector)
        if event.operation == "flush" or _again(self._issued.get(key), event):
            return
        candidates = self._flying[name].over(event.sector, event.sectors)
        bios = [r for r in candidates if r.operation == event.operation and r.unissued > 0]
        if not bios and event.operation == "other":
            return  # a command to the device itself
        if not bios:  # not seen to be queued: remapped by a driver, or older than the trace
            link = self._links.pop(_key(event), None) or Link(how=UNKNOWN)
            bios = [self._new(name, event, link)]
        self._count += 1
        request = Request(
            self._count, name, event.operation, event.flags, event.sector, event.sectors,
            bios[0].command, bios[0].pid, min(bio.queued for bio in bios), issued=event.time,
            causes=tuple(bios), how=MERGED, role=bios[0].role, arrivals=len(bios), dispatched=True,
        )  # fmt: skip
        for bio in bios:
            bio.issued = event.time
            bio.unissued -= min(bio.end, request.end) - max(bio.sector, request.sector)
        self._issued[key] = request
        if len(self._issued) > MAX_WAITING:
            del self._issued[next(iter(self._issued))]
        self._dispatched.append(request)

    def _complete(self, event: BlockEvent) -> None:
        if not event.sectors:
            for bio in self._flying[self._name(event.number)].over(event.sector, 0):
                if not bio.sectors:
                    self._done(bio, event.time)
                    return
            return
        request = self._issued.pop((event.number, event.sector), None)
        if request is None:
            return
        end = event.sector + event.sectors
        if end < request.end:  # a part is done
            self._issued[event.number, end] = request
            return
        request.done = event.time
        for bio in request.causes:
            if bio.unissued <= 0 and all(below.done is not None for below in bio.below):
                self._done(bio, event.time)

    def _done(self, request: Request, time: float) -> None:
        request.done = time
        self._flying[request.name].remove(request)
        for cause in request.causes:  # a partition does not report completions
            if (
                self._topology.devices.get(cause.name)
                and self._topology[cause.name].kind is Kind.PARTITION
            ):
                self._done(cause, time)


def _key(event: BlockEvent) -> Key:
    return event.number, event.sector, event.sectors


def _again(issued: Request | None, event: BlockEvent) -> bool:
    """Whether *event* dispatches *issued* once more, after the device was busy."""
    return issued is not None and issued.done is None and issued.sectors == event.sectors
