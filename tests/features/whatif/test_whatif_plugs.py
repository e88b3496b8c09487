"""What a thread sends at once: under one plug, and after it slept."""

from __future__ import annotations

from math import inf

import pytest

from stackmap.features.trace.arrivals import TracedRequest
from stackmap.features.whatif.cache import SimulatedCache
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.simulation import Arrival, Simulation, Stack
from stackmap.features.whatif.traced_loads import saturating, traced_loads
from stackmap.model.raid import PAGE, layout

CHUNK, SIZE = 64 << 10, 96 << 20
STEP = 1e-4  # seconds between two requests of a thread
SECOND = Service((1.0,), (1.0,), servers=64)


def run(level, members, arrivals, disk=SECOND, covers=None, **more):
    found, services = layout(level, members, CHUNK), (disk,) * members
    stack = Stack(found, SIZE, services, range(members), covers, held=False, **more)
    return Simulation(stack).run(arrivals)


def pages(count, *, more, first=0.0, apart=1):
    """Return writes of pages, one after the other or some pages *apart*; *more*: all are under one plug."""
    return [
        Arrival(
            first + n * STEP, "write", n * apart * PAGE, PAGE, thread=7, more=more and n < count - 1
        )
        for n in range(count)
    ]


@pytest.mark.parametrize(("more", "reads"), [(False, True), (True, False)])
def test_md_sees_rows_when_the_plug_is_pulled(more, reads):
    """Two chunks page by page: under one plug all rows are full when md's thread sees them."""
    outcome = run("raid5", 3, pages(2 * CHUNK // PAGE, more=more))

    assert bool(outcome.below.disks["caused"]) is reads


def test_many_rows_that_are_ready_at_once():
    """Two thousand full rows: more than Python may nest."""
    rows = [each._replace(delay=0.0, more=False) for each in pages(4000, more=True)]

    assert len(run("raid5", 3, rows).seen["write"]) == 4000


def test_copies_under_a_plug_are_sent_at_its_end():
    outcome = run("raid1", 2, pages(10, more=True))

    assert outcome.below.disks["write"] == 2
    ends = [1 + (9 - n) * STEP for n in range(10)]
    assert sorted(outcome.seen["write"]) == pytest.approx(sorted(ends))


@pytest.mark.parametrize(("most", "held"), [(32, 32), (inf, 40)])
@pytest.mark.parametrize("pages_each", [1, 4])
def test_a_plug_holds_so_many_requests(most, held, pages_each):
    """32 since Linux 6.5, pages of one block or of several (raid1-10.c, MAX_PLUG_BIO)."""
    blocks = [
        each._replace(offset=each.offset + n // pages_each * SIZE // 100)
        for n, each in enumerate(pages(40, more=True))
    ]
    outcome = run("raid1", 2, blocks, plugged=most)

    assert max(outcome.seen["write"]) == pytest.approx(1 + (held - 1) * STEP)


def test_one_stream_is_held_to_the_end():
    """The plug of the block layer is not full as long as all merges."""
    outcome = run("raid1", 2, pages(40, more=True), plugged=32)

    assert outcome.below.disks["write"] == 2


@pytest.mark.parametrize(("more", "marks"), [(True, 1), (False, 3)])
def test_the_bitmap_is_written_once_for_all_that_is_under_a_plug(more, marks):
    """Three clean regions: 1 s for the bits, together or one after the other, and then 1 s for the data."""
    arrivals = pages(3, more=more, first=40.0, apart=256)
    outcome = run("raid1", 2, arrivals, covers=256 * PAGE)

    assert outcome.below.disks["bitmap"] == marks * 2
    assert max(outcome.seen["write"]) == pytest.approx(2 + 2 * STEP if more else 2.0)


@pytest.mark.parametrize(("cached", "seconds"), [(False, 1), (True, 4)])
def test_the_page_cache_is_throttled_where_direct_writes_are_not(cached, seconds):
    """Twenty writes at a disk that may have six of them; six more when fewer than three are left."""
    disk = SECOND._replace(depth=8)
    arrivals = [each._replace(cached=cached) for each in pages(20, more=True, apart=100)]

    assert max(run("raid1", 2, arrivals, disk).latencies["write"]) == pytest.approx(
        seconds, abs=0.01
    )


def test_a_cache_may_answer_the_last_write_of_a_plug():
    front = SimulatedCache(SECOND, (0.0, 0.5), writeback=True, block=PAGE, copying=0)
    services = (SECOND,) * 2
    stack = Stack(layout("raid1", 2, CHUNK), SIZE, services, range(2), None, held=False)

    outcome = Simulation(stack._replace(front=front)).run(pages(20, more=True))

    assert len(outcome.seen["write"]) == 20


@pytest.mark.parametrize("level", ["raid1", "raid5"])
def test_a_plug_ends_with_the_load(level):
    """A run for headroom takes a part of a load, which may end within a burst: its last write is sent, too."""
    cut = pages(10, more=True)[:5]

    assert len(run(level, 4, cut, covers=SIZE).seen["write"]) == 5


@pytest.mark.parametrize("level", ["raid1", "raid5"])
def test_a_plug_ends_when_its_thread_waits_for_an_end(level):
    """In the trace the third came at once, after an end; here nothing has ended yet, so the thread sleeps."""
    arrivals = pages(3, more=True)
    arrivals[2] = arrivals[2]._replace(delay=0.0, after=1)

    assert len(run(level, 4, arrivals).seen["write"]) == 3


def test_a_thread_that_slept_needs_its_time_between_requests():
    """
    The first write waits 1 s for the bitmap's page, the others behind it. Then the disk has the first before the
    second is there, which merges with the third.
    """
    disk = SECOND._replace(servers=1, room=1)
    outcome = run("raid1", 2, pages(3, more=False, first=40.0), disk, covers=SIZE)

    assert outcome.below.disks["write"] == 2 * 2


def traced(times, took):
    return [TracedRequest(t, "write", n * PAGE, PAGE, 7, t + took) for n, t in enumerate(times)]


def test_bursts_may_be_under_a_plug():
    """A trace does not show it, so both are tried: as each came, and held until the last of its burst."""
    bursts = [burst + n * 1e-5 for burst in range(5) for n in range(10)]

    plain, plugged = traced_loads(traced(bursts, 0.01))

    assert (plain.plugged, plugged.plugged) == (False, True)
    assert not any(each.more for each in plain.arrivals)
    assert [each.more for each in plugged.arrivals] == [*[True] * 9, False] * 5
    assert not any(each.more for each in saturating(plugged, 4).arrivals)


def upwards(times, took):
    """Return writes each further up than the one before, with gaps, until 1 s passes."""
    return [
        TracedRequest(t, "write", n * 10 * PAGE, PAGE, 7, t + took) for n, t in enumerate(times)
    ]


def test_bursts_in_the_order_of_their_places_are_of_the_page_cache():
    bursts = [burst + n * 1e-5 for burst in range(5) for n in range(10)]

    (load,) = traced_loads(upwards(bursts, 0.01))

    assert load.plugged
    assert all(each.cached for each in load.arrivals)


@pytest.mark.parametrize(("took", "slept"), [(0.5, 0.0), (0.05, 0.2)])
def test_sleeps_of_the_present_layout_are_not_the_load_s(took, slept):
    """A thread that sends 20 writes, sleeps for 0.2 s while some are in flight, and sends 20 more would send 40."""
    times = [
        second + part * 0.2 + n * 1e-5 for second in range(5) for part in (0, 1) for n in range(20)
    ]

    (load,) = traced_loads(upwards(times, took))

    first = [each.delay for each in load.arrivals if each.delay < 0.9]
    assert len(first) == 40
    assert max(first) == pytest.approx(slept, abs=1e-3)


def test_the_first_write_after_a_pause_waits_for_superblocks_and_its_thread_too():
    """The others come 20 ms later, and are under the plug of the first."""
    times = [second + (0.02 if n else 0.0) + n * 1e-5 for second in range(5) for n in range(10)]

    _, plugged = traced_loads(traced(times, 0.1))

    assert [each.more for each in plugged.arrivals] == [*[True] * 9, False] * 5


def test_what_follows_an_end_is_under_no_plug():
    """A write that was under a plug cannot have ended before another one came under the same."""
    bursts = [burst + n * 1e-5 for burst in range(5) for n in range(10)]

    loads = traced_loads(traced(bursts, 0.5e-5))

    assert not any(load.plugged for load in loads)
