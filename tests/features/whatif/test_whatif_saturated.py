"""A disk that other volumes saturate, and the order in which it serves: against what queueing theory and the kernel say."""

from __future__ import annotations

import json
from math import log
from random import Random

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.services import evenly, services
from stackmap.features.whatif.simulation import Arrival, Simulation, Stack
from stackmap.features.whatif.volume_context import volume_context
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Queue
from stackmap.model.raid import PAGE, layout
from stackmap.model.topology import Topology
from tests.drawn import DISKS, did, disk, moved, raid_volume
from tests.features.whatif.test_whatif_simulation import rate_of

SIZE = 96 << 20
MEAN = 0.005
EXPONENTIAL = tuple(-MEAN * log(1 - (place + 0.5) / 1000) for place in range(1000))
ORDERS = ["arrival", "turns", "reads"]


def single(service, level="linear", members=1, **more):
    return Stack(
        layout(level, members, 64 << 10), SIZE, (service,) * members, range(members), None, True, **more
    )  # fmt: skip


def mixed(rate, count, reads=0.4):
    draw = Random(7)
    time = 0.0
    made = []
    for _ in range(count):
        time += draw.expovariate(rate)
        operation = "read" if draw.random() < reads else "write"
        made.append(Arrival(time, operation, draw.randrange(SIZE // PAGE) * PAGE, PAGE))
    return made


def together(*operations):
    return [Arrival(0.0, each, 0, PAGE) for each in operations]


def mean(times):
    return sum(times) / len(times)


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_requests_of_both_directions_wait_alike_in_one_queue(load):
    """M/M/1 in order of arrival: service time / (1 - load), whatever the direction."""
    expected = MEAN / (1 - load)

    times = Simulation(single(Service(EXPONENTIAL, EXPONENTIAL))).run(mixed(load / MEAN, 20000))

    for each in times.latencies.values():
        assert not each or mean(each) == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("order", ORDERS)
def test_no_order_changes_the_mean_of_all(order):
    """Kleinrock's conservation law: an order that does not look at service times shifts waits between directions only."""
    service = Service(EXPONENTIAL, EXPONENTIAL, order=order)

    times = Simulation(single(service)).run(mixed(0.6 / MEAN, 20000)).latencies

    assert mean(times["read"] + times["write"]) == pytest.approx(MEAN / 0.4, rel=0.08)


def test_reads_first_is_between_one_queue_and_strict_priority():
    """Strict, without interruption: reads wait load · E[S²] / 2E[S] / (1 - load of reads); batches of writes delay them."""
    load, reads = 0.6, 0.4
    strict = MEAN + load * MEAN / (1 - load * reads)
    service = Service(EXPONENTIAL, EXPONENTIAL, order="reads")

    times = Simulation(single(service)).run(mixed(load / MEAN, 20000, reads)).latencies

    assert 0.95 * strict < mean(times["read"]) < 0.9 * mean(times["write"])


def test_mq_deadline_serves_a_write_after_two_batches_of_reads():
    """writes_starved 2 and fifo_batch 16: the first request, then at most 32 reads."""
    service = Service((1.0,), (1.0,), order="reads")

    (first, *_), (write,) = (
        Simulation(single(service)).run(together(*["read"] * 100, "write")).latencies[each]
        for each in ("read", "write")
    )

    assert first == 1.0
    assert 3.0 <= write <= 34.0


def test_mq_deadline_serves_a_read_after_a_batch_of_writes():
    service = Service((1.0,), (1.0,), order="reads")
    late = [*together(*["write"] * 100), Arrival(0.5, "read", 0, PAGE)]

    (read,) = Simulation(single(service)).run(late).latencies["read"]

    assert 1.5 <= read <= 17.5


def loop(operation, depth, count):
    return [Arrival(0.0, operation, 0, PAGE, max(0, number - depth + 1)) for number in range(count)]


@pytest.mark.parametrize(("order", "waits"), [("arrival", 1 + 12), ("turns", 2)])
def test_a_read_beside_a_crowd_of_writes(order, waits):
    """In one queue it waits for all that are in flight, in turns for one."""
    service = Service((1.0,), (1.0,), others=(0.0, 1.0), crowd=12, order=order)

    times = Simulation(single(service)).run(loop("read", 1, 200)).latencies["read"]

    assert mean(times) == pytest.approx(waits, rel=0.02)


@pytest.mark.parametrize("depth", [1, 4, 12])
def test_a_crowd_shares_a_disk_by_requests_in_flight(depth):
    """A closed network in order of arrival: each gets its part of what is in flight, and the disk is never idle."""
    service = Service(evenly(MEAN), evenly(MEAN), others=(30.0, 50.0), crowd=12)

    outcome = Simulation(single(service)).run(loop("write", depth, 4000))

    assert outcome.busy[0] == pytest.approx(1.0, rel=0.01)
    assert rate_of(outcome) == pytest.approx(depth / (depth + 12) / MEAN, rel=0.05)


def test_a_load_that_goes_on_finds_its_regions_marked():
    """Regions that it writes often are marked before the first request, those that it writes once are not."""
    often = [Arrival(0.1 * n, "write", (n % 4) * (2 << 20), PAGE) for n in range(200)]
    once = [Arrival(0.1 * n, "write", n << 18, PAGE) for n in range(200)]

    def pages(arrivals, covers):
        return Simulation(single(Service((0.001,), (0.001,)), "raid1", 2, writes=10.0)._replace(covers=covers)).run(
            arrivals
        ).below.disks["bitmap"] / 2  # fmt: skip

    assert pages(often, 2 << 20) == 0
    assert pages(once, 1 << 18) == 200


def flow(ios, await_ms):
    return did(ios, PAGE, wait=ios * await_ms)


def volume_on(queue, read_ms, write_ms, busy, others=0.0, flushes=0.0):
    """
    How the disks of a RAID5 volume may serve, which took *read_ms* and *write_ms*, with *others* writes per second.

    And so many empty *flushes*, which a disk with a cache counts as writes, too.
    """
    devices, edges = raid_volume("r", "raid5", 1)
    machine = Topology([*(disk(name, queue=queue) for name in DISKS), *devices], edges)
    loads = {
        each.name: moved(flow(40.0, read_ms), flow(100.0 + (others + flushes) * (each.name in DISKS), write_ms), busy=busy)
        for each in machine
        if "rmeta" not in each.name
    }  # fmt: skip
    for name in DISKS:
        loads[name] = loads[name]._replace(flush=flow(flushes, 1.0))
    return services(Ledger(machine, loads, 10.0), volume_context(machine, "r"), None, None)


@pytest.mark.parametrize(
    ("queue", "read_ms", "write_ms", "busy", "orders"),
    [
        (Queue(), 7.0, 70.0, 1.0, ["turns"]),
        (
            Queue(depth=4),
            7.0,
            70.0,
            1.0,
            ["turns", "reads"],
        ),  # 7.3 in flight, by a scheduler that is not known
        (Queue(depth=4, scheduler="[none] mq-deadline"), 7.0, 70.0, 1.0, ["turns"]),
        (Queue(depth=4, scheduler="none [mq-deadline]"), 7.0, 70.0, 1.0, ["turns", "reads"]),
        (
            Queue(depth=32, scheduler="none [mq-deadline]"),
            7.0,
            70.0,
            1.0,
            ["turns"],
        ),  # all are at the disk
        (Queue(depth=32, scheduler="none [mq-deadline]"), 50.0, 70.0, 1.0, ["arrival"]),
        (Queue(depth=32), 7.0, 70.0, 0.5, ["arrival"]),  # writes may take longer without a queue
        (Queue(depth=1, scheduler="none [mq-deadline]"), 7.0, 7.0, 0.5, ["reads"]),
        (Queue(depth=1, scheduler="[none] mq-deadline"), 7.0, 7.0, 0.5, ["arrival"]),
    ],
)
def test_the_order_is_one_that_the_measurement_allows(queue, read_ms, write_ms, busy, orders):
    ways = volume_on(queue, read_ms, write_ms, busy)

    assert list(dict.fromkeys(service.order for way in ways for service in way)) == orders


@pytest.mark.parametrize(("busy", "crowd"), [(1.0, 15), (0.5, 0)])
def test_a_crowd_is_what_others_have_in_flight_on_a_saturated_disk(busy, crowd):
    """Little's law: 300 writes per second of 50 ms are 15 in flight."""
    for service in volume_on(Queue(depth=1), 40.0, 50.0, busy, others=300.0)[0]:
        assert service.others == pytest.approx((0.0, 300.0))
        assert service.crowd == crowd


def test_empty_flushes_are_no_writes_of_others():
    """They take a disk less than a write."""
    (service, *_), *_ = volume_on(Queue(depth=1), 40.0, 50.0, 0.5, others=30.0, flushes=50.0)

    assert service.others == pytest.approx((0.0, 30.0))


def test_two_writes_at_a_time_are_at_a_disk_with_a_queue_of_one():
    """Two copies of 1 s, of a loop of eight: the next one waits for room there."""
    service = Service((1.0,), (1.0,), depth=1)

    outcome = Simulation(single(service, "raid1", 2)).run(loop("write", 8, 200))

    assert mean(outcome.seen["write"]) == pytest.approx(3.0, rel=0.03)
    assert rate_of(outcome) == pytest.approx(1.0, rel=0.02)


def test_the_example_volume_is_projected():
    """One slow disk, another volume that saturates it, reads of 3.1 ms beside writes of 54 ms: the check holds."""
    words = ["--from", "sample_topologies/vghdd", "whatif", "vm-disk1", "--to", "raid10", "-J"]

    time = json.loads(CliRunner().invoke(stackmap, words).output)["time"]

    assert time["reason"] is None
    assert time["unseen"] is None
    for direction, ms in (("read", 3.12), ("write", 53.97)):
        check, projected = time["self_check"][direction]["mean"], time["projected"][direction]
        assert check["measured"] == pytest.approx(ms, rel=0.01)
        assert check["simulated"] == pytest.approx(ms, rel=0.25)
        assert projected["mean"]["low"] < ms
