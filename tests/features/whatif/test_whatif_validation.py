"""What is not projected, and what is said of what is."""

from __future__ import annotations

import pytest

from stackmap.errors import LayoutError
from stackmap.features.whatif.document import document
from stackmap.features.whatif.json import whatif_json
from stackmap.features.whatif.project import project
from stackmap.features.whatif.volume_context import volume_context
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.layout_request import parse
from stackmap.model.raid import layout
from stackmap.model.topology import Edge
from tests.drawn import DISKS, did, moved, passing, raid_volume, topology
from tests.terminal_text import render_text

PAGE = 4096
GIB = 1 << 30


def array(role=Role.DATA):
    """An md RAID5 of all disks, the last one in *role*."""
    md = Device(
        "md0", Kind.ARRAY, "9:0", size=GIB, layout=layout("raid5", 3, 65536), state="active"
    )
    roles = [Role.DATA, Role.DATA, Role.DATA, role]
    return [md], [Edge("md0", name, each) for name, each in zip(DISKS, roles, strict=True)]


def projected(machine, name, wish="raid10", load=None):
    loads = dict.fromkeys((d.name for d in machine), load or moved(did(7, PAGE), did(11, PAGE)))
    return project(machine, [Interval(loads, time=1.0, seconds=10.0)], name, parse(wish))


@pytest.mark.parametrize("role", [Role.DATA, Role.JOURNAL, Role.SPARE])
def test_a_member_of_an_array_is_refused(role):
    """Its load is what md makes of the array's: the array is what another layout is asked for."""
    with pytest.raises(LayoutError, match=r"sdd is a member of md0.*name md0"):
        projected(topology(array(role)), "sdd")


def test_a_hidden_member_is_refused():
    """LVM's are named after their volume, and are no volumes."""
    with pytest.raises(LayoutError, match="r_rimage_0 is a member of r"):
        projected(topology(raid_volume("r", "raid5", 1)), "r_rimage_0")


def test_a_path_is_refused():
    """It has a part of what its multipath map sends."""
    paths = [passing("m", Kind.MULTIPATH, "multipath")], [Edge("m", "sda", Role.PATH)]
    with pytest.raises(LayoutError, match="sda is a path of m"):
        projected(topology(paths), "sda")


def test_an_array_that_is_a_member_is_projected():
    """It has a layout of its own."""
    outer = Device("md1", Kind.ARRAY, "9:1", layout=layout("raid0", 1, 65536), state="active")
    nested = topology(array(), ([outer], [Edge("md1", "md0", Role.DATA)]))

    assert projected(nested, "md0").device.name == "md0"


def test_what_spreads_its_load_over_the_device_is_said_to_stay():
    """A disk below a RAID volume may be asked for: the volume's layout is another matter."""
    found = projected(topology(raid_volume("r", "raid5", 1)), "sda")

    assert any("spreads its load" in each and "r" in each for each in found.unmodelled)


def test_what_integrity_below_the_members_writes_is_said_to_be_left_out():
    """Its checksums and journal are on the disks, but no row of the table counts them."""
    devices, edges = raid_volume("r", "raid5", 1)
    devices = [d._replace(target="integrity") if "rimage" in d.name else d for d in devices]
    found = [
        each for each in projected(topology((devices, edges)), "r").unmodelled if "below" in each
    ]

    assert found == ["what integrity below the members reads and writes itself, now and projected"]
    assert "below" not in " ".join(
        projected(topology(raid_volume("r", "raid5", 1)), "r").unmodelled
    )


def test_of_what_neither_lvm_nor_md_made_the_maker_is_open():
    """And so are its bitmap's regions: a bit for 2 MiB, or for 64."""
    plain = projected(topology(), "sda").unmodelled
    volume = projected(topology(raid_volume("r", "raid5", 1)), "r").unmodelled

    assert any("64 MiB" in each for each in plain)
    assert not any("64 MiB" in each for each in volume)


@pytest.mark.parametrize(
    ("machine", "name", "maker", "counts"),
    [
        (topology(array()), "md0", "md", False),
        (topology(raid_volume("r", "raid5", 1)), "r", "lvm", True),
        (topology(), "sda", None, True),
    ],
)
def test_who_makes_it_is_one_of_two_or_not_known(machine, name, maker, counts):
    """What is not md's counts its flushes, and is projected as LVM would make it."""
    place = volume_context(machine, name)

    assert (place.manager, place.counts_flushes, place.lvm) == (maker, counts, counts)


@pytest.mark.parametrize("variant", ["far", "offset"])
def test_lvm_has_no_other_raid10_than_near(variant):
    """md has, and so may a disk that nobody has made a volume of."""
    machine = topology(raid_volume("r", "raid5", 1))
    with pytest.raises(LayoutError, match=f"LVM cannot make a raid10 with the layout {variant}"):
        projected(machine, "r", f"raid10:layout={variant}")

    assert projected(topology(array()), "md0", f"raid10:layout={variant}").projected
    assert projected(topology(), "sda", f"raid10:layout={variant}").projected


def test_a_volume_that_did_nothing_has_no_table():
    """A table of zeros says less."""
    text = render_text(
        document(projected(topology(raid_volume("r", "raid5", 1)), "r", load=moved()))
    )

    assert "r was idle: there is no load to project." in text
    assert "members" not in text


def test_what_is_left_out_has_codes():
    """In JSON, each sentence has its code in the same place of a second list; so has the evidence."""
    found = projected(topology(raid_volume("r", "raid5", 1)), "r")
    words = whatif_json([found])

    assert len(words["unmodelled"]) == len(words["unmodelled_codes"]) == len(found.unmodelled)
    assert None not in words["unmodelled_codes"]
    assert len(set(words["unmodelled_codes"])) == len(words["unmodelled_codes"])
    assert words["unmodelled_codes"][:3] == ["latency", "more-io", "rebuild"]
    assert len(words["load"]["told"]) == len(words["load"]["told_codes"])
    assert None not in words["load"]["told_codes"]
