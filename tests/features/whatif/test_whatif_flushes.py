"""Which flushes and writes with FUA are known, by whom, and what is said where they are not; ``fiojob`` says the same."""

from __future__ import annotations

import pytest

from stackmap.features.fiojob.load import LoadMeasurement
from stackmap.features.whatif.measured import fua_writes, page_requests, users_of
from stackmap.features.whatif.project import project
from stackmap.features.whatif.volume_context import volume_context
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.layout_request import parse
from stackmap.model.load import Flow
from stackmap.model.raid import layout
from stackmap.model.topology import Edge
from tests.drawn import did, moved, passing, raid_volume, topology

PAGE = 4096
GIB = 1 << 30
COPIES = moved(write=did(11, PAGE) + did(3, 0))  # each of two members: 11 writes, 3 flushes


def array(name="md0", level="raid1"):
    """An md array of the first two disks."""
    device = Device(name, Kind.ARRAY, "9:0", size=GIB, layout=layout(level, 2), state="active")
    return [device], [Edge(name, disk, Role.DATA) for disk in ("sda", "sdb")]


def linear(name, below="sda", **more):
    return [passing(name, size=GIB, **more)], [Edge(name, below, Role.DATA)]


def projected(machine, loads, name, wish="raid10:members=4"):
    return project(machine, [Interval(loads, time=1.0, seconds=10.0)], name, parse(wish))


def taken(machine, loads, name):
    """Return the load that a job is made of."""
    taking = LoadMeasurement(machine, name)
    taking.add(Interval(loads, 1.0, 10.0))
    return taking.result()


def said(found):
    """Return what is said of flushes that are not known."""
    return [each for each in found.unmodelled if each.startswith("flushes")]


def copies(name, level):
    """A RAID LV of two members that did as COPIES, and was itself sent as much."""
    loads = {name: COPIES} | dict.fromkeys(("sda", "sdb"), COPIES)
    loads |= {f"{name}_rimage_{n}": COPIES for n in (0, 1)}
    loads |= {f"{name}_rmeta_{n}": moved() for n in (0, 1)}
    return topology(raid_volume(name, level, 1, 2)), loads


def test_mds_flushes_are_what_its_members_have_beyond_the_copies():
    """11 writes of the array, 14 at each copy: 3 flushes, also in a fio job."""
    machine = topology(array())
    loads = {"md0": moved(write=did(11, PAGE)), "sda": COPIES, "sdb": COPIES}

    assert projected(machine, loads, "md0").flushes == pytest.approx(3)
    assert taken(machine, loads, "md0").flushes == pytest.approx(3)


@pytest.mark.parametrize("level", ["raid1", "raid10"])
def test_where_every_member_is_a_copy_both_say_so(level):
    """A RAID10 of two is one, too: LVM's count their flushes as their writes."""
    machine, loads = copies("r", level)
    found, job = projected(machine, loads, "r"), taken(machine, loads, "r")

    assert (found.flushes, job.flushes) == (None, None)
    assert "every member is a copy" in job.flushes_reason
    assert said(found) == [f"flushes, which are counted as writes: {job.flushes_reason}"]


def test_of_an_array_flushes_are_not_among_the_writes():
    """md counts none: where another used its members nothing tells them, and its writes all carry data."""
    machine = topology(array(), linear("w"))
    each = moved(write=did(11 + 7, PAGE) + did(3, 0))
    loads = {"md0": moved(write=did(11, PAGE)), "w": moved(write=did(7, PAGE)),
             "sda": each, "sdb": COPIES}  # fmt: skip
    found = projected(machine, loads, "md0")

    assert found.flushes is None
    assert said(found) == ["flushes, which md does not count: w used its members too"]


@pytest.mark.parametrize("level", ["raid1", "raid10"])
def test_of_a_volume_that_had_no_writes_there_were_none(level):
    """For they are among its writes; on one device, on copies, and where others use the members."""
    machine, loads = copies("r", level)
    read = {"v": moved(did(5, PAGE)), "w": moved(write=did(7, PAGE)),
            "sda": moved(did(5, PAGE), did(7, PAGE))}  # fmt: skip
    cases = (
        (machine, dict.fromkeys(loads, moved(did(5, PAGE))), "r"),
        (topology(linear("v")), read, "v"),
        (topology(linear("v"), linear("w")), read, "v"),
    )
    for where, counted, name in cases:
        found = projected(where, counted, name)

        assert (found.flushes, said(found)) == (0.0, [])
        assert taken(where, counted, name).flushes == 0.0


def test_of_an_array_that_had_no_writes_that_is_not_known():
    """Its flushes are among nothing that is counted."""
    machine = topology(array(), linear("w"))
    loads = {"md0": moved(did(5, PAGE)), "w": moved(did(1, PAGE)),
             "sda": moved(did(6, PAGE)), "sdb": moved()}  # fmt: skip
    found = projected(machine, loads, "md0")

    assert found.flushes is None
    assert len(said(found)) == 1


@pytest.mark.parametrize(
    ("loads", "says"),
    [
        ({"w": moved(did(1, PAGE))}, "w used"),
        ({"w": moved()}, ""),
        ({}, "w may have used"),
        ({"x": moved(did(1, PAGE))}, "x used"),
        ({"x": moved(did(1, PAGE)), "w": moved(did(1, PAGE))}, "w and 1 more used"),
    ],
)
def test_what_nothing_tells_of_may_have_used_it(loads, says):
    """Missing figures prove neither use nor idleness; a known user proves use."""
    machine = topology(linear("w"), linear("x"))

    assert users_of(machine, {"x": moved()} | loads, ("w", "x")) == says


@pytest.mark.parametrize(("busy", "says"), [(True, "w used"), (False, "w may have used")])
def test_both_say_who_used_the_same_and_who_may_have(busy, says):
    """A striped volume's neighbour with figures, and one without."""
    striped = Device("v", Kind.VOLUME, "", target="striped", size=GIB,
                     layout=layout("striped", 2, 65536), state="active")  # fmt: skip
    part = [striped], [Edge("v", name, Role.DATA) for name in ("sda", "sdb")]
    machine = topology(part, linear("w"))
    loads = {"v": COPIES, "sda": COPIES, "sdb": COPIES}
    loads |= {"w": moved(did(1, PAGE))} if busy else {}
    found, job = projected(machine, loads, "v"), taken(machine, loads, "v")

    assert said(found) == [f"flushes, which are counted as writes: {says} its members too"]
    assert job.flushes_reason == f"{says} its members too"


def test_a_disks_own_counter_of_flushes_is_asked_first():
    """Below one volume alone it has that volume's, which no other counter does."""
    machine = topology(linear("v"))
    counting, silent = (
        {"v": COPIES, "sda": COPIES._replace(flush=flush)} for flush in (did(3, 0), Flow())
    )

    assert taken(machine, counting, "v").flushes == 3
    assert "on one device" in taken(machine, silent, "v").flushes_reason


def test_writes_that_have_not_reached_the_members_are_no_negative_flushes():
    """11 writes of the array, of whose 22 copies 21 were done when the members were read."""
    loads = {"md0": moved(write=did(11, PAGE)), "sda": moved(write=did(11, PAGE)),
             "sdb": moved(write=did(10, PAGE))}  # fmt: skip

    assert projected(topology(array()), loads, "md0").flushes == 0


@pytest.mark.parametrize(
    ("level", "members", "each"), [("raid10", 4, 2), ("raid1", 3, 3), ("raid5", 4, 2), ("raid6", 5, 3), ("raid0", 2, 1)]
)  # fmt: skip
def test_a_disk_flushes_once_more_after_each_copy_and_each_page_of_parity(level, members, each):
    """13 writes with FUA, 47 flushes that were sent, and 3 for each of 7 pages of the bitmap."""
    done = 13 * each + 47 + 3 * 7

    assert fua_writes(layout(level, members), float(done), 47.0, 7.0) == pytest.approx(13)


def test_counters_of_several_layers_are_not_read_at_one_instant():
    """As few more as 2 % are nobody's."""
    assert fua_writes(layout("raid10", 4), 69.0, 47.0, 7.0) == 0.0


def test_a_disk_that_counts_no_flushes_tells_nothing():
    """Before Linux 5.5."""
    assert fua_writes(layout("raid10", 4), None, 47.0, 7.0) is None


@pytest.mark.parametrize(
    ("size", "kernel", "expected"),
    [
        (
            256,
            "7.3.4",
            2,
        ),  # an empty flush and the page, whatever the release: distributions backport
        (512, "6.12.0", 1),
        (None, "6.12.0", 2),
        (None, "7.3.4", 1),
        (None, "", 2),
    ],
)
def test_a_page_of_the_bitmap_is_one_request_or_two_by_the_mean_write(size, kernel, expected):
    """A bitmap of 150 regions is one sector. *size*: the mean write at the sub-LVs, None: there were none."""
    volume = raid_volume("lv", "raid5", 8, size=300 << 20, facts={"region": str(2 << 20)})
    host = topology(volume, kernel=kernel)
    wrote = {f"lv_rmeta_{n}": moved(write=did(7, size)) for n in range(4)} if size else {}

    assert page_requests(Ledger(host, wrote, 1.0), volume_context(host, "lv")) == expected


def test_a_page_in_one_request_costs_two_flushes():
    assert fua_writes(layout("raid10", 4), 47.0 + 2 * 7 + 2 * 13, 47.0, 7.0, 1) == pytest.approx(13)
