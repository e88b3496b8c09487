"""The volumes that load a disk, and the disks that a volume loads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stackmap.analysis.blame import Blame, Loader, Target
from stackmap.document.blocks import Block, Headline, Paragraph, Rows, Table
from stackmap.document.interval import span
from stackmap.document.units import kib, number, percent, rate
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

NO_DEVICE = "not from any device above"
DISK_COLUMNS = ("SOURCE", "USED BY", "sent/s", "KiB/s", "% of\nrequests", "% of\nbytes")
GROUP_COLUMNS = ("CONTROL GROUP", "DEVICE", "sent/s", "KiB/s")
VOLUME_COLUMNS = ("DISK", "sent/s", "KiB/s", "% of the volume's\nrequests", "% of the disk's\nrequests")  # fmt: skip


def disk_blocks(topology: Topology, blame: Blame, interval: Interval) -> list[Block]:
    """Return the sources of a device's load, the largest first; shares sum to 100 %."""
    device = topology[blame.device]
    rows = tuple(
        (
            source_name(topology, each, blame.unseen),
            ", ".join(users(topology, each)),
            _mark(each) + rate(each.arrivals),
            kib(each.bytes),
            percent(blame.share(each)),
            percent(blame.byte_share(each)),
        )
        for each in blame.loaders
        if each.tops or each.arrivals
    )
    accounted = f"{number(blame.accounted, 3)} (requests arriving at {device.title} ÷ requests sent from above)"
    return [
        Headline((device.title, span(interval))),
        Table(f"blame-{device.name}", DISK_COLUMNS, (Rows(rows),), words=2),
        *([Paragraph(accounted, "accounted:")] if blame.accounted is not None else []),
    ]


def volume_blocks(
    topology: Topology, top: str, targets: Sequence[Target], interval: Interval
) -> list[Block]:
    """Return the disks that the volume *top* loads, the most loaded first."""
    rows = tuple(
        (
            topology[each.device].title,
            _mark(each) + rate(each.part.arrivals),
            kib(each.part.bytes),
            percent(each.of_volume),
            percent(each.of_device),
        )
        for each in targets
    )
    return [
        Headline((topology[top].title, span(interval))),
        Table(f"blame-{top}", VOLUME_COLUMNS, (Rows(rows),)),
    ]


def group_blocks(
    topology: Topology, names: Iterable[str], groups: Iterable[CgroupLoad]
) -> list[Block]:
    """Return what control groups sent to *names* and the devices above them, [] for nothing."""
    above = {each for name in names for each in topology.with_all_above(name)}
    titles = {topology[name].number: topology[name].title for name in above}
    rows = tuple(
        (each.group, titles[each.number], rate(each.ios), kib(each.bytes))
        for each in groups
        if each.number in titles
    )
    return [Table("groups", GROUP_COLUMNS, (Rows(rows),), words=2)] if rows else []


def source_name(topology: Topology, loader: Loader, unseen: Sequence[Loader] = ()) -> str:
    """Return a source's name: "vg/lv", "metadata of vg/lv", "vg/a, vg/b through md0"."""
    if not loader.tops:
        others = [source_name(topology, each) for each in unseen]
        return ", or ".join([*others, NO_DEVICE])
    names = ", ".join(topology[top].title for top in loader.tops)
    through = f" through {topology[loader.through].title}" if loader.through else ""
    return f"{'metadata of ' if loader.metadata else ''}{names}{through}"


def users(topology: Topology, loader: Loader) -> list[str]:
    """Return the mounts, VMs and services that use the volumes of *loader*."""
    return [use.name for top in loader.tops for use in topology[top].uses]


def _mark(each: Loader | Target) -> str:
    return "~" if each.estimated else ""
