"""``/proc/mdstat``, ``mdadm --detail`` and ``mdadm --examine``."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stackmap.model.raid import RAID_LEVELS, is_lost
from stackmap.model.units import KIB, SECTOR
from stackmap.sources import mdraid, mdstat
from stackmap.sources.device_lists import disk_of
from stackmap.sources.printed.facts import ALIAS, Fact, of_path

ARRAY = re.compile(r"(\S+) : (?:active|inactive|broken)\b.*")
_MEMBERS = re.compile(r"(?:\S+\[\d{1,9}\](?:\([A-Z]\))*\s*)+")
_BLOCKS = re.compile(r"\s*(\d{1,15}) blocks\b")
# Cut by a mail within a chunk or a progress: "level 5, 1" and "28k chunk"; "(2275456" and "/943718400) finish=".
_CUT = re.compile(r".*(?:(?:level \d+,|super \S+|blocks) \d{1,8}|\(\d{1,20}/?\d{0,20})")
_REST = re.compile(r"\d{1,8}[kK] chunk.*|/?\d{1,20}\) finish=.*|/?\d{1,20}/?\d{0,20}\).*")


def read_mdstat(lines: list[str]) -> Iterator[Fact]:
    """Yield the arrays of ``/proc/mdstat``; a list of members that a mail cut is joined."""
    text: list[str] = []
    sizes: dict[str, str] = {}
    counted: set[str] = set()  # arrays with their line of blocks
    name = ""
    for line in (line.strip() for line in lines):
        if match := ARRAY.fullmatch(line):
            name = match[1]
            counted.discard(name)
            text.append(line)
        elif name and _MEMBERS.fullmatch(line):
            text[-1] += f" {line}"
        elif name and _REST.fullmatch(line) and _CUT.fullmatch(text[-1]):
            text[-1] += line
        elif line.startswith("unused devices"):
            name = ""
        elif name and line:
            if match := _BLOCKS.match(line):
                if name in counted:  # of another array, whose name is missing
                    name = ""
                    continue
                counted.add(name)
                # Of an inactive array, its members' blocks together.
                if " : inactive" not in text[-1]:
                    sizes[name] = str(int(match[1]) * KIB)
            text.append(f"      {line}")
    for array, record in mdstat.parse("\n".join(text)).items():
        yield Fact(array, "listed", "md")
        yield from array_facts(array, record)
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
_MAGIC = re.compile(r"\s*Magic : .*")
_LAYOUTS = {
    "left-asymmetric": "0", "right-asymmetric": "1", "left-symmetric": "2", "right-symmetric": "3",
    "parity-first": "4", "parity-last": "5",
    "left-symmetric-6": "18", "left-asymmetric-6": "16", "right-symmetric-6": "19", "right-asymmetric-6": "17",
}  # fmt: skip
# Beside them stand flags: "active sync set-A failfast", "failfast spare rebuilding".
_STATES = {"active": "in_sync", "faulty": "faulty", "spare": "spare", "journal": "journal"}
# Whether md runs an array is not in its superblocks.
_BY_SUPERBLOCKS = {"clean": "clean by superblocks", "active": "active by superblocks"}
_ARRAY_STATES = ("inactive", "clean", "active", *_BY_SUPERBLOCKS.values())
RUNNING = ("resyncing", "recovering", "checking", "reshaping")
ACTIONS = dict(zip(RUNNING, ("resync", "recover", "check", "reshape"), strict=True))


def read_detail(lines: list[str]) -> Iterator[Fact]:
    """Yield the array and the members of ``mdadm --detail``; of ``--examine`` of an array, that it is a member."""
    if any(map(_MAGIC.fullmatch, lines)):
        yield from read_examined(lines)
        return
    match = DETAIL.fullmatch(lines[0])
    # Of a partition, mdadm shows the array, with the partition's size.
    printed = of_path(match[1]) if match else ""
    ref = disk_of(printed) or printed
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
    for fact in _fields(ref, fields):
        yield fact._replace(ref=printed) if fact.key == "size" else fact


def _fields(ref: str, fields: dict[str, str]) -> Iterator[Fact]:
    words = [word.strip() for word in fields.get("State", "").split(",")]
    level = fields["Raid Level"]
    told = {
        # Of an inactive array, mdadm prints raid0 in any case.
        "level": "" if "inactive" in words and level == "raid0" else level,
        "raid_disks": fields.get("Raid Devices", ""),
        "metadata_version": "external:" * (level == "container") + fields.get("Version", ""),
        "layout": _layout(fields.get("Layout", "")),
        "consistency_policy": fields.get("Consistency Policy", ""),
    }
    if (chunk := re.fullmatch(r"(\d{1,9})K", fields.get("Chunk Size", ""))) is not None:
        told["chunk_size"] = str(int(chunk[1]) * KIB)
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
    return mdraid.raid10_code(copies) or _LAYOUTS.get(text, "")


SCANNED = re.compile(r"\s*(INACTIVE-)?ARRAY (/dev/md\S+)((?: [A-Za-z-]+=\S+)+)\s*")
MOST_MEMBERS = 1000  # of an array; a larger number is damaged
_DEVICES = re.compile(r"\s+devices=(/dev/\S+)\s*")


def read_scanned(lines: list[str]) -> Iterator[Fact]:
    """Yield the arrays of ``mdadm --detail --scan --verbose``, and their members; mdadm.conf may have no more than names."""
    ref, expected = "", 0
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if match := SCANNED.fullmatch(line):
            ref, expected = of_path(match[2]), 0
            words = dict(word.split("=", 1) for word in match[3].split())
            told = {
                "level": words.get("level", ""),
                "metadata_version": words.get("metadata", ""),
                "uuid": words.get("UUID", ""),
                "array_state": "inactive" if match[1] else "",
            }
            # Which members are spares is not printed; of an inactive array, mdadm counts those that are there.
            if not (match[1] or "spares" in words):
                told["raid_disks"] = words.get("num-devices", "")
                expected = int(told["raid_disks"]) if told["raid_disks"].isdecimal() else 0
            if told["level"] or match[1]:
                yield Fact(ref, "listed", "md")
                yield from (Fact(ref, f"md/{name}", value) for name, value in told.items() if value)
        elif ref and (match := _DEVICES.fullmatch(line)):
            paths = match[1].split(",")
            yield from (Fact(ref, "on", of_path(path)) for path in paths)
            is_whole = not following.strip() or SCANNED.fullmatch(following)  # no mail cut the list
            if is_whole and len(paths) < expected < MOST_MEMBERS:
                yield Fact(ref, "md/array_state", "active")
                yield Fact(ref, "md/degraded", str(expected - len(paths)))
        elif line.strip():
            break


EXAMINED = re.compile(r"\s*(/dev/\S+):")
SUPERBLOCK = "superblock"  # the key of what ``mdadm --examine`` printed of a member, as JSON
# Of version 0.90: "this     0       8       17        0      active sync   /dev/sdb1".
_THIS = re.compile(r"\s*this\s+\d+\s+\d+\s+\d+\s+(-?\d+)\s+([a-z]\S*).*")
_ROLE = re.compile(r"(?:Active|Replacement) device (\d{1,5})")
_AFTER = re.compile(r"after=(\d{1,15}) sectors")
_SECTORS = re.compile(r"(\d{1,15})(?: sectors)?\b")


def read_examined(lines: list[str]) -> Iterator[Fact]:
    """Yield that a device holds a part of an array, and its superblock, from ``mdadm --examine``."""
    match = EXAMINED.fullmatch(lines[0])
    fields: dict[str, str] = {}
    for line in lines[1:]:
        if field := _FIELD.fullmatch(line):
            fields.setdefault(field[1], field[2].strip())
        elif this := _THIS.fullmatch(line):
            fields["Device Role"] = f"Active device {this[1]}" if this[2] == "active" else this[2]
    fields["UUID"] = (fields.get("Array UUID") or fields.get("UUID", "")).partition(" ")[0]
    if match is None or not (fields["UUID"] or "Raid Level" in fields):
        return
    member = of_path(match[1])
    yield Fact(member, "udev:ID_FS_TYPE", "linux_raid_member")
    if fields["UUID"] and fields.get("Raid Level", "") in RAID_LEVELS:
        yield Fact(member, SUPERBLOCK, json.dumps(fields))
        # What was there when it became a member; it may have grown since.
        data = fields.get("Avail Dev Size", "")
        after = _AFTER.search(fields.get("Unused Space", ""))
        used = fields.get("Used Dev Size", "")  # 0 for linear, which uses all
        if after and not used.startswith("0 "):
            data = used or data
        sizes = [_SECTORS.match(text) for text in (data, fields.get("Data Offset", ""))]
        if all(sizes) and fields.get("Version") in ("1.1", "1.2"):
            sectors = sum(int(size[1]) for size in (*sizes, after) if size)
            yield Fact(member, "size", f"~{sectors * SECTOR}")


class Assembled(NamedTuple):
    """An array by the superblocks of its members: the name it would get, its UUID, its members, and what they tell of it."""

    ref: str
    uuid: str
    members: tuple[str, ...]
    facts: tuple[Fact, ...]


def assembled(superblocks: Mapping[str, Mapping[str, str]]) -> Iterator[Assembled]:
    """Yield the arrays of which *superblocks*, by member, are parts; the one that was written last counts."""
    groups: defaultdict[str, dict[str, Mapping[str, str]]] = defaultdict(dict)
    for member, fields in superblocks.items():
        groups[fields["UUID"]][member] = fields
    for uuid, parts in groups.items():
        # Metadata at the end of the last partition is at the end of its disk, too.
        disks = {disk_of(member) for member in parts}
        blocks = {member: fields for member, fields in parts.items() if member not in disks}
        in_order = sorted(blocks, key=lambda member: _events(blocks[member]))
        newest = blocks[in_order[-1]]
        in_slots = {blocks[member].get("Device Role", ""): member for member in in_order}
        # It is md5 by "Preferred Minor : 5" and by "Name : host:5", else named as in /dev/md.
        name = newest.get("Name", "").partition(" ")[0].rpartition(":")[2]
        number = newest.get("Preferred Minor", name)
        ref = f"md{number}" if number.isdecimal() else f"{ALIAS}{name or newest['UUID']}"
        facts = [*_fields(ref, _as_detail(newest))]
        for member, fields in blocks.items():
            replaced = in_slots[fields.get("Device Role", "")] != member
            state, slot = _member_state(fields, newest, replaced=replaced)
            place = f"md/dev-{member.replace('/', '!')}"
            facts += [
                Fact(ref, "on", member),
                Fact(ref, f"{place}/state", state),
                Fact(ref, f"{place}/slot", slot),
            ]
        yield Assembled(ref, uuid, tuple(blocks), (Fact(ref, "listed", "md"), *facts))


def _events(fields: Mapping[str, str]) -> tuple[int, ...]:
    """Return the count of changes; version 0.90 prints its upper half before a point."""
    return tuple(int(part) for part in fields.get("Events", "").split(".") if part.isdecimal())


def _member_state(
    fields: Mapping[str, str], newest: Mapping[str, str], *, replaced: bool
) -> tuple[str, str]:
    """Return the state and the slot of a member as md's files have them; what the *newest* one lacks has failed."""
    role = fields.get("Device Role", "").lower()
    match = _ROLE.fullmatch(fields.get("Device Role", ""))
    if match is None:
        return ("journal" if role.startswith("journal") else "spare", "none")
    slots = _slots(newest)
    slot = int(match[1])
    if replaced or slots[slot : slot + 1] == ".":
        return "faulty", "none"
    return ("replacement" if role.startswith("replacement") else "in_sync", match[1])


def _slots(fields: Mapping[str, str]) -> str:
    """Return the letters of "Array State : A.A": A or R for a member, a point for none; "" in version 0.90."""
    return fields.get("Array State", "").partition(" ")[0]


def _as_detail(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a superblock as ``mdadm --detail`` prints them of the array."""
    detail = dict(fields)
    slots = _slots(fields)
    if slots:
        detail["Active Devices"] = str(len(slots) - slots.count("."))
    word = fields.get("State", "").partition(" ")[0]
    if detail.get("Active Devices") == detail.get("Raid Devices"):
        word = _BY_SUPERBLOCKS.get(word, "")
    attributes = {"level": fields["Raid Level"], "raid_disks": fields.get("Raid Devices", "")}
    attributes["layout"] = _layout(fields.get("Layout", ""))
    array = mdraid.Array(dict.fromkeys(mdraid.ATTRIBUTES, "") | attributes, ())
    if slots and array.layout and is_lost(array.layout, [letter != "." for letter in slots]):
        word = "FAILED"
    detail["State"] = word
    detail["Array Size"] = _in_kib(fields.get("Array Size", ""))
    return detail


def _in_kib(size: str) -> str:
    """Return an array's size in KiB as ``mdadm --detail`` prints it; old versions print sectors, which their GiB show."""
    match = re.match(r"(\d{1,16})(?: KiB)? \((\d{1,9}\.\d+) ([MGT])iB", size)
    if match is None:
        return ""
    kib = float(match[2]) * KIB ** "MGT".index(match[3]) * KIB
    number = int(match[1])
    return f"{number if number < 1.5 * kib else number // 2} ("
