"""The simulation against what queueing theory, the geometry of a layout and the kernel's limits say."""

from __future__ import annotations

from collections import Counter
from math import log
from random import Random
from types import SimpleNamespace

import pytest

from stackmap.errors import ParseError
from stackmap.features.trace.arrivals import TracedRequest, line_of, requests_of
from stackmap.features.whatif.additions import knee_rate
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.fitting import OFF, Fitting
from stackmap.features.whatif.geometry import Geometry, cold_reads
from stackmap.features.whatif.services import _counted, _without_flushes, constant, evenly
from stackmap.features.whatif.simulation import Arrival, Simulation, Stack
from stackmap.features.whatif.traced_loads import _looped, most_in_flight, saturating, traced_loads
from stackmap.model.load import ZERO, Flow, Load
from stackmap.model.raid import PAGE, layout
from stackmap.sources.trace_text import parse_events

CHUNK, SIZE = 64 << 10, 96 << 20
UNIFORM = evenly(0.005)  # 0 … 10 ms


def stack(level, members=4, service=None, *, held=True, covers=None, missing=(), **more):
    found = layout(level, members, CHUNK, **more)
    disk = service or Service(UNIFORM, UNIFORM)
    return Stack(found, SIZE, (disk,) * members, range(members), covers, held, frozenset(missing))


def poisson(rate, count, operation="write", size=PAGE):
    draw = Random(7)
    time = 0.0
    made = []
    for _ in range(count):
        time += draw.expovariate(rate)
        made.append(Arrival(time, operation, draw.randrange(SIZE // size) * size, size))
    return made


def loop(depth, count, operation="write"):
    draw = Random(7)
    return [
        Arrival(0.0, operation, draw.randrange(SIZE // PAGE) * PAGE, PAGE, max(0, n - depth + 1))
        for n in range(count)
    ]


def rate_of(outcome):
    """Return the requests of the volume per second."""
    return sum(map(len, outcome.latencies.values())) / outcome.seconds


def mean(times):
    return sum(times) / len(times)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_disk_waits_as_pollaczek_and_khinchine_say(load):
    """Mean wait of M/G/1: rate · E[S²] / 2 (1 - load)."""
    rate = load / 0.005
    expected = 0.005 + rate * (0.01**2 / 3) / (2 * (1 - load))

    outcome = Simulation(stack("linear", 1)).run(poisson(rate, 40000, "read"))

    assert mean(outcome.latencies["read"]) == pytest.approx(expected, rel=0.05)
    assert outcome.busy[0] == pytest.approx(load, rel=0.03)


def test_a_parity_write_alone_takes_two_times_the_slower_of_two():
    """Two reads, then two writes: each stage the larger of two times between 0 and 10 ms, 6.67 ms on average."""
    outcome = Simulation(stack("raid5")).run(loop(1, 5000))

    assert mean(outcome.latencies["write"]) == pytest.approx(2 * 0.02 / 3, rel=0.03)


@pytest.mark.parametrize(
    ("level", "members", "variant"),
    [("raid0", 3, ""), ("raid10", 4, "near"), ("raid10", 5, "near"), ("raid10", 4, "far"), ("raid10", 5, "offset"), ("raid1", 3, ""), ("raid5", 4, "ls"), ("raid5", 5, "la"), ("raid5", 4, "ra"), ("raid6", 6, "ls"), ("raid4", 4, "")],
)  # fmt: skip
def test_no_two_bytes_are_in_one_place(level, members, variant):
    """Each page of the volume, each copy, and each parity page has a place of its own, on different members."""
    found = layout(level, members, CHUNK, 2 if level == "raid10" else None, variant)
    size = CHUNK * 60
    geometry = Geometry(found, size)
    places = Counter()
    for offset in range(0, size, CHUNK):
        for _, parts in geometry.read(offset, CHUNK):
            assert len({part.member for part in parts}) == len(parts) == found.copies
            places.update((part.member, part.offset) for part in parts)
    for rows, data in geometry.rows(0, size) if found.parity else ():
        parts = geometry.writes_of(rows, data)
        assert len({part.member for part in parts}) == members
        places.update((part.member, part.offset) for part in parts if part.offset >= 0)

    assert max(places.values()) == (2 if found.parity else 1)  # data read, and written


@pytest.mark.parametrize("chunks", range(1, 6))
def test_a_row_reads_what_the_counts_say(chunks):
    """The simulation and the projected counts have one rule."""
    geometry = Geometry(layout("raid5", 6, CHUNK), SIZE)

    reads = sum(
        len(geometry.reads_for(rows, places)) for rows, places in geometry.rows(0, chunks * CHUNK)
    )

    assert reads == cold_reads(5, 1, chunks)


def test_a_degraded_row_reads_the_others():
    """A chunk of a failed member is made from all that is left of its row."""
    geometry = Geometry(layout("raid5", 4, CHUNK, variant="ls"), SIZE, frozenset({0}))
    (lost,) = (
        parts
        for offset in range(0, 3 * CHUNK, CHUNK)
        for _, parts in geometry.read(offset, PAGE)
        if len(parts) > 1
    )

    assert {part.member for part in lost} == {1, 2, 3}


def test_a_row_without_its_parity_reads_the_other_data():
    """Though it writes no parity, md reads two pages for each page that is written, as Linux 6.12 counted."""
    counts = Counter()
    for offset in range(0, 12 * CHUNK, CHUNK):  # each of the four turns of the parity
        geometry = Geometry(layout("raid5", 4, CHUNK, variant="ls"), SIZE, frozenset({0}))
        (row,) = geometry.rows(offset, PAGE)
        counts[len(geometry.reads_for(*row)), len(geometry.writes_of(*row))] += 1

    assert counts == {(2, 1): 6, (2, 2): 6}


def test_a_row_of_raid6_without_a_page_and_a_parity_reads_all_that_is_left():
    """Neither way to update it needs only what is there."""
    geometry = Geometry(layout("raid6", 5, CHUNK, variant="ls"), SIZE, frozenset({0, 1}))

    reads = [
        geometry.reads_for(*row)
        for offset in range(0, 15 * CHUNK, CHUNK)
        for row in geometry.rows(offset, PAGE)
    ]

    assert all(part.member > 1 for parts in reads for part in parts)
    assert max(map(len, reads)) == 3


def test_writes_of_one_row_that_come_together_are_one():
    """Three chunks of a stripe at one instant are a full stripe, which reads nothing."""
    whole = [Arrival(0.0, "write", place * CHUNK, CHUNK) for place in range(3)]

    outcome = Simulation(stack("raid5")).run(whole)

    assert outcome.below.disks.total() == 4
    assert len(outcome.latencies["write"]) == 3


@pytest.mark.parametrize(("background", "second"), [(False, 0.0103), (True, 0.0143)])
def test_rows_that_no_program_waits_for_are_read_for_later(background, second):
    """On other disks too: such a row begins when the writes of the first are sent, 4 ms after it came (IO_THRESHOLD)."""
    disk = Service((0.005,), (0.005,))
    two = [
        Arrival(time, "write", offset, PAGE, background=background)
        for time, offset in ((0.0, 0), (0.001, SIZE // 2 + CHUNK))
    ]

    times = Simulation(stack("raid5", 12, disk)).run(two).latencies["write"]

    assert times == pytest.approx([0.0103, second], abs=5e-4)


def test_copies_of_direct_writes_are_not_held_where_they_are_direct_too():
    """From Linux 6.12: the same as without throttling."""
    throttled = Service(UNIFORM, UNIFORM, depth=1)

    free = Simulation(stack("raid10")).run(loop(8, 1000))
    direct = Simulation(stack("raid10", service=throttled, held=False)).run(loop(8, 1000))

    assert direct.latencies == free.latencies


def test_empty_flushes_do_not_hide_what_a_disk_takes():
    """A disk with a write cache counts them as writes: 18 of 5 ms and 31 of 25 ms are 49 of 17.7 ms."""
    flush, write = Flow(31.0, 0.0, 0.0, 775.0), Flow(49.0, 0.0, 72000.0, 865.0)

    alone = _without_flushes(Load(ZERO, write, flush=flush, busy=0.86), 31.0)

    assert alone.write.await_ms == pytest.approx(5.0)
    assert _without_flushes(Load(ZERO, write, flush=flush, busy=0.86), 0.0).write == write


@pytest.mark.parametrize(
    ("reads_wait", "writes_wait", "read", "write"), [(82.5, 20.0, 5.0, 5.0), (4.0, 6.0, 4.0, 6.0)]
)
def test_what_waits_in_a_burst_does_not_show_what_one_request_takes(
    reads_wait, writes_wait, read, write
):
    """Milliseconds on a disk that is idle for most of the time: RAID5 sends the reads of a burst at once, not its writes."""
    rate = 5.0  # of each
    busy = rate * (read + write) / 1000
    flows = (Flow(rate, 0.0, rate * PAGE, rate * wait) for wait in (reads_wait, writes_wait))

    times = _counted(Load(*flows, busy=busy), 60.0, serial=True)

    assert [mean(each) * 1000 for each in times] == pytest.approx([read, write])


def test_a_flush_that_waits_leaves_the_writes_their_time():
    """Ten times per second a flush waits for a write of 5 ms, and takes 1: the disk is not idle but for 1 ms in ten."""
    flush, write = Flow(10.0, 0.0, 0.0, 60.0), Flow(20.0, 0.0, 40960.0, 110.0)

    alone = _without_flushes(Load(ZERO, write, flush=flush, busy=0.06), 10.0)

    assert 0.025 < alone.busy < 0.05


@pytest.mark.parametrize("wait", [0.0, 3.0])
def test_flushes_that_take_no_time_leave_the_busy_time(wait):
    """A text prints 0.00 ms for a fast cache."""
    flush, write = Flow(5.0, 0.0, 0.0, 0.0), Flow(25.0, 0.0, 102400.0, 25 * wait)

    alone = _without_flushes(Load(ZERO, write, flush=flush, busy=0.02), 5.0)

    assert alone.busy == pytest.approx(0.02)


def test_disks_may_take_an_hour():
    """As after a path that was away."""
    slow = Service((3600.0,), (3600.0,))

    outcome = Simulation(stack("raid5", service=slow, covers=2 << 20)).run(poisson(1.0, 50))

    assert len(outcome.seen["write"]) == 50


@pytest.mark.parametrize("covers", [None, 2 << 20])
def test_a_request_that_never_ends_is_an_error(covers):
    """It waits for a sixth end of five requests, while other volumes and the bitmap's daemon go on for ever."""
    disk = Service(UNIFORM, UNIFORM, others=(1.0, 0.0))
    sent = [*loop(1, 5), Arrival(0.0, "write", 0, PAGE, after=6)]

    with pytest.raises(RuntimeError, match="1 simulated requests do not end"):
        Simulation(stack("raid10", service=disk, covers=covers)).run(sent)


def test_throttling_holds_the_program_back():
    """A disk whose queue has one place takes two writes of md: with eight kept, fewer are seen at the volume."""
    throttled = Service(UNIFORM, UNIFORM, depth=1)

    free = Simulation(stack("raid10")).run(loop(8, 4000))
    held = Simulation(stack("raid10", service=throttled)).run(loop(8, 4000))

    assert rate_of(held) < 0.9 * rate_of(free)
    assert mean(held.seen["write"]) < 0.6 * mean(held.latencies["write"])
    assert rate_of(held) * mean(held.latencies["write"]) == pytest.approx(8, rel=0.02)  # Little
    assert free.seen == free.latencies


@pytest.mark.parametrize(("cached", "sent"), [(False, 0.004), (True, 0.006)])
def test_a_volatile_cache_is_empty_before_throttling_goes_on(cached, sent):
    """Two writes of 4 ms have room, the third is sent at an end: of the first or, with a cache, of both (``wbt_rqw_done``)."""
    disk = Service((0.004,), (0.004,), servers=2, depth=1, cached=cached)
    three = [Arrival(time, "write", n << 20, PAGE) for n, time in enumerate((0.0, 0.002, 0.003))]

    outcome = Simulation(stack("raid1", 2, disk)).run(three)

    assert outcome.latencies["write"][2] == pytest.approx(sent + 0.004 - 0.003)


@pytest.mark.parametrize(("background", "most"), [(False, 6), (True, 3)])
def test_throttling_has_more_room_for_what_a_program_waits_for(background, most):
    """A disk with a queue of 8: three quarters of it, and half of that for others (``get_limit``)."""
    disk = Service((0.01,), (0.01,), servers=32, depth=8)
    many = [Arrival(0.0, "write", n << 20, PAGE, background=background) for n in range(24)]

    times = Simulation(stack("raid1", 2, disk)).run(many).latencies["write"]

    assert sum(time < 0.011 for time in times) == most


def full_rows(count, pages=1):
    """Return writes at once that fill *count* rows of two data chunks: nothing is read for them."""
    size = pages * PAGE
    return [
        Arrival(0.0, "write", row * 2 * CHUNK + place * CHUNK, size)
        for row in range(count)
        for place in range(2)
    ]


def test_rows_that_are_written_end_when_mds_thread_goes_on():
    """
    Two rows are at the disks. md's thread sleeps for the third until both are done, and for the fifth again; it
    handles rows in the order in which they are ready, so it tells these ends after the sixth is sent.
    """
    disk = Service((1.0,), (1.0,), depth=1, cached=True)

    times = Simulation(stack("raid5", 3, disk)).run(full_rows(6)).latencies["write"]

    assert times == pytest.approx([4] * 8 + [5, 5, 6, 6], abs=0.01)


def test_md_writes_rows_behind_all_that_is_ready():
    """
    md's thread sleeps for the third row until the second is done. It finds two rows that came before the first was
    done, but only computes their parity in that turn: it tells the end of the first before it sleeps for these.
    """
    disk = Service((1.0,), (1.0,), depth=1, cached=True)
    late = [each._replace(delay=0.5) for each in full_rows(5)[6:]]

    times = Simulation(stack("raid5", 3, disk)).run([*full_rows(3), *late]).latencies["write"]

    assert times[:2] == pytest.approx([2, 2], abs=0.01)


@pytest.mark.parametrize(("pages", "ends"), [(1, [1] * 6), (4, [1, 1, 1, 1, 2, 2])])
def test_pages_behind_the_first_request_of_a_plug_take_room_each(pages, ends):
    """Disks that serve all at once, with room for six: three rows of four pages are 1 + 4 + 1, and three pages wait."""
    disk = Service((1.0,), (1.0,), servers=8, depth=8, cached=True)

    times = Simulation(stack("raid5", 3, disk)).run(full_rows(3, pages)).latencies["write"]

    assert times == pytest.approx(ends, abs=0.01)


def test_what_is_written_through_empties_a_volatile_cache_first():
    """A write to a clean region waits for the bitmap's page: 1 s, and 3 s before that for the flush."""
    seen = [
        Simulation(
            stack("raid1", 2, Service((1.0,), (1.0,), cached=cached, flush=3.0), covers=SIZE)
        )
        .run([Arrival(40.0, "write", 0, PAGE)])
        .seen["write"]
        for cached in (False, True)
    ]

    assert seen == [pytest.approx([2.0]), pytest.approx([5.0])]


def test_direct_writes_without_md_are_not_throttled():
    """``wbt_should_throttle`` exempts them."""
    free, held = (
        Simulation(stack("raid0", service=Service(UNIFORM, UNIFORM, depth=depth))).run(loop(8, 500))
        for depth in (None, 1)
    )

    assert free == held


def test_the_bitmap_delays_writes_to_clean_regions():
    """Each first write to a region waits for a page on all members; when all is dirty, none does. Then it is cleared."""
    slow = [Arrival(30.0 * n, "write", 0, PAGE) for n in range(50)]
    often = [Arrival(0.1 * n, "write", 0, PAGE) for n in range(50)]

    slowly, quickly = (
        Simulation(stack("raid1", 2, covers=2 << 20)).run(each) for each in (slow, often)
    )

    assert slowly.below.disks["bitmap"] == 2 * (50 + 49)
    assert quickly.below.disks["bitmap"] == 2


def test_the_same_input_gives_the_same_result():
    assert Simulation(stack("raid5")).run(loop(4, 300)) == Simulation(stack("raid5")).run(
        loop(4, 300)
    )


def test_faster_disks_are_faster():
    """--disks: a loop on disks of 100 µs does what eight in flight can do there."""
    outcome = Simulation(stack("raid0", service=constant(1e-4, 32))).run(loop(8, 2000))

    assert rate_of(outcome) == pytest.approx(8 / 1e-4, rel=0.1)


def requests(times, took=0.004):
    return [TracedRequest(t, "write", PAGE * n, PAGE, 7, t + took) for n, t in enumerate(times)]


def test_what_follows_an_end_is_a_loop():
    """One request after the other is closed; requests at random instants are open."""
    after = traced_loads(requests([n * 0.0041 for n in range(200)]))
    at_random = traced_loads(requests([a.delay for a in poisson(20, 200)]))

    assert [load.kind for load in after] == ["closed"]
    assert [load.kind for load in at_random] == ["open"]
    assert [a.after for a in after[0].arrivals] == list(range(200))


def in_flight(load, disks=4):
    """How many requests a layout has at once on average."""
    outcome = Simulation(stack("raid0", disks)).run(load.arrivals)
    return sum(map(sum, outcome.latencies.values())) / outcome.seconds


@pytest.mark.parametrize("first", [0, 100])
@pytest.mark.parametrize("batch", [1, 4])
def test_a_loop_that_is_traced_from_its_middle_keeps_its_depth(first, batch):
    """Requests of a loop of 8 end in batches; those in flight when the trace began are not in it."""
    taken = 0.004 * 8 / batch
    traced = [
        TracedRequest(start, "write", PAGE * n, PAGE, 7, start + taken - 1e-5)
        for n in range(800)
        for start in [(n // batch) * 0.004 + (n % batch) * 1e-5]
    ]
    load = traced_loads(traced[first:])[0]

    assert load.kind == "closed"
    assert in_flight(load) == pytest.approx(8, rel=0.05)


def test_two_loops_end_with_the_faster():
    """Reads of 1 ms on one disk, writes of 9 ms on another: 1000 and 111 per second, for as long as both run."""
    disk = Service((0.001,), (0.009,))
    both = [
        Arrival(0.0, operation, offset, PAGE, n, thread)
        for n in range(100)
        for thread, (operation, offset) in enumerate((("read", 0), ("write", CHUNK)))
    ]

    assert rate_of(Simulation(stack("raid0", 2, disk)).run(both)) == pytest.approx(1111, rel=0.01)


def test_what_comes_after_a_pause_waited_for_all():
    """Eight writes, a pause of 0.2 s after the last end, eight writes: on disks that take longer, too."""
    traced = [
        TracedRequest(start + 1e-5 * n, "write", n << 20, PAGE, 7, start + 0.001 * (n + 1))
        for start in (0.0, 0.208, 0.416)
        for n in range(8)
    ]
    slow = Simulation(stack("linear", 1, Service((0.01,), (0.01,)))).run(_looped(traced))

    assert slow.seconds == pytest.approx(3 * 8 * 0.01 + 2 * 0.2, rel=0.01)


def test_a_loop_has_as_many_in_flight():
    overlapping = requests([n * 0.0011 for n in range(400)])

    assert most_in_flight(overlapping) == 4
    assert saturating(traced_loads(overlapping)[0], 4).depth == 4


@pytest.mark.parametrize(
    ("flags", "background"),
    [("WS", False), ("FWFS", False), ("W", True), ("WM", True), ("R", False)],
)
def test_the_kernels_flags_say_what_a_program_waits_for(flags, background):
    """REQ_SYNC is S in the last letters (block/blk_fill_rwbs)."""
    (event,) = parse_events(
        [f"  fio-812 [001] ..... 97.204511: block_bio_queue: 253,8 {flags} 2048 + 8 [fio]"]
    )

    (request,) = requests_of(line_of(event))["253:8"]

    assert request.background is background


def test_arrivals_are_read_back():
    """An end belongs to the oldest request that ends there; one without an end has none."""
    text = "Q 8:0 1000 write 8 8 42\nQ 8:0 1500 read 0 8 43\nC 8:0 4000 write 16 0 0\nQ 8:0 4001 write 0 8 7 B"

    assert requests_of(text) == {
        "8:0": (
            TracedRequest(0.0, "write", 4096, 4096, 42, 0.003),
            TracedRequest(0.0005, "read", 0, 4096, 43, None),
            TracedRequest(0.003001, "write", 0, 4096, 7, None, background=True),
        )
    }


@pytest.mark.parametrize(
    "text", ["Q 8:0", "X 8:0 1 write 8 8 1", "Q 8:0 1 trim 8 8 1", "Q 8:0 a write 8 8 1"]
)
def test_a_damaged_text_of_arrivals_is_refused(text):
    with pytest.raises(ParseError):
        requests_of(text)


def served(queue, rate, busy=1.0):
    return Load(Flow(rate, 0.0, rate * PAGE, queue * 1000), ZERO, aqu=queue, busy=busy)


def test_the_knee_is_where_throughput_stops_growing():
    """Twice the queue without more throughput shows it; a recording that ends before does not."""
    growing = [served(queue / 10, 20.0 * queue) for queue in range(1, 10)]
    flat = [served(queue, 200.0) for queue in (1, 2, 4, 8)]

    assert knee_rate(growing) is None
    assert knee_rate(growing + flat) == 200.0
    assert knee_rate([*growing, *(served(queue, 200.0, 0.5) for queue in (1, 2, 4, 8))]) is None


def test_requests_that_no_disk_serves_are_far_from_the_measurement():
    """Paths of a multipath head have no disk below: all simulated times are 0."""
    outcome = Simulation(stack("linear", 1, constant(0.0, 1))).run(loop(1, 20))
    fitting = SimpleNamespace(
        measured={"write": {"mean": 1.0, "p50": 1.0}},
        times_of=lambda ran, direction: ran.seen[direction],
    )

    assert Fitting._times_off(fitting, outcome) > log(1 + OFF)


def test_a_lowered_limit_writes_nothing_twice():
    """Slow reads lower the limit below what is in flight; each row still writes its data and its parity once."""
    disk = Service(UNIFORM, UNIFORM, depth=1, cached=True, target=2e-3)
    size, count = 4 * PAGE, 600
    writes = [
        Arrival(0.0, "write", row * 2 * CHUNK, size, max(0, row - 31)) for row in range(count)
    ]

    outcome = Simulation(stack("raid5", 3, disk)._replace(size=count * 2 * CHUNK)).run(writes)

    assert outcome.below.bytes["write"] == 2 * size * count
