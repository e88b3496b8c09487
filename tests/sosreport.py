"""Writes a machine as ``sos report`` does: queue/ and md/ of sysfs, /proc, and the texts of commands."""

from __future__ import annotations

from pathlib import Path

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import Kind
from stackmap.model.topology import Topology
from stackmap.sources import dm_commands

QUEUE = ("iostats", "rotational", "logical_block_size", "minimum_io_size", "optimal_io_size")
MD = ("level", "layout", "raid_disks", "chunk_size", "degraded", "array_state", "sync_action")
COPIED = ("/proc/diskstats", "/proc/self/mountinfo", "/proc/swaps", "/proc/mdstat")
INFO = "Name             Maj Min Stat Open Targ Event  UUID"


def write_sosreport(root: Path, host: Host, topology: Topology) -> Path:
    """Write the machine *topology* of *host* below *root*; return *root*."""
    for path in COPIED:
        copy(host, path, root)
    lines = [f"{d.number.replace(':', ' ')} {(d.size or 0) // 1024} {d.name}" for d in topology]
    write(root, "/proc/partitions", "major minor  #blocks  name\n\n" + "\n".join(lines) + "\n")
    for device in topology:
        if device.kind is Kind.PARTITION and not device.dm_name:
            continue
        place = f"/sys/block/{device.name}"
        (root / place.lstrip("/") / "queue").mkdir(parents=True)
        for name in QUEUE:
            copy(host, f"{place}/queue/{name}", root)
        if device.kind is Kind.ARRAY:
            members = [f"dev-{edge.below}" for edge in topology.below(device.name)]
            for name in (*MD, *(f"{m}/{n}" for m in members for n in ("state", "slot", "offset"))):
                copy(host, f"{place}/md/{name}", root)
    commands = root / "sos_commands"
    for command, name in (
        (dm_commands.TABLE, "dmsetup_table"),
        (dm_commands.STATUS, "dmsetup_status"),
    ):
        write(commands, f"/devicemapper/{name}", host.run(*command))
    rows = [
        f"{d.dm_name} {d.number.replace(':', ' ')} L--w 0 1 0 {d.uuid}"
        for d in topology
        if d.dm_name
    ]
    write(commands, "/devicemapper/dmsetup_info_-c", "\n".join([INFO, *rows, ""]))
    write(commands, "/block/lsblk", lsblk(topology))
    for device in topology:
        properties = {
            "MAJOR": device.number.partition(":")[0],
            "MINOR": device.number.partition(":")[2],
        }
        text = [
            f"E: {key}={value}" for key, value in (host.udev(device.number) | properties).items()
        ]
        write(commands, f"/block/udevadm_info_.dev.{device.name}", "\n".join(text) + "\n")
    return root


def lsblk(topology: Topology) -> str:
    """Return the tree of ``lsblk`` in ASCII, with the first three columns."""
    lines = ["NAME MAJ:MIN RM"]

    def draw(name: str, indent: str, branch: str) -> None:
        device = topology[name]
        lines.append(f"{indent}{branch}{device.dm_name or name}  {device.number}  0")
        above = list(dict.fromkeys(edge.above for edge in topology.above(name)))
        inside = indent + {"": "", "|-": "| ", "`-": "  "}[branch]
        for other in above:
            draw(other, inside, "`-" if other == above[-1] else "|-")

    for device in topology:
        if not topology.below(device.name):
            draw(device.name, "", "")
    return "\n".join(lines) + "\n"


def copy(host: Host, path: str, root: Path) -> None:
    try:
        write(root, path, host.read(path))
    except SourceError:
        return


def write(root: Path, path: str, text: str) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
