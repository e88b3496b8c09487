"""
``/proc/mdstat``: md's arrays and their members, for trees without ``/sys/block/mdN/md``.

The number behind a member is that of its superblock, which is its slot only until a member is
replaced. So while fewer are in sync than there are, which of them are is unknown.
"""

import re
from collections.abc import Mapping

from stackmap.host import Host
from stackmap.model.raid import DELAYED, is_lost
from stackmap.model.units import KIB
from stackmap.sources.mdraid import ATTRIBUTES, BROKEN, STATE_UNKNOWN, Array, Member, raid10_code
from stackmap.sources.sysfs import attribute

PATH = "/proc/mdstat"

_ARRAY = re.compile(r"(\S+) : (active|inactive|broken)( \((?:auto-)?read-only\))?((?: \S+)*)\s*")
_MEMBER = re.compile(r"(\S+)\[(\d{1,9})\]((?:\([A-Z]\))*)")
_FACTS = {
    "metadata_version": re.compile(r"super (\S+)"),
    "layout": re.compile(r"algorithm (\d{1,3})"),
    "raid_disks": re.compile(r"\[(\d{1,6})/\d{1,6}\]"),
    # Of work that waits for that of another array, only a reshape has begun to change the array.
    "sync_action": re.compile(
        r"(reshape(?=\s*=)|(?:resync|recover|check)(?=y?\s*=(?!\s*(?:DELAYED|PENDING))))"
    ),
    "sync_completed": re.compile(r"\((\d{1,20}/\d{1,20})\)"),
    "sync_speed": re.compile(r"\bspeed=(\d{1,12})K/sec"),
}
_DELAYED = re.compile(r"reshape\s*=\s*(?:DELAYED|PENDING)")
_CHUNK = re.compile(r"(\d{1,9})[kK] chunks?")
_IN_SYNC = re.compile(r"\[\d{1,6}/(\d{1,6})\]")
# In sync or not, in the order of slots; E: in the array of a Synology, but it fails requests.
_IN_SLOTS = re.compile(r"\[([UE_]{1,4096})\]")
_COPIES = re.compile(r"(\d{1,3}) (near|far|offset)-copies")
_STATES = {
    "F": "faulty",
    "E": "faulty",
    "S": "spare",
    "J": "journal",
    "R": "replacement",
    "W": "write_mostly",
}


def read(host: Host) -> Mapping[str, Array]:
    """Return the arrays by kernel name, {} if the file cannot be read."""
    return parse(attribute(host, PATH))


def parse(text: str) -> dict[str, Array]:
    """Return the arrays by kernel name, with what the text says of each."""
    lines: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if match := _ARRAY.fullmatch(line):
            name = match[1]
            lines[name] = [line]
        elif name and line.startswith(" "):
            lines[name].append(line)
        else:
            name = ""
    return {name: _array(*these) for name, these in lines.items()}


def _array(first: str, *others: str) -> Array:
    match = _ARRAY.fullmatch(first)
    words = match[4].split() if match else []
    rest = "\n".join(others)
    stated = {key: match[1] for key, form in _FACTS.items() if (match := form.search(rest))}
    if _DELAYED.search(rest):
        stated["sync_completed"] = DELAYED
    in_sync, slots = _IN_SYNC.search(rest), _IN_SLOTS.search(rest)
    working = int(in_sync[1]) if in_sync else None
    # During a change of level md may print "[4/3] [UUUU]", which lacks no member.
    if slots and slots[1] == "U" * int(stated.get("raid_disks", 0)):
        working = len(slots[1])
    elif slots and "E" in slots[1]:  # "[4/4] [UEUU]"
        working = slots[1].count("U")
    members = [_member(word) for word in words]
    known = [member for member in members if member is not None]
    holding = [member for member in known if member.states <= {"in_sync", "write_mostly"}]
    attributes = {
        **dict.fromkeys(ATTRIBUTES, ""),
        **stated,
        "level": next((word for word in words if "[" not in word), ""),
        "array_state": _state(first),
        "layout": stated.get("layout")
        or raid10_code((kind, count) for count, kind in _COPIES.findall(rest)),
    }
    if chunk := _CHUNK.search(rest):
        attributes["chunk_size"] = str(int(chunk[1]) * KIB)
    if working is not None:
        attributes["degraded"] = str(max(0, int(stated["raid_disks"]) - working))
    elif attributes["level"] in ("raid0", "linear"):  # they have no spares
        attributes["raid_disks"] = str(len(holding))
    elif attributes["array_state"] == "active":  # the end of a pasted text is missing
        attributes["array_state"] = ""
    if working is not None and working < len(holding):
        known = [_uncertain(member) if member in holding else member for member in known]
    key = {member: (member.slot is None, member.slot or 0, member.name) for member in known}
    array = Array(attributes, tuple(sorted(known, key=key.__getitem__)))
    if slots and array.layout is not None and is_lost(array.layout, [c == "U" for c in slots[1]]):
        attributes["array_state"] = BROKEN
    return array


def _member(word: str) -> Member | None:
    match = _MEMBER.fullmatch(word)
    if match is None:
        return None
    states = {_STATES.get(letter, "") for letter in match[3][1:-1].split(")(") if letter}
    if not states & {"faulty", "spare", "journal", "replacement"}:
        states.add("in_sync")
    holds = "in_sync" in states or "replacement" in states
    return Member(match[1], int(match[2]) if holds else None, frozenset(states))


def _uncertain(member: Member) -> Member:
    states = (member.states - {"in_sync"}) | {STATE_UNKNOWN}
    return Member(member.name, member.slot, states)


def _state(line: str) -> str:
    for state in ("inactive", BROKEN):
        if f" : {state}" in line:
            return state
    return "readonly" if " (read-only)" in line else "active"
