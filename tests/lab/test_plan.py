"""
Plans for LVs followed as they are printed, on a real kernel, while an ext4 on the LV is written to.

``follow.py`` runs each command's words as ``plan -J`` gave them. Data must
come through, the layout must be what was promised, each member on a disk of
its own, and no disk's death may have been fatal where it was not said. Where
the new layout outlives disks, so many are dead in the end, and all is read
once more. Some plans are given up half-way, and the way back is gone.
"""

from __future__ import annotations

import json
import re
from itertools import combinations

import pytest

from stackmap.features.plan.lvm_convert import RESHAPES, STRIPED, TAKEOVERS, canonical
from tests.lab.followed import (
    BOOT,
    Followed,
    changed_the_cost_of_a_write,
    followed_in,
    lost_nothing,
    made_in,
    outlived_its_disks,
    parametrized,
    shared,
    stands_in_the_table,
    went_well,
)

pytestmark = pytest.mark.lab("all")

# Each plan that is followed, and what a request that is written costs the disks after it: a copy is written
# for each copy; parity is read and written for each write. None if a cache is above.
CASES = {
    "plan-lvm": {
        "linear-raid1": "more",
        "raid1-more": "more",
        "raid1-linear": "less",
        "linear-raid5-copy": "more",
        "raid5-raid10-copy": "less",
        "raid5-raid6": "more",
        "raid6-raid5": "less",
        "striped-raid6": "more",
        "raid5-raid10": "less",
        "raid10-raid5": "more",
        "raid10-striped": "less",
    },
    "plan-layers": {
        "thin-raid1": "more",
        "thin-raid6": "more",
        "integrity-raid1": "more",
        "cache-raid6": None,
        "cache-raid10-copy": None,
        "writecache-raid6": None,
        "writecache-raid10-copy": None,
    },
    "plan-crypt": {
        "crypt-raid10-copy": "less",
        "crypt-raid6": "more",
        "on-crypt-raid10-copy": "less",
        "on-crypt-raid1": "more",
    },
}
BACK = {
    "plan-lvm": (
        "linear-raid1-back", "raid5-raid10-copy-back", "raid5-raid6-back", "raid10-striped-back",
    ),
    "plan-layers": ("cache-raid6-back", "writecache-raid6-back", "integrity-raid1-back"),
}  # fmt: skip
EACH = [(scenario, case) for scenario, cases in CASES.items() for case in cases]
EACH_BACK = [(scenario, case) for scenario, cases in BACK.items() for case in cases]
MEASURED = [(scenario, case) for scenario, case in EACH if CASES[scenario][case]]

# What is without redundancy in between or from then on, and what is copied while its users are away.
BARE = {"raid5-raid10", "raid10-raid5", "raid10-striped", "raid1-linear"}
OFFLINE = {case for _, case in EACH if case.endswith("-copy")}

REFUSED = {
    "snapshots": (3, "has snapshots"),
    "unsynced": (3, "--nosync"),
    "syncing": (3, "resync"),
    "cache-reshape": (3, "raid6:layout=ls_6 needs none"),
    "thin-reshape": (3, "raid6:layout=ls_6 needs none"),
    "members": (3, "PVs on separate disks"),
    "size": (32, "no device named 'nosuch'"),
    "layout": (3, "a raid10 with the layout far"),
    "same": (0, ""),
    "group": (0, ""),
    "no-volume": (3, "neither an LV nor an md array"),
    "no-root": (3, "not known"),
    "btrfs": (3, "btrfs"),
    "one-disk": (3, "PVs on separate disks"),
}


def left_by(lab, scenario, case, kernel):
    """Return the folder of a case; it shares its boot with others of the scenario."""
    cases = (*CASES[scenario], *BACK.get(scenario, ()))
    return lab(scenario, case, kernel=kernel, **shared(cases, case, BOOT))


@pytest.fixture
def followed(lab, scenario, case, kernel) -> Followed:
    return followed_in(left_by(lab, scenario, case, kernel))


each = parametrized(EACH)


@each
def test_every_step_succeeds(followed):
    went_well(followed)


@each
def test_where_it_was_followed_is_in_the_table(followed, kernel):
    stands_in_the_table(followed, kernel)


@parametrized(EACH + EACH_BACK)
def test_data_comes_through(followed):
    lost_nothing(followed)


@each
def test_online_is_online(followed, case):
    """The writer runs on through every step that says so, and only a copy takes it away."""
    steps = list(zip(followed.way["steps"], followed.done["steps"], strict=True))
    still = [told["line"] for step, told in steps
             if step["online"] and told["seconds"] > 5 and not told["written"]]  # fmt: skip

    assert [] == still
    assert (case in OFFLINE) == (not followed.way["online"])
    assert followed.done["written"] > 5


def survives(state):
    """Whether the volume in *state*, as lvs' JSON, would live without one of its disks."""
    rows = json.loads(state)["report"][0]["lv"]
    return all(lives(row) for row in rows if row["lv_name"] in LAID_OUT)


LAID_OUT = ("lv", "[pool_tmeta]", "[pool_tdata]", "[lv_corig]", "[lv_wcorig]")
REDUNDANT = re.compile(r"raid(1|4|5|6|10)(_.*)?")


def lives(row):
    """A linear or striped LV dies with a disk; a RAID10 that is made of one lives when it is in sync."""
    if row["segtype"] in ("cache", "writecache", "thin"):
        return True
    if not REDUNDANT.fullmatch(row["segtype"]):
        return False
    return row["segtype"] != "raid10" or row["sync_percent"] == "100.00"


@each
def test_redundancy_is_lost_where_it_is_said(followed, case):
    """
    A state that one disk's death would end comes after a step that says so, and only there.

    Not where there was no redundancy before.
    """
    said = [not step["redundant"] for step in followed.way["steps"]]
    bare = [not survives(state) for state in followed.states[1:]]

    assert (case in BARE) == any(said)
    if survives(followed.states[0]):
        assert [] == [n for n, is_bare in enumerate(bare) if is_bare and not said[n]]
        # The first that says so leaves it bare; when the last has ended it is whole, if not before.
        assert [] == [n for n in range(len(said)) if said[n] and not any(said[:n]) and not bare[n]]


@each
def test_the_layout_is_the_promised_one(followed):
    """By LVM's own word, after the last step."""
    promised, last = followed.way["result"], followed.states[-1]
    rows = {row["lv_name"]: row for row in json.loads(last)["report"][0]["lv"]}
    row = next(rows[name] for name in reversed(LAID_OUT) if name in rows)
    assert promised["level"] == row["segtype"].partition("_")[0]
    assert promised["members"] == int(row["stripes"])
    if promised["chunk"]:
        assert f"{promised['chunk'] / 1024:.2f}k" == row["stripe_size"].lower()


@each
def test_it_outlives_as_many_disks_as_it_promises(followed):
    outlived_its_disks(followed)


@parametrized(EACH_BACK)
def test_the_way_back_leads_back(followed, case):
    """
    What a step says of going back is gone as it is printed, and the LV is where it was.

    Members that were given up are made anew where LVM finds room.
    """
    assert {} == {s["line"]: s["said"] for s in followed.done["back"] if s["status"]}

    parts = 1 if case == "raid10-striped-back" else 2
    before, after = (
        {row["lv_name"]: (canonical(row["segtype"]), row["devices"].split("(")[0])[:parts]
         for row in json.loads(state)["report"][0]["lv"] if "_rmeta" not in row["lv_name"]}
        for state in (followed.done["before"], followed.done["back"][-1]["after"])
    )  # fmt: skip
    assert before == after


@parametrized(MEASURED)
def test_the_change_is_significant(lab, scenario, case, kernel):
    changed_the_cost_of_a_write(left_by(lab, scenario, case, kernel), CASES[scenario][case])


@each
def test_no_two_members_share_a_disk(followed):
    """A member is its data and its metadata: what one disk takes with it is one member at the most."""
    rows = json.loads(followed.states[-1])["report"][0]["lv"]
    members: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if match := re.fullmatch(r"\[(.+)_(?:rimage|rmeta)_(\d+)(?:_iorig)?\]", row["lv_name"]):
            on = set(re.findall(r"/dev/[\w/-]+", row["devices"]))
            members.setdefault((match[1], match[2]), set()).update(on)
    shared = [
        (a, b) for a, b in combinations(members, 2) if a[0] == b[0] and members[a] & members[b]
    ]

    assert [] == shared


@pytest.mark.parametrize("case", REFUSED)
def test_what_must_be_refused_is(lab, case, kernel):
    """By status 3 and a line per reason; nothing is printed that could be pasted."""
    out = lab("plan-refused", kernel=kernel, **BOOT)
    told = {}
    for line in (out / "refusals.txt").read_text().splitlines():
        name, status, lines, printed, why = [*line.split(" ", 4), ""][:5]
        told[name] = int(status), int(lines), int(printed), why
    status, lines, printed, why = told[case]

    assert REFUSED[case][0] == status, why
    assert lines >= 1 and printed == 0 if status else lines == 0
    assert REFUSED[case][1] in why


@pytest.mark.parametrize("pair", sorted(TAKEOVERS | RESHAPES), ids=" ".join)
def test_lvconvert_does_what_the_table_says(lab, pair, kernel):
    """Each pair of types, tried: LVM makes that type and no other, and every byte is where it was."""
    half = "striped" if STRIPED & {*pair} else "raid5_ls"
    out = lab("plan-table", half, kernel=kernel, **{**BOOT, "timeout": 2400})
    lines = [line.split(" ", 2) for line in (out / "pairs.txt").read_text().splitlines()]
    told = {(before, after): says for before, after, says in lines}

    assert "ok" == told[pair]


def test_a_new_volume_is_what_was_promised(lab, kernel):
    """LVM makes each layout of the words of a copy's plan, by its own report; and what takes it back works."""
    told = made_in(lab("plan-new-lvm", kernel=kernel, **BOOT))
    assert len(told) > 10

    for each in told:
        (row,) = json.loads(each["state"])["report"][0]["lv"]
        promised = each["promised"]
        variant = (
            f"_{promised['variant']}"
            if promised["level"] in ("raid5", "raid6") and promised["variant"]
            else ""
        )
        assert canonical(promised["level"] + variant) == canonical(row["segtype"]), each
        assert promised["members"] == int(row["stripes"]), each
        if promised["chunk"]:
            assert f"{promised['chunk'] / 1024:.2f}k" == row["stripe_size"].lower(), each
