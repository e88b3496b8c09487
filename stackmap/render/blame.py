"""Who loads a disk, and which disks a volume loads: as tables, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stackmap.analysis.blame import Blame, Loader, Target
from stackmap.analysis.share import Portion
from stackmap.document.units import kib, number, percent, rate
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.render.estimates import range_json
from stackmap.render.intervals import interval_json, span
from stackmap.render.table import table
from stackmap.render.text import safe

SCHEMA = "stackmap.blame/1"
NOBODY = "not from any device above"
DISK_COLUMNS = ("LOADED BY", "SENT/s", "KiB/s", "REQUESTS", "BYTES", "USED BY")
GROUP_COLUMNS = ("CONTROL GROUP", "CHARGED AT", "SENT/s", "KiB/s")
VOLUME_COLUMNS = ("LOADS", "SENT/s", "KiB/s", "OF ITS REQUESTS", "OF THE DISK'S")


def blame_table(
    topology: Topology, blame: Blame, interval: Interval, *, heading: bool = True
) -> str:
    """Return who loads one device, the heaviest first; shares sum to 100 %."""
    device = topology[blame.device]
    rows = [
        (
            safe(loader_name(topology, each, blame.unseen)),
            _mark(each) + rate(each.arrivals),
            kib(each.bytes),
            percent(blame.share(each)),
            percent(blame.byte_share(each)),
            safe(_uses(topology, each)),
        )
        for each in blame.loaders
        if each.tops or each.arrivals
    ]
    title = "  ".join(filter(None, (safe(device.title), span(interval))))
    closure = (
        f"closure {number(blame.closure, 3)}: what arrived here for each request sent from above"
    )
    lines = [title, table(DISK_COLUMNS, rows, words=1, heading=heading), closure]
    return "\n".join(lines) + "\n"


def targets_table(
    topology: Topology,
    top: str,
    targets: Sequence[Target],
    interval: Interval,
    *,
    heading: bool = True,
) -> str:
    """Return the disks that one volume loads, the heaviest first."""
    rows = [
        (
            safe(topology[each.device].title),
            _mark(each) + rate(each.part.arrivals),
            kib(each.part.bytes),
            percent(each.of_volume),
            percent(each.of_device),
        )
        for each in targets
    ]
    title = "  ".join(filter(None, (safe(topology[top].title), span(interval))))
    return "\n".join([title, table(VOLUME_COLUMNS, rows, words=1, heading=heading)]) + "\n"


def groups_table(
    topology: Topology, names: Iterable[str], groups: Iterable[CgroupLoad], *, heading: bool = True
) -> str:
    """Return what control groups sent to *names* and what stands on them, "" if nothing did."""
    above = {each for name in names for each in topology.with_all_above(name)}
    titles = {topology[name].number: topology[name].title for name in above}
    rows = [
        (safe(each.group), safe(titles[each.number]), rate(each.ios), kib(each.bytes))
        for each in groups
        if each.number in titles
    ]
    return table(GROUP_COLUMNS, rows, words=2, heading=heading) + "\n" if rows else ""


def blame_json(
    topology: Topology,
    blamed: Iterable[Blame],
    loading: Iterable[tuple[str, Sequence[Target]]],
    groups: Iterable[CgroupLoad],
    interval: Interval,
    corrections: Sequence[str],
) -> dict[str, object]:
    """Return the object of ``blame -J``."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "corrections": list(corrections),
        "devices": [
            {
                "device": each.device,
                "label": topology[each.device].title,
                "closure": each.closure,
                "loaders": [_loader(topology, each, loader) for loader in each.loaders],
                "unseen": [loader_name(topology, loader) for loader in each.unseen],
            }
            for each in blamed
        ],
        "groups": [
            {"group": each.group, "number": each.number, "iops": each.ios, "bytes": each.bytes}
            for each in groups
        ],
        "volumes": [
            {
                "device": top,
                "label": topology[top].title,
                "loads": [
                    {
                        "device": each.device,
                        **_portion(each.part),
                        "of_volume": each.of_volume,
                        "of_device": each.of_device,
                        "estimated": each.estimated,
                    }
                    for each in found
                ],
            }
            for top, found in loading
        ],
    }


def loader_name(topology: Topology, loader: Loader, unseen: Sequence[Loader] = ()) -> str:
    """Return the loader in words: "vg/lv", "metadata of vg/lv", "vg/a, vg/b through md0"."""
    if not loader.tops:
        others = [loader_name(topology, each) for each in unseen]
        return ", or ".join([*others, NOBODY])
    names = ", ".join(topology[top].title for top in loader.tops)
    through = f" through {topology[loader.through].title}" if loader.through else ""
    return f"{'metadata of ' if loader.metadata else ''}{names}{through}"


def _mark(each: Loader | Target) -> str:
    return "~" if each.estimated else ""


def _uses(topology: Topology, loader: Loader) -> str:
    return ", ".join(use.name for top in loader.tops for use in topology[top].uses)


def _loader(topology: Topology, blame: Blame, loader: Loader) -> dict[str, object]:
    return {
        "name": loader_name(topology, loader),
        "tops": list(loader.tops),
        "through": loader.through or None,
        "metadata": loader.metadata,
        "uses": [use.name for top in loader.tops for use in topology[top].uses],
        "request_share": blame.share(loader),
        "byte_share": blame.byte_share(loader),
        **{kind: _portion(part) for kind, part in loader.parts.items()},
        "estimated": loader.estimated,
    }


def _portion(part: Portion) -> dict[str, object]:
    return {"arrivals": part.arrivals, "bytes": part.bytes, "range": range_json(part)}
