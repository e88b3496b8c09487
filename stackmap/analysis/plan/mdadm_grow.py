"""One ``mdadm --grow``: its words, what it risks, and the words that take it back."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from stackmap.analysis.plan.md_changes import PARITY_LAST
from stackmap.analysis.plan.step import REQUESTED
from stackmap.model.raid import Layout

BACKUP = "/var/tmp"  # noqa: S108 - a place that stays over a restart, which the reshape needs
BARE = "NO REDUNDANCY: until the next sync is done, one disk that dies takes the array with it"
SYNC = "its sync takes I/O of all who use these disks"
RESTRIPE = (
    "every stripe is read and written; after a crash it goes on, with the backup file if that "
    "is asked for (mdadm --assemble --backup-file)"
)
FEWER = "one disk less may die from then on"
NOT_IN_PLACE = "none in place: a new array, and a copy or pvmove"
SYNCED = ", once it is in sync"

# What mdadm calls the places of parity in raid5.
ROTATIONS = {
    "ls": "left-symmetric", "la": "left-asymmetric", "rs": "right-symmetric",
    "ra": "right-asymmetric", PARITY_LAST: "parity-last",
}  # fmt: skip
# Levels whose stripes mdadm rewrites by way of a backup; it moves those of raid10 by their offset.
RESTRIPED = frozenset({"raid0", "raid4", "raid5", "raid6"})


@dataclass(frozen=True, slots=True)
class Change:
    """From one layout to the next, with the paths of the disks that are ``added`` for it."""

    before: Layout
    after: Layout
    added: tuple[str, ...] = ()

    @property
    def restripes(self) -> bool:
        """Whether every stripe is written anew."""
        drops_parity = self.before.variant == PARITY_LAST and self.after.level == "raid0"
        return {self.before.level, self.after.level} <= RESTRIPED and not drops_parity

    @property
    def does(self) -> str:
        """What it makes of the array, in words."""
        if self.before.level == self.after.level and self.after.variant == PARITY_LAST:
            return f"moves the parity of its {self.after} to the last member"
        return f"makes it {self.after} from {self.before}"

    @property
    def lacks_redundancy(self) -> bool:
        """Whether it comes from, or leads to, what outlives no disk."""
        return "raid0" in (self.before.level, self.after.level)


def words(path: str, change: Change) -> tuple[str, ...]:
    """
    Return the command.

    >>> from stackmap.model.raid import layout
    >>> " ".join(words("/dev/md0", Change(layout("raid1", 2), layout("raid5", 2, 65536))))
    'mdadm --grow /dev/md0 --level=5'
    """
    before, after = change.before, change.after
    found = ["mdadm", "--grow", path]
    if after.level != before.level:
        found.append(f"--level={after.level.removeprefix('raid')}")
    if after.level != "raid0" and after.members != before.members:
        found.append(f"--raid-devices={after.members}")
    if after.level == before.level and after.variant != before.variant:
        found.append(f"--layout={ROTATIONS[after.variant]}")
    if after.level == before.level and after.chunk != before.chunk:
        found.append(f"--chunk={(after.chunk or 0) // 1024}")
    # No raid0 has spares.
    if change.added and before.level == "raid0":
        found += ["--add", *change.added]
    if change.restripes:
        name = f"{path.rpartition('/')[2]}-{after.level}-{after.members}"
        found.append(f"--backup-file={BACKUP}/{name}.mdadm")
    return tuple(found)


def risks(change: Change, *, passing: bool) -> str:
    """Return what it risks; *passing*: whether a raid0 is only on the way."""
    if passing and change.lacks_redundancy:
        return BARE
    fewer = change.after.parity < change.before.parity
    if change.after.level == "raid0":
        return f"{RESTRIPE}; {REQUESTED}" if change.restripes else REQUESTED
    if change.restripes:
        return f"{RESTRIPE}; {FEWER}" if fewer else RESTRIPE
    return SYNC


def back(path: str, change: Change) -> str:
    """Return the command that takes it back, or what there is in place of one."""
    before, after = change.before, change.after
    quoted, gone = shlex.quote(path), shlex.join(change.added)
    if after.level == "raid0":
        return (
            f"none without the disks that it drops: their superblocks zeroed, stackmap plan {quoted} "
            f"--to {before.level} --onto them"
        )
    # Of an array's own spares it is not known which were taken.
    if (
        before.level == after.level == "raid1"
        and len(change.added) == after.members - before.members
    ):
        fewer = words(path, Change(after, before))
        return f"mdadm {quoted} --fail {gone} --remove {gone} && {shlex.join(fewer)}"
    if before.level == after.level and before.members != after.members:
        return NOT_IN_PLACE
    return shlex.join(words(path, Change(after, before))) + SYNCED
