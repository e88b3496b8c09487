"""
Corrects counters that the kernel is known to get wrong, before figures are derived from them.

A table of rules: each applies to certain devices (by target, attribute, or
figures that contradict each other) and is named in the report. A figure that
cannot be corrected becomes unknown. stackmap-kernel(7) has the measurements.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from stackmap.ledger import bcache
from stackmap.ledger.member_writes import doubled, flushes_sent
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, UNKNOWN_LOAD, Flow, Load, plus, sum_flows, sum_loads
from stackmap.model.topology import Topology, computed_once

LABEL_SCAN = 128 * 1024  # bytes that LVM reads of a PV at a time when it looks for its label
MOST_SCANS = 10.0  # of labels, per second
PASSING = ("linear", "striped", "crypt")  # targets below which only their own I/O happens
STUCK = 0.99  # busy for this share of the time
MILLISECONDS = 1000.0  # of a second
# Before (99dc422335d8), a short request counts as busy until the next tick of the kernel.
PRECISE_BUSY = (6, 10)
FEW_WRITES = 0.05  # of the requests and of the queue
LEAST_QUEUE = 0.1  # requests, printed with two decimals
MOST_IN_FLIGHT = 1e6  # requests; old kernels print 42933903.02 after their counter went below 0


class Rule(NamedTuple):
    """
    ``concerns``: whether it may ever apply to a device. ``correct`` returns the corrected load of
    such a device, or None where it does not apply.

    ``why``: for the man page and ``--why``. ``reported``: whether a report names it. ``of_idle``:
    whether it may correct ``IDLE``, the load of most devices.
    """

    name: str
    why: str
    concerns: Callable[[Topology, Device], bool]
    correct: Callable[[Topology, Device, Mapping[str, Load]], Load | None]
    reported: bool = True
    of_idle: bool = False


def corrected(
    topology: Topology, interval: Interval, only: Iterable[str] | None = None
) -> Interval:
    """
    Return *interval* with its loads corrected, and the name of each correction.

    *only*: the devices to correct; without it all devices of the topology.
    """
    loads, done = corrected_loads(topology, interval, interval.loads, only)
    if loads is interval.loads and not interval.corrections:
        return interval
    return replace(interval, loads=loads, corrections=tuple(sorted(done)))


def corrected_loads(
    topology: Topology,
    interval: Interval,
    loads: Mapping[str, Load],
    only: Iterable[str] | None = None,
) -> tuple[Mapping[str, Load], list[str]]:
    """Return *loads*, a part of *interval*'s, corrected, and the corrections; the same mapping if none applied."""
    if interval.clock is not None or interval.time is None:  # a text; counters have all partitions
        missing = (
            p for p, d in _only_partitions(topology).items() if p not in loads and d in loads
        )
        if unprinted := dict.fromkeys(missing, UNKNOWN_LOAD):
            loads = {**loads, **unprinted}
    wanted = loads.keys() if only is None else [name for name in only if name in loads]
    busy = [name for name in wanted if loads[name] is not IDLE]
    done: list[str] = []
    for rule, names in _concerned(topology).items():
        if not names:
            continue
        changed = {
            name: load
            for name in (wanted if rule.of_idle else busy)
            if name in names and (load := rule.correct(topology, topology[name], loads)) is not None
        }
        if changed:
            loads = {**loads, **changed}
            done += (f"{rule.name}: {name}" for name in changed if rule.reported)
    return loads, done


@computed_once
def _concerned(topology: Topology) -> Mapping[Rule, frozenset[str]]:
    """Return the devices that each rule may apply to; kept with the topology."""
    return {
        rule: frozenset(n for n, d in topology.devices.items() if rule.concerns(topology, d))
        for rule in RULES
    }


@computed_once
def _only_partitions(topology: Topology) -> Mapping[str, str]:
    """
    Return the disk of each partition that is the only user of its disk; kept with the topology.

    A text may name some partitions only: where there is a second one, there is a first one.
    """
    disk_of = {}
    for device in topology:
        below = [edge.below for edge in topology.below(device.name)]
        if device.kind is not Kind.PARTITION or len(below) != 1:
            continue
        is_first = device.name.removeprefix(below[0]).lstrip("p") == "1"
        if is_first and len(topology.above(below[0])) == 1:
            disk_of[device.name] = below[0]
    return disk_of


def _unprinted(topology: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    disk = _only_partitions(topology).get(device.name, "")
    return loads.get(disk) if loads[device.name] == UNKNOWN_LOAD else None


def _mostly_reads(_: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load = loads[device.name]
    read, write, queue = load.read, load.write, load.aqu
    if load.whole is not None or write.wait is not None or not (read.ios and read.wait and queue):
        return None
    if (write.ios or 0.0) > FEW_WRITES * read.ios or queue < LEAST_QUEUE:
        return None
    if abs(read.wait / MILLISECONDS - queue) > FEW_WRITES * queue:  # in flight = rate × await
        return None
    sent = read.ios + (write.ios or 0.0)
    moved = None if read.bytes is None else read.bytes + (write.bytes or 0.0)
    return load._replace(whole=Flow(sent, None, moved, read.wait * sent / read.ios))


def _never_merges(_: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load = loads[device.name]
    known = load.read.merges is not None and load.write.merges is not None
    known = known or (load.whole is not None and load.whole.merges is not None)
    return None if known else load.without_merges()


def _raid_doubled(topology: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load = loads[device.name]
    if device.queue.iostats is None and not doubled(topology, device, loads):
        return None
    if gauge := load.in_flight_at_ends:
        load = load._replace(in_flight_at_ends=(gauge + 1) // 2)
    if load.idle:  # and what is in flight hangs, or has only begun
        return load if gauge else None
    half, flushes = load.scaled(0.5), _flushes(topology, device, loads)
    late = _flush_time(topology, device, loads, half, flushes) / 2
    return half._replace(
        write=half.write._replace(
            ios=plus(half.write.ios, flushes / 2), wait=plus(half.write.wait, late)
        ),
        aqu=None if load.aqu is None else load.aqu / 2 + late / MILLISECONDS,
    )


def _perhaps_doubled(topology: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load = loads[device.name]
    return load if not load.idle and doubled(topology, device, loads) is None else None


def _may_be_doubled(topology: Topology, device: Device) -> bool:
    return counted_twice(topology, device) is not False


def counted_twice(topology: Topology, device: Device) -> bool | None:
    """
    Return whether it is an LVM RAID volume on a kernel that counts those twice where iostats is 1.

    None where the attribute is unknown: then only the load of its members can tell.
    """
    machine, known = topology.machine, device.queue.iostats is not None
    possible = (
        device.target == "raid"
        and device.queue.iostats is not False
        and (machine.release >= (5, 14) or not (machine.kernel or known))
    )
    return (True if known else None) if possible else False


def _flushes(topology: Topology, device: Device, loads: Mapping[str, Load]) -> float:
    """Return the empty flushes among the writes of a doubled volume: they are counted once."""
    if device.layout is None or device.state != "active":
        return 0.0  # writes of background work look like flushes
    members = topology.used_by(device.name, Role.DATA)
    flows = [loads.get(name, UNKNOWN_LOAD).write for name in members]
    return flushes_sent(device.layout, loads[device.name].write, flows, times=2)


def _flush_time(
    topology: Topology, device: Device, loads: Mapping[str, Load], half: Load, flushes: float
) -> float:
    """
    Return the milliseconds per second of the empty *flushes* of a doubled volume, at least.

    They are counted once, so *half* has half of their time, and no counter has it by itself. Each waits for a
    flush of every disk. The volume's own times together are no less than the time in which it was busy, and
    with one request in flight they are that time.
    """
    read, written = half.read.wait, half.write.wait
    if not flushes or written is None:
        return 0.0
    disks = (loads.get(name, UNKNOWN_LOAD).flush for name in topology.disks_of(device.name))
    least = flushes * max((flow.await_ms or 0.0 for flow in disks), default=0.0)
    precise = topology.machine.release >= PRECISE_BUSY
    if precise and half.busy is not None and read is not None:
        least = max(least, 2 * (half.busy * MILLISECONDS - read - written))
    return min(least, 2 * written)


def _uncounted(topology: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    if not loads[device.name].idle:
        return None
    honoured = uncounted(topology, device)
    # Below other targets, copies, resyncs and write-backs move data without any I/O above.
    passes = device.target in PASSING and _moved_below(topology, device.name, loads)
    moved = passes or _moved_above(topology, device, loads)
    return UNKNOWN_LOAD if honoured or moved else None


def uncounted(topology: Topology, device: Device) -> bool:
    """Whether its ``queue/iostats`` is 0 and the kernel honours that."""
    # Before 6.5 bio-based dm ignores the attribute: it reads 0 and counters work.
    since = (5, 14) if device.kind is Kind.ARRAY else (6, 5)
    return device.queue.iostats is False and (device.merges or topology.machine.release >= since)


HEADS_COUNT = (6, 2)  # the kernel since which the head of an NVMe disk's paths counts


def counting(topology: Topology, device: Device) -> frozenset[str]:
    """Return the devices whose counters show the I/O of *device*: itself, or the paths of an NVMe disk."""
    paths = topology.used_by(device.name, Role.PATH) if device.kind is Kind.DISK else []
    is_old = (0, 0) < topology.machine.release < HEADS_COUNT
    return frozenset(paths if paths and (is_old or uncounted(topology, device)) else [device.name])


def _moved_above(topology: Topology, device: Device, loads: Mapping[str, Load]) -> bool:
    """Whether an array wrote above *device*, a disk: every member would be written to."""
    arrays = (
        edge.above
        for edge in topology.above(device.name)
        if edge.role is Role.DATA and topology[edge.above].layout is not None
    )
    return device.kind is Kind.DISK and any(
        (loads[name].write.ios or 0.0) > 0 for name in arrays if name in loads
    )


def _moved_below(topology: Topology, name: str, loads: Mapping[str, Load]) -> bool:
    """Whether a device below, used by no other device, did something."""
    exclusive = (
        edge.below
        for edge in topology.below(name)
        if edge.role is not Role.METADATA and len(topology.above(edge.below)) == 1
    )
    return any(
        below in loads and not loads[below].idle and not _only_scanned(loads[below])
        for below in exclusive
    )


def _only_scanned(load: Load) -> bool:
    """Whether nothing but label scans happened: LVM reads 128 KiB of each PV past the volumes."""
    size, few = load.read.size, (load.read.ios or 0.0) <= MOST_SCANS
    return load.write.ios == 0 and few and size is not None and abs(size / LABEL_SCAN - 1) <= 0.01


def _head_uncounted(topology: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load, old = loads[device.name], topology.machine.release < HEADS_COUNT
    may_not_count = device.kind is Kind.DISK and (old or device.queue.iostats is not True)
    if load != UNKNOWN_LOAD and not (load.idle and may_not_count):
        return None
    paths = [edge.below for edge in topology.below(device.name) if edge.role is Role.PATH]
    known = [loads[path] for path in paths if path in loads]
    if all(load.idle for load in known):
        return None
    return sum_loads(known) if len(known) == len(paths) else UNKNOWN_LOAD


def _flush_reads(topology: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    heads = [edge.above for edge in topology.above(device.name) if edge.role is Role.PATH]
    if len(heads) != 1 or heads[0] not in loads:
        return None
    head, load = loads[heads[0]], loads[device.name]
    paths = [loads[e.below] for e in topology.below(heads[0]) if e.below in loads]
    arrived = sum_flows(path.read for path in paths).arrivals
    flushed, asked = head.flush.ios, head.read.ios
    if not flushed or arrived is None or asked is None or not load.read.ios or arrived <= asked:
        return None
    kept = max(0.0, 1 - (arrived - asked) / arrived)
    return load._replace(read=load.read._replace(ios=load.read.ios * kept))


def _bypassed(topology: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load, least = loads[device.name], bcache.least_written(topology, device, loads)
    trimmed = bcache.discarded(topology, device, loads)
    if least is None and not trimmed:
        return None
    write = load.write if least is None else load.write._replace(bytes=least)
    return load._replace(
        write=write, discard=load.discard._replace(bytes=trimmed or load.discard.bytes)
    )


def _stuck(_: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load = loads[device.name]
    if not load.idle or (load.busy or 0.0) < STUCK:
        return None
    # If none completed, those in flight are the mean queue: a text has no other count of them.
    gauge, queue = load.in_flight_at_ends, load.aqu or 0.0
    if gauge is None and 1 <= queue < MOST_IN_FLIGHT:
        gauge = round(2 * queue)
    return load._replace(aqu=None, busy=None, in_flight_at_ends=gauge)


def _untimed(_: Topology, device: Device, loads: Mapping[str, Load]) -> Load | None:
    load = loads[device.name]
    if load.idle or load.total.wait != 0 or load.aqu:
        return None
    read, write = (flow._replace(wait=None) for flow in (load.read, load.write))
    return load._replace(read=read, write=write, aqu=None, busy=None)


RULES = (
    Rule(
        "mostly-reads",
        "the text has no await of writes, and reads are at least 95 % of the requests in flight: their await "
        "stands for all requests",
        lambda _, __: True,
        _mostly_reads,
    ),
    Rule(
        "partition-not-printed",
        "the only partition of a disk has the figures of the disk: iostat -x prints no partitions",
        lambda topology, device: device.name in _only_partitions(topology),
        _unprinted,
    ),
    Rule(
        "never-merges",
        "bio-based dm and md devices never merge: missing merges are 0",
        lambda _, device: not device.merges,
        _never_merges,
        reported=False,
    ),
    Rule(
        "perhaps-doubled",
        "queue/iostats of this LVM RAID volume is unknown, and its members do not show it: its "
        "figures may be doubled",
        lambda topology, device: device.queue.iostats is None and _may_be_doubled(topology, device),
        _perhaps_doubled,
    ),
    Rule(
        "dm-raid-doubled",
        "if queue/iostats is 1, Linux 5.14 and later counts each I/O of an LVM RAID volume twice, "
        "in dm and in md: its figures are halved. If queue/iostats is unknown, the members show "
        "it: a RAID never writes less than its volume. Empty flushes are counted once: their number "
        "is that of the members. Their time is estimated by the flushes of the disks and by the time "
        "in which the volume was busy; with several requests in flight it may be more",
        _may_be_doubled,
        _raid_doubled,
    ),
    Rule(
        "not-counted",
        "queue/iostats is 0 and the counters do not change: its I/O is unknown, not 0",
        lambda _, device: device.queue.iostats is False,
        _uncounted,
        of_idle=True,
    ),
    Rule(
        "head-not-counted",
        "before Linux 6.2, or with queue/iostats 0, a multipath NVMe head counts nothing; its hidden paths do: it has the "
        "sum of their counters",
        lambda topology, device: any(e.role is Role.PATH for e in topology.below(device.name)),
        _head_uncounted,
        of_idle=True,
    ),
    Rule(
        "flush-as-read",
        "an empty flush is a read of 0 sectors on a multipath path: subtracted",
        lambda topology, device: any(e.role is Role.PATH for e in topology.above(device.name)),
        _flush_reads,
    ),
    Rule(
        "bcache-bypassed",
        "since Linux 6.4 bcache counts writes and discards that bypass its cache with 0 bytes: they are "
        "those of its backing device, but for dirty data that was written back",
        lambda _, device: device.kind is Kind.BCACHE,
        _bypassed,
    ),
    Rule(
        "stuck-in-flight",
        "busy all the time with nothing completed: the count of requests in flight is stuck, so "
        "queue depth and busy% are unknown",
        lambda _, __: True,
        _stuck,
    ),
    Rule(
        "md-untimed",
        "this kernel counts md's requests but not their time: await and queue depth are unknown",
        lambda _, device: device.kind is Kind.ARRAY,
        _untimed,
    ),
)
