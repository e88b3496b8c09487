"""
How the disks of a volume serve: the time of each request without waiting, and how many requests at once.

A trace has the time from dispatch to end of each request. Counters have the time with a request in flight per
request, which is the service of a disk that serves one at a time; and await, which is that of one that serves all
at once. A spinning disk and a queue of one request serve one at a time. Of others both are possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from stackmap.commands import additions
from stackmap.discover import discover
from stackmap.errors import InputError
from stackmap.features.whatif.disks import LARGEST, Order, Service
from stackmap.features.whatif.volume_context import VolumeContext, volume_context
from stackmap.host.capture import CapturedHost
from stackmap.ledger.averages import average_without_note
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.measurement.machines import CaptureSource
from stackmap.model.device import Device
from stackmap.model.load import Load, ratio
from stackmap.model.units import KIB

if TYPE_CHECKING:
    from stackmap.features.trace.record import Trace
    from stackmap.features.whatif.measured import Measured

TIMES = 200  # of a distribution
ALONE = 1.4  # times as long as a disk is busy per request: requests that take no longer hardly wait for each other
DEEP = 32  # requests that a device without a known queue serves at once, at most
LEAST = 20  # requests of a direction that show what one takes
FEW = 0.05  # of a disk's requests: fewer of other volumes do not matter
NANO, MICRO, MILLI = 1e-9, 1e-6, 1e-3
BFQ = "[bfq]"  # it turns writeback throttling off (block/blk-wbt.c, wbt_enable_default)
DEADLINE, NO_SCHEDULER = "[mq-deadline]", "[none]"
WRITE_BACK = "write back"
SATURATED = 0.9  # share of time busy: from here on, requests always wait
FAVOURED = 2.0  # times the await of reads: in one queue, writes do not wait so much longer


def services(
    ledger: Ledger,
    context: VolumeContext,
    volume: Measured | None,
    trace: Trace | None,
    longest: float | None = None,
) -> list[tuple[Service, ...]]:
    """
    Return the possible services of the volume's disks, the likely ones first; [] if not known.

    *volume*: its load, None without empty flushes and bitmap. *longest*: seconds of its longest request, if
    traced: a longer one of a disk is of a bio whose address was in use before.
    """
    disks = [ledger.topology[name] for name in context.disks]
    known_ways = []
    for serial in (True, False):
        served = [
            _service(ledger, context, disk, volume, trace, longest, serial=serial) for disk in disks
        ]
        known = [service for service in served if service is not None]
        if known:
            known_ways.append(tuple(service or known[0] for service in served))
    serial_only = all(disk.queue.rotational or disk.queue.depth == 1 for disk in disks)
    ways = known_ways[:1] if serial_only else list(dict.fromkeys(reversed(known_ways)))
    saturated = [(ledger.load(disk.name).busy or 0.0) >= SATURATED for disk in disks]
    if len(known_ways) > 1 and any(saturated) and not all(saturated):
        # Virtual disks claim to spin, and serve more at once. Beside the full one, it does not matter how many wait.
        mixed = zip(saturated, *known_ways, strict=True)
        ways.append(tuple(serial if full else parallel for full, serial, parallel in mixed))
    return [
        tuple(service._replace(order=order) for service in way)
        for way in ways
        for order in _orders(ledger, disks)
    ]


def _orders(ledger: Ledger, disks: Sequence[Device]) -> list[Order]:
    """
    Return the orders in which *disks* may serve what waits, the likely one first.

    In one queue reads and writes wait alike. mq-deadline orders what a disk's own queue has no room for.
    """
    if all(disk.queue.depth == 1 and DEADLINE in (disk.queue.scheduler or "") for disk in disks):
        return ["reads"]
    loads = [ledger.load(disk.name) for disk in disks]
    if not any(map(_favours_reads, loads)):
        return ["arrival"]
    return ["turns", "reads"] if any(map(_orders_some, disks, loads)) else ["turns"]


def _orders_some(disk: Device, load: Load) -> bool:
    """Whether the kernel may hold back requests of *disk* and order them: unknown queues have room for all."""
    in_flight = (load.total.wait or 0.0) * MILLI
    return DEADLINE in (disk.queue.scheduler or DEADLINE) and in_flight > (disk.queue.depth or inf)


def _favours_reads(load: Load) -> bool:
    read, write = load.read.await_ms, load.write.await_ms
    return bool(read and write and (load.busy or 0) >= SATURATED and write > FAVOURED * read)


def _service(
    ledger: Ledger,
    context: VolumeContext,
    disk: Device,
    volume: Measured | None,
    trace: Trace | None,
    longest: float | None,
    *,
    serial: bool,
) -> Service | None:
    pages = volume.metadata.requests if volume and volume.metadata else 0.0
    pages /= max(1, len(context.disks))
    flushes = 0.0
    if volume and context.flushes_counted:
        flushes = volume.known_flushes + pages * (1 - 1 / volume.per_page)
    load = _without_flushes(ledger.load(disk.name), flushes)
    times = _traced(trace, disk, load, longest, serial=serial) if trace is not None else None
    times = times or _counted(load, ledger.seconds, serial=serial)
    if times is None:
        return None
    empty = max(0.0, (load.flush.ios or 0.0) - flushes)
    depth = disk.queue.depth or disk.queue.nr_requests
    others = _others(ledger, context, disk, load, pages + empty)
    throttled = disk.queue.throttling != 0 and BFQ not in (disk.queue.scheduler or "")
    return Service(
        *times,
        servers=1 if serial else min(depth or DEEP, 2 * DEEP),
        depth=depth if throttled else None,
        rotational=bool(disk.queue.rotational),
        others=others,
        flush=(load.flush.await_ms or 0.0) * MILLI,
        crowd=_crowd(load, others) if (load.busy or 0.0) >= SATURATED else 0,
        target=(disk.queue.throttling or 0) * MICRO,
        cached=disk.queue.write_cache == WRITE_BACK,
        room=_room(disk),
        largest=(disk.queue.max_sectors_kb or 0) * KIB or LARGEST,
    )


def _room(disk: Device) -> float:
    """
    Return the requests that the kernel gives *disk* at once, while the others may merge.

    Without a scheduler, they merge only with what the same thread sends at once.
    """
    if NO_SCHEDULER in (disk.queue.scheduler or ""):
        return inf
    return disk.queue.depth or disk.queue.nr_requests or inf


def _traced(
    trace: Trace, disk: Device, load: Load, longest: float | None, *, serial: bool
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return the traced times of reads and writes; those of one direction for both if only that one was seen."""
    read, write = (
        _quantiles(trace.served.get((disk.number, direction), {}), longest)
        for direction in ("read", "write")
    )
    if not read and not write:
        return None
    read, write = read or write, write or read
    if serial and disk.queue.depth != 1:
        # In the device they waited for each other too: only the time per request is its own.
        mean, per_request = _mean(read, write, load), _per_request(load)
        if per_request is not None and mean > per_request:
            read, write = (
                tuple(time * per_request / mean for time in times) for times in (read, write)
            )
    return read, write


def _mean(read: Sequence[float], write: Sequence[float], load: Load) -> float:
    reads = (load.read.ios or 0.0) / (load.total.ios or 1.0)
    return reads * sum(read) / len(read) + (1 - reads) * sum(write) / len(write)


def _quantiles(counts: Mapping[tuple[int, int], int], longest: float | None) -> tuple[float, ...]:
    """Return ``TIMES`` seconds, equally likely, of nanoseconds by bucket; none above *longest*."""
    if longest is not None:
        counts = {bucket: hits for bucket, hits in counts.items() if bucket[0] * NANO <= longest}
    count = sum(counts.values())
    if not count:
        return ()
    times: list[float] = []
    passed = 0.0
    wanted = 0.5
    for (low, high), hits in sorted(counts.items()):
        while wanted * count / TIMES <= passed + hits and len(times) < TIMES:
            share = (wanted * count / TIMES - passed) / hits
            times.append((low + share * (high - low)) * NANO)
            wanted += 1
        passed += hits
    return tuple(times)


def _without_flushes(load: Load, flushes: float) -> Load:
    """Return *load* without the *flushes* that are empty: a disk with a write cache counts them as writes too."""
    flush, write = load.flush, load.write
    empty = min(flushes, flush.ios or 0.0, write.ios or 0.0)
    if not empty or write.ios is None or write.wait is None or flush.await_ms is None:
        return load
    spent = empty * flush.await_ms
    written = write._replace(ios=write.ios - empty, wait=max(0.0, write.wait - spent))
    # A flush waits behind others, too: of the busy time it has the share that it has of all time in flight.
    rest = max(0.1, 1 - (ratio(spent, max(spent, load.total.wait or 0.0)) or 0.0))
    return load._replace(write=written, busy=None if load.busy is None else load.busy * rest)


def _per_request(load: Load) -> float | None:
    """Return the seconds in which the disk was busy, per request."""
    return load.busy / load.total.ios if load.busy and load.total.ios else None


def _counted(
    load: Load, seconds: float | None, *, serial: bool
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return times by the counters of *seconds*: evenly spread around a mean, for counters show no more."""
    wait, per_request = load.total.await_ms, _per_request(load)
    if not wait:
        return None
    mean = min(wait * MILLI, per_request or wait * MILLI) if serial else wait * MILLI
    means = [mean, mean]
    flows = load.read, load.write
    fewest = min(flow.ios or 0.0 for flow in flows) * (seconds or 1.0)
    # What each takes is hidden by waiting, if requests wait for each other, as all of a burst do on an idle disk.
    alone = per_request is not None and wait * MILLI <= ALONE * per_request
    if fewest >= LEAST and (not serial or alone):
        means = [mean * (flow.await_ms or wait) / wait for flow in flows]
    read, write = (evenly(mean) for mean in means)
    return read, write


def evenly(mean: float) -> tuple[float, ...]:
    """Return times between 0 and twice their *mean*."""
    return tuple(mean * (2 * place + 1) / TIMES for place in range(TIMES))


def constant(seconds: float, servers: int) -> Service:
    """Return a disk that takes about *seconds* for each request, of which it serves *servers* at once."""
    times = tuple(seconds * (0.5 + (place + 0.5) / TIMES) for place in range(TIMES))
    return Service(times, times, servers)


def _others(
    ledger: Ledger, context: VolumeContext, disk: Device, load: Load, added: float
) -> tuple[float, float]:
    """Return the reads and writes per second at *disk* that other volumes cause; *added*: the bitmap's of this one."""
    volume_part = ledger.share(context.device.name, (disk.name,))
    total = load.total.ios or 0.0
    rates = []
    for sent, flow, ours in (
        (volume_part.read, load.read, 0.0),
        (volume_part.write, load.write, added),
    ):
        known = sent.ios if sent.ios is not None else flow.ios
        rest = max(0.0, (flow.ios or 0.0) - (known or 0.0) - ours)
        rates.append(rest if rest > FEW * total else 0.0)
    return rates[0], rates[1]


def _crowd(load: Load, others: tuple[float, float]) -> int:
    """Return the requests of *others* in flight at a disk with *load*, by Little's law."""
    flows = zip(others, (load.read, load.write), strict=True)
    return round(sum(rate * (flow.await_ms or 0.0) * MILLI for rate, flow in flows))


def busiest_disk(path: str) -> Service:
    """Return the service of the disk with most requests in the capture at *path*; ``InputError`` if it has none."""
    host = CapturedHost(path)
    topology = discover(host, geometry=True)
    source = CaptureSource(host, geometry=True)
    whole = average_without_note(interval for _, interval in source.intervals())
    if whole is None:
        raise InputError(f"{path}: no interval, so no disk's latency is known")
    right = corrected(topology, whole)
    ledger = Ledger(topology, right.loads, right.seconds)
    disks = [d.name for d in topology if not topology.below(d.name) and d.name in right.loads]
    busiest = max(disks, key=lambda name: ledger.load(name).total.ios or 0.0, default="")
    trace = next(filter(None, (of(host) for of in additions("traced"))), None)
    ways = services(ledger, volume_context(topology, busiest), None, trace) if busiest else []
    if not ways:
        raise InputError(f"{path}: its disks were idle, or their await is unknown")
    return ways[0][0]._replace(others=(0.0, 0.0), crowd=0)
