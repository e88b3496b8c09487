"""What a thread sends at once: under one plug, and after it slept."""

from __future__ import annotations

import pytest

from stackmap.features.trace.arrivals import TracedRequest
from stackmap.features.whatif.arriving import saturating, traced_loads
from stackmap.features.whatif.caching import Front
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.simulation import PLUGGED, Arrival, Simulation, Stack
from stackmap.model.raid import PAGE, layout

CHUNK, SIZE = 64 << 10, 96 << 20
STEP = 1e-4  # seconds between two requests of a thread
SECOND = Service((1.0,), (1.0,), servers=64)


def run(level, members, arrivals, disk=SECOND, covers=None):
    services = (disk,) * members
    stack = Stack(layout(level, members, CHUNK), SIZE, services, range(members), covers, held=False)
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


def test_a_plug_holds_so_many_requests_that_do_not_merge():
    count = PLUGGED + 8
    outcome = run("raid1", 2, pages(count, more=True, apart=100))

    assert max(outcome.seen["write"]) == pytest.approx(1 + (PLUGGED - 1) * STEP)


def test_a_cache_may_answer_the_last_write_of_a_plug():
    front = Front(SECOND, (0.0, 0.5), writeback=True, block=PAGE, copying=0)
    services = (SECOND,) * 2
    stack = Stack(layout("raid1", 2, CHUNK), SIZE, services, range(2), None, held=False)

    outcome = Simulation(stack._replace(front=front)).run(pages(20, more=True))

    assert len(outcome.seen["write"]) == 20


@pytest.mark.parametrize("level", ["raid1", "raid5"])
def test_a_plug_ends_with_the_load(level):
    """A run for headroom takes a part of a load, which may end within a burst: its last write is sent, too."""
    cut = pages(10, more=True)[:5]

    assert len(run(level, 4, cut, covers=SIZE).seen["write"]) == 5


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


def test_what_follows_an_end_is_under_no_plug():
    """A write that was under a plug cannot have ended before another one came under the same."""
    bursts = [burst + n * 1e-5 for burst in range(5) for n in range(10)]

    loads = traced_loads(traced(bursts, 0.5e-5))

    assert not any(load.plugged for load in loads)
