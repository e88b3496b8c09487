"""A projection where others use the members: a volume's load is what its own counters say it sent."""

from __future__ import annotations

import pytest

from stackmap.features.whatif.project import project
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.layout_request import parse
from stackmap.model.raid import layout
from stackmap.model.topology import Edge
from tests.drawn import did, moved, passing, topology

PAGE = 4096
MIB = 1 << 20


def striped(name):
    """A striped LV over three of the disks."""
    device = Device(name, Kind.VOLUME, "", target="striped", size=96 * MIB,
                    layout=layout("striped", 3, 65536), state="active")  # fmt: skip
    return [device], [Edge(name, f"sd{letter}", Role.DATA) for letter in "abc"]


def linear(name, below):
    return [passing(name, size=64 * MIB)], [Edge(name, below, Role.DATA)]


def projected(machine, loads, name, wish):
    return project(machine, [Interval(loads, time=1.0, seconds=100.0)], name, parse(wish))


def beside(other, flushes=0.0):
    """Striped v wrote 7 pages to each of three disks, and w as much as *other* says."""
    part = moved(write=did(21, PAGE) + did(flushes, 0))
    each = moved(write=did(7, PAGE) + did(flushes, 0) + did(other, PAGE))
    loads = {
        "v": part,
        "w": moved(write=did(3 * other, PAGE)),
        "sda": each,
        "sdb": each,
        "sdc": each,
    }
    return projected(topology(striped("v"), striped("w")), loads, "v", "raid10:members=4")


def test_of_members_that_others_use_a_volume_has_what_it_sent():
    """21 writes of v among 21 + 3 × 83: members take 21 now, and 42 as RAID10."""
    found = beside(83)

    assert found.write.requests == 21
    assert found.now.members.data.likely == pytest.approx(21)
    assert found.now.members.carried.likely == pytest.approx(21 * PAGE)
    assert found.projected.members.data.likely == pytest.approx(42)
    assert found.levels["members_now"].peak == pytest.approx(21)


def test_what_others_write_is_no_flush():
    """The disks wrote more than v sent: whether that includes a flush is unknown, and a note says so."""
    found = beside(83)

    assert found.flushes is None
    assert any(s.startswith("flushes") and "w used its members" in s for s in found.unmodelled)


def test_of_a_bitmap_that_there_is_not_nothing_is_missed():
    """A striped volume keeps none, so none is unseen."""
    assert not any("bitmap is written now" in sentence for sentence in beside(83).unmodelled)


def test_flushes_are_told_where_the_others_were_idle():
    """11 flushes: each disk has 7 pages and 11 writes of nothing."""
    found = beside(0, flushes=11)

    assert found.flushes == pytest.approx(11)
    assert found.write.requests == pytest.approx(21)
    assert found.projected.members.write.likely == pytest.approx(42 + 4 * 11)


def test_the_present_layout_is_what_a_volume_sent_to_shared_members():
    """The check of the model is off by nothing at the members, and holds what the disks did."""
    machine = topology(striped("v"), striped("w"))
    each = moved(write=did(7, PAGE) + did(83, PAGE))
    loads = {"v": moved(write=did(21, PAGE)), "w": moved(write=did(249, PAGE)),
             "sda": each, "sdb": each, "sdc": each}  # fmt: skip
    found = projected(machine, loads, "v", "striped")
    now, then = found.now.disks.requests.likely, found.projected.disks.requests

    assert found.is_check
    assert found.projected.members.data.likely == pytest.approx(found.now.members.data.likely)
    assert then.low <= now <= then.high


def test_a_linear_volume_on_a_shared_disk_has_what_it_sent():
    """13 reads and 17 writes of v, on a disk that did 59 and 97."""
    loads = {
        "v": moved(did(13, PAGE), did(17, PAGE)),
        "w": moved(did(46, PAGE), did(80, PAGE)),
        "sda": moved(did(59, PAGE), did(97, PAGE)),
    }
    found = projected(topology(linear("v", "sda"), linear("w", "sda")), loads, "v", "raid1")

    assert (found.now.members.read.likely, found.now.members.write.likely) == (13, 17)
    assert found.projected.members.data.likely == 13 + 34
    assert found.flushes is None


def test_volumes_on_one_crypt_have_what_each_sent():
    """Of 5 + 19 reads that a crypt mapping did, 5 are v's."""
    crypt = [passing("c", Kind.CRYPT, "crypt")], [Edge("c", "sda", Role.DATA)]
    loads = {"v": moved(did(5, PAGE)), "w": moved(did(19, PAGE)),
             "c": moved(did(24, PAGE)), "sda": moved(did(24, PAGE))}  # fmt: skip
    found = projected(topology(crypt, linear("v", "c"), linear("w", "c")), loads, "v", "raid1")

    assert found.now.members.read.likely == 5
    assert found.now.disks.read.likely == 5


def test_what_merges_below_one_device_is_taken_to_merge_as_well():
    """Two of three requests were joined: so a copy of them is, at the least. Of 3,000, one may be miscounted."""
    loads = {"v": moved(write=did(30, PAGE)), "sda": moved(write=did(10, PAGE, merges=20))}
    found = projected(topology(linear("v", "sda")), loads, "v", "raid1").projected.disks.write

    assert found.likely == pytest.approx(20)
    assert found.high == pytest.approx(60 * (1.02 + 1 / 3000))


def test_what_a_partition_merges_was_sent_to_it():
    """43 writes came, of which 30 were joined: a RAID1 would be sent 43, and copy each."""
    part = [passing("p", Kind.PARTITION, "")], [Edge("p", "sda", Role.DATA)]
    wrote = moved(write=did(13, PAGE, merges=30))
    found = projected(topology(part), {"p": wrote, "sda": wrote}, "p", "raid1")

    assert found.write.requests == 43
    assert found.now.members.write.likely == 43
    assert found.projected.members.write.likely == 86
    assert found.projected.disks.write.likely == pytest.approx(26)


def test_a_mirrors_flushes_are_not_known():
    """Each copy is written what the volume is, flush or not."""
    devices = [Device("v", Kind.VOLUME, "", target="raid", layout=layout("raid1", 2), size=MIB),
               passing("m0", Kind.MEMBER), passing("m1", Kind.MEMBER)]  # fmt: skip
    edges = [Edge("v", f"m{n}", Role.DATA) for n in (0, 1)]
    edges += [Edge("m0", "sda", Role.DATA), Edge("m1", "sdb", Role.DATA)]
    each = moved(write=did(23, PAGE))
    loads = dict.fromkeys(("v", "m0", "m1", "sda", "sdb"), each)
    found = projected(topology((devices, edges)), loads, "v", "raid1")

    assert found.flushes is None
    assert any("every member is a copy" in sentence for sentence in found.unmodelled)
