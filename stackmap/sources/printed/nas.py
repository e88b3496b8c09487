"""``/proc/mdstat`` of Unraid, which has a device above each disk and parity beside them; ``bcache-status``."""

import re
from collections import defaultdict
from collections.abc import Iterator

from stackmap.model.units import KIB
from stackmap.sources.printed.columns import size_of
from stackmap.sources.printed.facts import Fact, of_path

UNRAID = re.compile(r"\s*(?:sb|md|disk|rdev)[A-Z]\w{1,24}(?:\.\d{1,2})?=.{0,200}")
_FIELD = re.compile(r"\s*(\w{4,28})(?:\.(\d{1,2}))?=(.*)")
# md's word for the first one of mdResyncAction.
WORK = {"check": "check", "recon": "recover", "clear": "resync"}


def read_unraid(lines: list[str]) -> Iterator[Fact]:
    """Yield the device above each disk, the first partition of that disk below it, and its state."""
    whole: dict[str, str] = {}
    slots: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for line in lines:
        if match := _FIELD.fullmatch(line):
            (slots[match[2]] if match[2] else whole)[match[1]] = match[3].strip().strip('"')
    if "mdState" not in whole:
        return
    total, done = whole.get("mdResync", "0"), whole.get("mdResyncPos", "0")
    works = total.isdecimal() and int(total) > 0
    action = WORK.get(whole.get("mdResyncAction", "").partition(" ")[0], "") if works else ""
    for slot in slots.values():
        name, disk = slot.get("diskName", ""), slot.get("rdevName", "")
        if not name:
            continue  # parity, or an empty place
        yield Fact(name, "listed", "md")
        yield Fact(name, "md/level", "unraid")
        yield Fact(name, "md/array_state", "active")
        yield Fact(name, "md/degraded", str(int(slot.get("rdevStatus", "DISK_OK") != "DISK_OK")))
        yield Fact(name, "md/sync_action", action or "idle")
        if action:
            yield Fact(name, "md/sync_completed", f"{done}/{total}")
        if slot.get("diskSize", "").isdecimal():
            yield Fact(name, "size", str(int(slot["diskSize"][:16]) * KIB))
        if disk:
            yield Fact(name, "on", _first_partition(disk))


def _first_partition(disk: str) -> str:
    """Return the partition of *disk* that Unraid uses; its port to other systems prints that itself."""
    if re.fullmatch(r"(?!nvme)[a-z]+\d+|.*p\d+", disk):
        return disk
    return f"{disk}{'p' * disk[-1].isdecimal()}1"


BCACHE = re.compile(r"\s*--- bcache ---")
_HEAD = re.compile(r"\s*--- (.+) ---")
_DEVICE = re.compile(r"\s*(Device(?: File)?|Size|State|Cache Mode)\s{2,}(\S.*)")


def read_bcache(lines: list[str]) -> Iterator[Fact]:
    """Yield the cached device of ``bcache-status``, the disk that holds its data, and its cache."""
    ref = part = device = ""
    for line in lines:
        if head := _HEAD.fullmatch(line):
            part, device = head[1], ""
        elif field := _DEVICE.fullmatch(line):
            key, value = field[1], field[2].strip()
            if key.startswith("Device"):
                path, number = (*value.split(" "), "")[:2]
                device = of_path(path)
                yield Fact(device, "is", number.strip("()"))
                if part == "bcache":
                    ref = device
                    yield Fact(ref, "listed", "")
                elif ref:
                    yield Fact(ref, "on", device)
                    if part.startswith("Backing"):
                        yield Fact(ref, "bcache/backing_dev_name", device)
            elif key == "Cache Mode" and part == "bcache" and ref:
                yield Fact(ref, "bcache/cache_mode", value)
            elif key == "State" and ref:
                yield Fact(ref, "bcache/state", value)
            elif key == "Size" and device and (size := size_of(value)):
                yield Fact(device, "size", f"~{size.removeprefix('~')}")
