"""
RAID levels as a table, and the geometry of one array or volume.

A level is a line here; what follows from it (expected writes, capacity) is
arithmetic over the line, not a class.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

# Bytes that md's parity levels read and write of a member at once, a row of their stripe cache
# (md/stripe_size; 4096 unless the machine's pages are larger).
PAGE = 4096


class RaidLevel(NamedTuple):
    """
    What a level promises.

    ``parity``: members a stripe that hold no data. ``copies``: how often each
    byte is written; None where the array says (raid1: every member).
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


@dataclass(frozen=True, slots=True)
class Layout:
    """
    How one array or volume spreads its data.

    ``data``: whole chunks of data in a stripe (RAID5 of 4: 3; RAID10 of 4 with
    2 copies: 2; of 3: 1, see ``data_members``). ``chunk``: bytes one member gets before the next, None where
    there is none (raid1) or it is not known. ``variant``: the level's
    algorithm as the kernel writes it ("ls", "near", "far"), "" if not known.
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
        """Bytes of data in one full stripe."""
        return None if self.chunk is None else self.chunk * self.data

    @property
    def data_members(self) -> float:
        """Return how many members' worth of data it holds, each byte counted once: RAID10 of 3 with 2 copies 1.5."""
        whole, part = divmod(max(0, self.members - self.parity), self.copies)
        return whole + part / self.copies if part else whole

    def json_fields(self) -> dict[str, object]:
        """Return its fields as JSON has them: ``data`` is what it holds, a part of a chunk too."""
        return {**asdict(self), "data": self.data_members}

    @property
    def ideal_write(self) -> float:
        """Bytes at the members a byte written, when every write fills its stripes."""
        return self.copies * (self.data + self.parity) / self.data if self.parity else self.copies

    @property
    def survivable_failures(self) -> int:
        """How many members may die, whichever they are, and every byte is there still."""
        return self.parity + self.copies - 1

    def __str__(self) -> str:
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
    Return the geometry of *members* in *level*; None for a level that is not in the table.

    *chunk* in bytes (0 counts as none); *copies* only where the array may choose (raid10).
    """
    known = RAID_LEVELS.get(level)
    if known is None or members < 1:
        return None
    if known.copies is None:
        count = members
    else:
        count = copies or known.copies
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
