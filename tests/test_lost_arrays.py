"""Arrays that lost more members than they can: failed, whatever md and dm-raid count (seen in the lab, test_lost.py)."""

from __future__ import annotations

import pytest

from stackmap.discover import discover
from stackmap.discover.rediscovery import Rediscovery
from stackmap.document.rule_words import words_of
from stackmap.model.raid import is_lost, layout
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.sources import mdstat
from tests.machine import DrawnHost, block, lvm_uuid, mapped

DISKS = ("sda", "sdb", "sdc", "sdd")


def disks(*names):
    files = {}
    for name in names:
        files |= block(name, f"8:{16 * DISKS.index(name)}", 65536, device__state="running")
    return files


def md_ten(working, present=DISKS, **attributes):
    """An md RAID10 of four, two copies near each other; *working*: those that md has in sync."""
    said = {"level": "raid10", "layout": "258", "raid_disks": "4", "chunk_size": "65536"}
    said |= {"array_state": "active", "degraded": "1", "sync_action": "idle"} | attributes
    files = disks(*present) | block("md0", "9:0", 131072)
    files |= {f"/sys/block/md0/md/{key}": f"{text}\n" for key, text in said.items()}
    for slot, name in enumerate(DISKS):
        path = f"/sys/block/md0/md/dev-{name}"
        files[f"{path}/slot"] = f"{slot}\n" if name in working else "none\n"
        files[f"{path}/state"] = "in_sync\n" if name in working else "faulty\n"
    return DrawnHost(files)


LEVELS = [
    ("raid10", 4, "near", "UU__", True),
    ("raid10", 4, "near", "U_U_", False),
    ("raid10", 4, "near", "U__U", False),
    ("raid10", 4, "far", "U__U", True),
    ("raid10", 4, "offset", "_UU_", True),
    ("raid10", 4, "far", "U_U_", False),
    ("raid10", 3, "near", "_U_", True),
    ("raid10", 3, "near", "_UU", False),
    ("raid1", 3, "", "__U", False),
    ("raid1", 3, "", "___", True),
    ("raid5", 4, "ls", "U_UU", False),
    ("raid5", 4, "ls", "U__U", True),
    ("raid6", 5, "ls", "__UUU", False),
    ("raid6", 5, "ls", "___UU", True),
    ("raid0", 2, "", "U_", True),
]


@pytest.mark.parametrize(("level", "members", "variant", "slots", "lost"), LEVELS)
def test_data_is_lost_with_all_copies_of_a_part(level, members, variant, slots, lost):
    """As "enough" in the kernel's raid10.c, and as many as a level survives otherwise."""
    shape = layout(level, members, 65536, 2 if level == "raid10" else None, variant)
    assert is_lost(shape, [slot == "U" for slot in slots]) is lost


@pytest.mark.parametrize(
    ("working", "present", "state"),
    [
        (DISKS, DISKS, "active"),
        (("sda", "sdc", "sdd"), DISKS, "degraded"),
        # md keeps the last copy in sync, though its disk is gone.
        (("sda", "sdc", "sdd"), DISKS[1:], "failed"),
        (("sdc", "sdd"), DISKS, "failed"),
        (("sda", "sdd"), DISKS, "degraded"),
    ],
)
def test_an_md_raid10_without_both_copies_has_failed(working, present, state):
    attributes = {"degraded": str(4 - len(working))}
    assert state == discover(md_ten(working, present, **attributes))["md0"].state


def test_a_member_that_goes_while_md_does_not_count_it():
    """Seen at the next look, though no attribute of md changed."""
    rediscovery = Rediscovery()
    host = md_ten(("sda", "sdc", "sdd"))
    assert "degraded" == rediscovery.whole(host)["md0"].state
    host.files = md_ten(("sda", "sdc", "sdd"), DISKS[1:]).files
    assert "failed" == rediscovery.update(host, frozenset({"sda"}))["md0"].state


def lvm_ten(letters, present=DISKS):
    """An LVM RAID10 of four; *letters*: its health by dm-raid."""
    files, tables, statuses = disks(*present), [], []
    for slot, disk in enumerate(DISKS):
        name, below = f"vg-lv_rimage_{slot}", (disk,) if disk in present else ()
        files |= mapped(slot, name, lvm_uuid(slot), 4096, below=below)
        tables.append(f"{name}: 0 4096 linear 8:{16 * slot} 2048")
        statuses.append(f"{name}: 0 4096 linear ")
    files |= mapped(9, "vg-lv", lvm_uuid(9), 8192, below=("dm-0", "dm-1", "dm-2", "dm-3"))
    devices = " ".join(f"- 254:{slot}" for slot in range(4))
    tables.append(f"vg-lv: 0 8192 raid raid10 3 128 region_size 1024 4 {devices}")
    statuses.append(f"vg-lv: 0 8192 raid raid10 4 {letters} 8192/8192 idle 0 0 -")
    lines = {"dmsetup table": tables, "dmsetup status": statuses}
    return DrawnHost(files, {words: "\n".join(said) + "\n" for words, said in lines.items()})


def test_an_lvm_raid10_without_both_copies_has_failed():
    """dm-raid shows the last copy as alive ("ADAA"): that its disk is gone tells."""
    degraded = discover(lvm_ten("ADAA", ("sda", "sdc", "sdd")))
    lost = discover(lvm_ten("ADAA", ("sdc", "sdd")))

    assert ["degraded", "failed"] == [found["dm-9"].state for found in (degraded, lost)]
    assert ["failed", "failed", "active", "active"] == [lost[f"dm-{n}"].state for n in range(4)]
    assert () == lost.unknown


def test_a_raid_volume_lacks_a_disk_that_it_was_not_yet_asked_for():
    """Its letters change with the next request."""
    assert "degraded" == discover(lvm_ten("AAAA", ("sda", "sdc", "sdd")))["dm-9"].state


def test_a_sub_lv_that_loses_its_disk_changes_the_volume():
    """The volume is two levels above; neither its table nor its status changed."""
    rediscovery = Rediscovery()
    host = lvm_ten("ADAA", ("sda", "sdc", "sdd"))
    assert "degraded" == rediscovery.whole(host)["dm-9"].state
    host.files = lvm_ten("ADAA", ("sdc", "sdd")).files
    assert "failed" == rediscovery.update(host, frozenset({"sda"}))["dm-9"].state


def test_the_finding_says_what_is_gone():
    topology = discover(lvm_ten("ADAA", ("sdc", "sdd")))
    (found,) = [each for each in checks(Context(topology)) if each.rule.id == "SM301"]
    words = words_of(topology, found.observed)

    assert ("vg/lv", "failed") == (words["device"], words["state"])
    assert "Both copies of a part of its data are" == words["gone"]
    assert not words["lacks"]
    assert "vg/lv_rimage_0 (failed), vg/lv_rimage_1 (failed)" in words["cause"]


def test_a_volume_whose_disk_is_gone_has_failed():
    """dm-linear has no status of its own."""
    files = disks("sdb") | mapped(0, "vg-lv", lvm_uuid(1), 4096)
    commands = {
        "dmsetup table": "vg-lv: 0 4096 linear 8:0 2048\n",
        "dmsetup status": "vg-lv: 0 4096 linear \n",
    }
    topology = discover(DrawnHost(files, commands))
    (found,) = [each for each in checks(Context(topology)) if each.rule.id == "SM301"]

    assert ("failed", "the device below it is gone") == (
        topology["dm-0"].state,
        found.observed.words["cause"],
    )


def test_an_array_that_md_did_not_start_is_found():
    files = disks("sda") | block("md0", "9:0", 0)
    files |= {"/sys/block/md0/md/array_state": "inactive\n", "/sys/block/md0/md/level": "\n"}
    files |= {
        "/sys/block/md0/md/dev-sda/slot": "none\n",
        "/sys/block/md0/md/dev-sda/state": "spare\n",
    }
    topology = discover(DrawnHost(files))
    (found,) = [each for each in checks(Context(topology)) if each.rule.id == "SM301"]

    assert "md has not started it" == found.observed.words["cause"]


MDSTAT = """md0 : {state} raid10 sdd[3] sdc[2] sdb[1](F) sda[0]
      57344 blocks super 1.2 512K chunks 2 near-copies [4/{there}] [{slots}]
"""


@pytest.mark.parametrize(
    ("state", "slots", "expected"),
    [
        ("broken", "U_UU", "failed"),
        ("active", "__UU", "failed"),
        ("active", "U_U_", "degraded"),
        ("active", "UUUU", "active"),
    ],
)
def test_mdstat_shows_which_members_are_left(state, slots, expected):
    """Linux prints "broken" in place of "active", and a letter per slot."""
    text = MDSTAT.format(state=state, slots=slots, there=slots.count("U"))
    assert expected == mdstat.parse(text)["md0"].state
