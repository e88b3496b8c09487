"""LVM's commands as words, and the steps that several ways share."""

from __future__ import annotations

import shlex

from stackmap.analysis.plan.step import NO_UNDO, Step, script
from stackmap.errors import PlanRefused
from stackmap.model.layout_request import unsupported_by_lvm
from stackmap.model.raid import RAID_LEVELS, Layout

IN_SYNC = "100.00 idle"
POLL_SECONDS = 5  # seconds between two looks at a resync
_LVS = ("lvs", "--all", "--noheadings", "--options")  # all: a pool's data is hidden


def shape(layout: Layout) -> tuple[str, ...]:
    """Return the options of lvcreate that make *layout*; refused for one that LVM has not."""
    if missing := unsupported_by_lvm(layout):
        raise PlanRefused(missing)
    level = RAID_LEVELS[layout.level]
    words = ["--type", segtype(layout)]
    if level.copies is None or layout.level == "raid10":
        words += ["--mirrors", str(layout.copies - 1)]
    if level.stripes:
        words += ["--stripes", str(layout.data), "--stripesize", f"{(layout.chunk or 0) // 1024}k"]
    return tuple(words)


def segtype(layout: Layout) -> str:
    """
    Return LVM's name for *layout*'s level with its variant.

    >>> from stackmap.model.raid import layout
    >>> segtype(layout("raid5", 4, 65536, variant="n"))
    'raid5_n'
    """
    if layout.level in ("raid5", "raid6") and layout.variant:
        return f"{layout.level}_{layout.variant}"
    return layout.level


def waiting(name: str, *proof: str) -> Step:
    """
    Return the step that waits until the LV *name* is in sync.

    It fails unless the LV is whole then, and of a type in *proof*.
    """
    asked = shlex.join([*_LVS, "sync_percent,raid_sync_action,lv_health_status", name])
    loop = (
        f'while sleep {POLL_SECONDS}; s=$(echo $({asked})); [ "$s" ] && [ "${{s#{IN_SYNC}}}" = "$s" ]; '
        f'do :; done; [ "$s" = "{IN_SYNC}" ]'
    )
    says = "waits until it is in sync; stop here if it fails"
    if proof:
        types = shlex.join([*_LVS, "segtype", name])
        loop += f' && {types} | grep -qxE " *({"|".join(proof)}) *"'
        says = f"waits until it is in sync, and fails unless LVM has made it {proof[0]}: then stop here"
    return Step(script(loop), says)


def removal(name: str, what: str) -> Step:
    """Return the last step: *name* is given up when what took its place has proved itself."""
    return Step(
        ("lvremove", "--yes", name),
        f"gives {what} back, days later, when all has proved itself",
        "there is no way back from here but a backup",
        NO_UNDO,
        later=True,
    )
