"""The volumes that load a disk, and the disks that a volume loads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from stackmap.document.blocks import (
    ESTIMATE,
    RANGE,
    Block,
    Column,
    Headline,
    Label,
    Paragraph,
    Rows,
    Table,
    Value,
)
from stackmap.document.interval import span
from stackmap.document.wording import kib, listed, number, percent, plural, rate, sentence
from stackmap.ledger.amounts import Traffic
from stackmap.ledger.blame import Blame, Loader, Target
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.load import total_of
from stackmap.model.topology import Topology

MOST_NAMED = 4  # disks by name in a sentence
NO_DEVICE = "not from any device above"
NOTHING = "No disk with I/O has figures here. To see the disks that a volume loads, run `stackmap blame VOLUME`."
SENT = Column("sent/s", "sent_per_s", ESTIMATE)
MOVED = Column("KiB/s", "bytes_per_s", RANGE)
DISK_COLUMNS = (
    Column("SOURCE", "source", is_text=True),
    Column("USED BY", "used_by", is_text=True),
    SENT,
    MOVED,
    Column("% of\nrequests", "request_share"),
    Column("% of\nbytes", "byte_share"),
)
GROUP_COLUMNS = (
    Column("CONTROL GROUP", "group", is_text=True),
    Column("DEVICE", "device", ("device_label",), is_text=True),
    SENT._replace(beside=()),
    MOVED._replace(beside=()),
)
VOLUME_COLUMNS = (
    Column("DISK", "disk", ("disk_label",), is_text=True),
    SENT,
    MOVED,
    Column("% of the volume's\nrequests", "share_of_volume"),
    Column("% of the disk's\nrequests", "share_of_disk"),
)

MEANINGS = {
    "SOURCE": 'Volume that sent the requests; "not from any device above": a file system or program '
    "on the disk itself, udev or the kernel.",
    "USED BY": "Mount points and other users of the volume.",
    "DISK": "Disk that the volume loads.",
    "CONTROL GROUP": "Service or container that sent the requests.",
    "DEVICE": "Where the kernel counted the requests of a control group.",
    "sent/s": "Requests sent per second, before merging.",
    "KiB/s": "Data per second.",
    "% of requests": "Share of the requests that arrived at the disk.",
    "% of bytes": "Share of the disk's bytes.",
    "% of the volume's requests": "The disk's share of the volume's requests.",
    "% of the disk's requests": "The volume's share of the requests that arrived at the disk.",
}

Owner = tuple[tuple[str, ...], str, bool]  # tops, what they share, whether the source is unknown


def headline(
    topology: Topology, blamed: Sequence[Blame], loading: Sequence[tuple[str, Sequence[Target]]]
) -> list[Block]:
    """Return who loads the disks most; for volumes alone, which disk the busiest one loads most."""
    if not blamed and not loading:
        return [Paragraph(NOTHING)]
    said = _most_of_disks(topology, blamed) if blamed else _most_of_volumes(topology, loading)
    return [Paragraph(said, headline=True)] if said else []


def _most_of_disks(topology: Topology, blamed: Sequence[Blame]) -> str:
    """Return the volumes with the most requests at all disks of *blamed*, and their shares; "" if unknown."""
    disks = [topology[each.device].title for each in blamed]
    where = listed(disks) if len(disks) <= MOST_NAMED else f"{len(disks)} disks"
    shares = {
        what: _shares(blamed, figure)
        for what, figure in (("requests", "arrivals"), ("bytes", "bytes"))
    }
    known = {what: found for what, found in shares.items() if found}
    if not known:
        return ""
    first = next(iter(known.values()))
    owner = max(first, key=lambda each: first[each])
    tops, through, unknown = owner
    parts = listed([f"{percent(found[owner])} of the {what}" for what, found in known.items()])
    about = "about " * any(
        each.estimated for b in blamed for each in b.loaders if each.tops == tops
    )
    if unknown:
        return (
            f"The source of {about}{parts} of {where} is unknown: there are no figures of some "
            "devices above."
        )
    if not tops:
        return sentence(f"{about}{parts} of {where} do not come from any device above")
    name = source_name(topology, Loader(tops, through, metadata=False, parts={}))
    return f"{name} {'send' if len(tops) > 1 else 'sends'} {about}{parts} of {where}."


def _shares(blamed: Sequence[Blame], figure: str) -> dict[Owner, float]:
    """Return the share of each owner, metadata included, in all disks' *figure*; {} if one is unknown."""
    sent: dict[Owner, float] = {}
    for disk, loader in ((b, each) for b in blamed for each in b.loaders):
        value = getattr(loader, figure)
        if value is None:
            return {}
        key = (loader.tops, loader.through, bool(disk.unseen) and not loader.tops)
        sent[key] = sent.get(key, 0.0) + value
    total = sum(sent.values())
    return {key: value / total for key, value in sent.items()} if total else {}


def _most_of_volumes(topology: Topology, loading: Sequence[tuple[str, Sequence[Target]]]) -> str:
    """Return the disk that gets most requests of the busiest volume; "" if unknown."""
    known = [(top, found[0]) for top, found in loading if found and found[0].of_volume]
    if not known:
        return ""
    top, most = max(known, key=lambda each: each[1].part.arrivals or 0.0)
    disk = topology[most.device].title
    many = len(dict(loading)[top])
    of_disk = (
        "" if most.of_device is None else f", which are {percent(most.of_device)} of that disk's"
    )
    return (
        f"{topology[top].title} loads {plural(many, 'disk')}: {disk} gets most, {percent(most.of_volume)} of its "
        f"requests{of_disk}."
    )


def disk_blocks(topology: Topology, blame: Blame, interval: Interval) -> list[Block]:
    """Return the sources of a device's load, the largest first; shares sum to 100 %."""
    device = topology[blame.device]
    rows = tuple(
        (
            source_name(topology, each, blame.unseen),
            ", ".join(users(topology, each)),
            *_sent(each.parts.values()),
            Value(blame.share(each), percent),
            Value(blame.byte_share(each), percent),
        )
        for each in blame.loaders
        if each.tops or each.arrivals
    )
    accounted = f"{number(blame.accounted, 3)} (requests arriving at {device.title} ÷ requests sent from above)"
    return [
        Headline((device.title, span(interval))),
        Table(f"blame-{device.name}", DISK_COLUMNS, (Rows(rows),), about=_about(device)),
        *([Paragraph(accounted, "accounted:")] if blame.accounted is not None else []),
    ]


def volume_blocks(
    topology: Topology, top: str, targets: Sequence[Target], interval: Interval
) -> list[Block]:
    """Return the disks that the volume *top* loads, the most loaded first."""
    rows = tuple(
        (
            Label(topology[each.device].title, (each.device, topology[each.device].title)),
            *_sent([each.part]),
            Value(each.of_volume, percent),
            Value(each.of_device, percent),
        )
        for each in targets
    )
    return [
        Headline((topology[top].title, span(interval))),
        Table(f"blame-{top}", VOLUME_COLUMNS, (Rows(rows),), about=_about(topology[top])),
    ]


def group_blocks(
    topology: Topology, names: Iterable[str], groups: Iterable[CgroupLoad]
) -> list[Block]:
    """Return the I/O of control groups to *names* and the devices above them, [] for none."""
    above = {each for name in names for each in topology.with_all_above(name)}
    labels = {
        topology[name].number: Label(topology[name].title, (name, topology[name].title))
        for name in above
    }
    rows = tuple(
        (each.group, labels[each.number], Value(each.ios, rate), Value(each.bytes, kib))
        for each in groups
        if each.number in labels
    )
    return [Table("groups", GROUP_COLUMNS, (Rows(rows),))] if rows else []


def source_name(topology: Topology, loader: Loader, unseen: Sequence[Loader] = ()) -> str:
    """Return a source's name: "vg/lv", "metadata of vg/lv", "vg/a, vg/b through md0"."""
    if not loader.tops:
        others = dict.fromkeys(_owner(topology, each) for each in unseen)
        return f"unknown: {', '.join(others)} or no device above" if others else NO_DEVICE
    return f"{'metadata of ' if loader.metadata else ''}{_owner(topology, loader)}"


def _owner(topology: Topology, loader: Loader) -> str:
    """Return the volumes of a source, and the device that they share: "vg/a, vg/b through md0"."""
    names = ", ".join(topology[top].title for top in loader.tops)
    through = f" through {topology[loader.through].title}" if loader.through else ""
    return f"{names}{through}"


def users(topology: Topology, loader: Loader) -> list[str]:
    """Return the mounts, VMs and services that use the volumes of *loader*."""
    return [use.name for top in loader.tops for use in topology[top].uses]


def _about(device: Device) -> tuple[tuple[str, str], ...]:
    return (("name", device.name), ("label", device.title))


def _sent(parts: Collection[Traffic]) -> tuple[Value, Value]:
    """Return the requests and the bytes of all *parts*, with their range if one is an estimate."""
    requests = Value(total_of(part.arrivals for part in parts), rate)
    moved = Value(total_of(part.bytes for part in parts), kib)
    if not any(part.is_range for part in parts):
        return requests, moved
    ends = [[part.bounds[end] for part in parts] for end in (0, 1)]
    low, high = (total_of(amount.arrivals for amount in amounts) for amounts in ends)
    least, most = (total_of(amount.bytes for amount in amounts) for amounts in ends)
    return requests._replace(low=low, high=high, estimated=True), moved._replace(
        low=least, high=most
    )
