"""
What ``tree`` costs beside lsblk where there are 2,000 mapped devices, which this machine has not.

Both are shown the same ones: files that are mounted over /sys/block, /proc/partitions and /dev/mapper in a
namespace of their own (root's; nobody else sees them). dmsetup is one that prints what it would: neither what the
kernel takes to answer it is in the figures, nor what writing down 50 attributes a device would cost lsblk.
``guest.py`` has the figures of a kernel that has the devices, emulated.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from measure import compare, in_own_mounts
from tabulate import tabulate

STACKMAP = Path(sys.executable).with_name("stackmap")
DEVICES = 2000
SECTORS = 8  # of each
MOST = 100_000_000  # bytes
RUNS = 11

# What lsblk reads of a device, besides its number and size.
ATTRIBUTES = {
    "hidden": "0",
    "ro": "0",
    "removable": "0",
    "alignment_offset": "0",
    "discard_alignment": "0",
    "queue/rotational": "1",
    "queue/logical_block_size": "512",
    "queue/physical_block_size": "512",
    "queue/minimum_io_size": "512",
    "queue/optimal_io_size": "0",
    "queue/discard_granularity": "0",
    "queue/discard_max_bytes": "0",
    "queue/scheduler": "none",
    "queue/nr_requests": "128",
    "queue/read_ahead_kb": "128",
    "queue/zoned": "none",
}
DMSETUP = "#!/bin/sh\nexec cat {place}/dmsetup-$1\n"


def costs() -> bool:
    """Print what a look costs each; whether ours costs no more than lsblk's, in 100 MB."""
    if os.geteuid() or not which("dmsetup"):
        print("tree of many devices: takes root and dmsetup; not measured", file=sys.stderr)
        return True
    return in_own_mounts(__file__)


def show_and_measure() -> bool:
    """In a namespace of our own: mount the devices, and look at them."""
    with TemporaryDirectory() as directory, mounted(Path(directory), DEVICES):
        return _judge()


@contextlib.contextmanager
def mounted(place: Path, devices: int) -> Iterator[Path]:
    """In a namespace of our own: mount so many mapped devices, drawn in *place*."""
    _draw(place, devices)
    wheres = {
        "block": "/sys/block",
        "numbers": "/sys/dev/block",
        "partitions": "/proc/partitions",
        "mapper": "/dev/mapper",
        "dmsetup": which("dmsetup") or "",
    }
    for what, where in wheres.items():
        subprocess.run(["mount", "--bind", place / what, where], check=True)
    try:
        yield place
    finally:
        for where in reversed(wheres.values()):
            subprocess.run(["umount", where], check=True)


def _draw(place: Path, devices: int) -> None:
    for folder in ("block", "numbers", "mapper"):
        (place / folder).mkdir()
    draw_device(place, "sda", "8:0", devices * SECTORS)
    os.mknod(place / "mapper" / "control", stat.S_IFCHR | 0o600, os.makedev(10, 236))
    for number in range(devices):
        name = f"dm-{number}"
        draw_device(place, name, f"254:{number}", SECTORS)
        (place / "block" / name / "dm").mkdir()
        _write(place / "block" / name / "dm", {"name": f"many{number}", "uuid": f"LAB-{number}"})
        (place / "block" / name / "slaves" / "sda").symlink_to("../../sda")
        (place / "block" / "sda" / "holders" / name).symlink_to(f"../../{name}")
        os.mknod(place / "mapper" / f"many{number}", stat.S_IFBLK | 0o600, os.makedev(254, number))
    _answers(place, devices)


def draw_device(place: Path, name: str, number: str, sectors: int) -> None:
    """Write what sysfs has of a device."""
    folder = place / "block" / name
    for each in ("queue", "slaves", "holders"):
        (folder / each).mkdir(parents=True)
    major, minor = number.split(":")
    uevent = f"MAJOR={major}\nMINOR={minor}\nDEVNAME={name}\nDEVTYPE=disk\nDISKSEQ=1"
    _write(folder, {**ATTRIBUTES, "dev": number, "size": str(sectors), "uevent": uevent})
    (place / "numbers" / number).symlink_to(f"../../block/{name}")


def _answers(place: Path, devices: int) -> None:
    """Write down what is asked of all devices at once."""
    numbers = range(devices)
    lines = {
        "partitions": ["major minor  #blocks  name", "", f"8 0 {devices * SECTORS // 2} sda",
                       *(f"254 {n} {SECTORS // 2} dm-{n}" for n in numbers)],
        "dmsetup-table": [f"many{n}: 0 {SECTORS} linear 8:0 {n * SECTORS}" for n in numbers],
        "dmsetup-info": [f"many{n}|254|{n}|L--w|LAB-{n}" for n in numbers],
        "dmsetup": [DMSETUP.format(place=place)],
    }  # fmt: skip
    for name, said in lines.items():
        (place / name).write_text("\n".join(said) + "\n")
    (place / "dmsetup").chmod(0o755)


def _write(folder: Path, attributes: dict[str, str]) -> None:
    for name, text in attributes.items():
        (folder / name).write_text(f"{text}\n")


def _judge() -> bool:
    """Print the figures, and return whether they are as they should be, of all devices."""
    commands = {"stackmap tree": [str(STACKMAP), "tree"], "lsblk": ["lsblk"]}
    for command in commands.values():
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if not all(f"many{number} " in shown for number in range(DEVICES)):
            raise RuntimeError(f"{command[0]} does not show all devices")
    costs = compare(commands, RUNS)
    ours, theirs = costs["stackmap tree"], costs["lsblk"]
    fine = ours.median <= theirs.median and ours.memory < MOST
    rows = [
        [name, cost.median, cost.spread, cost.median / theirs.median, cost.memory / 1_000_000]
        for name, cost in costs.items()
    ]
    print(tabulate(rows, ["2,000 devices", "CPU ms", "±", "× lsblk", "MB"], floatfmt=".2f"))
    print("ok" if fine else "TOO SLOW OR TOO LARGE")
    return fine


if __name__ == "__main__":
    sys.exit(not show_and_measure())
