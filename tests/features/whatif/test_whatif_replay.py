"""Counts by replay: what requests cause at members and disks, against what the kernel's rules say."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmap.features.trace.arrivals import TracedRequest
from stackmap.features.trace.record import TraceRecord, parse
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.json import whatif_json
from stackmap.features.whatif.project import Projector
from stackmap.features.whatif.quantities import exact
from stackmap.features.whatif.simulation import PACE, Arrival, Simulation
from stackmap.features.whatif.timing import Scenario
from stackmap.features.whatif.traced_loads import (
    AT_ONCE,
    FIXED,
    PER_GAP,
    SLOWEST,
    pace_of,
    pauses_after_ends,
)
from stackmap.model.layout_request import parse as layout_of
from stackmap.model.raid import PAGE
from tests.drawn import did, moved
from tests.features.whatif.test_whatif import interval, machine
from tests.features.whatif.test_whatif_simulation import CHUNK, SIZE, stack

SLOW = Service((0.01,), (0.01,), room=1)  # 10 ms, and all others may merge meanwhile
LAYOUTS = [("raid0", 3), ("raid1", 2), ("raid10", 4), ("raid5", 4), ("raid6", 5), ("linear", 1)]
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["read", "write"]),
        st.integers(0, SIZE // PAGE - 64).map(lambda page: page * PAGE),
        st.sampled_from([PAGE, 4 * PAGE, CHUNK, 3 * CHUNK]),
    ),
    min_size=1,
    max_size=30,
)


def below(arrivals, level="linear", members=1, *, skipped=0, pace=PACE, **more):
    made = stack(level, members, **more)._replace(pace=pace)
    return Simulation(made).run(arrivals, skipped).below


def arriving(requests, gap=0.001):
    return [Arrival(n * gap, *request) for n, request in enumerate(requests)]


@settings(deadline=None)
@given(REQUESTS, st.sampled_from(LAYOUTS), st.sampled_from([0.0, 0.001, 1.0]))
def test_bytes_go_where_the_layout_says(requests, which, gap):
    """Reads once, writes once per copy or page, whatever merges; a disk completes no more than its member was sent."""
    level, members = which
    found = below(arriving(requests, gap), level, members)
    read, written = (
        sum(size for way, _, size in requests if way == each) for each in ("read", "write")
    )
    made = stack(level, members).layout

    assert found.moved == {"read": read, "write": written} or not (read and written)
    assert found.bytes["read"] == read
    if made.parity:
        full, single = 1 + made.parity / made.data, 1 + made.parity
        assert full * written <= found.bytes["write"] * members or not written
        assert found.bytes["write"] <= single * written
        assert found.members["write"] * PAGE == found.bytes["write"]
    else:
        assert found.bytes["write"] == made.copies * written
        assert not found.bytes["caused"]
    for cause in ("read", "write", "caused"):
        assert found.disks[cause] <= found.members[cause]
        assert bool(found.disks[cause]) == bool(found.bytes[cause])


@given(st.integers(1, 60), st.integers(1, 60))
def test_what_is_skipped_and_what_is_counted_is_all(first, second):
    """Requests far apart: no count is lost between the two parts, and none is in both."""
    arrivals = arriving([("write", n * CHUNK, PAGE) for n in range(first + second)], gap=1.0)

    whole, rest = (below(arrivals, "raid10", 4, skipped=n) for n in (0, first))

    assert whole.disks["write"] == 2 * (first + second)
    assert rest.disks["write"] == 2 * second
    assert rest.volume["write"] == second


def waiting(*requests):
    """One request is served; these come meanwhile, one by one."""
    first = Arrival(0.0, "write", SIZE // 2, PAGE)
    return [first, *(Arrival(1e-4 * (n + 1), *each) for n, each in enumerate(requests))]


@pytest.mark.parametrize(
    ("requests", "completed"),
    [
        ([("write", 0, PAGE), ("write", PAGE, PAGE)], 2),
        ([("write", PAGE, PAGE), ("write", 0, PAGE)], 2),
        ([("write", 0, PAGE), ("write", 2 * PAGE, PAGE)], 3),
        ([("write", 0, PAGE), ("read", PAGE, PAGE)], 3),
        ([("write", n * CHUNK, CHUNK) for n in range(20)], 2),
        ([("write", n * CHUNK, CHUNK) for n in range(21)], 3),
    ],
    ids=["behind", "before", "apart", "other-way", "largest", "too-large"],
)
def test_neighbours_merge_while_the_disk_has_no_room(requests, completed):
    """Of one direction, up to 1280 KiB (BLK_DEF_MAX_SECTORS)."""
    found = below(waiting(*requests), service=SLOW)

    assert found.disks["write"] + found.disks["read"] == completed
    assert found.members["write"] + found.members["read"] == 1 + len(requests)


def test_what_the_disk_has_taken_does_not_merge():
    """A queue with room for all, as an NVMe disk's, leaves nothing to merge with."""
    requests = [("write", n * PAGE, PAGE) for n in range(8)]

    assert below(waiting(*requests), service=SLOW._replace(room=64)).disks["write"] == 9
    assert below(waiting(*requests), service=SLOW).disks["write"] == 2


def test_what_comes_at_one_instant_is_under_one_plug():
    together = [Arrival(0.0, "write", n * PAGE, PAGE) for n in range(8)]

    assert below(together, service=SLOW._replace(room=64)).disks["write"] == 1


def test_merged_requests_all_end():
    requests = waiting(*[("write", n * PAGE, PAGE) for n in range(5)])

    ends = Simulation(stack("linear", 1, SLOW)).run(requests).latencies["write"]

    assert ends == pytest.approx([0.01, *(0.02 - 1e-4 * n for n in range(1, 6))])


def test_a_slow_thread_of_md_handles_more_at_once():
    """Fifteen chunks in a row, 100 µs apart: while it handles one, the others come, and their pages merge."""
    burst = [Arrival(1e-4 * n, "write", n * CHUNK, CHUNK) for n in range(15)]

    quick, slow = (below(burst, "raid5", 4, pace=pace) for pace in (PACE, 1e-3))

    assert 4 <= slow.disks["write"] < quick.disks["write"]
    assert slow.bytes["write"] >= 15 * CHUNK * 4 / 3


def test_rows_of_a_small_set_are_in_the_stripe_cache():
    """128 rows that a load writes again and again: md has read them long ago. Of many rows it has few."""
    draw = Random(5)

    def caused(pages):
        requests = [("write", draw.randrange(pages) * PAGE, PAGE) for _ in range(600)]
        return below(arriving(requests, 0.1), "raid5", 4).members["caused"] / 600

    assert caused(3 * 128) < 0.25
    assert caused(SIZE // PAGE) > 1.9


def test_a_stream_finds_only_its_own_rows_in_the_stripe_cache():
    """The first page of a row reads two others, later ones find these; nothing is there from before."""
    requests = [("write", n * PAGE, PAGE) for n in range(3 * 16 * 4)]

    assert below(arriving(requests, 0.1), "raid5", 4).members["caused"] == 2 * 16 * 4


def test_a_row_is_known_page_by_page():
    """A page of what was written at once is there for a smaller write, too."""
    first, second = ("write", 0, 3 * CHUNK), ("write", 4 * PAGE, PAGE)

    assert not below(arriving([first, second], 1.0), "raid5", 4).members["caused"]


@pytest.mark.parametrize(("gap", "pauses"), [(1.0, 9), (0.05, 0)])
def test_each_pause_marks_superblocks(gap, pauses):
    """Clean and dirty, each the bitmap's and md's own, on both members (md.c, md_update_sb); the last pause has no end."""
    found = below(arriving([("write", 0, PAGE)] * 10, gap), "raid1", 2, covers=float(SIZE))

    assert found.disks["superblock"] == 2 * 4 * pauses


def test_a_write_after_a_pause_waits_for_the_superblocks():
    disk = Service((0.004,), (0.004,))
    two = arriving([("write", 0, PAGE)] * 2, 1.0)

    times = Simulation(stack("raid1", 2, disk, covers=float(SIZE))).run(two).latencies["write"]

    assert times == pytest.approx(
        [0.008, 0.012]
    )  # the bit and the data; two superblocks and the data


def test_a_stream_marks_each_region_once():
    """Before it a region is clean, although many of its requests write there; each waits for the page on two members."""
    covers = 4 * CHUNK
    requests = [("write", n * CHUNK, CHUNK) for n in range(40)]

    assert below(arriving(requests, 0.05), "raid1", 2, covers=float(covers)).disks["bitmap"] == 20


@given(st.floats(2e-6, AT_ONCE * 0.9), st.integers(21, 60), st.integers(1, 64), st.integers(1, 3))
def test_the_pace_follows_how_fast_requests_are_sent(gap, count, pages, copies):
    """Between a CPU of these years and an emulated one, and the usual one where a thread waits between its requests."""

    def traced(gap):
        return [TracedRequest(n * gap, "write", 0, pages * PAGE, 1, None) for n in range(count)]

    each = PER_GAP * gap / (FIXED + pages) / copies
    assert pace_of(traced(gap), copies) == pytest.approx(min(SLOWEST, max(PACE, each)), rel=1e-3)
    assert pace_of(traced(0.01), copies) == PACE


RATE, WAIT = 40.0, 6.0  # writes per second; ms each of a disk's requests takes
WRITES = interval(
    moved(did(0, PAGE), did(RATE, PAGE, wait=13 * RATE), busy=0.4),
    read=did(RATE / 2, PAGE, wait=WAIT * RATE / 2),
    write=did(RATE / 2, PAGE, wait=WAIT * RATE / 2),
)


def traced_writes(seconds=100.0, size=PAGE):
    """The writes of ``WRITES``, each of which takes 13 ms."""
    draw = Random(3)
    lines = []
    for n in range(int(RATE * seconds)):
        time, sector = int(n / RATE * 1e6) + draw.randrange(20000), draw.randrange(70_000) * 8
        lines.append((time, f"Q 254:1 {time} write {sector} {size // 512} 1"))
        lines.append((time + 13000, f"C 254:1 {time + 13000} write {sector + size // 512} 0 0"))
    return parse(TraceRecord(arrivals="\n".join(line for _, line in sorted(lines))))


def projected(to, trace, load=WRITES):
    tree = machine("raid5")
    projector = Projector(tree, [load], "r", trace)
    return projector.project(layout_of(to), Scenario())


def test_a_trace_narrows_the_counts():
    """Random writes: two of RAID10, four on RAID5; without a trace they may as well be a stream."""
    with_trace, without = (projected("raid10", each) for each in (traced_writes(), None))
    found = with_trace.projected.disks
    check = with_trace.replayed.layers["disks"]

    assert found.write.likely == pytest.approx(2 * RATE, rel=0.02)
    assert (found.write.high - found.write.low) / found.write.likely < 0.3
    assert with_trace.projected.members.carried == exact(2 * RATE * PAGE)
    assert with_trace.replayed.reason == ""
    assert check["write"].measured == pytest.approx(2 * RATE)
    assert check["write"].simulated == pytest.approx(2 * RATE, rel=0.02)
    assert check["read"].simulated == pytest.approx(2 * RATE, rel=0.05)
    assert without.replayed is None
    assert not any("Sequential writes" in each for each in said(with_trace))
    assert any("Sequential writes" in each for each in said(without))


def said(projection):
    from stackmap.features.whatif.document import _caveats

    return list(_caveats(projection))


def test_reads_and_writes_have_scales_of_their_own():
    """A trace in which reads were half as many as in the counters: the counters' rates stand."""
    load = interval(
        moved(did(30.0, PAGE, wait=7 * 30.0), did(RATE, PAGE, wait=13 * RATE), busy=0.5),
        read=did(30 / 4 + RATE / 2, PAGE, wait=WAIT * (30 / 4 + RATE / 2)),
        write=did(RATE / 2, PAGE, wait=WAIT * RATE / 2),
    )
    draw = Random(9)
    lines = traced_writes().record.arrivals.splitlines()
    for n in range(1500):
        time, sector = n * 66_000, draw.randrange(70_000) * 8
        lines.append(f"Q 254:1 {time} read {sector} 8 2")
        lines.append(f"C 254:1 {time + 7000} read {sector + 8} 0 0")
    trace = parse(
        TraceRecord(arrivals="\n".join(sorted(lines, key=lambda line: int(line.split()[2]))))
    )

    found = projected("raid10", trace, load)
    members = found.projected.members

    assert found.replayed.reason == ""
    assert members.read.likely == pytest.approx(30.0, rel=0.02)
    assert members.write.likely == pytest.approx(2 * RATE, rel=0.02)


def test_counters_that_contradict_the_replay_keep_the_range():
    """A disk that completed twice as much: something else is there, and the reason says so."""
    other = interval(
        WRITES.loads["r"],
        read=did(RATE, PAGE, wait=WAIT * RATE),
        write=did(RATE, PAGE, wait=WAIT * RATE),
    )

    found, without = (projected("raid10", each, other) for each in (traced_writes(), None))

    assert found.replayed.reason.code == "replay-check"
    assert found.projected == without.projected
    assert "Requests and bytes are from the counters" in said(found)[0]
    assert whatif_json([found])["counts"]["from"] == "counters"


def test_a_trace_without_requests_leaves_the_counters():
    found = projected("raid10", parse(TraceRecord()))

    assert found.replayed.reason.code == "no-requests"


def test_json_has_the_check_of_counts():
    counts = json.loads(json.dumps(whatif_json([projected("raid10", traced_writes())])))["counts"]

    assert counts["from"] == "trace"
    assert counts["requests"] == RATE * 100
    assert set(counts["self_check"]) == {"members", "disks"}
    assert set(counts["self_check"]["disks"]) == {"read", "write", "bitmap"}
    assert counts["reason"] is None


def test_growth_scales_what_is_replayed():
    """Twice as many random writes cause twice as much."""
    one, two = (
        Projector(machine("raid5"), [WRITES], "r", traced_writes())
        .project(layout_of("raid10"), Scenario(growth))
        .projected.members.write.likely
        for growth in (1.0, 2.0)
    )

    assert two == pytest.approx(2 * one)


def test_bytes_scale_what_is_replayed():
    """A trace of a part of the time gives the rates of all of it."""
    part, whole = (
        projected("raid10", traced_writes(each)).projected.members.write.likely
        for each in (60.0, 100.0)
    )

    assert part == pytest.approx(whole, rel=0.02)


def pausing(pauses):
    """Bursts of four requests of 20 ms each, and pauses between them."""
    made, time = [], 0.0
    for pause in pauses:
        starts = [time + n * 1e-3 for n in range(4)]
        made += [TracedRequest(start, "write", 0, PAGE, 1, start + 0.02) for start in starts]
        time = made[-1].done + pause
    return made


def test_a_program_that_pauses_after_its_writes_is_told_from_random_instants():
    """Its pauses are alike, and stay as long on a faster layout."""
    draw = Random(11)

    assert pauses_after_ends(pausing([0.2] * 10))
    assert not pauses_after_ends(pausing([draw.expovariate(2.0) + 0.1 for _ in range(30)]))
    assert not pauses_after_ends(pausing([0.2] * 3))
    assert not pauses_after_ends(pausing([0.01] * 30))
