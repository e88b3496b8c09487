"""
Plans for md arrays followed as they are printed, on a real kernel, while an ext4 is written to and fio runs.

As for LVs (test_plan.py): data must come through, the layout be the promised
one, and the disks that it promises to outlive are dead in the end, and all is
read once more. Some plans are given up on the way, and the way back is gone.
What must be refused is.
"""

from __future__ import annotations

import re

import pytest

from tests.lab.followed import (
    BOOT,
    Followed,
    changed_the_cost_of_a_write,
    followed_in,
    lost_nothing,
    made_in,
    outlived_its_disks,
    shared,
    stands_in_the_table,
    went_well,
)

pytestmark = pytest.mark.lab("all")

# Each plan that is followed, and what a request that is written costs the disks after it: a copy is written for
# each copy; parity is read and written for each write, and more members need more reads.
CASES = {
    "md-raid5-raid6": "more",
    "md-raid6-raid5": "less",
    "md-chunk": "as much",
    "md-more": "more",
    "md-raid6-more": "more",
    "md-raid1-raid5": "more",
    "md-raid1-more": "more",
    "md-raid10-more": "as much",
    "md-raid5-raid10": "less",
    "md-raid10-raid5": "more",
    "md-raid0-raid5": "more",
    "md-raid0-raid10": "more",
    "md-raid5-raid0": "less",
    "md-raid10-raid0": "less",
    "md-raid5-raid10-copy": "less",
    "md-move": "less",
    "md-crypt-copy": "less",
}
BACK = (
    "md-raid5-raid6-back", "md-chunk-back", "md-raid1-raid5-back", "md-raid0-raid10-back",
    "md-move-back", "md-copy-back",
)  # fmt: skip
REFUSED = {
    # Disks that are not to be had.
    "md-no-disks": "needs 1 more disks",
    "md-member": "in use by md127",
    "md-few": "--onto names 1",
    "md-pv": "in use: [LVM PV]",
    "md-written": "sdd contains ext4",
    "md-mounted": "in use: /mnt",
    "md-btrfs-second": "in use: /mnt",
    "md-table": "sdd is in use by sdd1",
    "md-small": "sdd1 is too small",
    "md-twice": "shares a disk with another device of --onto",
    "md-room": "raid10 2×2 on these disks",
    # What is on it.
    "md-move-room": "extents in use",
    "md-lv": "vg/lv (volume) uses md127",
    "md-upper": "upper (dm) uses md127",
    "md-btrfs": "is btrfs",
    "md-var": "/var/tmp may be on this array",
    # What is the matter with it.
    "md-readonly": "md127 is read-only",
    "md-check": "md127 is check",
    "md-degraded": "md127 is degraded",
    "md-recovering": "md127 is ",
    "md-resync": "md127 is resync",
    # What md cannot, or has not been tried.
    "md-one": "only a raid1 of two members",
    "md-rotation": "layout la",
    "md-raid6-raid10": "no tested path from raid6 to raid10",
    "md-fewer": "not tested",
    "md-far": "layout far",
    "md-odd": "not whole pairs",
    "md-raid10-chunk": "only of raid5 and raid6",
    "md-chunk-rest": "do not divide the 33619968 bytes",
    "md-ppl": "it has a ppl",
    "md-old": "its metadata version is 0.90",
    "md-raid4": "no tested path from raid4",
    "md-zones": "different sizes",
}
# What is without redundancy in between or from then on, and what has none before.
BARE = {"md-raid5-raid10", "md-raid10-raid5", "md-raid5-raid0", "md-raid10-raid0"}
FROM_RAID0 = {"md-raid0-raid5", "md-raid0-raid10"}


def left_by(lab, case, kernel):
    """Return the folder of a case; it shares its boot with others."""
    return lab("plan-md", case, kernel=kernel, **shared((*CASES, *BACK), case, BOOT))


@pytest.fixture
def followed(lab, case, kernel) -> Followed:
    return followed_in(left_by(lab, case, kernel))


each = pytest.mark.parametrize("case", CASES)
each_back = pytest.mark.parametrize("case", BACK)
all_of_them = pytest.mark.parametrize("case", [*CASES, *BACK])


@each
def test_every_step_succeeds(followed):
    went_well(followed)


@each
def test_where_it_was_followed_is_in_the_table(followed, kernel):
    stands_in_the_table(followed, kernel)


@all_of_them
def test_data_comes_through(followed):
    lost_nothing(followed)


@all_of_them
def test_online_is_online(followed, case):
    """Files are written, and fio runs, through every step that says so; only a copy takes them away."""
    steps = zip(followed.way["steps"], followed.done["steps"], strict="back" not in case)
    still = [told["line"] for step, told in steps
             if step["online"] and told["seconds"] > 5 and not told["written"]]  # fmt: skip

    assert [] == still
    assert ("copy" in case) == (not followed.way["online"])
    assert followed.done["written"] > 5
    assert [] == followed.done["fio"]["errors"]
    assert followed.done["fio"]["done"] > 50


def details(state):
    """Return each array of a state, as mdadm tells it: its keys, by its path."""
    parts = re.split(r"(?m)^(/dev/md/\S+):\s*$", state.partition("Personalities")[0])[1:]
    keys = [dict(re.findall(r"(?m)^ *([\w ]+?) : (.*?) *$", text)) for text in parts[1::2]]
    return dict(zip(parts[::2], keys, strict=True))


def spare_lives(array):
    """Return how many disks an array may still lose."""
    level, members = array["Raid Level"], int(array["Raid Devices"])
    most = {"raid0": 0, "raid1": members - 1, "raid5": 1, "raid6": 2, "raid10": 1}[level]
    return most - (members - int(array["Active Devices"]))


@each
def test_redundancy_is_lost_where_it_is_said(followed, case):
    """A state that one disk's death would end comes after a step that says so, and only there."""
    said = [not step["redundant"] for step in followed.way["steps"]]
    bare = [all(spare_lives(array) < 1 for array in details(state).values())
            for state in followed.states[1:]]  # fmt: skip

    assert (case in BARE) == any(said)
    if case in FROM_RAID0:
        return
    assert [] == [n for n, is_bare in enumerate(bare) if is_bare and not said[n]]
    assert any(bare) == any(said)


@each
def test_the_layout_is_the_promised_one(followed):
    """By md's own word, after the last step: the new array, or the one that there is, and it is whole."""
    promised, found = followed.way["result"], details(followed.states[-1])
    array = found.get("/dev/md/x-new") or found["/dev/md/x"]

    assert promised["level"] == array["Raid Level"]
    assert promised["members"] == int(array["Raid Devices"]) == int(array["Active Devices"])
    assert array["State"] in ("clean", "active")
    if promised["chunk"]:
        assert f"{promised['chunk'] // 1024}K" == array["Chunk Size"]


@each
def test_it_outlives_as_many_disks_as_it_promises(followed):
    outlived_its_disks(followed)


@each_back
def test_the_way_back_leads_back(followed):
    """What a step says of going back is gone as it is printed, and the array is what it was."""
    assert {} == {s["line"]: s["said"] for s in followed.done["back"] if s["status"]}

    keys = ("Raid Level", "Raid Devices", "Chunk Size")
    before, after = (
        {path: [array.get(key) for key in keys] for path, array in details(state).items()}
        for state in (followed.done["before"], followed.done["back"][-1]["after"])
    )
    assert before == after


@each
def test_the_change_is_significant(lab, case, kernel):
    changed_the_cost_of_a_write(left_by(lab, case, kernel), CASES[case])


@pytest.mark.parametrize("case", REFUSED)
def test_what_must_be_refused_is(lab, case, kernel):
    """By status 3 and a line per reason; nothing is printed that could be pasted."""
    lines = (
        (lab("plan-md-refused", kernel=kernel, **BOOT) / "refusals.txt").read_text().splitlines()
    )
    told = {name: rest for name, *rest in (line.split(" ", 4) for line in lines)}
    status, said, printed, why = told[case]

    assert ("3", "0") == (status, printed), why
    assert int(said) >= 1, why
    assert REFUSED[case] in why


# What mdadm calls them; raid0 and raid1 have none, whatever it says.
ALGORITHMS = {
    ("raid5", ""): "left-symmetric", ("raid5", "la"): "left-asymmetric", ("raid5", "n"): "parity-last",
    ("raid6", ""): "left-symmetric",
}  # fmt: skip


def test_a_new_array_is_what_was_promised(lab, kernel):
    """md makes each layout of the words of a copy's plan, by its own word; and what takes it back works."""
    told = made_in(lab("plan-new-md", kernel=kernel, **BOOT))
    assert len(told) > 10

    for each in told:
        promised = each["promised"]
        array = dict(re.findall(r"(?m)^ *([\w ]+?) : (.*?) *$", each["state"]))
        assert promised["level"] == array["Raid Level"], each
        assert promised["members"] == int(array["Raid Devices"]) == int(array["Active Devices"])
        assert array["State"] in ("clean", "active")
        algorithm = ALGORITHMS.get((promised["level"], promised["variant"]))
        if promised["level"] == "raid10":
            algorithm = f"{promised['variant']}={promised['copies']}"
        assert algorithm in (None, array.get("Layout")), each
        if promised["chunk"]:
            assert f"{promised['chunk'] // 1024}K" == array["Chunk Size"]
