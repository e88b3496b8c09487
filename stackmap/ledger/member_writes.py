"""
Writes of an array's members that are not data: its own bitmap, and empty flushes.

md keeps an internal bitmap on its members, without a device of its own (LVM
has one: rmeta), and no counter tells its writes apart. A bitmap write goes to
every member alike, and the array's own writes need at least so many writes:

    mirrors        copies × writes: of the rest, bitmap and superblock have bytes, empty flushes none
    parity levels  ideal bytes ÷ a page; data is written in whole pages there,
                   so writes smaller than a page are something else

An empty flush is a write of 0 sectors, at the volume and once at every data member, and
device-mapper has no counter of them. On parity levels a member's write carries
one page, so a write without one was a flush. On other levels, with c copies on
n members, d writes and e flushes are ``c d + n e`` writes of the members, and
``d + e`` of the volume; of a volume that is counted twice ``2 d + e``, for
flushes are counted once.

Whether a volume is counted twice must be judged where ``queue/iostats`` is unknown, as in a
text. No RAID level writes less to its members than its layout needs, nor reads less than was
read above.
"""

from collections.abc import Mapping

from stackmap.ledger.amounts import Amount, Share, Traffic, share_of_all
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import POOL
from stackmap.model.load import UNKNOWN_LOAD, Flow, Load, ratio, sum_flows, total_of
from stackmap.model.raid import LOCKLESS, PAGE, Layout
from stackmap.model.topology import Edge, Topology

LEAST_BLOCK = 512  # bytes that a disk writes at least
SUPERBLOCK = 256  # bytes of the bitmap's superblock, before its first bit


def has_bitmap(device: Device) -> bool:
    """Whether *device* writes a bitmap to its data members."""
    return device.facts.get("consistency") == "bitmap"


def share_with_bitmap(
    topology: Topology, loads: Mapping[str, Load], array: str, member: str
) -> Share:
    """Return everything *member* did as the share of *array*; its writes are a range, less the bitmap's."""
    most = max_bitmap_writes(topology, loads, topology[array])
    size = bitmap_write_size(topology, topology[array])
    whole = share_of_all(loads[member])
    written = {d: _with_range(whole.part(d), most, size) for d in ("write", "total")}
    return whole._replace(parts={**whole.parts, **written})


def max_bitmap_bytes(topology: Topology, loads: Mapping[str, Load], array: Device) -> float:
    """Return the bytes per second of all bitmap writes *array* can have made; 0 without a bitmap."""
    if not has_bitmap(array):
        return 0.0
    per_member = max_bitmap_writes(topology, loads, array) * bitmap_write_size(topology, array)
    return sum(min(per_member, flow.bytes or 0.0) for flow in _written(topology, loads, array))


def max_bitmap_writes(topology: Topology, loads: Mapping[str, Load], array: Device) -> float:
    """Return how many bitmap writes per second *array* can have made to each member."""
    flows = _written(topology, loads, array)
    arrived = [flow.arrivals for flow in flows if flow.arrivals is not None]
    if not arrived or len(arrived) < len(flows):
        return float("inf")
    most = min(arrived)
    own = loads.get(array.name)
    # With a member missing or resyncing, the array's own writes do not tell what its members need.
    if array.layout is None or own is None or array.state != "active":
        return most
    needed = _needed(array.layout, own.write)
    if needed is not None:
        most = min(most, max(0.0, (sum(arrived) - needed) / len(arrived)))
    size = bitmap_write_size(topology, array)
    moved = total_of(flow.bytes for flow in flows)
    if not array.layout.parity and moved is not None and own.write.bytes is not None:
        # Of the writes beyond the copies, those with bytes: the others are empty flushes.
        beyond = moved - array.layout.copies * own.write.bytes
        smallest = size if _block_size(topology, array.name) else LEAST_BLOCK
        most = min(most, max(0.0, beyond / len(flows) / smallest))
    if array.layout.parity and size < PAGE:
        # Writes beyond those whose bytes fill whole pages.
        smaller = min(
            max(0.0, (flow.arrivals or 0.0) - (flow.bytes or 0.0) / PAGE) for flow in flows
        )
        most = min(most, smaller / (1 - size / PAGE))
    return most


def flushes_below(topology: Topology, loads: Mapping[str, Load], edge: Edge) -> float:
    """Return the empty flushes per second that came down *edge*; 0 where counters do not show them."""
    above, below = topology[edge.above], loads.get(edge.below, UNKNOWN_LOAD).write
    if below.arrivals is None or below.bytes is None:
        return 0.0
    if edge.role is Role.METADATA:
        known = above.layout is None or above.fact_number("region")
        size = bitmap_write_size(topology, above) if above.layout is not None else PAGE
        block = size if known and (above.layout or above.target in (POOL, "cache")) else 0
        return max(0.0, below.arrivals - below.bytes / block) if block else 0.0
    if edge.role is not Role.DATA:
        return 0.0
    if above.target == POOL:  # with each commit of its metadata, beside those that its volumes sent
        sent = loads.get(edge.above, UNKNOWN_LOAD).write.ios
        return 0.0 if sent is None else max(0.0, below.arrivals - sent)
    return member_flushes(topology, loads, above) if above.layout is not None else 0.0


def member_flushes(topology: Topology, loads: Mapping[str, Load], array: Device) -> float:
    """Return the empty flushes per second to each data member of *array*; 0 where counters do not show them."""
    if array.layout is None or array.name not in loads or array.state != "active":
        return 0.0
    bitmap = has_bitmap(array)
    if bitmap and array.layout.parity:  # a page of the bitmap looks the same
        return 0.0
    flushes = flushes_sent(
        array.layout,
        loads[array.name].write,
        _written(topology, loads, array),
        counted=array.kind is not Kind.ARRAY,
    )
    return max(0.0, flushes - (max_bitmap_writes(topology, loads, array) if bitmap else 0.0))


def bitmap_write_size(topology: Topology, array: Device) -> int:
    """Return the bytes of one bitmap write: a page, or less where the whole bitmap is smaller or lockless."""
    block = _block_size(topology, array.name)
    if block and array.facts.get("bitmap") == LOCKLESS:  # md-llbitmap.c: io_size
        return min(block, PAGE)
    region = array.fact_number("region")
    if not block or not region or not array.size or array.layout is None:
        return PAGE
    bits = -(-array.size // array.layout.data // region)
    size = -(-(SUPERBLOCK + -(-bits // 8)) // block) * block
    return min(size, PAGE)


def _written(topology: Topology, loads: Mapping[str, Load], array: Device) -> list[Flow]:
    members = topology.used_by(array.name, Role.DATA)
    return [loads.get(name, UNKNOWN_LOAD).write for name in members]


def _needed(layout: Layout, writes: Flow) -> float | None:
    """Return the fewest writes, of all members together, that the array's *writes* need."""
    if layout.parity:
        return None if writes.bytes is None else layout.ideal_write * writes.bytes / PAGE
    return None if writes.ios is None else layout.copies * writes.ios


def _block_size(topology: Topology, name: str) -> int:
    """Return the largest logical block of the disks below; 0 if one is unknown."""
    leaves = topology.disks_of(name)
    sizes = [topology[n].queue.logical_block_size or 0 for n in leaves]
    return 0 if 0 in sizes else max(sizes, default=0)


def _with_range(arrived: Traffic, most: float, size: int) -> Traffic:
    """Return *arrived* as a range: up to *most* of it per second are bitmap writes of *size* bytes."""
    if not most or arrived.arrivals is None:
        return arrived
    fewer = max(0.0, arrived.arrivals - most)
    moved = None if arrived.bytes is None else max(0.0, arrived.bytes - most * size)
    return arrived._replace(low=Amount(fewer, moved), high=Amount(arrived.arrivals, arrived.bytes))


TOLERANCE = 0.1  # for requests in flight when the counters were read


def flushes_sent(
    layout: Layout, volume: Flow, members: list[Flow], *, times: int = 1, counted: bool = True
) -> float:
    """
    Return the empty flushes per second among the writes of a *volume* that counts other writes so many *times*.

    *counted*: whether flushes are among its writes, as a volume's are, once, and md's own are not. 0 where the
    counters do not tell: where every member is a copy, a flush looks like a write.
    """
    sent = [member.arrivals for member in members if member.arrivals is not None]
    if volume.ios is None or not members or len(sent) < len(members):
        return 0.0
    if layout.parity:
        # The writes without a page, at the member with the fewest.
        pairs = zip(sent, members, strict=True)
        flushes = min(requests - (member.bytes or 0.0) / PAGE for requests, member in pairs)
    else:
        more = times * len(members) - (layout.copies if counted else 0)
        flushes = (times * sum(sent) - layout.copies * volume.ios) / more if more else 0.0
    return min(volume.ios if counted else flushes, max(0.0, flushes))


def doubled(topology: Topology, device: Device, loads: Mapping[str, Load]) -> bool | None:
    """Return whether *device* was counted twice; None where its members do not tell."""
    below = topology.used_by(device.name, Role.DATA)
    if device.state not in (None, "active") or not below or not loads.keys() >= set(below):
        return None
    load = loads[device.name]
    members = [loads[name] for name in below]
    if load.write.ios or load.write.bytes:
        return _by_writes(
            device, ratio(sum_flows(m.write for m in members).bytes, load.write.bytes)
        )
    read = ratio(sum_flows(m.read for m in members).bytes, load.read.bytes)
    return None if read is None else read < 1 - TOLERANCE


def _by_writes(device: Device, written: float | None) -> bool | None:
    """Judge by the bytes *written* below per byte above: fewest for full stripes, most for single pages."""
    layout = device.layout
    fewest = 1.0 if layout is None else layout.ideal_write
    if written is None:
        return None
    if written < fewest * (1 - TOLERANCE):
        return True
    if layout is None:
        return None
    most = 1 + layout.parity if layout.parity else layout.copies
    return False if written > most / 2 * (1 + TOLERANCE) else None
