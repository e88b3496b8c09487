"""
``/sys/block/mdN/md``: an md array, its members and its state.

``dev-X/state`` is a comma-separated list (faulty, in_sync, journal, write_mostly,
spare, replacement …), ``dev-X/slot`` a slot number or "none". During a reshape,
attributes read "new (old)". LVM's RAID has no such directory.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from stackmap.host import Host
from stackmap.model.device import Role
from stackmap.model.raid import DELAYED, LOCKLESS, LOST, STOPPED, Layout, layout, raid_state
from stackmap.model.units import KIB, percent
from stackmap.sources.sysfs import Block, attribute, kernel_name, list_names, parse_int

_MEMBER = "dev-"
# A member's role by the first of these words in its state: a failed journal is a failed member.
_ROLES = {"faulty": Role.FAILED, "replacement": Role.REPLACEMENT, "journal": Role.JOURNAL}
BROKEN = "broken"  # md, from Linux 5.4 on: too few members; it says so only while all is written
BUSY = ("clean", "active", "active-idle", "write-pending")
_PARITY_LAYOUTS = {0: "la", 1: "ra", 2: "ls", 3: "rs", 4: "0", 5: "n"} | {
    8: "zr", 9: "nr", 10: "nc", 16: "la_6", 17: "ra_6", 18: "ls_6", 19: "rs_6", 20: "0_6", 21: "n_6"
}  # fmt: skip

# md.rst has the second spelling, the kernel prints the first.
WRITE_MOSTLY = frozenset({"write_mostly", "writemostly"})

# Attributes of some levels, shown as facts.
FACTS = {
    "metadata": "metadata_version",
    "consistency": "consistency_policy",
    "stripe cache": "stripe_cache_size",
    "threads": "group_thread_cnt",
    "rmw level": "rmw_level",
    "region": "bitmap/chunksize",
    "journal mode": "journal_mode",
    "mismatches": "mismatch_cnt",
}


ATTRIBUTES = (
    "level", "layout", "raid_disks", "chunk_size", "degraded", "array_state",
    "sync_action", "sync_completed", "sync_speed", "uuid", "bitmap_type", *FACTS.values(),
)  # fmt: skip
MAX_SLOTS = 4096  # no array has as many; a damaged capture may say so
STATE_UNKNOWN = "unknown"  # of a member in a slot, which may not be in sync


@dataclass(frozen=True, slots=True)
class Member:
    """A member: its ``slot`` (None for spare and faulty ones), its ``states``, its data ``offset`` in sectors."""

    name: str
    slot: int | None
    states: frozenset[str]
    offset: int | None = None

    @property
    def role(self) -> Role:
        """Its role; only a device in a slot that has not failed holds data, or one in sync whose slot is unknown."""
        for word, role in _ROLES.items():
            if word in self.states:
                return role
        return Role.SPARE if self.slot is None and "in_sync" not in self.states else Role.DATA

    @property
    def state(self) -> str:
        """Its state in one word; "active" if in sync, "" if unknown."""
        if STATE_UNKNOWN in self.states:
            return ""
        for word in ("faulty", "replacement", "journal", "in_sync"):
            if word in self.states:
                return "active" if word == "in_sync" else word
        return "spare" if self.slot is None else "recovering"


@dataclass(frozen=True, slots=True)
class Array:
    """An array: its attributes as md writes them, and its members by slot."""

    attributes: dict[str, str]
    members: tuple[Member, ...]

    @property
    def is_container(self) -> bool:
        """Whether it only holds the disks (imsm, ddf) of other arrays."""
        # "external:imsm" is a container, "external:/md127/0" an array in one.
        kept, _, where = self.attributes["metadata_version"].partition(":")
        return kept == "external" and not where.startswith("/")

    @property
    def layout(self) -> Layout | None:
        """How it spreads data; None for a container, a level without geometry, or if unknown."""
        attributes = self.attributes
        level = attributes["level"]
        code = parse_int(_current(attributes["layout"]))
        variant, copies = "", None
        if level == "raid10":
            if not code:  # there is no such layout: the attribute could not be read
                return None
            variant, copies = _raid10(code)
        elif level in ("raid5", "raid6") and code is not None:
            variant = _PARITY_LAYOUTS.get(code, "")
        chunk = parse_int(_current(attributes["chunk_size"]))
        members = parse_int(_current(attributes["raid_disks"])) or 0
        return layout(level, members, chunk, copies, variant)

    @property
    def slots(self) -> tuple[str, ...]:
        """The name of the member in sync in each slot, "" without one; () if slots are unknown."""
        holding = [m for m in self.members if m.role in (Role.DATA, Role.REPLACEMENT)]
        in_sync = {m.slot: m.name for m in holding if "in_sync" in m.states}
        if not in_sync or None in in_sync or any(STATE_UNKNOWN in m.states for m in self.members):
            return ()
        count = parse_int(_current(self.attributes["raid_disks"])) or 0
        return tuple(in_sync.get(slot, "") for slot in range(min(count, MAX_SLOTS)))

    @property
    def state(self) -> str | None:
        """What is wrong or running, "active" if nothing; None if md does not say."""
        attributes = self.attributes
        # A container is always "inactive": it has no I/O.
        state = "" if self.is_container else attributes["array_state"]
        if state == BROKEN:
            return LOST
        if state not in BUSY:
            return {"readonly": "read-only"}.get(state, state) or None
        return raid_state(
            failed=(parse_int(attributes["degraded"]) or 0) > 0,
            action=attributes["sync_action"] or "idle",
            progress=_progress(attributes["sync_completed"], attributes["sync_speed"]),
        )


def read(host: Host, block: Block) -> Array:
    """Return the array *block*."""
    path = f"{block.path}/md"
    entries = list_names(host, path)
    members = [_member(host, path, name) for name in entries if name.startswith(_MEMBER)]
    return Array(
        {
            name: attribute(host, f"{path}/{name}") if name.split("/")[0] in entries else ""
            for name in ATTRIBUTES
        },
        tuple(sorted(members, key=lambda member: (member.slot is None, member.slot, member.name))),
    )


def component_size(host: Host, name: str) -> int | None:
    """Return the bytes that array *name* uses of each member; None without that attribute, as for raid0."""
    size = parse_int(attribute(host, f"/sys/block/{name}/md/component_size"))
    return size * KIB if size else None


def facts(array: Array) -> dict[str, str]:
    """Return an array's facts for display, without empty and zero ones."""
    shown = {key: array.attributes[name] for key, name in FACTS.items()}
    spared = [member.name for member in array.members if member.states & WRITE_MOSTLY]
    if spared:
        shown["write mostly"] = " ".join(spared)
    if "[llbitmap]" in array.attributes["bitmap_type"]:  # Linux 6.18; others are "bitmap"
        shown["bitmap"] = LOCKLESS
    return {key: value for key, value in shown.items() if value not in ("", "0", "none")}


def _member(host: Host, path: str, entry: str) -> Member:
    inside = f"{path}/{entry}"
    return Member(
        name=kernel_name(entry.removeprefix(_MEMBER)),
        slot=parse_int(attribute(host, f"{inside}/slot")),
        states=frozenset(attribute(host, f"{inside}/state").split(",")),
        offset=parse_int(attribute(host, f"{inside}/offset")),
    )


def _current(text: str) -> str:
    """Return the present value: during a reshape an attribute reads "new (old)"."""
    return text.partition(" ")[0]


def _progress(text: str, speed: str) -> str:
    """Return the progress of a sync ("done / total" in sectors) as a percentage, that it waits or stands still, "" without one."""
    if text == DELAYED:
        return DELAYED
    done, slash, total = text.partition("/")
    known = slash and done.strip().isdigit() and total.strip().isdigit()
    words = [percent(int(done), int(total)) if known else "", STOPPED * (speed == "0")]
    return ", ".join(filter(None, words))


def raid10_code(copies: Iterable[tuple[str, str]]) -> str:
    """
    Return md's number for *copies*, each a kind and how many of it; "" without any.

    >>> raid10_code([("near", "2")]), raid10_code([("offset", "2")])
    ('258', '66049')
    """
    number_of = {kind: int(count) for kind, count in copies}
    far = number_of.get("far") or number_of.get("offset") or 1
    code = number_of.get("near", 1) | far << 8 | (0x10000 if "offset" in number_of else 0)
    return str(code) if number_of else ""


def _raid10(code: int) -> tuple[str, int]:
    """Return the variant and the copies that md encodes in one number (md.rst)."""
    near, far, offset = code & 0xFF, (code >> 8) & 0xFF, code & 0x10000
    variant = "near" if far <= 1 else "offset" if offset else "far"
    return variant, max(1, near) * max(1, far)
