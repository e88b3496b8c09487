"""How many requests come at once, from counters alone: their times, and how many are in flight while any is."""

from __future__ import annotations

from itertools import cycle
from math import log
from random import Random

import pytest

from stackmap.features.whatif.counted_loads import Burst, Sizes, bursts_of
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.project import Projector
from stackmap.features.whatif.services import constant
from stackmap.features.whatif.simulation import Arrival, Simulation, Stack
from stackmap.features.whatif.timing import Scenario
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.raid import PAGE, layout
from stackmap.model.topology import Edge, Machine, Topology
from tests.drawn import disk, passing

SIZE = 96 << 20
NOTHING = Flow(0.0, 0.0, 0.0, 0.0)
MEAN = 0.005
EXPONENTIAL = tuple(-MEAN * log(1 - (place + 0.5) / 1000) for place in range(1000))


def single(service):
    return Stack(layout("linear", 1, None), SIZE, (service,), range(1), None, True)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_what_is_in_flight_is_as_in_a_queue_of_random_arrivals(load):
    """M/M/1: load / (1 - load) on average, in the share *load* of the time."""
    draw, time, arrivals = Random(3), 0.0, []
    for _ in range(40000):
        time += draw.expovariate(load / MEAN)
        arrivals.append(Arrival(time, "write", draw.randrange(SIZE // PAGE) * PAGE, PAGE))

    queue = Simulation(single(Service(EXPONENTIAL, EXPONENTIAL))).run(arrivals).queue

    assert queue == pytest.approx(1 / (1 - load), rel=0.08)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_what_is_in_flight_of_a_burst(count):
    """On a disk that serves one at a time, one fewer after each; flushes are not counted."""
    sent = [Arrival(0.0, "write", 10 * number * PAGE, PAGE) for number in range(count)]
    flush = Arrival(0.0, "flush", 0, 0)

    queue = Simulation(single(Service((1.0,), (1.0,)))).run([*sent, flush]).queue

    assert queue == pytest.approx((count + 1) / 2)


def linear(rate, await_ms, busy, kernel="6.12.0", gauges=(None,), merged=0.0):
    """
    A volume on one disk, with *rate* writes of 4 KiB per second, as counters of twenty intervals have it.

    *gauges*: the requests in flight at both ends of an interval, added up, again and again. *merged*: the share of
    its writes that merge into the one before.
    """
    writes = Flow(rate, 0.0, rate * PAGE, rate * await_ms)
    load = Load(NOTHING, writes, NOTHING, NOTHING, aqu=rate * await_ms / 1000, busy=busy)
    done = rate * (1 - merged)
    at_disk = load._replace(write=Flow(done, rate - done, rate * PAGE, done * await_ms))
    stack = Topology(
        [passing("web", size=SIZE), disk("sda", size=SIZE)],
        [Edge("web", "sda", Role.DATA, length=SIZE)],
        machine=Machine(kernel=kernel),
    )
    intervals = (
        Interval(
            {"web": load._replace(in_flight_at_ends=gauge), "sda": at_disk},
            time=float(n),
            seconds=1.0,
        )
        for n, gauge in zip(range(20), cycle(gauges))
    )
    return Projector(stack, intervals, "web")


def on_disks_of_a_millisecond(projector):
    return projector.project(projector.present, Scenario(disks=constant(0.001, 1))).time


@pytest.mark.parametrize("count", [1, 2, 5, 8, 16, 30, 60])
def test_requests_that_come_at_once_are_known_by_what_is_in_flight(count):
    """Once per second, on a disk that takes 5 ms for each: what waits there waits as long for one of 1 ms."""
    time = on_disks_of_a_millisecond(linear(count, 5 * (count + 1) / 2, 0.005 * count))

    assert not time.reason
    found = time.projected["write"]["mean"]
    assert found.likely == pytest.approx((count + 1) / 2, rel=0.3)
    assert found.low <= (count + 1) / 2 <= found.high


def test_writes_that_merge_are_runs():
    """
    Once per second 64 pages, in runs of four: the disk takes 5 ms for each run, so a page 42.5 ms on average.

    Pages on their own would take that long if 16 came at once; then 8.5 would be in flight, and not 34.
    """
    time = on_disks_of_a_millisecond(linear(64, 42.5, 0.08, merged=0.75))

    assert not time.reason
    found = time.projected["write"]["mean"]
    assert found.likely == pytest.approx(8.5, rel=0.3)
    assert found.low <= 8.5 <= found.high


def test_requests_that_never_meet_come_one_after_the_other():
    """At random instants 120 per second of 5 ms would wait 8.75 ms (M/D/1); they take 5."""
    time = on_disks_of_a_millisecond(linear(120, 5.0, 0.6))

    assert not time.reason
    assert time.projected["write"]["mean"].likely == pytest.approx(1.0, rel=0.1)


def test_a_queue_that_does_not_move_is_a_programs():
    """Eight in flight all the time, on a disk of 5 ms: on one of 1 ms it sends five times as many, and each waits for eight."""
    time = on_disks_of_a_millisecond(linear(200, 40.0, 1.0, gauges=(16, 16, 15, 16)))

    assert time.arrivals == "closed"
    assert time.projected["write"]["mean"].likely == pytest.approx(8.0, rel=0.1)


def test_a_queue_that_moves_may_be_many_programs():
    """What comes by itself, 200 per second, waits hardly at all on a disk of 1 ms."""
    time = on_disks_of_a_millisecond(linear(200, 40.0, 1.0, gauges=(2, 30, 44, 4, 12)))

    assert time.arrivals != "closed"
    assert time.projected["write"]["mean"].low <= 1.1


def test_a_kernel_that_counts_busy_time_short_tells_less():
    """Linux 5.0 to 5.6: what is in flight is not known, so only the times count."""
    assert bursts_of(None) == tuple(map(Burst, (1, 2, 4, 8, 16)))
    imprecise, precise = (
        on_disks_of_a_millisecond(linear(5, 15, 0.025, kernel)).projected["write"]["mean"]
        for kernel in ("5.4.0", "5.10.0")
    )

    assert imprecise.low <= 3.0 <= imprecise.high
    assert precise.likely == pytest.approx(3.0, rel=0.3)


@pytest.mark.parametrize("mean", [10.8, 5.0, 34.0, 4.2])
def test_a_mean_between_whole_pages_is_of_two_sizes(mean):
    """Requests of 10.8 KiB would write a page in part, which costs RAID5 a read: no program sends them."""
    draw, sizes = Random(5), Sizes.of(mean * 1024)

    drawn = [sizes.drawn(draw) for _ in range(20000)]

    assert all(size % PAGE == 0 for size in drawn)
    assert sum(drawn) / len(drawn) == pytest.approx(mean * 1024, rel=1 / 30)


@pytest.mark.parametrize("size", [512, 2048, PAGE, 3 * PAGE, 96 << 10, 1 << 20])
def test_a_mean_that_a_request_may_have_is_of_one_size(size):
    assert Sizes.of(size).drawn(Random(5)) == size
    assert not Sizes.of(size).larger
