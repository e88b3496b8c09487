"""The object of ``blame -J``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stackmap.document.blame import source_name, users
from stackmap.ledger.amounts import Traffic
from stackmap.ledger.blame import Blame, Loader, Target
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.render.json import interval_json, range_json

SCHEMA = "stackmap.blame/1"


def blame_json(
    topology: Topology,
    blamed: Iterable[Blame],
    loading: Iterable[tuple[str, Sequence[Target]]],
    groups: Iterable[CgroupLoad],
    interval: Interval,
) -> dict[str, object]:
    """Return the sources of each disk's load and the disks of each volume as one object."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "corrections": list(interval.corrections),
        "devices": [_disk(topology, each) for each in blamed],
        "groups": [
            {"group": each.group, "number": each.number, "iops": each.ios, "bytes": each.bytes}
            for each in groups
        ],
        "volumes": [
            {
                "device": top,
                "label": topology[top].title,
                "loads": [_target(each) for each in found],
            }
            for top, found in loading
        ],
    }


def _disk(topology: Topology, blame: Blame) -> dict[str, object]:
    return {
        "device": blame.device,
        "label": topology[blame.device].title,
        "closure": blame.accounted,
        "loaders": [_loader(topology, blame, loader) for loader in blame.loaders],
        "unseen": [source_name(topology, loader) for loader in blame.unseen],
    }


def _loader(topology: Topology, blame: Blame, loader: Loader) -> dict[str, object]:
    return {
        "name": source_name(topology, loader),
        "tops": list(loader.tops),
        "through": loader.through or None,
        "metadata": loader.metadata,
        "uses": users(topology, loader),
        "request_share": blame.share(loader),
        "byte_share": blame.byte_share(loader),
        **{kind: _portion(part) for kind, part in loader.parts.items()},
        "estimated": loader.estimated,
    }


def _target(target: Target) -> dict[str, object]:
    return {
        "device": target.device,
        **_portion(target.part),
        "of_volume": target.of_volume,
        "of_device": target.of_device,
        "estimated": target.estimated,
    }


def _portion(part: Traffic) -> dict[str, object]:
    return {"arrivals": part.arrivals, "bytes": part.bytes, "range": range_json(part)}
