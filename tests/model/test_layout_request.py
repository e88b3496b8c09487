"""A layout as people write it: what is not said comes from what is there, and what cannot be is refused."""

from __future__ import annotations

import pytest

from stackmap.errors import LayoutError
from stackmap.model.layout_request import MIN_MEMBERS, parse, unsupported_by_lvm
from stackmap.model.raid import RAID_LEVELS, Layout, layout

KIB = 1024
RAID5 = layout("raid5", 4, 64 * KIB, variant="ls")
RAID10 = layout("raid10", 6, 128 * KIB, 3, "far")


@pytest.mark.parametrize("level", RAID_LEVELS)
def test_every_level_may_be_asked_for(level):
    """A level alone, from a RAID5 of four: LVM's minimum of members, or as many as now."""
    meant = parse(level).resolve(RAID5, lvm=True)

    assert meant.level == level
    assert meant.members >= MIN_MEMBERS[level][True]


@pytest.mark.parametrize(
    ("asked", "present", "lvm", "expected"),
    [
        ("raid10", RAID5, True, Layout("raid10", 4, 2, 0, 2, 64 * KIB, "near")),
        ("raid10:members=6,copies=3", RAID5, True, Layout("raid10", 6, 2, 0, 3, 64 * KIB, "near")),
        ("raid10:layout=far,chunk=1M", RAID5, False, Layout("raid10", 4, 2, 0, 2, KIB**2, "far")),
        ("raid6", RAID5, True, Layout("raid6", 5, 3, 2, 1, 64 * KIB)),
        ("raid6", RAID5, False, Layout("raid6", 4, 2, 2, 1, 64 * KIB)),
        ("raid0:chunk=32", RAID5, True, Layout("raid0", 4, 4, 0, 1, 32 * KIB)),
        ("raid1", RAID5, True, Layout("raid1", 2, 1, 0, 2, None)),
        ("raid1:copies=3", RAID5, False, Layout("raid1", 3, 1, 0, 3, None)),
        ("raid10", RAID10, False, RAID10),
        ("raid5", RAID5, True, RAID5),
        ("raid5", None, True, Layout("raid5", 3, 2, 1, 1, 64 * KIB)),
        ("raid5", None, False, Layout("raid5", 3, 2, 1, 1, 512 * KIB)),
        ("linear", RAID5, True, Layout("linear", 1, 1, 0, 1, None)),
        ("linear", layout("raid1", 3), True, Layout("linear", 1, 1, 0, 1, None)),
        ("linear", RAID5, False, Layout("linear", 3, 3, 0, 1, None)),
        ("linear", layout("raid1", 3), False, Layout("linear", 1, 1, 0, 1, None)),
        ("linear", layout("raid10", 3), False, Layout("linear", 2, 2, 0, 1, None)),
        ("linear", layout("raid10", 5), False, Layout("linear", 3, 3, 0, 1, None)),
        ("linear", None, True, Layout("linear", 1, 1, 0, 1, None)),
        ("linear:members=4", RAID5, True, Layout("linear", 4, 4, 0, 1, None)),
        ("raid10", layout("raid5", 3, 64 * KIB), True, Layout("raid10", 4, 2, 0, 2, 64 * KIB, "near")),
    ],
)  # fmt: skip
def test_what_is_not_said_is_as_it_is_now(asked, present, lvm, expected):
    """Members, chunk and copies of the present layout, or what LVM or mdadm would choose; all in one if linear."""
    assert expected == parse(asked).resolve(present, lvm=lvm)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("raid7", "unknown layout raid7"),
        ("", "unknown layout"),
        ("raid10:disks=4", "members="),
        ("raid10:members", "members="),
        ("raid10:members=0", "whole number"),
        ("raid10:members=4,members=6", "twice"),
        ("raid5:chunk=48k", "power of two"),
        ("raid5:chunk=1k", "power of two"),
        ("raid5:layout=far", "not a layout of raid5"),
        ("raid0:layout=near", "none to choose"),
        ("raid5:copies=2", "no copies"),
        ("raid5:members=2", "3 members"),
        ("raid10:members=5", "a multiple of 2"),
        ("raid6:members=4", "LVM needs 5"),
        ("raid1:members=2,copies=3", "every member is a copy"),
        ("raid1:chunk=64k", "no chunks"),
    ],
)
def test_what_cannot_be_is_refused(asked, says):
    """In one line that says why, with the status of a usage error."""
    with pytest.raises(LayoutError, match=says) as refused:
        parse(asked).resolve(RAID5, lvm=True)

    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("variant", ["near", "far", "offset", ""])
def test_lvm_has_raid10_as_near_copies_alone(variant):
    """md also has the other variants; without one, LVM's is used."""
    missing = unsupported_by_lvm(layout("raid10", 4, 64 * KIB, 2, variant))

    allowed = variant in ("near", "")

    assert missing == ("" if allowed else f"LVM cannot make a raid10 with the layout {variant}")
    assert unsupported_by_lvm(RAID5) == ""
