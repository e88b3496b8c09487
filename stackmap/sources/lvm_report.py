"""
``lvm fullreport``: VGs, PVs, LVs and segments in one answer, so that they agree with each other.

libblockdev 2.x tells neither segments nor what of a PV is an LV's
(FEASIBILITY 1), which is what placement is about. Needs root. Field names are
LVM's (lvs(8), pvs(8)); numbers come as text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stackmap.errors import ParseError
from stackmap.model.volume_group import LogicalVolume, PhysicalVolume, VolumeGroup

if TYPE_CHECKING:
    from stackmap.host import Host

FIELDS = {
    "vg": "vg_name,vg_extent_size,vg_attr,vg_lock_type",
    "pv": "pv_name,pv_major,pv_minor,pv_pe_count,pv_pe_alloc_count,pv_allocatable,pv_missing",
    "lv": "lv_name,lv_attr,lv_size,pool_lv,origin",
    "seg": "lv_name,segtype,region_size",
    "pvseg": "pv_name,lv_name,pvseg_size",
}
COMMAND = (
    "lvm", "fullreport", "--reportformat=json", "--units=b", "--nosuffix", "--all", "--binary",
    *(word for kind, names in FIELDS.items()
      for word in (f"--configreport={kind}", f"--options={names}")),
)  # fmt: skip

Row = Mapping[str, str]
DAMAGE = (ValueError, KeyError, TypeError, AttributeError)


def read(host: Host, names: Mapping[str, str]) -> dict[str, VolumeGroup]:
    """Return every VG by name; *names*: the kernel's name of each device, by its number."""
    return parse(host.run(*COMMAND), names)


def parse(text: str, names: Mapping[str, str]) -> dict[str, VolumeGroup]:
    """Return the VGs of a report; PVs without a VG are in none of them."""
    try:
        # PVs without a VG have a report of their own, with no "vg" in it.
        reports = [report for report in json.loads(text)["report"] if report.get("vg")]
        groups = [_group(report, names) for report in reports]
    except DAMAGE as error:
        raise ParseError(f"lvm fullreport: {type(error).__name__}: {error}") from error
    return {group.name: group for group in groups if group.name}


def _group(report: Mapping[str, Any], names: Mapping[str, str]) -> VolumeGroup:
    (said,) = report["vg"]
    extent = int(said["vg_extent_size"])
    segments: defaultdict[str, list[Row]] = defaultdict(list)
    for row in report["seg"]:
        segments[_without_brackets(row["lv_name"])].append(row)
    places = _extents_by_pv(report["pvseg"])
    volumes = [
        _volume(
            row,
            extent,
            segments[_without_brackets(row["lv_name"])],
            places[_without_brackets(row["lv_name"])],
        )
        for row in report["lv"]
    ]
    return VolumeGroup(
        name=said["vg_name"],
        extent=extent,
        attributes=said["vg_attr"],
        shared=bool(said["vg_lock_type"]) or said["vg_attr"].endswith("c"),
        pvs=tuple(_pv(row, names) for row in report["pv"]),
        volumes={volume.name: volume for volume in volumes},
    )


def _pv(row: Row, names: Mapping[str, str]) -> PhysicalVolume:
    extents = int(row["pv_pe_count"])
    return PhysicalVolume(
        path=row["pv_name"],
        device=names.get(f"{row['pv_major']}:{row['pv_minor']}", ""),
        extents=extents,
        free=extents - int(row["pv_pe_alloc_count"]),
        usable=row["pv_allocatable"] == "1" and row["pv_missing"] == "0",
    )


def _volume(row: Row, extent: int, segments: list[Row], on: Mapping[str, int]) -> LogicalVolume:
    regions = [int(segment["region_size"] or 0) for segment in segments]
    return LogicalVolume(
        name=_without_brackets(row["lv_name"]),
        segtypes=tuple(segment["segtype"] for segment in segments),
        extents=int(row["lv_size"]) // extent,
        attributes=row["lv_attr"],
        pool=_without_brackets(row["pool_lv"]),
        origin=_without_brackets(row["origin"]),
        region=next(filter(None, regions), None),
        on=on,
    )


def _extents_by_pv(rows: list[Row]) -> defaultdict[str, dict[str, int]]:
    """Return the extents that each LV has on each PV."""
    places: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        if name := _without_brackets(row["lv_name"]):
            there = places[name]
            there[row["pv_name"]] = there.get(row["pv_name"], 0) + int(row["pvseg_size"])
    return places


def _without_brackets(name: str) -> str:
    """Return an LV's name without the brackets that mark hidden ones."""
    return name.strip("[]")
