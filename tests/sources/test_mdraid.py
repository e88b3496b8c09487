"""md's attributes."""

import pytest

from stackmap.model.device import Role
from stackmap.sources import mdraid, sysfs
from tests.machine import DrawnHost, block


def array(members: dict[str, tuple[str, str]] | None = None, **attributes: str) -> mdraid.Array:
    """An array as a kernel shows it; members as name: (slot, state)."""
    said = {"level": "raid5", "layout": "2", "raid_disks": "4", "chunk_size": "65536"}
    said |= {"array_state": "clean", "degraded": "0", "sync_action": "idle"}
    said |= {"sync_completed": "none"} | attributes
    files = block("md0", "9:0") | {f"/sys/block/md0/md/{k}": v + "\n" for k, v in said.items()}
    for name, (slot, state) in (members or {}).items():
        files[f"/sys/block/md0/md/dev-{name}/slot"] = slot + "\n"
        files[f"/sys/block/md0/md/dev-{name}/state"] = state + "\n"
    host = DrawnHost(files)
    return mdraid.read(host, sysfs.read(host, {})[0])


STATES = {
    "clean": ({}, "active"),
    "write-pending": ({"array_state": "write-pending"}, "active"),
    "degraded": ({"degraded": "1"}, "degraded"),
    "resync": ({"sync_action": "resync", "sync_completed": "10 / 40"}, "resync 25.0 %"),
    "check of a degraded array": (
        {"degraded": "1", "sync_action": "check", "sync_completed": "10 / 40"},
        "degraded, check 25.0 %",
    ),
    "rebuild": (
        {"degraded": "1", "sync_action": "recover", "sync_completed": "10 / 40"},
        "recover 25.0 %",
    ),
    "reshape that waits": (
        {"sync_action": "reshape", "sync_completed": "delayed"},
        "reshape delayed",
    ),
    "frozen": ({"sync_action": "frozen"}, "active"),
    "not up": ({"array_state": "inactive"}, "inactive"),
    "read-only": ({"array_state": "readonly"}, "read-only"),
    "waits for the first write": ({"array_state": "read-auto"}, "read-auto"),
    "too few members": ({"array_state": "broken", "degraded": "1"}, "failed"),
}


@pytest.mark.parametrize("name", STATES)
def test_state_of_an_array(name):
    attributes, expected = STATES[name]
    assert expected == array(**attributes).state


LAYOUTS = {
    "raid5": ({}, ("raid5", 4, 3, "ls")),
    "while it is reshaped, what it becomes": ({"raid_disks": "5 (4)"}, ("raid5", 5, 4, "ls")),
    "raid10 near": ({"level": "raid10", "layout": "258"}, ("raid10", 4, 2, "near")),
    "raid10 far": ({"level": "raid10", "layout": "513"}, ("raid10", 4, 2, "far")),
    "raid10 offset": ({"level": "raid10", "layout": "66049"}, ("raid10", 4, 2, "offset")),
    "raid1": ({"level": "raid1", "layout": "0", "chunk_size": "0"}, ("raid1", 4, 1, "")),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_of_an_array(name):
    """Level, members, data chunks a stripe, variant; md packs raid10's into one number."""
    attributes, expected = LAYOUTS[name]
    found = array(**attributes).layout
    assert expected == (found.level, found.members, found.data, found.variant)


def test_a_container_has_no_layout():
    """imsm's container holds disks; the arrays made of them are others."""
    container = array(level="", metadata_version="external:imsm", array_state="inactive")
    assert (None, None) == (container.layout, container.state)


MEMBERS = {
    "sda": ("0", "in_sync", Role.DATA, "active"),
    "sdb": ("1", "in_sync,write_mostly", Role.DATA, "active"),
    "sdc": ("2", "spare", Role.DATA, "recovering"),
    "sdd": ("none", "spare", Role.SPARE, "spare"),
    "sde": ("none", "faulty", Role.FAILED, "faulty"),
    "sdh": ("none", "faulty,journal", Role.FAILED, "faulty"),
    "sdf": ("2", "replacement", Role.REPLACEMENT, "replacement"),
    "sdg": ("none", "journal,in_sync", Role.JOURNAL, "journal"),
}


def test_roles_and_states_of_members():
    """Only a member in a slot carries data; one that is being filled is recovering."""
    found = array({name: said[:2] for name, said in MEMBERS.items()})

    assert {name: said[2:] for name, said in MEMBERS.items()} == {
        member.name: (member.role, member.state) for member in found.members
    }
    assert "sdb" == mdraid.facts(found)["write mostly"]


def test_slots_are_those_of_members_in_sync():
    """A replacement in sync holds the slot too; a journal has none, and without slots nothing is known."""
    found = array({name: said[:2] for name, said in MEMBERS.items()})
    assert ("sda", "sdb", "", "") == found.slots
    filled = array({"sda": ("0", "in_sync"), "sdf": ("2", "in_sync,replacement")})
    assert ("sda", "", "sdf", "") == filled.slots
    assert () == array({"sda": ("", "in_sync")}).slots


def test_members_are_in_the_order_of_slots():
    found = array({"sdz": ("0", "in_sync"), "sda": ("1", "in_sync"), "sdb": ("none", "spare")})
    assert ["sdz", "sda", "sdb"] == [member.name for member in found.members]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [("none bitmap [llbitmap] ", "llbitmap"), ("none [bitmap] llbitmap ", None), ("", None)],
)
def test_the_lockless_bitmap(kinds, expected):
    """Linux 6.18: md.rst, bitmap_type."""
    found = mdraid.facts(array(consistency_policy="bitmap", bitmap_type=kinds))

    assert found.get("bitmap") == expected
    assert found["consistency"] == "bitmap"
