"""``/proc/mdstat``, ``mdadm --detail`` and ``mdadm --examine``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackmap.model.units import KIB
from stackmap.sources import mdraid, mdstat
from stackmap.sources.printed.facts import Fact, of_path

ARRAY = re.compile(r"(\S+) : (?:active|inactive|broken)\b.*")
_MEMBERS = re.compile(r"(?:\S+\[\d{1,9}\](?:\([A-Z]\))*\s*)+")
_BLOCKS = re.compile(r"\s*(\d{1,15}) blocks\b")


def read_mdstat(lines: list[str]) -> Iterator[Fact]:
    """Yield the arrays of ``/proc/mdstat``; a list of members that a mail cut is joined."""
    text: list[str] = []
    sizes: dict[str, str] = {}
    name = ""
    for line in (line.strip() for line in lines):
        if match := ARRAY.fullmatch(line):
            name = match[1]
            text.append(line)
        elif name and _MEMBERS.fullmatch(line):
            text[-1] += f" {line}"
        elif line.startswith("unused devices"):
            name = ""
        elif name and line:
            if match := _BLOCKS.match(line):
                sizes[name] = str(int(match[1]) * KIB)
            text.append(f"      {line}")
    for array, found in mdstat.parse("\n".join(text)).items():
        yield Fact(array, "listed", "md")
        yield from array_facts(array, found)
        if array in sizes:
            yield Fact(array, "size", sizes[array])


def array_facts(ref: str, array: mdraid.Array) -> Iterator[Fact]:
    """Yield the attributes and members of *array* as md's files."""
    for name, value in array.attributes.items():
        if value:
            yield Fact(ref, f"md/{name}", value)
    for member in array.members:
        yield Fact(ref, "on", member.name)
        place = f"md/dev-{member.name.replace('/', '!')}"
        yield Fact(ref, f"{place}/state", ",".join(sorted(member.states)))
        yield Fact(ref, f"{place}/slot", "none" if member.slot is None else str(member.slot))


DETAIL = re.compile(r"\s*(/dev/md\S+):")
_FIELD = re.compile(r"\s*([A-Z][A-Za-z ]{1,24}?) : ?(.*)")
# Number, major, minor, RaidDevice, state, device: "0  8  1  0  active sync   /dev/sda1".
_ROW = re.compile(
    r"\s*(\d+|-)\s+(\d+)\s+(\d+)\s+(\d+|-)(?:\s+([a-z][a-zA-Z ,=-]*?))?(?:\s+(/dev/\S+))?"
)
_SIZE = re.compile(r"(\d{1,15}) \(")
_LAYOUTS = {
    "left-asymmetric": "0", "right-asymmetric": "1", "left-symmetric": "2", "right-symmetric": "3",
    "parity-first": "4", "parity-last": "5",
    "left-symmetric-6": "18", "left-asymmetric-6": "16", "right-symmetric-6": "19", "right-asymmetric-6": "17",
}  # fmt: skip
# Beside them stand flags: "active sync set-A failfast", "failfast spare rebuilding".
_STATES = {"active": "in_sync", "faulty": "faulty", "spare": "spare", "journal": "journal"}
_ARRAY_STATES = ("inactive", "clean", "active")
RUNNING = ("resyncing", "recovering", "checking", "reshaping")
ACTIONS = dict(zip(RUNNING, ("resync", "recover", "check", "reshape"), strict=True))


def read_detail(lines: list[str]) -> Iterator[Fact]:
    """Yield the array and the members of ``mdadm --detail``."""
    match = DETAIL.fullmatch(lines[0])
    # Of a partition, mdadm shows the array.
    ref = re.sub(r"(md\d+)p\d+", r"\1", of_path(match[1])) if match else ""
    members: list[str] = []
    fields: dict[str, str] = {}
    for line in lines[1:]:
        if match := _FIELD.fullmatch(line):
            fields.setdefault(match[1], match[2].strip())
        elif match := _ROW.fullmatch(line):
            _number, major, minor, slot, said, path = match.groups()
            words = (said or "").split()
            if path is None or "removed" in words:
                continue
            member = of_path(path)
            members.append(member)
            state = next((state for word, state in _STATES.items() if word in words), "")
            states = ",".join(filter(None, (state, "write_mostly" * ("writemostly" in words))))
            in_slot = slot.isdecimal() and (state == "in_sync" or "rebuilding" in words)
            yield Fact(member, "is", f"{major}:{minor}")
            yield Fact(ref, "on", member)
            place = f"md/dev-{member.replace('/', '!')}"
            yield Fact(ref, f"{place}/state", states or mdraid.STATE_UNKNOWN)
            yield Fact(ref, f"{place}/slot", slot if in_slot else "none")
        elif line.strip() and not line.lstrip().startswith("Number") and members:
            break
    if "Raid Level" not in fields:
        return
    yield Fact(ref, "listed", "md")
    yield from _fields(ref, fields)


def _fields(ref: str, fields: dict[str, str]) -> Iterator[Fact]:
    told = {
        "level": fields["Raid Level"],
        "raid_disks": fields.get("Raid Devices", ""),
        "metadata_version": fields.get("Version", ""),
        "layout": _layout(fields.get("Layout", "")),
        "consistency_policy": fields.get("Consistency Policy", ""),
    }
    if (chunk := re.fullmatch(r"(\d{1,9})K", fields.get("Chunk Size", ""))) is not None:
        told["chunk_size"] = str(int(chunk[1]) * KIB)
    words = [word.strip() for word in fields.get("State", "").split(",")]
    told["array_state"] = next((word for word in words if word in _ARRAY_STATES), "")
    if "FAILED" in words:
        told["array_state"] = mdraid.BROKEN
    if told["raid_disks"].isdecimal() and fields.get("Active Devices", "").isdecimal():
        told["degraded"] = str(max(0, int(told["raid_disks"]) - int(fields["Active Devices"])))
    told["sync_action"] = next((ACTIONS[word] for word in words if word in ACTIONS), "idle")
    progress = next((value for key, value in fields.items() if key.endswith(" Status")), "")
    if done := re.match(r"(\d{1,3})%", progress):
        told["sync_completed"] = f"{done[1]} / 100"
    for name, value in told.items():
        if value:
            yield Fact(ref, f"md/{name}", value)
    if (size := _SIZE.match(fields.get("Array Size", ""))) is not None:
        yield Fact(ref, "size", str(int(size[1]) * KIB))
    if fields.get("UUID"):
        yield Fact(ref, "md/uuid", fields["UUID"])


def _layout(text: str) -> str:
    """Return md's code of a layout, "" if it is unknown."""
    copies = re.findall(r"(near|far|offset)=(\d{1,3})", text)
    if copies:
        found = {kind: int(count) for kind, count in copies}
        far = found.get("far") or found.get("offset") or 1
        return str(found.get("near", 1) | far << 8 | (0x10000 if "offset" in found else 0))
    return _LAYOUTS.get(text, "")


EXAMINED = re.compile(r"\s*(/dev/\S+):")


def read_examined(lines: list[str]) -> Iterator[Fact]:
    """Yield that a device holds a part of an array, from ``mdadm --examine``."""
    match = EXAMINED.fullmatch(lines[0])
    if match and any("Array UUID :" in line or "Raid Level :" in line for line in lines):
        yield Fact(of_path(match[1]), "udev:ID_FS_TYPE", "linux_raid_member")
