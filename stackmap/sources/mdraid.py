"""
``/sys/block/mdN/md``: an array of md's, its members and what it is doing.

``dev-X/state`` is a list by commas (faulty, in_sync, journal, write_mostly,
spare, replacement …), ``dev-X/slot`` a place in the array or "none". While an
array is reshaped, attributes read "new (old)". LVM's RAID has no such folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stackmap.model.device import Role
from stackmap.model.raid import Layout, layout
from stackmap.sources.progress import percent, raid_state
from stackmap.sources.sysfs import Block, attribute, kernel_name, names_in, parse_int

if TYPE_CHECKING:
    from stackmap.host import Host

_MEMBER = "dev-"
KIB = 1024  # bytes; the unit of component_size
_BUSY = ("clean", "active", "active-idle", "write-pending")
_PARITY_LAYOUTS = {0: "la", 1: "ra", 2: "ls", 3: "rs", 4: "0", 5: "n"} | {
    8: "zr", 9: "nr", 10: "nc", 16: "la_6", 17: "ra_6", 18: "ls_6", 19: "rs_6", 20: "0_6", 21: "n_6"
}  # fmt: skip

# Attributes that only some levels have, shown as facts.
FACTS = {
    "metadata": "metadata_version",
    "consistency": "consistency_policy",
    "stripe cache": "stripe_cache_size",
    "rmw level": "rmw_level",
    "region": "bitmap/chunksize",
    "journal mode": "journal_mode",
    "mismatches": "mismatch_cnt",
}


@dataclass(frozen=True, slots=True)
class Member:
    """A device of an array: its ``slot`` (None for a spare or faulty one), and its ``states``."""

    name: str
    slot: int | None
    states: frozenset[str]
    offset: int | None = None

    @property
    def role(self) -> Role:
        """What it is for: only one in a slot carries data."""
        if "journal" in self.states:
            return Role.JOURNAL
        if self.slot is None or self.states & {"faulty", "replacement"}:
            return Role.SPARE
        return Role.DATA

    @property
    def state(self) -> str:
        """In one word; "active" for a member that is whole."""
        for word in ("faulty", "replacement", "journal"):
            if word in self.states:
                return word
        if "in_sync" in self.states:
            return "active"
        return "spare" if self.slot is None else "recovering"


@dataclass(frozen=True, slots=True)
class Array:
    """An array: its attributes by name, as md writes them, and its members by slot."""

    attributes: dict[str, str]
    members: tuple[Member, ...]

    @property
    def is_container(self) -> bool:
        """Whether it only holds the disks (imsm, ddf) that other arrays are made of."""
        # "external:imsm" keeps its own metadata, "external:/md127/0" is an array in it.
        kept, _, where = self.attributes["metadata_version"].partition(":")
        return kept == "external" and not where.startswith("/")

    @property
    def layout(self) -> Layout | None:
        """How it spreads data; None for a container, or a level with no geometry."""
        said = self.attributes
        level = said["level"]
        code = parse_int(_current(said["layout"])) or 0
        variant, copies = _PARITY_LAYOUTS.get(code, ""), None
        if level == "raid10":
            variant, copies = _raid10(code)
        elif level not in ("raid5", "raid6"):
            variant = ""
        chunk = parse_int(_current(said["chunk_size"]))
        members = parse_int(_current(said["raid_disks"])) or 0
        return layout(level, members, chunk, copies, variant)

    @property
    def state(self) -> str | None:
        """What is wrong or under way, "active" if nothing; None where md does not say."""
        said = self.attributes
        # A container is always "inactive": it has no I/O.
        state = "" if self.is_container else said["array_state"]
        if state and state not in _BUSY:
            return {"readonly": "read-only"}.get(state, state)
        if not state:
            return None
        return raid_state(
            failed=(parse_int(said["degraded"]) or 0) > 0,
            action=said["sync_action"] or "idle",
            progress=_progress(said["sync_completed"]),
        )


def read(host: Host, block: Block) -> Array:
    """Return the array that *block* is."""
    path = f"{block.path}/md"
    entries = names_in(host, path)
    wanted = (
        "level", "layout", "raid_disks", "chunk_size", "degraded", "array_state",
        "sync_action", "sync_completed", "uuid", *FACTS.values(),
    )  # fmt: skip
    there = frozenset(entries)
    members = [_member(host, path, name) for name in entries if name.startswith(_MEMBER)]
    return Array(
        {n: attribute(host, f"{path}/{n}") if n.split("/")[0] in there else "" for n in wanted},
        tuple(sorted(members, key=lambda member: (member.slot is None, member.slot, member.name))),
    )


def component_size(host: Host, name: str) -> int | None:
    """Return the bytes that array *name* uses of each member; None where md does not say, as for raid0."""
    said = parse_int(attribute(host, f"/sys/block/{name}/md/component_size"))
    return said * KIB if said else None


def facts(array: Array) -> dict[str, str]:
    """Return what is worth showing of an array, without what is empty or zero."""
    found = {key: array.attributes[name] for key, name in FACTS.items()}
    spared = [member.name for member in array.members if _write_mostly(member)]
    if spared:
        found["write mostly"] = " ".join(spared)
    return {key: value for key, value in found.items() if value not in ("", "0", "none")}


def _member(host: Host, path: str, entry: str) -> Member:
    inside = f"{path}/{entry}"
    return Member(
        name=kernel_name(entry.removeprefix(_MEMBER)),
        slot=parse_int(attribute(host, f"{inside}/slot")),
        states=frozenset(attribute(host, f"{inside}/state").split(",")),
        offset=parse_int(attribute(host, f"{inside}/offset")),
    )


def _write_mostly(member: Member) -> bool:
    # md.rst has the second spelling, the kernel prints the first.
    return bool(member.states & {"write_mostly", "writemostly"})


def _current(text: str) -> str:
    """Return what holds now: while an array is reshaped this reads "4 (3)", new, then old."""
    return text.partition(" ")[0]


def _progress(text: str) -> str:
    """Return how far a sync is ("done / total" in sectors), "" for one that waits or is none."""
    done, slash, total = text.partition("/")
    if not slash or not done.strip().isdigit() or not total.strip().isdigit():
        return ""
    return percent(int(done), int(total))


def _raid10(code: int) -> tuple[str, int]:
    """Return the variant and the copies that md packs into one number (md.rst)."""
    near, far, offset = code & 0xFF, (code >> 8) & 0xFF, code & 0x10000
    variant = "near" if far <= 1 else "offset" if offset else "far"
    return variant, max(1, near) * max(1, far)
