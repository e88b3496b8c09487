"""RAID levels as a table, and the geometry and state of one array or volume."""

from collections.abc import Sequence
from typing import NamedTuple

# Bytes per member that md's parity levels read and write at once: a row of the stripe cache
# (md/stripe_size; larger only on machines with larger pages).
PAGE = 4096

LOCKLESS = "llbitmap"  # the fact "bitmap" of an md array; without it, the bitmap is the older one


class RaidLevel(NamedTuple):
    """
    One level. ``parity``: parity chunks per stripe. ``copies``: of each byte, None for every member.

    ``stripes``: whether data is spread over members by chunk.
    """

    name: str
    parity: int
    copies: int | None
    stripes: bool


RAID_LEVELS = {
    level.name: level
    for level in (
        RaidLevel("linear", parity=0, copies=1, stripes=False),
        RaidLevel("striped", parity=0, copies=1, stripes=True),
        RaidLevel("raid0", parity=0, copies=1, stripes=True),
        RaidLevel("raid1", parity=0, copies=None, stripes=False),
        RaidLevel("mirror", parity=0, copies=None, stripes=False),
        RaidLevel("raid4", parity=1, copies=1, stripes=True),
        RaidLevel("raid5", parity=1, copies=1, stripes=True),
        RaidLevel("raid6", parity=2, copies=1, stripes=True),
        RaidLevel("raid10", parity=0, copies=2, stripes=True),
    )
}


class Layout(NamedTuple):
    """
    The geometry of one array or volume.

    ``data``: whole data chunks per stripe (RAID5 of 4: 3; RAID10 of 4 with 2
    copies: 2; of 3: 1, see ``data_members``). ``chunk``: bytes, None if there is none
    (raid1) or it is not known. ``variant``: the kernel's name of the level's
    algorithm ("ls", "near", "far"), "" if not known.
    """

    level: str
    members: int
    data: int
    parity: int
    copies: int
    chunk: int | None
    variant: str = ""

    @property
    def stripe(self) -> int | None:
        """Data bytes per full stripe."""
        return None if self.chunk is None else self.chunk * self.data

    @property
    def data_members(self) -> float:
        """The capacity in members: RAID10 of 3 with 2 copies holds 1.5."""
        whole, part = divmod(max(0, self.members - self.parity), self.copies)
        return whole + part / self.copies if part else whole

    def json_fields(self) -> dict[str, object]:
        """Return the fields for JSON, where ``data`` is the capacity in members."""
        return {**self._asdict(), "data": self.data_members}

    @property
    def ideal_write(self) -> float:
        """Bytes written to members per byte written, with full-stripe writes only."""
        return self.copies * (self.data + self.parity) / self.data if self.parity else self.copies

    @property
    def has_parity_members(self) -> bool:
        """Whether parity, or one of two, is always on the same members: it does not rotate."""
        fixed = self.variant in ("0", "n") or self.variant.endswith("_6")
        return self.level == "raid4" or (self.parity > 0 and fixed)

    @property
    def survivable_failures(self) -> int:
        """How many members, any of them, may fail without data loss."""
        return self.parity + self.copies - 1

    def __str__(self) -> str:
        if self.level == "linear" and self.members == 1:
            return self.level
        shape = {
            "raid1": f"×{self.copies}",
            "mirror": f"×{self.copies}",
            "raid10": f"{self.data_members:g}×{self.copies}",
        }.get(self.level, f"{self.data}+{self.parity}" if self.parity else f"×{self.members}")
        name = f"{self.level} {self.variant}" if self.variant in ("far", "offset") else self.level
        return f"{name} {shape}"


def layout(
    level: str, members: int, chunk: int | None = None, copies: int | None = None, variant: str = ""
) -> Layout | None:
    """
    Return the geometry of *members* in *level*; None for an unknown level.

    *chunk*: bytes, 0 for none; *copies*: only for raid10, which may choose.
    """
    known = RAID_LEVELS.get(level)
    if known is None or members < 1:
        return None
    count = members if known.copies is None else copies or known.copies
    data = 1 if not known.stripes else max(1, (members - known.parity) // count)
    if known.name == "linear":
        data = members
    return Layout(
        level=known.name,
        members=members,
        data=data,
        parity=known.parity,
        copies=count,
        chunk=chunk or None,
        variant=variant,
    )


NOT_IN_SYNC = "not in sync"  # of an array that does not mend it
LOST = "failed"  # of an array with too few members for its data; mdadm prints FAILED
DEGRADED = "degraded"
# Of work: it waits for that of another array on the same disks; it makes no progress.
DELAYED, STOPPED = "delayed", "stands still"


def raid_state(*, failed: bool, action: str, progress: str, behind: bool = False) -> str:
    """Return the state in words: a failed member first, then the running action; *behind*: a member is out of sync."""
    # "recover" already says that a member is not in sync.
    words = [DEGRADED] if failed and action != "recover" else []
    if action not in ("idle", "frozen"):
        words.append(f"{action} {progress}".strip())
    elif behind:
        words.append(NOT_IN_SYNC)
    return ", ".join(words) or "active"


def state_with(state: str | None, layout: Layout, working: Sequence[bool]) -> str | None:
    """
    Return *state* of an array of *layout* with only the members *working*, one per slot.

    md does not count the last copy as missing (raid10_error in the kernel's raid10.c), so its own word
    for an array whose data is gone is "degraded".

    >>> ten = Layout("raid10", 4, 2, 0, 2, 65536, "near")
    >>> state_with("active", ten, [False, True, False, True])
    'degraded'
    >>> state_with("degraded, check 12.5 %", ten, [False, False, True, True])
    'failed, check 12.5 %'
    >>> state_with("read-auto", ten, [False, True, True, True])
    'degraded, read-auto'
    """
    # During a reshape, the slots are those of two layouts.
    if all(working) or state is None or "reshape" in state or state == "suspended":
        return state
    lost = is_lost(layout, working)
    if not lost and state.startswith("recover"):  # which says that a member is missing
        return state
    words = [word for word in state.split(", ") if word not in ("active", DEGRADED, LOST)]
    return ", ".join([LOST if lost else DEGRADED, *words])


def is_lost(layout: Layout, working: Sequence[bool]) -> bool:
    """Whether data of *layout* is gone with only the members *working*, one per slot."""
    if layout.level != "raid10":
        return working.count(False) > layout.survivable_failures
    # As "enough" in the kernel's raid10.c: each group of neighbours holds all copies of some chunk.
    step = 1 if layout.variant in ("far", "offset") else layout.copies
    count, first = len(working), 0
    while any(working[(first + place) % count] for place in range(layout.copies)):
        first = (first + step) % count
        if first == 0:
            return False
    return True
