"""The volumes that load a disk, and the disks that a volume loads."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from stackmap.document import blocks as doc
from stackmap.document.interval import span
from stackmap.document.wording import (
    divided,
    kib,
    listed,
    number,
    paragraph,
    percent,
    plural,
    rate,
    sentence,
)
from stackmap.ledger.amounts import Traffic
from stackmap.ledger.blame import Blame, Loader, Target
from stackmap.model.cgroup_io import CgroupLoad, ProcessIo
from stackmap.model.device import KUBERNETES, Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, ratio, total_of
from stackmap.model.topology import ASK_FOR_IT, NO_TOPOLOGY, Topology

MOST_NAMED = 4  # disks by name in a sentence
NO_DEVICE = "not from any device above"
UNPLACED = "a volume"  # without known disks
FILE_SYSTEM = "file system"  # before where it is mounted
CGROUPS = "/sys/fs/cgroup/"  # the source of users that are known by the I/O that they once did
LIMITS = (
    "bytes of all devices together. Writes count when a page becomes dirty, so the kernel may write them later. "
    "Processes that ended meanwhile are missing, and without root those of other users."
)
NO_SOURCE = (
    "Which volumes load {where} is unknown: {reason}. Add to the text what "
    f"{ASK_FOR_IT} prints on that host."
)
OPEN_ENDS = "the text does not have the devices below {above}"
NOTHING = "No disk with I/O has figures here. To see the disks that a volume loads, run `stackmap blame VOLUME`."
SENT = doc.Column("sent/s", "sent_per_s", doc.ESTIMATE)
MOVED = doc.Column("KiB/s", "bytes_per_s", doc.RANGE)
COLUMNS = (
    doc.Column("SOURCE", "source", ("kind",), is_text=True),
    doc.Column("USED BY", "used_by", is_text=True),
    SENT,
    MOVED,
    doc.Column("await ms", "await_ms"),
    doc.Column("% of\nrequests", "request_share"),
    doc.Column("% of\nbytes", "byte_share"),
)
WAITED = doc.Column("waited\n%", "waited_share")
VOLUME_COLUMNS = (
    doc.Column("DISK", "disk", ("disk_label",), is_text=True),
    SENT,
    MOVED,
    doc.Column("% of the volume's\nrequests", "share_of_volume"),
    doc.Column("% of the disk's\nrequests", "share_of_disk"),
)

MEANINGS = {
    "SOURCE": 'Volume, control group or process that sent the requests; "not from any device above": a file '
    "system or program on the disk itself, udev or the kernel.",
    "USED BY": "Mount points and other users of the volume, without services that sent nothing.",
    "await ms": "Mean time of a request at the volume.",
    "DISK": "Disk that the volume loads.",
    "waited %": "Share of time in which some task of the control group waited for I/O of any device (io.pressure); "
    "programs that use asynchronous I/O are not counted.",
    "sent/s": "Requests sent per second, before merging.",
    "KiB/s": "Data per second.",
    "% of requests": "Share of the requests that arrived at the disk.",
    "% of bytes": "Share of the disk's bytes.",
    "% of the volume's requests": "The disk's share of the volume's requests.",
    "% of the disk's requests": "The volume's share of the requests that arrived at the disk.",
}

Owner = tuple[tuple[str, ...], str, bool]  # tops, what they share, whether the source is unknown


class BlameReport(NamedTuple):
    """
    What ``blame`` reports of an interval on the devices *names*.

    ``blamed``: the sources of each disk; ``loading``: the disks of each volume; ``groups`` and ``processes``:
    what the kernel counted for them.
    """

    topology: Topology
    names: Sequence[str]
    interval: Interval
    blamed: Sequence[Blame] = ()
    loading: Sequence[tuple[str, Sequence[Target]]] = ()
    groups: Sequence[CgroupLoad] = ()
    processes: Sequence[ProcessIo] = ()

    def total(self, name: str) -> Flow:
        """Return the reads and writes of *name*, all unknown without counters."""
        return self.interval.loads[name].total if name in self.interval.loads else Flow()


def headline(report: BlameReport) -> list[doc.Block]:
    """Return who loads the disks most; for volumes alone, which disk the busiest one loads most."""
    topology, blamed, loading = report.topology, report.blamed, report.loading
    if not blamed and not loading:
        return [doc.Paragraph(NOTHING)]
    said = _most_of_disks(topology, blamed) if blamed else _most_of_volumes(topology, loading)
    said = paragraph((said, _most_of_groups(report)))
    return [doc.Paragraph(said, headline=True)] if said else []


def _most_of_groups(report: BlameReport) -> str:
    """Return the control group with most requests on one of the devices, and its share there; "" for none."""
    topology = report.topology
    numbers = {topology[name].number: name for name in counting_devices(topology, report.names)}
    first = next((group for group in report.groups if group.number in numbers), None)
    if first is None:
        return ""
    name = numbers[first.number]
    whole = report.total(name)
    share = _part(first.ios, whole.arrivals)
    part = (
        f"{rate(first.ios)} requests/s to"
        if share is None
        else f"{percent(share)} of the requests of"
    )
    return f"Control group {first.group} sends {part} {topology[name].title}."


def _most_of_disks(topology: Topology, blamed: Sequence[Blame]) -> str:
    """Return the volumes with the most requests at all disks of *blamed*, and their shares; "" if unknown."""
    disks = [topology[blame.device].title for blame in blamed]
    where = listed(disks) if len(disks) <= MOST_NAMED else f"{len(disks)} disks"
    shares = {
        what: _shares(blamed, figure)
        for what, figure in (("requests", "arrivals"), ("bytes", "bytes"))
    }
    known = {what: of_owner for what, of_owner in shares.items() if of_owner}
    if not known:
        return ""
    first = next(iter(known.values()))
    owner = max(first, key=lambda sender: first[sender])
    tops, through, unknown = owner
    parts = listed(
        [f"{percent(of_owner[owner])} of the {what}" for what, of_owner in known.items()]
    )
    about = "about " * any(
        loader.estimated for b in blamed for loader in b.loaders if loader.tops == tops
    )
    if not tops and NO_TOPOLOGY in topology.unknown:
        return NO_SOURCE.format(where=where, reason="the text has no topology")
    if unknown:
        return (
            f"The source of {about}{parts} of {where} is unknown: there are no figures of some "
            "devices above."
        )
    if not tops:
        devices = [
            topology[blame.device]
            for blame in blamed
            if any(
                not sender.tops and (sender.arrivals or sender.bytes) for sender in blame.loaders
            )
        ]
        if all(_file_systems([device]) for device in devices):
            names = _file_systems(devices)
            return f"The {FILE_SYSTEM} {listed(names)} sends {about}{parts} of {where}."
        if topology.open_ends:
            above = [device.title for device in topology if device.name in topology.open_ends]
            named = listed(above) if len(above) <= MOST_NAMED else f"{len(above)} devices"
            return NO_SOURCE.format(where=where, reason=OPEN_ENDS.format(above=named))
        return sentence(f"{about}{parts} of {where} do not come from any device above")
    name = source_name(topology, Loader(tops, through, metadata=False, parts={}))
    return f"{name} {'send' if len(tops) > 1 else 'sends'} {about}{parts} of {where}."


def _shares(blamed: Sequence[Blame], figure: str) -> dict[Owner, float]:
    """Return the share of each owner, metadata included, in all disks' *figure*; {} if one is unknown."""
    sent: dict[Owner, float] = {}
    for disk, loader in ((b, sender) for b in blamed for sender in b.loaders):
        value = getattr(loader, figure)
        if value is None:
            return {}
        key = (loader.tops, loader.through, bool(disk.unseen) and not loader.tops)
        sent[key] = sent.get(key, 0.0) + value
    total = sum(sent.values())
    return {key: value / total for key, value in sent.items()} if total else {}


def _most_of_volumes(topology: Topology, loading: Sequence[tuple[str, Sequence[Target]]]) -> str:
    """Return the disk that gets most requests of the busiest volume; "" if unknown."""
    known = [(top, targets[0]) for top, targets in loading if targets and targets[0].of_volume]
    if not known:
        return ""
    top, most = max(known, key=lambda pair: pair[1].part.arrivals or 0.0)
    disk = topology[most.device].title
    many = len(dict(loading)[top])
    of_disk = (
        "" if most.of_device is None else f", which are {percent(most.of_device)} of that disk's"
    )
    return (
        f"{topology[top].title} loads {plural(many, 'disk')}: {disk} gets most, {percent(most.of_volume)} of its "
        f"requests{of_disk}."
    )


def matrix(report: BlameReport) -> list[doc.Block]:
    """
    Return one table of all sources: the volumes of each disk, control groups by device, processes.

    Shares of a disk's volumes sum to 100 %; those of control groups are of the device that counts them.
    """
    topology, blamed, groups = report.topology, report.blamed, report.groups
    parts = [
        doc.Rows(
            tuple(
                (
                    doc.Label(
                        source_on_disk(topology, blame, loader),
                        (source_name(topology, loader, blame.unseen), _kind(loader)),
                    ),
                    ", ".join(users(topology, loader, groups)),
                    *_sent(loader.parts.values()),
                    doc.Value(_await(report, loader), divided(1, 2)),
                    doc.Value(blame.share(loader), percent),
                    doc.Value(blame.byte_share(loader), percent),
                )
                for loader in blame.loaders
                if loader.tops or loader.arrivals or loader.bytes
            ),
            topology[blame.device].title,
            blame.device,
        )
        for blame in blamed
    ]
    idle = [part.title for part in parts if not part.rows]
    parts = [part for part in parts if part.rows]
    if len(parts) == len(blamed) == 1:
        parts = [parts[0]._replace(title="")]
    parts += list(_group_rows(report))
    if report.processes:
        rows = tuple(map(_process_row, report.processes))
        parts.append(doc.Rows(rows, "processes, all devices together", ""))
    if not parts and not idle:
        return []
    disks = [topology[blame.device].title for blame in blamed]
    where = disks if 0 < len(disks) <= MOST_NAMED else [topology[n].title for n in report.names]
    title = listed(where) if len(where) <= MOST_NAMED else f"{len(where)} devices"
    accounted = [
        f"{topology[blame.device].title} {number(blame.accounted, 3)}"
        for blame in blamed
        if blame.accounted is not None
    ]
    told = f"{', '.join(accounted)} (requests arriving ÷ requests sent from above)"
    return [
        doc.Headline((title, span(report.interval))),
        *([_table(parts, waited=any(e.waited is not None for e in groups))] if parts else []),
        *([doc.Paragraph(f"No I/O in this interval: {listed(idle)}.")] if idle else []),
        *([doc.Paragraph(told, "accounted:")] if accounted else []),
        *([doc.Paragraph(LIMITS, "processes:")] if report.processes else []),
    ]


def _table(parts: Sequence[doc.Rows], *, waited: bool) -> doc.Table:
    """Return the table of *parts*; *waited*: with the column that only control groups have."""
    columns, width = (*COLUMNS, WAITED) if waited else COLUMNS, len(COLUMNS) + waited
    unknown = (doc.Value(None, percent),)
    rows = (tuple((*row, *unknown)[:width] for row in part.rows) for part in parts)
    return doc.Table(
        "blame",
        columns,
        tuple(p._replace(rows=r) for p, r in zip(parts, rows, strict=True)),
        group="device",
    )


def _kind(loader: Loader) -> str:
    if not loader.tops:
        return "none"
    return "metadata" if loader.metadata else "volume"


def source_on_disk(topology: Topology, blame: Blame, loader: Loader) -> str:
    """Return the name of a source; of what no device above sent, the file systems on the disk itself."""
    names = _file_systems([topology[blame.device]])
    if loader.tops or blame.unseen or not names:
        return source_name(topology, loader, blame.unseen)
    return f"{FILE_SYSTEM} {', '.join(names)}"


def _file_systems(devices: Iterable[Device]) -> list[str]:
    """Return where the file systems on *devices* are mounted, and which pods have them: "on /srv", "/a", "of kubernetes …"."""
    uses = [use for device in devices for use in device.users]
    mounts = [use.name for use in uses if use.kind == "mount"]
    pods = [f"of {use.name}" for use in uses if use.name.startswith(KUBERNETES)]
    return [*(f"on {name}" for name in mounts[:1]), *mounts[1:], *pods]


def _await(report: BlameReport, loader: Loader) -> float | None:
    """Return the await of the volume of *loader*; None for metadata and for several volumes."""
    is_one = len(loader.tops) == 1 and not loader.metadata
    return report.total(loader.tops[0]).await_ms if is_one else None


def counting_devices(topology: Topology, names: Iterable[str]) -> list[str]:
    """Return *names* and the devices above; for a partition its disk, where the kernel counts control groups."""
    above = [upper for name in names for upper in topology.with_all_above(name)]
    disks = [
        edge.below
        for name in names
        if topology[name].kind is Kind.PARTITION
        for edge in topology.below(name)
    ]
    return list(dict.fromkeys((*disks, *above)))


def _group_rows(report: BlameReport) -> Iterator[doc.Rows]:
    """Yield the control groups of each device that counts any, the largest first."""
    for name in counting_devices(report.topology, report.names):
        device, whole = report.topology[name], report.total(name)
        rows = tuple(
            (
                doc.Label(group.group, (group.group, "control-group")),
                "",
                doc.Value(group.ios, divided()),
                doc.Value(group.bytes, kib),
                doc.Value(None, divided()),
                doc.Value(_part(group.ios, whole.arrivals), percent),
                doc.Value(_part(group.bytes, whole.bytes), percent),
                doc.Value(group.waited, percent),
            )
            for group in report.groups
            if group.number == device.number
        )
        if rows:
            yield doc.Rows(rows, f"control groups on {device.title}", name)


def _part(part: float, whole: float | None) -> float | None:
    """Return the share, at most 1: the two are counted at different instants."""
    share = ratio(part, whole)
    return None if share is None else min(1.0, share)


def _process_row(process: ProcessIo) -> doc.Row:
    name = process.title
    moved = f"{kib(process.read)} read, {kib(process.written)} written"
    unknown = doc.Value(None, divided())
    total = doc.Value(process.read + process.written, kib)
    return (doc.Label(name, (name, "process")), moved, unknown, total, unknown, unknown, unknown)


def volume_blocks(report: BlameReport) -> Iterator[doc.Block]:
    """Yield the disks that each volume loads, the most loaded first."""
    topology = report.topology
    for top, targets in report.loading:
        rows = tuple(
            (
                doc.Label(
                    topology[target.device].title, (target.device, topology[target.device].title)
                ),
                *_sent([target.part]),
                doc.Value(target.of_volume, percent),
                doc.Value(target.of_device, percent),
            )
            for target in targets
        )
        about = (("name", top), ("label", topology[top].title))
        yield doc.Headline((topology[top].title, span(report.interval)))
        yield doc.Table(f"blame-{top}", VOLUME_COLUMNS, (doc.Rows(rows),), about=about)


def source_name(topology: Topology, loader: Loader, unseen: Sequence[Loader] = ()) -> str:
    """Return a source's name: "vg/lv", "metadata of vg/lv", "vg/a, vg/b through md0"."""
    if not loader.tops:
        if NO_TOPOLOGY in topology.unknown:
            return "unknown: no topology"
        others = dict.fromkeys(_owner(topology, other) for other in unseen)
        if others or topology.open_ends:
            return f"unknown: {', '.join(others) or UNPLACED} or no device above"
        return NO_DEVICE
    return f"{'metadata of ' if loader.metadata else ''}{_owner(topology, loader)}"


def _owner(topology: Topology, loader: Loader) -> str:
    """Return the volumes of a source, and the device that they share: "vg/a, vg/b through md0"."""
    names = ", ".join(topology[top].title for top in loader.tops)
    through = f" through {topology[loader.through].title}" if loader.through else ""
    return f"{names}{through}"


def users(
    topology: Topology, loader: Loader, groups: Sequence[CgroupLoad] = (), *, every: bool = False
) -> list[str]:
    """
    Return the users of the volumes of *loader*; of services and containers, where *groups* are known, active ones.

    *every*: kubelet's mount points too, where pods are known.
    """
    numbers = {topology[name].number for name in counting_devices(topology, loader.tops)}
    active = {group.owner for group in groups if group.number in numbers}
    return [
        use.name
        for top in loader.tops
        for use in (topology[top].uses if every else topology[top].users)
        if not groups or not use.source.startswith(CGROUPS) or (use.kind, use.name) in active
    ]


def _sent(parts: Collection[Traffic]) -> tuple[doc.Value, doc.Value]:
    """Return the requests and the bytes of all *parts*, with their range if one is an estimate."""
    requests = doc.Value(total_of(part.arrivals for part in parts), divided())
    moved = doc.Value(total_of(part.bytes for part in parts), kib)
    if not any(part.is_range for part in parts):
        return requests, moved
    ends = [[part.bounds[end] for part in parts] for end in (0, 1)]
    low, high = (total_of(amount.arrivals for amount in amounts) for amounts in ends)
    least, most = (total_of(amount.bytes for amount in amounts) for amounts in ends)
    return requests._replace(low=low, high=high, estimated=True), moved._replace(
        low=least, high=most
    )
