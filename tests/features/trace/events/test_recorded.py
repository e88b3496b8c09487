"""
Recorded event streams of two kernels, joined; judged by the disks' own counters beside them.

``tests/streams/KERNEL``: the machine, and per workload its events and /proc/diskstats around it.
After the second diskstats the streams are cut. Each was 10 requests of 4 KiB (r5seq: two of 384 KiB, r5read: ten of 64 KiB, m0: ten of 128 KiB).
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import pytest

import stackmap
from stackmap.features.trace.events.follow import Follower
from stackmap.features.trace.events.request import DERIVED, UNKNOWN, part
from stackmap.model.units import SECTOR
from stackmap.sources import diskstats, trace_text
from tests.paths import ROOT

STREAMS = ROOT / "tests" / "streams"
RECORDED = sorted(path for path in STREAMS.glob("*/*.stream"))
TOPS = {
    "lin": "t/lin", "r5": "t/r5", "r5seq": "t/r5", "r5read": "t/r5", "r10": "t/r10", "thin": "t/thin",
    "m5": "m5", "m0": "m0", "m6": "m6", "mf": "mf",
}  # fmt: skip
PAGE = 4096


@pytest.fixture(scope="module")
def topologies():
    return {
        path.parent.name: stackmap.open(str(path)).topology()
        for path in STREAMS.glob("*/topology.tar.gz")
    }


@pytest.fixture(params=RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def recorded(request, topologies):
    path = request.param
    topology = topologies[path.parent.name]
    follower = Follower(topology)
    events = list(trace_text.parse_events(path.read_text().splitlines()))
    listed = follower.feed(events)
    assert not follower.rest(), "every request completed"
    top = next(d.name for d in topology if TOPS[path.stem] in (d.title, d.facts.get("alias")))
    return path, topology, top, listed, follower.dispatched()


def counted(path, name):
    """Return the disk's counters of the workload."""
    halves = path.with_suffix(".diskstats").read_text().split("\n\n")
    before, after = (diskstats.parse(half.splitlines())[name] for half in halves)
    return before, after


def moved(path, name):
    before, after = counted(path, name)
    return (
        after.read_bytes - before.read_bytes,
        after.write_bytes - before.write_bytes,
        after.reads + after.read_merges - before.reads - before.read_merges,
    )


def test_sums_equal_the_disks_counters(recorded):
    """Bytes and arriving reads of each disk: exact."""
    path, _topology, _, _, dispatched = recorded
    sums = defaultdict(lambda: [0, 0, 0])
    for request in dispatched:
        reading = request.operation == "read"
        sums[request.name][not reading] += request.sectors * SECTOR
        sums[request.name][2] += request.arrivals * reading
    for name in sums:
        assert tuple(sums[name]) == moved(path, name), name


def test_every_disk_request_has_a_cause(recorded):
    """The volume's own, or metadata of an array or a pool; nothing else ran."""
    _, _, top, _, dispatched = recorded
    for request in dispatched:
        roots = request.roots()
        assert not any(root.how == UNKNOWN for root in roots)
        assert {root.name for root in roots} == {top} or part(request) == "metadata", request


def test_the_volumes_requests_are_listed_with_their_times(recorded):
    path, _, top, listed, _ = recorded
    mine = [each for each in listed if each.name == top]
    assert len(mine) == (2 if path.stem == "r5seq" else 10)
    for request in mine:
        assert request.command == "fio"
        assert request.seconds > 0
        assert all(request.queued <= below.queued for below in request.caused())


def test_members_get_what_the_level_must_send(recorded):
    """Per write of a page: RAID5 of 4 and RAID10 two pages, RAID6 of 4 three, and parity where there is one."""
    path, _topology, top, listed, _ = recorded
    expected = {
        "r5": (2, 1),
        "m5": (2, 1),
        "m6": (3, 2),
        "r10": (2, 0),
        "mf": (2, 0),
        "lin": (1, 0),
    }
    if path.stem not in expected:
        pytest.skip("not single pages at members")
    for request in (each for each in listed if each.name == top and each.operation == "write"):
        written = [each for each in request.caused() if each.operation == "write"]
        parity = [each for each in written if each.role == "parity"]
        assert (len(written), len(parity)) == expected[path.stem]
        assert len({each.name for each in written}) == len(written)
        assert all(each.sectors * SECTOR == PAGE for each in written)


def test_a_full_stripe_is_merged_for_both_writes():
    """Two writes of two full stripes each: one request per disk, of 64 pages, caused by both."""
    path = STREAMS / "6.1" / "r5seq.stream"
    topology = stackmap.open(str(path.parent / "topology.tar.gz")).topology()
    follower = Follower(topology)
    follower.feed(trace_text.parse_events(path.read_text().splitlines()))
    large = [each for each in follower.dispatched() if part(each) != "metadata"]
    assert Counter((each.arrivals, len(each.roots())) for each in large) == {(64, 2): 4}


def test_md_agrees_with_the_arithmetic_of_its_layout(topologies):
    """md reports a remap of each data page with its place in the array: the derived place is the same."""
    from stackmap.features.trace.events.member_layout import DATA, PARITY, places
    from stackmap.sources.trace_text import Step

    checked = Counter()
    for path in RECORDED:
        topology = topologies[path.parent.name]
        numbers = {device.number: device for device in topology}
        events = list(trace_text.parse_events(path.read_text().splitlines()))
        for event, following in itertools.pairwise(events):
            array = numbers.get(event.source[0]) if event.source else None
            if (
                event.step is not Step.REMAP
                or array is None
                or array.layout is None
                or path.stem == "m0"
            ):
                continue
            if array.target or following.source is None:
                continue
            member = numbers[following.source[0]].name
            edges = topology.below(array.name)
            place = [edge.below for edge in edges].index(member)
            start = event.sector - edges[place].start // SECTOR
            [held] = places(array.layout, array.size // SECTOR, place, start, event.sectors)
            if event.source[1] == 0:
                assert held.role == PARITY
            else:
                assert (held.role, held.own[0]) == (DATA, event.source[1])
            checked[array.layout.level, array.layout.variant, held.role] += 1
    assert (
        min(
            checked[key]
            for key in (("raid5", "ls", DATA), ("raid5", "ls", PARITY), ("raid6", "ls", PARITY))
        )
        >= 10
    )
    assert checked["raid10", "far", DATA] >= 10


def test_a_remap_is_not_marked_as_derived(recorded):
    path, _, top, listed, _ = recorded
    mine = (each for each in listed if each.name == top)
    hows = {below.how for each in mine for below in each.below}
    derived = path.stem in ("r5", "r5seq", "r5read", "r10", "m5", "m6")
    assert hows == {DERIVED} if derived else hows == {"remap"}


def test_it_does_not_matter_when_events_are_read(recorded, topologies):
    """One by one, each request comes with all that it has at the end."""
    path, _topology, _top, listed, _ = recorded
    follower = Follower(topologies[path.parent.name])
    found = []
    for event in trace_text.parse_events(path.read_text().splitlines()):
        found += [(r.name, r.sector, r.seconds, len(r.below)) for r in follower.feed([event])]
    whole = [(r.name, r.sector, r.seconds, len(r.below)) for r in listed]
    assert sorted(found) == sorted(whole)


def test_only_parity_arrays_have_parts(recorded):
    """What a mirror writes to its members is data, and so is not named; RAID5's is data or parity."""
    path, _topology, top, listed, _ = recorded
    mine = [each for each in listed if each.name == top and each.operation == "write"]
    roles = {below.role for each in mine for below in each.below if below.operation == "write"}
    if path.stem == "r10":
        assert roles == {""}
    if path.stem in ("r5", "m5", "m6"):
        assert {"data", "parity"} <= roles
