"""One ``mdadm --grow``: its command, its risk, and how to undo it."""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.features.plan.md_changes import PARITY_LAST
from stackmap.features.plan.step import AFTER_SYNC, FEWER_FAILURES, REQUESTED, SYNC_LOAD
from stackmap.model.command_line import Command, words
from stackmap.model.operand import AbsolutePath, BlockDevicePath, Fixed, Number, Word, assigned
from stackmap.model.raid import Layout

BACKUP = "/var/tmp"  # noqa: S108 - the reshape's backup must survive a reboot
UNPROTECTED = "NO REDUNDANCY: until the next sync ends, one disk failure loses the array"
RESTRIPE = (
    "reads and writes every stripe; after a crash it continues, with the backup file if mdadm asks "
    "for it (mdadm --assemble --backup-file)"
)
NOT_IN_PLACE = "not possible in place; use a new array and a copy or pvmove"
DISKS_DROPPED = (
    "not possible without the dropped disks; erase their superblocks, then plan the way to {level} "
    "with them as --onto"
)
WITH_DISKS = "this also removes the disks that the step before added"

# mdadm's names for the rotations of parity.
ROTATIONS = {
    "ls": "left-symmetric", "la": "left-asymmetric", "rs": "right-symmetric",
    "ra": "right-asymmetric", PARITY_LAST: "parity-last",
}  # fmt: skip
# Levels whose stripes mdadm rewrites with a backup; raid10 moves by its data offset instead.
RESTRIPED = frozenset({"raid0", "raid4", "raid5", "raid6"})


@dataclass(frozen=True, slots=True)
class Change:
    """One change of layout, with the paths of the disks ``added`` for it."""

    before: Layout
    after: Layout
    added: tuple[BlockDevicePath, ...] = ()

    @property
    def restripes(self) -> bool:
        """Whether it rewrites every stripe."""
        drops_parity = self.before.variant == PARITY_LAST and self.after.level == "raid0"
        return {self.before.level, self.after.level} <= RESTRIPED and not drops_parity

    @property
    def does(self) -> str:
        """What it does, as a sentence without a subject."""
        if self.before.level == self.after.level and self.after.variant == PARITY_LAST:
            return f"moves the parity of {self.after} to the last member"
        return f"converts {self.before} to {self.after}"

    @property
    def lacks_redundancy(self) -> bool:
        """Whether it starts from, or ends with, a raid0."""
        return "raid0" in (self.before.level, self.after.level)


def grow_command(path: BlockDevicePath, change: Change) -> Command:
    """
    Return the command.

    >>> from stackmap.model.raid import layout
    >>> change = Change(layout("raid1", 2), layout("raid5", 2, 65536))
    >>> " ".join(grow_command(BlockDevicePath("/dev/md0"), change))
    'mdadm --grow /dev/md0 --level=5'
    """
    before, after = change.before, change.after
    found: list[Word] = [*words("mdadm --grow", path)]
    if after.level != before.level:
        found.append(assigned("--level=", Number(after.level.removeprefix("raid"))))
    if after.level != "raid0" and after.members != before.members:
        found.append(assigned("--raid-devices=", Number(after.members)))
    if after.level == before.level and after.variant != before.variant:
        found.append(assigned("--layout=", Fixed(ROTATIONS[after.variant])))
    if after.level == before.level and after.chunk != before.chunk:
        found.append(assigned("--chunk=", Number((after.chunk or 0) // 1024)))
    if change.added and before.level == "raid0":  # a raid0 has no spares
        found += words("--add", *change.added)
    if change.restripes:
        name = f"{path.rpartition('/')[2]}-{after.level}-{after.members}"
        found.append(assigned("--backup-file=", AbsolutePath(f"{BACKUP}/{name}.mdadm")))
    return tuple(found)


def risks(change: Change, *, passing: bool) -> str:
    """Return the risk; *passing*: a raid0 is only an intermediate layout."""
    if passing and change.lacks_redundancy:
        return UNPROTECTED
    if not change.restripes:
        return REQUESTED if change.after.level == "raid0" else SYNC_LOAD
    if change.after.level == "raid0":
        return f"{RESTRIPE}; {REQUESTED}"
    fewer = change.after.parity < change.before.parity
    return f"{RESTRIPE}; {FEWER_FAILURES}" if fewer else RESTRIPE


def undo(path: BlockDevicePath, change: Change) -> tuple[tuple[Command, ...], str]:
    """Return the commands back, () for none, and a remark."""
    before, after = change.before, change.after
    if after.level == "raid0":
        return (), DISKS_DROPPED.format(level=before.level)
    added = after.members - before.members
    back = grow_command(path, Change(after, before))
    # Which of an array's own spares md took is not known.
    if before.level == after.level == "raid1" and len(change.added) == added:
        fail = words("mdadm", path, *words("--fail", *change.added))
        off = (*fail, *words("--remove", *change.added))
        return (off, back), WITH_DISKS
    if before.level == after.level and added:
        return (), NOT_IN_PLACE
    return (back,), AFTER_SYNC
