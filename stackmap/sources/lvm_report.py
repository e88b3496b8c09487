"""
LVM's reports: ``lvm fullreport`` for plans, and the tags of LVs. Both need root.

The full report has VGs, PVs, LVs and segments in one consistent answer. Placement needs it: libblockdev
2.x reports neither segments nor which LV uses which extents of a PV. Field names are LVM's (lvs(8),
pvs(8)); numbers come as text. Ceph marks its LVs with tags (``ceph.osd_id=3``), which are in LVM's
metadata only. ``lvs`` reads the devices that LVM knows, so it runs only if tags are needed, and ignores
suspended devices instead of waiting for them. It runs before a measurement, and libblockdev would run lvm once
per VG, of which each OSD has its own: so its answer counts only where ``lvs`` does not exist or was not recorded.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from stackmap.errors import ParseError, SourceError, SourceMissing
from stackmap.host import Host
from stackmap.host.capture_format import loaded_json
from stackmap.model.volume_group import LogicalVolume, PhysicalVolume, VolumeGroup
from stackmap.sources import libblockdev

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


# LVM does not escape the backslashes of a path (2.03.16): device-mapper's "a b" is "/dev/mapper/a\x20b".
_NOT_ESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)\\(?=x)")


def escaped(text: str) -> str:
    r"""
    Return the JSON that LVM meant.

    >>> escaped(r'["/dev/mapper/a\x20b", "/dev/mapper/a\\x20b", "\""]')
    '["/dev/mapper/a\\\\x20b", "/dev/mapper/a\\\\x20b", "\\""]'
    """
    return _NOT_ESCAPED.sub(r"\1\\\\", text)


def read(host: Host, names: Mapping[str, str]) -> dict[str, VolumeGroup]:
    """Return every VG by name; *names*: kernel names by device number."""
    return parse(host.run(*COMMAND), names)


def parse(text: str, names: Mapping[str, str]) -> dict[str, VolumeGroup]:
    """Return the VGs of a report, without PVs that belong to none."""
    try:
        # PVs without a VG have a report of their own, without "vg".
        reports = [report for report in _reports(text) if report.get("vg")]
        groups = [_group(report, names) for report in reports]
    except DAMAGE as error:
        raise ParseError(f"lvm fullreport: {type(error).__name__}: {error}") from error
    return {group.name: group for group in groups if group.name}


def _group(report: Mapping[str, Any], names: Mapping[str, str]) -> VolumeGroup:
    (vg,) = report["vg"]
    extent = int(vg["vg_extent_size"])
    segments: defaultdict[str, list[Row]] = defaultdict(list)
    for row in report["seg"]:
        segments[_without_brackets(row["lv_name"])].append(row)
    extents = _extents_by_pv(report["pvseg"])
    named = [(_without_brackets(row["lv_name"]), row) for row in report["lv"]]
    return VolumeGroup(
        name=vg["vg_name"],
        extent=extent,
        attributes=vg["vg_attr"],
        shared=bool(vg["vg_lock_type"]) or vg["vg_attr"].endswith("c"),
        pvs=tuple(_pv(row, names) for row in report["pv"]),
        volumes={n: _volume(n, row, extent, segments[n], extents[n]) for n, row in named},
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


def _volume(
    name: str, row: Row, extent: int, segments: list[Row], on: Mapping[str, int]
) -> LogicalVolume:
    regions = [int(segment["region_size"] or 0) for segment in segments]
    return LogicalVolume(
        name=name,
        segtypes=tuple(segment["segtype"] for segment in segments),
        extents=int(row["lv_size"]) // extent,
        attributes=row["lv_attr"],
        pool=_without_brackets(row["pool_lv"]),
        origin=_without_brackets(row["origin"]),
        region=next(filter(None, regions), None),
        on=on,
    )


def _extents_by_pv(rows: list[Row]) -> defaultdict[str, dict[str, int]]:
    extents: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        if name := _without_brackets(row["lv_name"]):
            by_pv = extents[name]
            by_pv[row["pv_name"]] = by_pv.get(row["pv_name"], 0) + int(row["pvseg_size"])
    return extents


def _without_brackets(name: str) -> str:
    """Return an LV's name without the brackets around sub-LVs."""
    return name.strip("[]")


TAGS = (
    "lvs", "--all", "--reportformat=json", "--readonly", "--options=vg_name,lv_name,lv_tags",
    "--config=devices/ignore_suspended_devices=1",
)  # fmt: skip


def read_tags(host: Host) -> dict[str, dict[str, str]]:
    """Return the tags of each LV (``vg/lv``) as key and value, {} if unavailable."""
    with suppress(SourceError):
        try:
            return parse_tags(host.run(*TAGS))
        except SourceMissing:
            volumes = libblockdev.parse_volumes(host.metadata("volumes"))
            return {label: _tags_of(volume.tags or ()) for label, volume in volumes.items()}
    return {}


def parse_tags(text: str) -> dict[str, dict[str, str]]:
    """
    Return the tags in a report of lvs; {} if it is not one.

    >>> parse_tags('{"report": [{"lv": [{"vg_name": "v", "lv_name": "l", "lv_tags": "a.b=3,c"}]}]}')
    {'v/l': {'a.b': '3', 'c': ''}}
    """
    try:
        rows = [row for report in _reports(text) for row in report["lv"]]
        return {
            f"{row['vg_name']}/{row['lv_name'].strip('[]')}": _tags_of(row["lv_tags"].split(","))
            for row in rows
        }
    except DAMAGE:
        return {}


def _reports(text: str) -> list[Any]:
    """Return the list below "report"; one of ``DAMAGE`` without one."""
    reports: list[Any] = loaded_json(escaped(text), "LVM's report")["report"]
    return reports


def _tags_of(tags: Iterable[str]) -> dict[str, str]:
    pairs = (tag.partition("=") for tag in tags if tag)
    return {key: value for key, _, value in pairs}
