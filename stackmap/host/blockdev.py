"""
LVM's and md's own metadata, through libblockdev's GObject introspection.

An enrichment: no edge of the graph rests on it, because the plugins need root
and the 2.x library knows no segments. Both generations are used by what they
have, never by number. Their traps, each met on a real system:

- ``lvm_lvs`` and ``lvm_lvs_tree`` over all VGs drop or merge LVs that bear one
  name in two VGs, so both are called VG by VG;
- libblockdev 2.x prints warnings to stderr on its own unless GLib's log is
  taken away before the first call;
- a call into a plugin that did not load aborts, so the loaded ones are asked for;
- without device-mapper in the kernel, LVM "has no VGs" and reports no error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stackmap.errors import SourceDenied, SourceError, SourceMissing

if TYPE_CHECKING:
    from stackmap.host import Json

GENERATIONS = ("3.0", "2.0")
LV_FIELDS = (
    "vg_name", "lv_name", "uuid", "size", "attr", "segtype", "origin", "pool_lv", "data_lv",
    "metadata_lv", "roles", "move_pv", "data_percent", "metadata_percent", "copy_percent",
)  # fmt: skip
MD_FIELDS = (
    "device", "metadata", "level", "name", "array_size", "raid_devices", "total_devices",
    "active_devices", "working_devices", "failed_devices", "spare_devices", "clean", "uuid",
)  # fmt: skip


def volumes() -> list[dict[str, Json]]:
    """Return every VG's LVs, hidden ones too; sizes in bytes, names without LVM's brackets."""
    library = _library("LVM", "lvm")
    if not os.path.exists("/dev/mapper/control"):
        raise SourceMissing("libblockdev: this kernel has no device-mapper: LVM cannot answer")
    found: list[dict[str, Json]] = []
    for group in _call(library.lvm_vgs):
        name = group.name
        ask = getattr(library, "lvm_lvs_tree", library.lvm_lvs)
        found += [_volume(volume) for volume in _call(ask, name)]
    return found


def arrays(names: Iterable[str]) -> list[dict[str, Json]]:
    """Return what mdadm says of the arrays with these kernel *names*."""
    library = _library("MDRAID", "mdraid")
    return [_fields(_call(library.md_detail, f"/dev/{name}"), MD_FIELDS) for name in names]


def _library(plugin: str, label: str) -> Any:
    """Return libblockdev with *plugin* loaded; ``SourceMissing`` says what is not there."""
    if os.geteuid() != 0:
        raise SourceDenied(f"libblockdev: its {label} plugin needs root")
    try:
        import gi
    except ImportError as error:
        raise SourceMissing("libblockdev: PyGObject is not installed (python3-gi)") from error
    generation = next((g for g in GENERATIONS if _require(gi, g)), None)
    if generation is None:
        raise SourceMissing("libblockdev: its introspection data is missing (gir1.2-blockdev)")
    from gi.repository import BlockDev, GLib

    GLib.log_set_handler(None, GLib.LogLevelFlags.LEVEL_MASK, lambda *_: None, None)
    # By name: the numbers of this enumeration changed in 3.0.
    wanted = BlockDev.PluginSpec()
    wanted.name = getattr(BlockDev.Plugin, plugin)
    BlockDev.try_init([wanted], None)
    if label not in BlockDev.get_available_plugin_names():
        raise SourceMissing(f"libblockdev: its {label} plugin or the tool that it runs is missing")
    return BlockDev


def _require(gi: Any, generation: str) -> bool:
    try:
        gi.require_version("BlockDev", generation)
    except ValueError:
        return False
    return True


def _call(question: Any, *arguments: object) -> Any:
    """Ask libblockdev; its errors become ours."""
    from gi.repository import GLib

    try:
        return question(*arguments)
    except GLib.Error as error:
        last = str(error.message).strip().splitlines()[-1:]
        kind = SourceDenied if "ermission denied" in str(error.message) else SourceError
        raise kind(f"libblockdev: {' '.join(last) or 'failed and said nothing'}") from error


def _volume(volume: Any) -> dict[str, Json]:
    record = _fields(volume, LV_FIELDS)
    record["lv_name"] = str(record["lv_name"]).strip("[]")
    record["tags"] = list(getattr(volume, "lv_tags", None) or ())
    record["segments"] = [
        {"pv": segment.pvdev, "start": segment.pv_start_pe, "extents": segment.size_pe}
        for segment in getattr(volume, "segs", None) or ()
    ]
    return record


def _fields(structure: Any, names: Iterable[str]) -> dict[str, Json]:
    return {name: getattr(structure, name, None) for name in names}
