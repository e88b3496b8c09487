"""Rows of parity arrays, from what md decided and wrote: loads whose rows are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackmap.features.trace import probes
from stackmap.features.trace.figures import Distribution, Range, row_updates
from stackmap.features.trace.json import distribution_json
from stackmap.features.trace.record import Trace, TraceRecord
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import PAGE, layout
from stackmap.model.topology import Edge, Topology


def array(level, members, role=Role.DATA, state="active"):
    disks = [Device(f"sd{n}", Kind.DISK, f"8:{n}") for n in range(members)]
    shape = layout(level, members, 65536)
    raid = Device("md0", Kind.ARRAY, "9:0", layout=shape, state=state)
    return Topology([raid, *disks], [Edge("md0", disk.name, role) for disk in disks])


def trace(members, rows, pages, sizes):
    """A trace of *rows*, of *pages* written in all, and of requests by size."""
    each = {f"8:{n}": pages * PAGE // members for n in range(members)}
    arrived = {(size, size + 1): count for size, count in sizes.items()}
    return Trace(
        10.0,
        sizes={("9:0", "write"): arrived},
        rows={"9:0": rows},
        member_bytes=each,
    )


@pytest.mark.parametrize(
    ("level", "members", "rows", "pages", "sizes", "expected"),
    [
        # single pages, reconstructed; then read-modify-written on a wide array
        ("raid5", 4, {(1, True): 256}, 512, {4096: 256}, (0, 256, 0, 0.0)),
        ("raid5", 6, {(1, False): 258}, 516, {4096: 258}, (0, 0, 258, 0.0)),
        # 40 stripes of 16 rows: one decision per stripe stands for its batch
        ("raid5", 4, {(3, True): 40}, 40 * 16 * 4, {196608: 40}, (640, 0, 0, 1.0)),
        # half a stripe at each end
        ("raid5", 4, {(1, True): 320, (2, True): 320}, 1600, {196608: 20}, (0, 640, 0, 0.0)),
        ("raid6", 6, {(4, True): 3, (1, False): 60}, 160 * 6 + 180, {262144: 10, 4096: 60},
         (160, 0, 60, 640 / 700)),
    ],
)  # fmt: skip
def test_rows_of_known_loads(level, members, rows, pages, sizes, expected):
    topology = array(level, members)
    found = row_updates(topology, topology["md0"], trace(members, rows, pages, sizes))
    assert (found.full, found.reconstruct, found.read_modify) == expected[:3]
    assert found.full_share == pytest.approx(expected[3])
    assert found.self_check == pytest.approx(1.0)


def test_writes_smaller_than_a_page_have_no_self_check():
    topology = array("raid5", 4)
    found = row_updates(topology, topology["md0"], trace(4, {(1, True): 64}, 128, {512: 64}))
    assert (found.full, found.self_check) == (0, None)
    assert "4 KiB" in found.doubt
    assert "part-pages" == found.doubt.code


def test_rows_that_lack_more_than_was_in_flight_are_withheld():
    """Only the self-check is shown then. A request in flight at an end may be counted on one side only."""
    topology = array("raid5", 4)
    lacking = trace(4, {(1, True): 250}, 500, {4096: 256})

    found = row_updates(topology, topology["md0"], lacking)
    assert found.self_check == pytest.approx(250 / 256)
    assert "they hold 0.9766 of the bytes written" in found.reason
    assert found.reason.code == "self-check"
    assert found.full is found.reconstruct is found.full_share is None

    def with_in_flight(count):
        line = f"9 0 md0 1 0 8 1 1 0 8 1 {count} 1 1\n"
        return replace(lacking, record=TraceRecord(counters=(line, line)))

    assert row_updates(topology, topology["md0"], with_in_flight(3)).reconstruct == 250
    assert row_updates(topology, topology["md0"], with_in_flight(2)).reconstruct is None


def test_rows_that_lack_much_are_withheld_whatever_the_reason():
    """Linux 7.3, a busy machine: 12 of 20 writes came before the histograms of rows counted, which took seconds."""
    topology = array("raid5", 6)
    found = trace(6, {(5, True): 8}, 8 * 16 * 6, {5 * 65536: 20})
    late = replace(found, record=TraceRecord(times=(0.0, 8.4), switching=5.5))
    said = row_updates(topology, topology["md0"], late)

    assert said.self_check == pytest.approx(0.4)
    assert (said.full, said.reason.code) == (None, "self-check")


def test_without_room_for_sizes_there_is_no_self_check():
    topology = array("raid5", 4)
    full = replace(
        trace(4, {(1, True): 256}, 512, {4096: 30}), full=frozenset([probes.QUEUE_EVENT])
    )

    found = row_updates(topology, topology["md0"], full)

    assert (found.reconstruct, found.self_check, found.doubt.code) == (256, None, "full-map")


@pytest.mark.parametrize(
    ("topology", "change", "reason", "code"),
    [
        (array("raid5", 4, state="resync 10 %"), {}, "resync", "resync"),
        (array("raid5", 4, role=Role.JOURNAL), {}, "journal", "journal"),
        (array("raid5", 4), {"rows": None}, "not traced", "not-traced"),
        (array("raid5", 4), {"sizes": {}, "member_bytes": {}}, "nothing was written", "nothing-written"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_says_why(topology, change, reason, code):
    traced = replace(trace(4, {(1, True): 256}, 512, {4096: 256}), **change)
    found = row_updates(topology, topology["md0"], traced)
    assert reason in found.reason
    assert code == found.reason.code
    assert found.full is found.full_share is found.self_check is None


def test_percentiles():
    found = Distribution({(100, 105): 98, (200, 210): 1, (400, 420): 1})
    assert found.percentile(0.5) == Range(100, 105)
    assert found.percentile(0.99) == Range(200, 210)
    assert found.percentile(0.999) == found.max == Range(400, 420)
    assert Distribution({}).percentile(0.5) is None
    assert (Distribution({}).max, Distribution({}).total) == (None, 0)
    assert not Range(1, 100).exact


def test_merged_distributions_add_up():
    found = Distribution.merged([{(1, 2): 3}, {(1, 2): 1, (4, 5): 2}, {}])
    assert (found.count, found.total) == (6, 4 * 1 + 2 * 4)
    assert found.by_powers() == {0: 4, 2: 2}


def test_an_estimate_has_its_ends_and_no_value_in_json():
    """A bucket of 5 % is one value; a wider one is known by its ends alone."""
    found = distribution_json(Distribution({(100, 105): 98, (200, 400): 1}), 1)

    assert found["p50"] == 102.5
    assert found["max"] is None
    assert found["ranges"]["max"] == [200.0, 400.0]
    # A script takes the value, or the ends where there is none: never both, never neither.
    figures = {name for name in found if name == "max" or name.startswith("p")}
    assert {name for name in figures if found[name] is None} == found["ranges"].keys()
