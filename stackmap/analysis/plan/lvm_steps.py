"""LVM's options for a layout, and the steps that several LVM strategies share."""

from __future__ import annotations

import shlex

from stackmap.analysis.plan.step import NO_UNDO, NO_WAY_BACK, Step, script
from stackmap.errors import PlanRefused
from stackmap.model.layout_request import unsupported_by_lvm
from stackmap.model.raid import RAID_LEVELS, Layout

IN_SYNC = "100.00 idle"
POLL_SECONDS = 5
_LVS = ("lvs", "--all", "--noheadings", "--options")  # --all: a pool's data is a sub-LV


def shape(layout: Layout) -> tuple[str, ...]:
    """Return lvcreate's options for *layout*; refused if LVM cannot make it."""
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
    Return LVM's segment type of *layout*, with its variant.

    >>> from stackmap.model.raid import layout
    >>> segtype(layout("raid5", 4, 65536, variant="n"))
    'raid5_n'
    """
    if layout.level in ("raid5", "raid6") and layout.variant:
        return f"{layout.level}_{layout.variant}"
    return layout.level


def waiting(name: str, *segtypes: str) -> Step:
    """Return the step that waits for the sync of LV *name*; it fails unless that is healthy and of *segtypes*."""
    status = shlex.join([*_LVS, "sync_percent,raid_sync_action,lv_health_status", name])
    loop = (
        f'while sleep {POLL_SECONDS}; s=$(echo $({status})); [ "$s" ] && [ "${{s#{IN_SYNC}}}" = "$s" ]; '
        f'do :; done; [ "$s" = "{IN_SYNC}" ]'
    )
    does = "waits for the sync; stop here if it fails"
    if segtypes:
        types = shlex.join([*_LVS, "segtype", name])
        loop += f' && {types} | grep -qxE " *({"|".join(segtypes)}) *"'
        does = (
            f"waits for the sync, then checks that the type is {segtypes[0]}; stop here if it fails"
        )
    return Step(script(loop), does)


def removal(name: str, what: str) -> Step:
    """Return the last step, days later: remove the LV *name*."""
    return Step(
        ("lvremove", "--yes", name),
        f"frees {what}; run it days later, when the new layout has proved itself",
        NO_WAY_BACK,
        NO_UNDO,
        later=True,
    )
