"""LVM's options for a layout, and the steps that several LVM strategies share."""

from __future__ import annotations

from stackmap.errors import PlanRefused
from stackmap.features.plan.step import NO_WAY_BACK, Step
from stackmap.model.command_line import Command, script, words
from stackmap.model.layout_request import unsupported_by_lvm
from stackmap.model.operand import Keyword, Kibibytes, LvPath, Number, Pattern, Script, Word
from stackmap.model.raid import RAID_LEVELS, Layout

_LVS = "lvs --all --noheadings --options"  # --all: a pool's data is a sub-LV
_WAIT = (
    f'while sleep 5; s=$(echo $({_LVS} sync_percent,raid_sync_action,lv_health_status -- "$1")); '
    '[ "$s" ] && [ "${s#100.00 idle}" = "$s" ]; do :; done; [ "$s" = "100.00 idle" ]'
)
_PROOF = f' && {_LVS} segtype -- "$1" | grep -qxE " *($2) *"'
WAIT, WAIT_AND_PROOF = Script(_WAIT), Script(_WAIT + _PROOF)


def shape(layout: Layout) -> Command:
    """Return lvcreate's options for *layout*; refused if LVM cannot make it."""
    if missing := unsupported_by_lvm(layout):
        raise PlanRefused(missing)
    level = RAID_LEVELS[layout.level]
    found: list[Word] = [*words("--type", Keyword(segtype(layout)))]
    if level.copies is None or layout.level == "raid10":
        found += words("--mirrors", Number(layout.copies - 1))
    if level.stripes:
        found += words("--stripes", Number(layout.data))
        found += words("--stripesize", Kibibytes((layout.chunk or 0) // 1024))
    return tuple(found)


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


def waiting(name: LvPath, *segtypes: str) -> Step:
    """Return the step that waits for the sync of LV *name*; it fails unless that is healthy and of *segtypes*."""
    if not segtypes:
        return Step(script(WAIT, name), "waits for the sync; stop here if it fails")
    return Step(
        script(WAIT_AND_PROOF, name, Pattern("|".join(segtypes))),
        f"waits for the sync, then checks that the type is {segtypes[0]}; stop here if it fails",
    )


def removal(name: LvPath, what: str) -> Step:
    """Return the last step, days later: remove the LV *name*."""
    return Step(
        words("lvremove --yes --", name),
        f"frees {what}; run it when the new layout has worked for some days",
        NO_WAY_BACK,
        later=True,
        final=True,
    )
