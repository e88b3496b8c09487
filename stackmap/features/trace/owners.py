"""``blame --trace``: the control groups and processes whose requests reach each layer during a measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, Self

from stackmap.document.blocks import (
    Block,
    Column,
    Headline,
    Label,
    Paragraph,
    Row,
    Rows,
    Table,
    Value,
)
from stackmap.document.wording import divided, kib, percent, plural
from stackmap.errors import SourceError
from stackmap.features.trace import owner_probes
from stackmap.features.trace.cost import TICK, Overhead
from stackmap.features.trace.owner_probes import ControlGroup, OwnerIo, Sum
from stackmap.features.trace.tracefs import Tracing
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from stackmap.sources import cgroup

if TYPE_CHECKING:
    from stackmap.document.blocks import Block
    from stackmap.host.tracing import LiveTracingHost


class Owner(NamedTuple):
    """
    A ``group``, or a thread without one, at the device ``device``, and its I/O by direction.

    ``number``: of the group or thread. ``name``: the thread's.
    """

    device: str
    group: ControlGroup | None
    number: int
    name: str
    parts: dict[str, Sum]

    @property
    def bytes(self) -> int:
        """Both directions."""
        return sum(part.bytes for part in self.parts.values())


def owners(
    topology: Topology,
    names: Iterable[str],
    rows: Iterable[OwnerIo],
    groups: Mapping[int, ControlGroup],
) -> list[Owner]:
    """
    Return the owners at *names* and at all devices above and below, in tree order, the heaviest first.

    A group that is not among *groups* has no path and no owner.
    """
    found: dict[tuple[str, bool, int], Owner] = {}
    selected = topology.select(names)
    names_of = {device.number: _counted_at(selected, device) for device in selected}
    for row in rows:
        for name in names_of.get(row.number, ()):
            group = groups.get(row.owner, ControlGroup()) if row.is_group else None
            key = (name, row.is_group, row.owner)
            owner = found.setdefault(key, Owner(name, group, row.owner, row.name, {}))
            owner.parts[row.direction] = owner.parts.get(row.direction, Sum()).plus(row.io)
    place = {device.name: number for number, device in enumerate(selected)}
    return sorted(found.values(), key=lambda each: (place[each.device], -each.bytes, each.name))


def _counted_at(topology: Topology, device: Device) -> list[str]:
    """Return *device*, and the disk below a partition: its requests are not submitted again."""
    disks = topology.below(device.name) if device.kind is Kind.PARTITION else ()
    return [device.name, *(edge.below for edge in disks)]


COLUMNS = (
    Column("OWNER", "owner", is_text=True),
    Column("DEVICE", "device", ("device_label",), is_text=True),
    Column("", "direction", is_text=True),
    Column("requests", "requests"),
    Column("KiB", "bytes"),
    Column("KiB per\nrequest", "mean_bytes"),
    Column("ms", "mean_ms"),
)
ROOT = "no control group: kernel threads"
GONE = "a control group that is gone"
LEGEND = (
    "Counted by kernel probes, at each layer by itself: lines of two devices must not be added. A buffered "
    "write belongs to the control group that wrote the data. Below RAID all requests are the kernel's. "
    "ms: mean time until the request was complete."
)


def owner_blocks(
    topology: Topology, listed: Sequence[Owner], dropped: int, overhead: float
) -> list[Block]:
    """Return the I/O of control groups and of processes per device; *overhead*: a share of all CPU time."""
    blocks: list[Block] = []
    for key, heading, is_group in (
        ("groups", "control groups and services, traced", True),
        ("processes", "processes, traced", False),
    ):
        rows = [
            row
            for each in listed
            if (each.group is not None) is is_group
            for row in _rows(topology, each)
        ]
        if rows:
            table = Table(f"traced-{key}", COLUMNS, (Rows(tuple(rows)),), legend=LEGEND)
            blocks += [Headline((heading,)), table]
    if not blocks:
        blocks.append(Paragraph("No request was traced on these devices."))
    blocks.append(Paragraph(f"overhead of the trace about {percent(overhead, 2)} of all CPU time"))
    if dropped:
        blocks.append(
            Paragraph(
                f"{plural(dropped, 'request')} could not be counted: too many owners.", "But:"
            )
        )
    return blocks


def _rows(topology: Topology, owner: Owner) -> list[Row]:
    title = topology[owner.device].title
    return [
        (
            owner_name(owner),
            Label(title, (owner.device, title)),
            direction,
            Value(part.requests, str),
            Value(part.bytes, kib),
            Value(part.size, kib),
            Value(part.milliseconds, divided(1, 2)),
        )
        for direction, part in sorted(owner.parts.items())
    ]


def owner_name(owner: Owner) -> str:
    """Return "service mariadb", the path of a group without such a name, or a process with its number."""
    if owner.group is None:
        return f"{owner.name} {owner.number}"
    return owner.group.owner or owner.group.path or (ROOT if owner.number <= 1 else GONE)


def owners_json(owners: Iterable[Owner], dropped: int) -> dict[str, object]:
    """Return the keys that a trace adds: the I/O of control groups and of processes per device."""
    listed = list(owners)
    return {
        "cgroups": [
            {"cgroup": each.group.path or None, "owner": owner_name(each), **_owner(each)}
            for each in listed
            if each.group is not None
        ],
        "processes": [
            {"command": each.name, "pid": each.number, **_owner(each)}
            for each in listed
            if each.group is None
        ],
        "lost": {"hits": dropped},
    }


def _owner(owner: Owner) -> dict[str, object]:
    parts = ((name, owner.parts.get(name, Sum())) for name in ("read", "write"))
    return {
        "device": owner.device,
        **{
            name: {
                "requests": part.requests,
                "bytes": part.bytes,
                "size": part.size,
                "latency_us": None if part.milliseconds is None else part.milliseconds * 1000,
            }
            for name, part in parts
        },
    }


class OwnerSample(NamedTuple):
    """
    What was counted since the previous sample.

    ``groups``: control groups by number. ``dropped``: hits without room. ``overhead``: the share of all CPU time
    so far. ``stopped``: why the trace ended, in the first sample after that; else "".
    """

    rows: tuple[OwnerIo, ...] = ()
    groups: dict[int, ControlGroup] = {}  # noqa: RUF012 - a default that nothing changes
    dropped: int = 0
    overhead: float = 0.0
    stopped: str = ""

    def owners(self, topology: Topology, chosen: Iterable[str]) -> list[Owner]:
        """Return the owners at *chosen* and at all devices above and below."""
        return owners(topology, chosen, self.rows, self.groups)

    def json(self, topology: Topology, chosen: Iterable[str]) -> dict[str, object]:
        """Return the keys that a trace adds to the object of ``blame -J``."""
        return {
            **owners_json(self.owners(topology, chosen), self.dropped),
            "overhead": self.overhead,
            "stopped": self.stopped or None,
        }

    def blocks(self, topology: Topology, chosen: Iterable[str]) -> list[Block]:
        """Return the tables that a trace adds to ``blame``."""
        return owner_blocks(topology, self.owners(topology, chosen), self.dropped, self.overhead)


class OwnerTrace:
    """
    Counts while the context is entered; raises what ``Tracing`` and ``owner_probes.install`` raise.

    A thread looks at the overhead and ends the trace above the share *max_overhead* of CPU time, or after an hour.
    """

    def __init__(self, host: LiveTracingHost, max_overhead: float) -> None:
        self._host = host
        self._limit = max_overhead
        self._tracing = Tracing(host)
        self._groups: dict[int, ControlGroup] = {}
        self._installed: owner_probes.Installed | None = None
        self._overhead = Overhead(host)
        self._last = OwnerSample()
        self._lock = Lock()
        self._ended = Event()
        self._watch = Thread(target=self._watched, daemon=True)

    def __enter__(self) -> Self:
        self._tracing.__enter__()
        try:
            self._groups = self._named()
            self._installed = owner_probes.install(self._host, self._tracing)
            self._overhead = Overhead(self._host)
            self._watch.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self) -> OwnerSample:
        """Return the counts since the previous call; a service that ended keeps its name."""
        with self._lock:
            self._look()
            sample, self._last = self._last, OwnerSample()
            return sample if self._installed is None else self._sample()

    def look(self) -> None:
        """End the trace if it takes too much, or too long; what was counted is in the next sample."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        if self._installed is None:
            return
        spent = owner_probes.spent(self._host, self._installed)
        stopped = self._overhead.look(spent, self._limit)
        if stopped:
            self._last = self._sample()._replace(stopped=stopped)
            self._installed = None
            self._tracing.clear()

    def _sample(self) -> OwnerSample:
        if self._installed is None:
            return OwnerSample()
        rows, dropped = owner_probes.read(self._tracing, self._installed)
        self._groups |= self._named()
        return OwnerSample(tuple(rows), self._groups, dropped, self._overhead.share)

    def _watched(self) -> None:
        with suppress(SourceError):  # the next reading raises it too
            while not self._ended.wait(TICK):
                self.look()

    def _end(self) -> None:
        self._ended.set()
        with self._lock:  # not while a look is under way
            self._installed = None
            self._tracing.__exit__()

    def _named(self) -> dict[int, ControlGroup]:
        return {
            number: ControlGroup(path, " ".join(cgroup.owner(path) or ()))
            for number, path in owner_probes.groups(self._host).items()
        }
