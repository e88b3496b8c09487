"""
What a host exports: its stacks, states, findings and topology, as families of metrics and as text.

The text is for node_exporter's textfile collector: no timestamps, no ``# EOF``.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.features.export.time_series import escaped, labels
from stackmap.features.export.weights import DISKS, Stack, lasting_uuid
from stackmap.ledger.device_state import is_degraded, is_working
from stackmap.ledger.expected import by_layer
from stackmap.ledger.layers import layers
from stackmap.ledger.sent import divides
from stackmap.model import exported
from stackmap.model.device import Device, Kind
from stackmap.model.health import Health, errors
from stackmap.model.interval import Counters
from stackmap.model.raid import DEGRADED, NOT_IN_SYNC, Layout
from stackmap.model.topology import Topology
from stackmap.rules.rule import Finding, Severity
from stackmap.rules.state import BROKEN as BROKEN_WORDS

Sample = tuple[Mapping[str, str], float]
BROKEN = frozenset({"SM301", "SM306"})  # broken, and suspended
SUSPENDED = "suspended"
# Words in the state of a device that is more than degraded.
HARMED = tuple(word for word in BROKEN_WORDS if word not in (DEGRADED, NOT_IN_SYNC))
FIRST = "# Written by stackmap export --textfile; it replaces only files with this line.\n"


class Family(NamedTuple):
    """A metric and its samples. ``type``: "gauge" or "counter"."""

    name: str
    type: str
    help: str
    samples: tuple[Sample, ...]


class Exported(NamedTuple):
    """
    What is exported of one host; ``time``: when the topology was read, seconds since the epoch.

    ``slow``: members that ``explain`` calls slow, with await ÷ the median of their peers; ``hung``: devices
    that complete nothing. None if there are no samples of ten minutes yet.
    """

    topology: Topology
    stacks: tuple[Stack, ...]
    findings: tuple[Finding, ...]
    counters: Mapping[str, Counters]
    time: float
    version: str
    slow: Mapping[str, float] | None = None
    hung: Collection[str] | None = None


# By the end of its name: the help of a metric, and its value; None if unknown.
RAID_FIGURES: tuple[tuple[str, str, Callable[[Device, Layout], float | None]], ...] = (
    ("members", "Members of the RAID of a stack.", lambda _, shape: shape.members),
    ("parity_members", "Of them, how many hold parity.", lambda _, shape: shape.parity),
    ("chunk_bytes", "Chunk size of the RAID of a stack.", lambda _, shape: shape.chunk or None),
    ("sync_active", "Whether its RAID resyncs, checks or reshapes (1) or not (0).",
     lambda raid, _: None if raid.state is None else is_working(raid)),
    ("degraded", "Whether its RAID lacks a member (1) or not (0).",
     lambda raid, _: None if raid.state is None else is_degraded(raid)),
)  # fmt: skip


def families(host: Exported) -> list[Family]:
    """Return the families of *host*, without empty ones."""
    groups = [
        *_stack_families(host.topology, host.stacks),
        *_state_families(host.topology),
        _findings(host.findings),
        _broken(host),
        *_slow_families(host),
        *_hung_families(host),
        *_topology_families(host.topology),
        *counted(host),
        _gauge(
            exported.BUILD, "stackmap's version and the kernel's.",
            [({"version": host.version, "kernel": host.topology.machine.kernel}, 1)],
        ),
    ]  # fmt: skip
    return [family for family in groups if family.samples]


def counted(host: Exported) -> list[Family]:
    """Return the families that change with every reading: the counters of devices that node_exporter leaves out."""
    used = {name for stack in host.stacks for name in host.topology.with_all_below(stack.top.name)}
    names = sorted(n for n in used & host.counters.keys() if not exported.is_exported(n))
    counters = []
    for counter in exported.COUNTERS:
        values = {name: getattr(host.counters[name], counter.field) for name in names}
        help_ = f"{counter.help} As node_exporter's, for devices that it leaves out."
        samples = tuple(
            ({"device": n}, v / counter.unit) for n, v in values.items() if v is not None
        )
        counters.append(Family(exported.OWN + counter.name, "counter", help_, samples))
    in_flight = (({"device": name}, host.counters[name].in_flight) for name in names)
    counters.append(_gauge(exported.OWN + exported.IN_FLIGHT, "Requests in flight.", in_flight))
    counters.append(
        _gauge(exported.TIMESTAMP, "When stackmap read the topology.", [({}, host.time)])
    )
    return [family for family in counters if family.samples]


def _gauge(name: str, help_: str, samples: Iterable[Sample]) -> Family:
    return Family(name, "gauge", help_, tuple(samples))


def _stack_families(topology: Topology, stacks: Iterable[Stack]) -> Iterator[Family]:
    stacks = tuple(stacks)
    yield _gauge(
        "stackmap_layer_weight",
        "Factor for the counters of device, whose sum is what the stack of top did at layer.",
        (
            ({**_of(stack), "layer": w.layer, "role": w.role, "device": w.device}, w.factor)
            for stack in stacks
            for w in stack.weights
        ),
    )
    disks = dict.fromkeys(pair for stack in stacks for pair in stack.disks)
    yield _gauge(
        "stackmap_device_disk_info",
        "The disk that device sends all its requests to.",
        (({"device": device, "disk": disk}, 1) for device, disk in disks),
    )
    yield _gauge(
        "stackmap_stack_info",
        "A stack: its top, its kind and its RAID level, the uuid of LVM or md, and whether several stacks share it.",
        (
            ({**_of(s), "kind": str(Kind.DISK if s.plain else s.top.kind), "level": s.shape.level if s.shape else "", **_identity(s)}, 1)
            for s in stacks
        ),
    )  # fmt: skip
    raids = [(_of(s), s.raid, s.shape) for s in stacks if s.raid and s.shape]
    for name, help_, figure in RAID_FIGURES:
        figures = ((of, figure(raid, shape)) for of, raid, shape in raids)
        known = ((of, value) for of, value in figures if value is not None)
        yield _gauge(f"stackmap_stack_{name}", help_, known)
    yield _gauge(
        "stackmap_stack_ideal_write_ratio",
        "Least bytes the disks write per byte written to the stack, by its layout.",
        ((_of(s), least) for s in stacks if (least := ideal_write(topology, s)) is not None),
    )


def _of(stack: Stack) -> dict[str, str]:
    return {"top": stack.top.name, "name": stack.top.title}


def _identity(stack: Stack) -> dict[str, str]:
    """Return the UUID of an LV or array, and whether stacks share it; a WWN is a serial number, and stays here."""
    facts = {"uuid": lasting_uuid(stack.top), "shared": "1" if stack.shared else ""}
    return {key: value for key, value in facts.items() if value}


def ideal_write(topology: Topology, stack: Stack) -> float | None:
    """Return the least bytes written at the disks per byte at the top; None if the traffic there is unknown."""
    if not any(weight.layer == DISKS for weight in stack.weights):
        return None
    levels = layers(topology, stack.top.name)
    known = by_layer(topology, levels)[levels[-1]]
    return None if known is None else known.write[0]


# By name of the metric: the dm target, a count, the count it is a part of, and the help. FULL_OF: what may become full.
RATIOS = (
    ("thin_pool_data_used", "thin-pool", "data_used", "data_total", "Used share of a thin pool's data."),
    ("thin_pool_metadata_used", "thin-pool", "metadata_used", "metadata_total", "Used share of its metadata."),
    ("vdo_pool_used", "vdo", "data_used", "data_total", "Used share of a VDO pool."),
    ("snapshot_used", "snapshot", "used", "total", "Used share of a snapshot's space."),
    ("cache_used", "cache", "used", "total", "Used share of a cache."),
    ("cache_dirty", "cache", "dirty", "total", "Share of a cache that is not yet written back."),
)  # fmt: skip
FULL_OF = {
    "thin_pool_data_used": "data", "thin_pool_metadata_used": "metadata", "vdo_pool_used": "data", "snapshot_used": "space",
}  # fmt: skip
CACHE_COUNTS = (
    "read_hits", "read_misses", "write_hits", "write_misses", "demotions", "promotions",
)  # fmt: skip


def _state_families(topology: Topology) -> Iterator[Family]:
    devices = [device for device in topology if device.counts]
    shares = [(device, name, share) for device in devices for name, share in _shares(device)]
    for name, _, _, _, help_ in RATIOS:
        used = ((_device(device), share) for device, of, share in shares if of == name)
        yield _gauge(f"stackmap_{name}_ratio", help_, used)
    for name in CACHE_COUNTS:
        yield Family(
            f"stackmap_cache_{name}_total",
            "counter",
            f"{name.replace('_', ' ').capitalize()} of a cache since its table was loaded.",
            tuple(
                (_device(device), device.counts[name])
                for device in devices
                if name in device.counts
            ),
        )
    yield _gauge(
        "stackmap_device_errors",
        "Errors of device that the kernel counted: see stackmap-tree(8).",
        (
            ({**_device(device), "error": key}, number)
            for device in topology
            for key, number in errors(device.counts).items()
        ),
    )


def _shares(device: Device) -> Iterator[tuple[str, float]]:
    counts = device.counts
    for name, target, used, total, _ in RATIOS:
        if device.target == target and used in counts and counts.get(total):
            yield name, counts[used] / counts[total]


def fullest(device: Device) -> tuple[float | None, str]:
    """Return the used share of the fullest space, and its name; None and "" without any."""
    spaces = ((share, FULL_OF[name]) for name, share in _shares(device) if name in FULL_OF)
    return max(spaces, default=(None, ""))


def lasting_state(device: Device) -> str:
    """Return the words of its state, without how far it is."""
    words = (device.state or "").split()
    return " ".join(word for word in words if word != "%" and not word[0].isdigit())


def _device(device: Device) -> dict[str, str]:
    return {"device": device.name, "name": device.title}


def _findings(findings: Iterable[Finding]) -> Family:
    rows = dict.fromkeys(
        (finding.rule.id, finding.rule.name, str(finding.severity), finding.device)
        for finding in findings
        if finding.severity is not Severity.GOOD
    )
    keys = ("id", "rule", "severity", "device")
    return _gauge(
        "stackmap_finding",
        "A finding of stackmap check on device.",
        ((dict(zip(keys, row, strict=True)), 1) for row in rows),
    )


def _broken(host: Exported) -> Family:
    """Return the devices that ``check`` calls broken: degraded while their data is there."""
    broken = dict.fromkeys(finding.device for finding in host.findings if finding.rule.id in BROKEN)
    troubles = ((host.topology[name], trouble_of(host.topology, name)) for name in broken)
    return _gauge(
        "stackmap_broken",
        "A device that stackmap check calls broken: degraded, failed, or hung (suspended).",
        (({**_device(device), "what": what}, 1) for device, what in troubles),
    )


def trouble_of(topology: Topology, name: str) -> str:
    """Return the state of a device that ``check`` calls broken: degraded, failed, or hung (suspended)."""
    state = topology[name].state or ""
    if SUSPENDED in state:
        return "hung"
    return "failed" if any(word in state for word in HARMED) else "degraded"


def _hung_families(host: Exported) -> Iterator[Family]:
    """Yield the devices that hang, and how many; nothing while unknown."""
    if host.hung is None:
        return
    help_ = "A device with requests in flight of which none completes, as explain says."
    hung = ((_device(host.topology[name]), 1) for name in host.hung)
    yield _gauge("stackmap_device_hung", help_, hung)
    yield _gauge("stackmap_hung_devices", "How many devices hang.", [({}, len(host.hung))])


def _slow_families(host: Exported) -> Iterator[Family]:
    """Yield the slow members of each stack with a RAID of its own, and how many it has; nothing while unknown."""
    if host.slow is None:
        return
    below = host.topology.with_all_below
    slow_members = [
        (_of(s), [name for name in below(s.raid.name) if name in host.slow])
        for s in host.stacks
        if s.raid
    ]
    yield _gauge(
        "stackmap_stack_slow_members",
        "Members of the RAID of a stack that explain calls slow, by the last 10 minutes.",
        ((of, len(names)) for of, names in slow_members),
    )
    yield _gauge(
        "stackmap_slow_member_ratio",
        "Await of a member that explain calls slow, divided by the median of its peers.",
        (({**of, "device": name}, host.slow[name]) for of, names in slow_members for name in names),
    )


def wear_families(
    topology: Topology, health: Mapping[str, Health], time: float
) -> Iterator[Family]:
    """Yield the used life that disks report; *time*: when they were asked, exported even if none knows."""
    known = [(_device(topology[name]), told) for name, told in health.items()]
    yield _gauge(
        exported.LIFE_USED,
        "Used share of the rated life of a disk, as it says itself; it goes on above 1.",
        ((of, told.used) for of, told in known if told.used is not None),
    )
    yield Family(
        exported.LIFE_WRITTEN,
        "counter",
        "Bytes that hosts wrote to a disk since it was made, as it says itself.",
        tuple((of, told.written) for of, told in known if told.written is not None),
    )
    yield _gauge(exported.WEAR_TIMESTAMP, "When stackmap asked the disks.", [({}, time)])


def _topology_families(topology: Topology) -> Iterator[Family]:
    yield _gauge(
        exported.INFO, "A block device: what it is, and its state.",
        ((_facts(device), 1) for device in topology),
    )  # fmt: skip
    edges = dict.fromkeys(topology.edges)
    ends = dict.fromkeys((edge.above, edge.below, str(edge.role)) for edge in edges)
    yield _gauge(
        exported.EDGE, "The device above uses the device below as its role.",
        (({"above": above, "below": below, "role": role}, 1) for above, below, role in ends),
    )  # fmt: skip
    lengths: dict[tuple[str, str, str], float] = {}
    for edge in edges:
        if edge.length is not None and divides(topology, edge):
            key = edge.above, edge.below, str(edge.role)
            lengths[key] = lengths.get(key, 0.0) + edge.length
    yield _gauge(
        exported.EDGE_BYTES, "Bytes of above that lie on below, where it lies on several devices.",
        (({"above": a, "below": b, "role": role}, size) for (a, b, role), size in lengths.items()),
    )  # fmt: skip


def _facts(device: Device) -> dict[str, str]:
    """Return the facts from which a topology is made again: no serial number, and no figure that changes often."""
    shape = device.layout
    facts = {
        **_device(device),
        "kind": str(device.kind),
        "target": device.target,
        "state": lasting_state(device),
        "merges": "1" if device.merges else "",
        "iostats": "" if device.queue.iostats is None else str(int(device.queue.iostats)),
        "rotational": "" if device.rotational is None else str(int(device.rotational)),
        "size": "" if device.size is None else str(device.size),
    }
    if shape is not None:
        facts |= {
            "level": shape.level,
            "variant": shape.variant,
            "members": str(shape.members),
            "copies": str(shape.copies),
            "chunk": "" if shape.chunk is None else str(shape.chunk),
        }
    return {key: value for key, value in facts.items() if value}


def textfile(families: Iterable[Family]) -> Iterator[str]:
    """Yield the text, one family at a time."""
    yield FIRST
    for name, type_, help_, samples in families:
        yield f"# HELP {name} {escaped(help_)}\n# TYPE {name} {type_}\n"
        yield "".join(
            f"{name}{labels(names) if names else ''} {value:.17g}\n" for names, value in samples
        )
