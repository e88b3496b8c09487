"""What is told of requests that follow each other: by the pattern of a projection, by merging, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackmap.features.fiojob.job import fiojob_json, job_of, random_percent
from stackmap.features.fiojob.load import AccessPattern, JobLoad, LoadMeasurement, Stream
from stackmap.features.fiojob.sizes import Sizes, SizeSource
from stackmap.features.whatif.measured import measured
from stackmap.features.whatif.pattern import pattern_of
from stackmap.features.whatif.volume_context import volume_context
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.topology import Edge, Topology
from tests.drawn import DISKS, did, disk, moved, passing, raid_volume, topology

RAID5 = topology(raid_volume("vm", "raid5", 8, label="vg/vm", size=700 << 20))
PLAIN = Topology([disk("sda"), passing("dm-0")], [Edge("dm-0", "sda", Role.DATA)])
KIB, PAGE, WRITES = 1024, 4096, 101.0


def raid5(reads, size=PAGE):
    """Writes of *size*, of which each is two at the members, and *reads* there."""
    below = moved(did(reads * WRITES / 4, size), did(2 * WRITES / 4, size))
    return {
        "vm": moved(None, did(WRITES, size)),
        **{f"vm_rimage_{number}": below for number in range(4)},
        **{f"vm_rmeta_{number}": moved() for number in range(4)},
        **dict.fromkeys(DISKS, below),
    }


def told(where, name, loads):
    """Return the order of the writes of *name*."""
    taking = LoadMeasurement(where, name)
    for second in range(20):
        taking.add(Interval(loads, 1000.0 + second, 1.0))
    return taking.result().stream("write").access


@pytest.mark.parametrize("reads", [2.0, 1.7, 1.3, 1.0, 0.7])
def test_writes_to_parity_follow_as_a_projection_has_it(reads):
    """One question, one answer: of the same counters both say the same share."""
    context = volume_context(RAID5, "vm")
    pattern = pattern_of(measured(Ledger(RAID5, raid5(reads), 20.0), context), context)

    assert told(RAID5, "vm", raid5(reads)).sequential == pytest.approx(pattern.likely.sequential)


def test_cold_rows_are_written_at_random_and_spared_ones_in_sequence():
    """Two reads a write are a read-modify-write of a row that nobody had read; a stream has most of them read."""
    assert told(RAID5, "vm", raid5(2.0)).sequential == 0.0
    assert told(RAID5, "vm", raid5(0.6)).sequential > 0.95


def test_what_merges_below_one_device_are_neighbours():
    """Five requests that became two on the way to the disk came one after another; if they did not, nothing tells."""
    merged = {
        "dm-0": moved(None, did(50.0, PAGE)),
        "sda": moved(None, did(20.0, PAGE, merges=30.0)),
    }
    apart = {"dm-0": moved(None, did(50.0, PAGE)), "sda": moved(None, did(50.0, PAGE))}

    assert told(PLAIN, "dm-0", merged) == AccessPattern(
        1.0, "below, 2.5 requests merge into one, so they are adjacent"
    )
    assert told(PLAIN, "dm-0", apart).sequential == 0.0


def test_of_an_array_that_others_use_its_members_tell_nothing():
    """Two volumes on one array: the reads that were spared may be of the other's stream."""
    tops = [passing(name) for name in ("one", "other")]
    shared = Topology(
        [*RAID5, *tops], [*RAID5.edges, *(Edge(each.name, "vm", Role.DATA) for each in tops)]
    )
    loads = {**raid5(0.6), "one": moved(None, did(2.0, PAGE))}

    assert told(shared, "one", {**loads, "other": moved()}).sequential > 0.95
    assert told(shared, "one", {**loads, "other": moved(None, did(99.0, PAGE))}).sequential == 0.0


def written(sequential):
    stream = Stream(
        "write",
        50.0,
        PAGE,
        Sizes({PAGE: 1}, SizeSource.ONE),
        1.0,
        AccessPattern(sequential, "drawn"),
    )
    return JobLoad(RAID5["vm"], (stream,), 0.0, "", None, 2.0, 20, ())


@pytest.mark.parametrize(
    ("sequential", "options"),
    [
        (1.0, {"rw": "write"}),
        (0.93, {"rw": "write"}),
        (0.688, {"rw": "randwrite", "percentage_random": "31"}),
        (0.12, {"rw": "randwrite", "percentage_random": "88"}),
        (0.07, {"rw": "randwrite"}),
        (0.0, {"rw": "randwrite"}),
    ],
)
def test_a_job_has_as_many_at_random_as_do_not_follow(sequential, options):
    """All or none where it is nearly so; else fio is told the share."""
    (section,) = job_of(written(sequential)).sections
    said = {k: v for k, v in section.options.items() if k in ("rw", "percentage_random")}

    assert said == options


def test_requests_as_large_as_the_split_may_be_pieces():
    """A chunk of 192 KiB splits requests, and those of 192 KiB may be pieces; those of 4 KiB are not."""
    whole = written(0.0)
    stream = replace(whole.streams[0], sizes=Sizes({192 * KIB: 1}, SizeSource.ONE))
    (pieces,) = job_of(replace(whole, split_size=192 * KIB, streams=(stream,))).sections
    (small,) = job_of(replace(whole, split_size=192 * KIB)).sections

    assert any("splits requests at 192 KiB before" in each for each in pieces.comments)
    assert not any("splits requests" in each for each in small.comments)


def test_json_has_the_share_and_what_became_of_it():
    """``follows`` is the measured share; ``sequential`` says whether the whole job is sequential."""
    for sequential in (1.0, 0.7, 0.0):
        (stream,) = fiojob_json(job_of(written(sequential)))["streams"]

        assert (stream["follows"], stream["why"]) == (sequential, "drawn")
        assert stream["sequential"] is (random_percent(written(sequential).streams[0]) == 0)
