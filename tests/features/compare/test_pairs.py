"""What is the same volume in two recordings, where nobody names one; and what its layout is called."""

from __future__ import annotations

from dataclasses import replace

from stackmap.features.compare.compare import Unmatched, compare, pairs_of
from stackmap.features.compare.document import document
from stackmap.features.compare.json import compare_json
from stackmap.features.compare.recording import recording_of
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.render.figures_json import layers_json
from stackmap.render.terminal import Style
from tests.drawn import DISKS, did, disk, moved, passing, stack_figures
from tests.terminal_text import render_text


def on_md(name, level, members, title="vg/lv"):
    """An LV on the array *name* over *members*, beside disks that nothing stands on."""
    array = Device(name, Kind.ARRAY, "", layout=layout(level, len(members), 65536), state="active")
    return Topology(
        [*map(disk, DISKS), array, passing("dm-0", label=title)],
        [Edge("dm-0", name, Role.DATA), *(Edge(name, each, Role.DATA) for each in members)],
    )


def tops(topology):
    return [device.name for device in topology.tops]


BEFORE = on_md("md7", "raid1", ("sda", "sdb"))
AFTER = on_md("md9", "raid0", ("sdc", "sdd"))


def test_what_is_a_member_on_one_side_is_no_pair():
    """The volume moved from two disks to two others: it alone is compared, the four are told."""
    pairs, unmatched = pairs_of(BEFORE, tops(BEFORE), AFTER, tops(AFTER))

    assert pairs == [("dm-0", "dm-0")]
    assert unmatched == (
        Unmatched("sdc", "after"), Unmatched("sdd", "after"), Unmatched("sda", "before"), Unmatched("sdb", "before"),
    )  # fmt: skip


def test_spare_disks_that_stay_spare_are_pairs():
    """Two disks that nothing stands on in either are the same disks; nothing is apart."""
    pairs, unmatched = pairs_of(BEFORE, tops(BEFORE), BEFORE, tops(BEFORE))

    assert pairs == [("sdc", "sdc"), ("sdd", "sdd"), ("dm-0", "dm-0")]
    assert unmatched == ()


def test_a_head_whose_top_has_no_counters_is_the_same():
    """A text without the LV begins at the array; so does what it is compared with, if the LV was there in both."""
    assert pairs_of(BEFORE, ["md7"], BEFORE, tops(BEFORE)) == ([("md7", "md7")], ())


def test_a_volume_that_another_stands_on_since_is_apart():
    """The LV has a crypt mapping on it after: what it is asked for is the mapping's."""
    crypt = Topology(
        [*BEFORE, passing("dm-1", Kind.CRYPT, "crypt")],
        [*BEFORE.edges, Edge("dm-1", "dm-0", Role.DATA)],
    )

    assert pairs_of(BEFORE, ["dm-0"], crypt, ["dm-1"]) == ([], (Unmatched("vg/lv", "after"),))
    assert pairs_of(crypt, ["dm-1"], BEFORE, ["dm-0"]) == ([], (Unmatched("vg/lv", "before"),))


def recorded(topology):
    load = moved(None, did(11.0, 4096, wait=13.0), aqu=0.013)
    interval = Interval({device.name: load for device in topology}, 1001.0, 1.0)
    return recording_of("there", topology, ("dm-0",), [(topology, interval)])


def found(before=BEFORE, after=AFTER):
    """Compare the two."""
    pairs, unmatched = pairs_of(before, ["dm-0"], after, ["dm-0"])
    return replace(compare(recorded(before), recorded(after), pairs), unmatched=unmatched)


def test_a_layout_below_the_top_is_named_with_what_has_it():
    """The LV is linear; what became another is the array that it stands on."""
    assert "vg/lv (dm-0)  raid1 ×2 of md7 → raid0 ×2 of md9\n" in render_text(document(found()))


def test_layouts_in_json_have_their_device():
    """Never null where something below spreads the data."""
    (stack,) = compare_json(found())["stacks"]
    before, after = stack["before"], stack["after"]

    assert [before["layout"]["level"], after["layout"]["level"]] == ["raid1", "raid0"]
    assert [(each["of"], each["device"]) for each in before["layouts"]] == [("md7", "md7")]
    assert before["layouts"][0]["layout"] == before["layout"]


def test_iostat_names_a_layout_below_in_the_same_words():
    """``iostat --per-layer -J`` has the object of ``compare -J``; the top's own layout stays its own."""
    (stack,) = compare_json(found())["stacks"]
    taken = Interval({}, 1001.0, 1.0)
    (layers,) = layers_json([stack_figures(BEFORE, {}, "dm-0")], taken)["stacks"]

    assert layers["layout"] is None
    assert layers["layouts"] == stack["before"]["layouts"] != []


def test_no_raid_is_said_where_there_is_none():
    """A linear LV on one disk spreads nothing."""
    plain = Topology(
        [disk("sda"), passing("dm-0", label="vg/lv")], [Edge("dm-0", "sda", Role.DATA)]
    )
    said = found(plain, BEFORE)

    assert "vg/lv (dm-0)  no RAID → raid1 ×2 of md7\n" in render_text(document(said))
    assert compare_json(said)["stacks"][0]["before"]["layout"] is None


def test_each_way_down_has_its_layout():
    """A volume over two arrays has both."""
    arrays = [
        Device(name, Kind.ARRAY, "", layout=layout(level, 2, 65536), state="active")
        for name, level in (("md3", "raid1"), ("md5", "raid0"))
    ]
    both = Topology(
        [*map(disk, DISKS), *arrays, passing("dm-0", label="vg/lv")],
        [
            *(Edge("dm-0", name, Role.DATA) for name in ("md3", "md5")),
            *(Edge("md3", name, Role.DATA) for name in ("sda", "sdb")),
            *(Edge("md5", name, Role.DATA) for name in ("sdc", "sdd")),
        ],
    )

    assert "  raid1 ×2 of md3, raid0 ×2 of md5\n" in render_text(document(found(both, both)))


def test_what_was_left_out_is_said_in_a_line():
    """Which, and why; and once, above the tables."""
    pairs, unmatched = pairs_of(BEFORE, tops(BEFORE), AFTER, tops(AFTER))
    said = replace(compare(recorded(BEFORE), recorded(AFTER), pairs), unmatched=unmatched)

    text = render_text(document(said), Style(200))

    line = "Left out: sdc, sdd: a top before, below another after; sda, sdb: a top after, below another before."
    assert line in text.splitlines()
    assert {"top": "sdc", "below_another": "after"} in compare_json(said)["apart"]
