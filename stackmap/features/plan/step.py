"""Plans and their steps: each command with its risk and how to undo it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stackmap.model.command_line import Command, quoted, words
from stackmap.model.operand import BlockDevicePath, Number, assigned
from stackmap.model.raid import Layout

NOTHING = "nothing"
NO_WAY_BACK = "cannot be undone; restore from a backup"
AFTER_SYNC = "first wait until it is in sync"
REQUESTED = "NO REDUNDANCY from here on, as requested"
SYNC_LOAD = "the sync competes for I/O on these disks"
FEWER_FAILURES = "survives one disk failure less"

# Applies to every strategy that changes how data is spread.
GEOMETRY = (
    "a file system keeps the stripe geometry it was made with; `stackmap check` shows the right one"
)


@dataclass(frozen=True, slots=True)
class Step:
    """
    One command.

    ``does``, ``risks``, ``undo_remark``: sentences. ``undo``: the commands that
    undo this step, after all later steps are undone. ``online``: users of the
    volume may keep running. ``redundant``: False if one disk failure can lose data
    that is safe now. ``later``: run it when the new layout has worked for some
    days. ``final``: it cannot be undone. ``fills``: a new device that it writes to, and its bytes.
    ``guard`` and ``undo_guard``: the checks before the command, and before those that undo it; see
    ``guard.py``. ``pasted``: the lines to paste if they are not the command's own.
    """

    command: Command
    does: str
    risks: str = NOTHING
    undo: tuple[Command, ...] = ()
    undo_remark: str = ""
    online: bool = True
    redundant: bool = True
    later: bool = False
    final: bool = False
    fills: tuple[BlockDevicePath, int] | None = None
    guard: tuple[Command, ...] = ()
    undo_guard: tuple[Command, ...] = ()
    pasted: str = ""

    @property
    def line(self) -> str:
        """The command quoted for a shell, behind its guard."""
        return self.pasted or _guarded(self.guard, self.command)

    @property
    def undo_lines(self) -> tuple[str, ...]:
        """The commands that undo it, quoted for a shell, each behind its guard."""
        return tuple(_guarded(self.undo_guard, command) for command in self.undo)


@dataclass(frozen=True, slots=True)
class Plan:
    """
    The steps to ``result``.

    ``checked`` and ``unchecked``: what stackmap verified and what it could not. ``guard``: the checks of the
    first step.
    """

    steps: tuple[Step, ...]
    result: Layout | None
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    guard: tuple[Command, ...] = ()

    @property
    def online(self) -> bool:
        """Whether users of the volume may keep running during all steps."""
        return all(step.online for step in self.steps)

    @property
    def redundant(self) -> bool:
        """Whether the volume keeps its present redundancy during all steps."""
        return all(step.redundant for step in self.steps)


def _guarded(guard: tuple[Command, ...], command: Command) -> str:
    return " && ".join(map(quoted, (*guard, command)))


def unprotected(steps: Iterable[Step]) -> list[Step]:
    """Return *steps* marked as without redundancy."""
    return [replace(step, redundant=False) for step in steps]


def copy_and_compare(
    old: BlockDevicePath, new: BlockDevicePath, size: int, room: int
) -> list[Step]:
    """Return the offline steps that copy *size* bytes from path *old* to *new*, of *room* bytes, and compare them."""
    dd = words("dd", assigned("if=", old), assigned("of=", new))
    copy = (*dd, *words("bs=4M iflag=direct oflag=direct conv=fsync status=progress"))
    return [
        Step(copy, "copies the data", f"overwrites {new}, which must be new and empty",
             online=False, fills=(new, room)),
        Step(words("cmp", assigned("--bytes=", Number(size)), *words("--", old, new)),
             "compares every byte; continue only if it prints nothing", online=False),
    ]  # fmt: skip
