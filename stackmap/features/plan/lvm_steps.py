"""LVM's options for a layout, and the steps that several LVM strategies share."""

from __future__ import annotations

from stackmap.errors import PlanRefused
from stackmap.features.plan.step import NO_WAY_BACK, Step
from stackmap.model.command_line import script
from stackmap.model.layout_request import unsupported_by_lvm
from stackmap.model.raid import RAID_LEVELS, Layout

_LVS = "lvs --all --noheadings --options"  # --all: a pool's data is a sub-LV
_WAIT = (
    f'while sleep 5; s=$(echo $({_LVS} sync_percent,raid_sync_action,lv_health_status "$1")); '
    '[ "$s" ] && [ "${s#100.00 idle}" = "$s" ]; do :; done; [ "$s" = "100.00 idle" ]'
)
_PROOF = f' && {_LVS} segtype "$1" | grep -qxE " *($2) *"'


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
    if not segtypes:
        return Step(script(_WAIT, name), "waits for the sync; stop here if it fails")
    return Step(
        script(_WAIT + _PROOF, name, "|".join(segtypes)),
        f"waits for the sync, then checks that the type is {segtypes[0]}; stop here if it fails",
    )


def removal(name: str, what: str) -> Step:
    """Return the last step, days later: remove the LV *name*."""
    return Step(
        ("lvremove", "--yes", name),
        f"frees {what}; run it when the new layout has worked for some days",
        NO_WAY_BACK,
        later=True,
        final=True,
    )
