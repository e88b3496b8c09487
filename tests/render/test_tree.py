"""The tree: what is drawn, once, and how it looks."""

import json

import pytest

from stackmap.document.describe import rows
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge, Topology
from stackmap.render.json import tree_json
from stackmap.render.text import width
from stackmap.render.tree import ASCII, UNICODE, render_tree
from tests.drawn import disk, passing, raid_volume, topology

TWO_VOLUMES = topology(raid_volume("vg/r5", "raid5", 7), raid_volume("vg/r10", "raid10", 11))


def lines(text):
    """The lines of a drawing, with runs of blanks as one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_device_is_drawn_once():
    """A second volume on the same disks points back to them, all in one row."""
    assert lines(render_tree(TWO_VOLUMES)) == [
        "DEVICE SIZE WHAT STATE",
        "vg/r5 - raid5 3+1, 64 KiB active",
        "├─ _rimage_0–3 - 4 × linear -",
        "│ ├─ sda - disk -",
        "│ ├─ sdb - disk -",
        "│ ├─ sdc - disk -",
        "│ └─ sdd - disk -",
        "└─ _rmeta_0–3 - metadata: 4 × linear -",
        "└─ sda sdb sdc sdd ↑",
        "vg/r10 - raid10 2×2, 64 KiB active",
        "├─ _rimage_0–3 - 4 × linear -",
        "│ └─ sda sdb sdc sdd ↑",
        "└─ _rmeta_0–3 - metadata: 4 × linear -",
        "└─ sda sdb sdc sdd ↑",
    ]


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("expand", [False, True])
def test_each_device_has_one_row(inverse, expand):
    """Whichever way, each device is drawn, and no device twice; hidden ones may be left out upwards."""
    drawn = [
        device.name
        for row in rows(TWO_VOLUMES, inverse=inverse, expand=expand)
        for device in row.devices
        if not row.again
    ]
    hidden = {d.name for d in TWO_VOLUMES if d.kind is Kind.MEMBER and inverse and not expand}

    assert len(drawn) == len(set(drawn))
    assert set(drawn) == set(TWO_VOLUMES.devices) - hidden


def test_from_the_disks_up():
    """A hidden LV is passed over: what it is part of stands on the disk."""
    drawn = lines(render_tree(TWO_VOLUMES, inverse=True))
    assert ["sda - disk -", "├─ vg/r5 - raid5 3+1, 64 KiB active"] == drawn[1:3]
    assert "└─ vg/r5 vg/r10 ↑" in drawn


def test_expanded_each_hidden_lv_has_a_row():
    drawn = lines(render_tree(TWO_VOLUMES, expand=True))
    assert 8 + 8 == sum("linear" in line for line in drawn)


def test_ascii_is_ascii():
    """The same walk, other characters."""
    assert render_tree(TWO_VOLUMES, ASCII).isascii()
    assert len(lines(render_tree(TWO_VOLUMES, ASCII))) == len(lines(render_tree(TWO_VOLUMES)))


@pytest.mark.parametrize("room", [30, 40, 60, 80, 132])
def test_no_line_is_wider_than_the_terminal(room):
    text = render_tree(TWO_VOLUMES, UNICODE._replace(width=room))
    assert max(width(line) for line in text.splitlines()) <= room


def test_names_cannot_control_a_terminal():
    """An LV's name or a disk's model may hold anything."""
    bad = Device("sda", Kind.DISK, "8:0", model="\x1b[2Jx\nDEVICE", state="\x1b]0;x\x07")
    text = render_tree(Topology([bad]))
    assert "\x1b" not in text
    assert 2 == len(text.splitlines())


def test_colour_is_asked_for():
    """What is wrong is red, and only where colour is asked for."""
    bad = Topology([Device("md0", Kind.ARRAY, "9:0", state="degraded")])
    assert "\x1b" not in render_tree(bad)
    assert "\x1b[31mmd0" in render_tree(bad, UNICODE._replace(width=80, colour=True))


def test_a_circle_ends():
    """A hostile capture may say that two devices stand on each other."""
    ring = Topology(
        [Device(name, Kind.DM, "") for name in ("a", "b", "top")],
        [Edge("top", "a", Role.DATA), Edge("a", "b", Role.DATA), Edge("b", "a", Role.DATA)],
    )
    assert ["top", "└─ a", "└─ b", "└─ a ↑"] == [
        line.removesuffix(" - mapped -") for line in lines(render_tree(ring, heading=False))
    ]


def test_nothing_is_nothing():
    assert "" == render_tree(Topology([]))


def test_a_role_other_than_data_is_said():
    parts = Topology(
        [Device("c", Kind.CACHE, ""), Device("sda", Kind.DISK, ""), Device("sdb", Kind.DISK, "")],
        [Edge("c", "sda", Role.CACHE), Edge("c", "sdb", Role.ORIGIN)],
    )
    drawn = lines(render_tree(parts, heading=False))
    assert ["c - cache -", "├─ sdb - origin: disk -", "└─ sda - cache: disk -"] == drawn


def test_json_has_the_keys_of_the_contract():
    """DESIGN 6: these keys are fixed, and unknown is null."""
    found = json.loads(json.dumps(tree_json(TWO_VOLUMES)))
    (volume,) = (device for device in found["devices"] if device["name"] == "vg/r5")

    assert "stackmap.tree/1" == found["schema"]
    keys = {"name", "label", "kind", "dev", "size", "layout", "state", "mounts", "below"}
    assert keys <= set(volume)
    expected = {"level": "raid5", "members": 4, "data": 3, "parity": 1, "copies": 1, "chunk": 65536}
    assert expected.items() <= volume["layout"].items()
    assert {"name": "vg/r5_rimage_0", "role": "data"} in volume["below"]
    assert volume["size"] is None


def test_a_device_below_twice_is_listed_once():
    """Two segments on one disk are two edges, and one device."""
    parts = Topology(
        [Device("dm-0", Kind.VOLUME, ""), Device("sda", Kind.DISK, "")],
        [Edge("dm-0", "sda", Role.DATA, 0, 7), Edge("dm-0", "sda", Role.DATA, 11, 13)],
    )
    (volume,) = (d for d in tree_json(parts)["devices"] if d["name"] == "dm-0")
    assert [{"name": "sda", "role": "data"}] == volume["below"]
    assert 2 == len(lines(render_tree(parts, heading=False)))


@pytest.mark.parametrize(
    ("words", "expected"),
    [("sdb", ["data", "write-mostly"]), ("0", ["write-mostly", "data"]), ("", ["data", "data"])],
)
def test_a_write_mostly_member_has_its_role(words, expected):
    """md names the member, dm-raid has its number."""
    facts = {"write mostly": words} if words else {}
    tree = Topology(
        [Device("md0", Kind.ARRAY, "9:0", facts=facts), *map(disk, ("sda", "sdb"))],
        [Edge("md0", "sda", Role.DATA), Edge("md0", "sdb", Role.DATA)],
    )
    (array,) = (each for each in tree_json(tree)["devices"] if each["name"] == "md0")

    assert [each["role"] for each in array["below"]] == expected
    drawn = lines(render_tree(tree, heading=False))[1:]
    assert [line.split()[3] for line in sorted(drawn, key=lambda line: line.split()[1])] == [
        "write-mostly:" if role == "write-mostly" else "disk" for role in expected
    ]


def test_sub_lvs_in_one_row_are_counted_by_what_they_are():
    """Five are linear and one has two segments: not six of two segments."""
    parts = [
        passing(f"dm-{place}", Kind.MEMBER, label=f"vg/lv_rimage_{place}") for place in range(6)
    ]
    parts[0] = parts[0]._replace(facts={"segments": "2"})
    top = Device("dm-9", Kind.VOLUME, "", label="vg/lv")
    edges = [Edge("dm-9", part.name, Role.DATA) for part in parts]
    drawn = lines(render_tree(Topology([top, *parts], edges), heading=False))
    assert drawn[1].endswith("1 × linear, 2 segments; 5 × linear -")
