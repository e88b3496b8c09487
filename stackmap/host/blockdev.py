"""
LVM's and md's own metadata, and the health of disks, through libblockdev's GObject introspection.

Optional: no edge of the topology depends on it, because the plugins need root
and libblockdev 2.x knows neither segments nor tags. Versions 2.x and 3.x are distinguished by
their functions, never by number. A ``LibraryQuestion`` asks in a child: lvm may wait for a dead disk, and
this way it has a time limit and ends with stackmap. Pitfalls, each seen on a real system:

- ``lvm_lvs`` and ``lvm_lvs_tree`` over all VGs drop or merge LVs of the same
  name in two VGs, so both are called per VG;
- libblockdev 2.x prints warnings to stderr unless GLib's log handler is
  replaced before the first call;
- a call into a plugin that is not loaded aborts the process, so the loaded
  plugins are checked first;
- without device-mapper in the kernel, LVM reports no VGs and no error.
"""

import json
import os
from collections.abc import Callable, Iterable
from fcntl import ioctl
from typing import Any

from stackmap.errors import SourceDenied, SourceError, SourceMissing
from stackmap.host import Json
from stackmap.host.capture_format import REFUSALS, refusal_of
from stackmap.host.command import SYSTEM_PATH, ForkedQuestion

GENERATIONS = ("3.0", "2.0")
LV_FIELDS = (
    "vg_name", "lv_name", "uuid", "size", "attr", "segtype", "origin", "pool_lv", "data_lv",
    "metadata_lv", "roles", "move_pv", "data_percent", "metadata_percent", "copy_percent",
)  # fmt: skip
MD_FIELDS = (
    "device", "metadata", "level", "name", "array_size", "raid_devices", "total_devices",
    "active_devices", "working_devices", "failed_devices", "spare_devices", "clean", "uuid",
)  # fmt: skip

# Functions of 3.x that read the health of a disk: their plugin, and the fields of the answer.
DISK_FUNCTIONS = {
    "nvme_get_smart_log": ("NVME", "nvme", (
        "critical_warning", "avail_spare", "percent_used", "total_data_written", "power_on_hours",
        "media_errors", "temperature", "warning_temp_time", "critical_temp_time",
    )),
    "smart_ata_get_info": ("SMART", "smart", (
        "smart_enabled", "overall_status_passed", "power_on_time", "temperature",
    )),
    "smart_scsi_get_info": ("SMART", "smart", (
        "smart_enabled", "overall_status_passed", "power_on_time", "temperature", "scsi_grown_defect_list",
        "read_errors_uncorrected", "write_errors_uncorrected", "write_processed_bytes",
    )),
}  # fmt: skip
# Both plugins for ATA read the health of a sleeping disk, too, which would wake it. This command does not (hdreg.h, ACS).
HDIO_DRIVE_CMD, CHECK_POWER_MODE = 0x031F, 0xE5
ASLEEP = (0x00, 0x01, 0x40)  # standby, by timer or by order
POWER_MODE = 2  # its place in the answer


class LibraryQuestion(ForkedQuestion):
    """*ask* in a child, about *what*; *ask* returns JSON values or raises a ``SourceError``."""

    def __init__(self, what: str, ask: Callable[[], Json]) -> None:
        self._ask = ask
        super().__init__(("libblockdev", what))

    def asked(self) -> bytes:
        """Return the answer or the refusal as JSON; runs in the child."""
        try:
            return json.dumps({"answer": self._ask()}).encode()
        except SourceError as error:
            return json.dumps({"refused": refusal_of(error)}).encode()

    def result(self, seconds: float) -> Any:
        """Return the answer of *ask*, or raise its error; ``SourceTimeout`` after *seconds*."""
        status, out, _ = self.answer(seconds)
        if status:
            ended = f"signal {-status}" if status < 0 else f"status {status}"
            raise SourceError(f"libblockdev: its process ended with {ended}")
        said = json.loads(out)
        if "refused" in said:
            kind, message = said["refused"]
            raise REFUSALS[kind](message)
        return said["answer"]


def volumes() -> list[Json]:
    """Return every VG's LVs and sub-LVs; sizes in bytes, names without LVM's brackets."""
    # Before the plugin is loaded: loading it runs lvm, which would make the node.
    if not os.path.exists("/dev/mapper/control"):
        raise SourceMissing("libblockdev: LVM is unavailable: this kernel has no device-mapper")
    library = _library("LVM", "lvm")
    records: list[Json] = []
    for group in _call(library.lvm_vgs):
        name = group.name
        ask = getattr(library, "lvm_lvs_tree", library.lvm_lvs)
        records += [_volume(volume) for volume in _call(ask, name)]
    return records


def arrays(names: Iterable[str]) -> list[Json]:
    """Return mdadm's details of the arrays with these kernel *names*; of one without, why not, as ``refused``."""
    library = _library("MDRAID", "mdraid")
    records: list[Json] = []
    for name in names:
        path = f"/dev/{name}"
        try:
            records.append(_fields(_call(library.md_detail, path), MD_FIELDS))
        except SourceError as error:  # it may have been stopped: the others answer
            records.append({"device": path, "refused": str(error)})
    return records


def disk_health(function: str, path: str) -> dict[str, Json]:
    """Return the answer of a function of ``DISK_FUNCTIONS`` on the disk at *path*; only ``asleep`` if it sleeps."""
    plugin, label, names = DISK_FUNCTIONS[function]
    library = _library(plugin, label)
    ask = getattr(library, function)
    if function == "smart_ata_get_info" and _is_asleep(path):
        return {"asleep": True}
    answer = _call(ask, path) if plugin == "NVME" else _call(ask, path, None)
    fields = _fields(answer, names)
    if function == "smart_ata_get_info":
        fields["attributes"] = [
            _fields(attribute, ("id", "well_known_name", "value_raw"))
            for attribute in answer.attributes
        ]
    return fields


def _is_asleep(path: str) -> bool:
    """Whether the ATA disk at *path* sleeps; ``SourceError`` if it does not say."""
    try:
        disk = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return (
                ioctl(disk, HDIO_DRIVE_CMD, bytes((CHECK_POWER_MODE, 0, 0, 0)))[POWER_MODE]
                in ASLEEP
            )
        finally:
            os.close(disk)
    except OSError as error:
        raise SourceError(f"libblockdev: power mode of {path}: {error.strerror}") from error


def _library(plugin: str, label: str) -> Any:
    """Return libblockdev with *plugin* loaded; ``SourceMissing`` if a part is missing."""
    if os.geteuid() != 0:
        raise SourceDenied(f"libblockdev: the {label} plugin needs root")
    os.environ["PATH"] = SYSTEM_PATH  # its plugins look for lvm and mdadm there
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
    if not hasattr(BlockDev.Plugin, plugin):
        raise SourceMissing(f"libblockdev: this version has no {label} plugin")
    wanted = BlockDev.PluginSpec()
    wanted.name = getattr(BlockDev.Plugin, plugin)
    BlockDev.try_init([wanted], None)
    if label not in BlockDev.get_available_plugin_names():
        raise SourceMissing(f"libblockdev: the {label} plugin or its command-line tool is missing")
    return BlockDev


def _require(gi: Any, generation: str) -> bool:
    try:
        gi.require_version("BlockDev", generation)
    except ValueError:
        return False
    return True


def _call(question: Any, *arguments: object) -> Any:
    from gi.repository import GLib

    try:
        return question(*arguments)
    except GLib.Error as error:
        last = str(error.message).strip().splitlines()[-1:]
        kind = SourceDenied if "ermission denied" in str(error.message) else SourceError
        raise kind(f"libblockdev: {' '.join(last) or 'failed without a message'}") from error


def _volume(volume: Any) -> dict[str, Json]:
    record = _fields(volume, LV_FIELDS)
    record["lv_name"] = str(record["lv_name"]).strip("[]")
    # 3.x alone has them, as tags of LVM and as segments.
    record["tags"] = list(volume.lv_tags or ()) if hasattr(volume, "lv_tags") else None
    record["segments"] = [
        {"pv": segment.pvdev, "start": segment.pv_start_pe, "extents": segment.size_pe}
        for segment in getattr(volume, "segs", None) or ()
    ]
    return record


def _fields(structure: Any, names: Iterable[str]) -> dict[str, Json]:
    return {name: getattr(structure, name, None) for name in names}
