"""Episodes: nights whose truth is known, as a random generator makes them; and what is no episode."""

from __future__ import annotations

from dataclasses import replace
from math import cos, exp, log, pi
from random import Random

import pytest

from stackmap.ledger.episodes import Change, episodes, outside
from stackmap.ledger.time_series import HELD, Clock, IntervalSeries
from stackmap.ledger.unusual import Figures, unusual
from stackmap.ledger.unusual_spans import _slow_edges, level_without
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Edge, Topology
from stackmap.text import intervals
from tests.drawn import disk, passing

STACK = Topology(
    [passing("web"), passing("other"), *map(disk, ("sda", "sdb", "sdz"))],
    [Edge("web", "sda", Role.DATA), Edge("web", "sdb", Role.DATA), Edge("other", "sdz", Role.DATA)],
)
PACE = 600.0
NIGHT = 143


def series(seed, count=NIGHT, **more):
    """Return a series of ``night``."""
    return IntervalSeries(night(seed, count, **more))


def night(seed, count=NIGHT, *, slower=(), more=(), noise=0.25, mean=7.0, absent=(), requests=53):
    """
    Yield intervals of web and its disks, with lognormal noise and a daily swing of the load.

    *slower*: (first, last, factor of await); *more*: the same of the rate and the await.
    """
    random = Random(seed)
    for place in range(count):
        if place in absent:
            continue
        swing = exp(0.4 * cos(2 * pi * place * PACE / 86400))
        loads = {}
        for name, share in (("web", 1.0), ("sda", 0.9), ("sdb", 0.5), ("sdz", 0.3)):
            rate = requests * swing * random.lognormvariate(0, noise)
            wait = mean * share * random.lognormvariate(0, noise)
            for first, last, factor in (*slower, *more):
                if first <= place <= last and name not in {"sdz", "sdb"}:
                    wait *= factor
            for first, last, factor in more:
                rate *= factor if first <= place <= last and name != "sdz" else 1
            flow = Flow(rate, 0.0, rate * 8192, rate * wait)
            loads[name] = Load(Flow(0.0, 0.0, 0.0, 0.0), flow, aqu=rate * wait / 1000)
        yield Interval(loads, time=1e9 + (place + 1) * PACE, seconds=PACE)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("length", [3, 7, 29, 86])
def test_a_burst_is_one_episode_of_its_stack(seed, length):
    """2 to 60 % of a night, 5 to 20 times the await: one episode, start and end within two intervals."""
    first = Random(seed).randrange(5, NIGHT - length - 5)
    last, factor = first + length - 1, Random(-seed).uniform(5, 20)
    found = episodes(STACK, series(seed, slower=[(first, last, factor)]))

    assert [(each.top, each.changed) for each in found] == [("web", Change.SLOWER)]
    assert {"web", "sda"} <= set(found[0].devices) <= {"web", "sda", "sdb"}
    assert abs(found[0].first - first) <= 2
    assert abs(found[0].last - last) <= 2
    assert found[0].awaits.ratio == pytest.approx(factor, rel=0.6)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", [0.1, 0.3, 0.5])
def test_a_quiet_night_has_none(seed, noise):
    """Noise and a daily swing of the load are no incident."""
    assert episodes(STACK, series(seed, noise=noise)) == []


@pytest.mark.parametrize("seed", range(5))
def test_more_load_is_told_from_a_slower_device(seed):
    """The rate rises with the await."""
    found = episodes(STACK, series(seed, more=[(40, 47, 6.0)]))

    assert [each.changed for each in found] == [Change.LOAD]
    assert found[0].rates["write"].ratio == pytest.approx(6, rel=0.6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("requests", "count"), [(12_000, 1), (600, 0)])
def test_a_fast_device_needs_many_requests(seed, requests, count):
    """From 0.1 to 0.4 ms: thousands of requests wait for it, but nobody notices it of hundreds."""
    found = episodes(
        STACK, series(seed, slower=[(60, 79, 4.0)], noise=0.05, mean=0.1, requests=requests)
    )
    assert [each.top for each in found] == ["web"] * count


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("factor", "count"), [(8.0, 1), (4.0, 0)])
def test_half_a_millisecond_is_noticed(seed, factor, count):
    """Of hundreds of requests per second, a rise by 0.7 ms is an episode, one by 0.3 ms is none."""
    found = episodes(
        STACK, series(seed, slower=[(60, 79, factor)], noise=0.05, mean=0.1, requests=600)
    )
    assert [each.top for each in found] == ["web"] * count


@pytest.mark.parametrize("seed", range(3))
def test_an_unknown_await_within_an_episode_changes_little(seed):
    """A counter of milliseconds that went back: the interval has requests, and no await."""
    whole, lost = series(seed, slower=[(60, 79, 9.0)]), IntervalSeries()
    for place, interval in enumerate(night(seed, slower=[(60, 79, 9.0)])):
        loads = dict(interval.loads)
        if place in {65, 70}:
            unknown = loads["web"].write._replace(wait=None)
            loads["web"] = loads["web"]._replace(write=unknown, aqu=None)
        lost.add(replace(interval, loads=loads))

    (found,), (expected,) = episodes(STACK, lost), episodes(STACK, whole)
    assert (found.top, found.span) == (expected.top, expected.span)
    assert found.awaits.ratio == pytest.approx(expected.awaits.ratio, rel=0.1)


def test_two_incidents_are_two_the_worse_first():
    """The time outside of them is the rest."""
    found = episodes(STACK, series(1, slower=[(20, 29, 5.0), (90, 99, 20.0)]))

    assert [abs(each.first - at) <= 2 for each, at in zip(found, (90, 20), strict=True)] == [
        True
    ] * 2
    assert sum(b + 1 - a for a, b in outside(NIGHT, [each.span for each in found])) == NIGHT - sum(
        each.last + 1 - each.first for each in found
    )


@pytest.mark.parametrize("seed", range(5))
def test_what_recurs_every_day_at_one_hour_is_usual(seed):
    """A nightly backup is none; the same load in one night of five is one."""
    nights = [(day * 144 + 20, day * 144 + 25, 8.0) for day in range(5)]

    assert episodes(STACK, series(seed, 5 * 144, more=nights)) == []
    (found,) = episodes(STACK, series(seed, 5 * 144, more=nights[3:4]))
    assert abs(found.first - nights[3][0]) <= 2


@pytest.mark.parametrize("seed", range(5))
def test_three_nights_are_enough_if_each_has_it(seed):
    """A backup in all of three nights is usual; two bad nights of three are two episodes."""
    nights = [(day * 144 + 20, day * 144 + 25, 8.0) for day in range(3)]

    assert episodes(STACK, series(seed, 3 * 144, more=nights)) == []
    found = episodes(STACK, series(seed, 3 * 144, more=nights[1:]))
    assert sorted(each.first // 144 for each in found) == [1, 2]


@pytest.mark.parametrize("hours", [5, 8, 12, 13])
@pytest.mark.parametrize("days", [5, 14])
def test_a_nightly_backup_is_no_excuse_for_the_day(days, hours):
    """An incident like it, half a day later: every second of such half days has the backup, and all nights are alike."""
    nights = [(day * 144 + 20, day * 144 + 25, 8.0) for day in range(days)]
    first = (days - 2) * 144 + 20 + hours * 6
    (found,) = episodes(STACK, series(hours, days * 144, more=[*nights, (first, first + 7, 8.0)]))
    assert abs(found.first - first) <= 2
    assert abs(found.last - first - 7) <= 2


@pytest.mark.parametrize("seed", range(5))
def test_a_backup_whose_await_jumps_is_usual(seed):
    """From some milliseconds to seconds and back, in each night at other instants: its mean is the longest of it."""
    nights = [(day * 144 + 20, day * 144 + 31, 8.0) for day in range(3)]
    jumps = [
        (first + at, first + at, 60.0)
        for day, (first, _, _) in enumerate(nights)
        for at in (1 + day, 5, 10 - day)
    ]

    assert episodes(STACK, series(seed, 3 * 144, more=nights, slower=jumps)) == []
    found = episodes(STACK, series(seed, 3 * 144, more=nights[1:2], slower=jumps[3:6]))
    assert [each.first // 144 for each in found] == [1]


def test_a_burst_across_a_gap_of_hours_is_two():
    """Nobody knows what happened in between."""
    found = episodes(STACK, series(1, slower=[(60, 99, 9.0)], absent=range(70, 90)))
    assert len(found) == 2


def test_fewer_than_twenty_intervals_have_no_baseline():
    """Nothing is compared with."""
    assert episodes(STACK, series(1, 19, slower=[(9, 15, 20.0)])) == []


def test_a_device_that_completes_nothing_is_in_an_episode():
    """Requests in flight, none completed: the await is unknown, and not 0."""
    result = IntervalSeries()
    for place in range(60):
        rate = 0.0 if 30 <= place < 40 else 50.0
        flow = Flow(rate, 0.0, rate * 4096, rate * 3.0)
        load = Load(Flow(0.0, 0.0, 0.0, 0.0), flow, aqu=32.0 if not rate else 0.2)
        result.add(Interval({"sda": load}, time=1e9 + place, seconds=1.0))
    (found,) = episodes(STACK, result)

    assert (found.first, found.last, found.stuck, found.awaits.during) == (30, 39, True, None)


@pytest.mark.parametrize(
    "few", [0.0, 0.005]
)  # requests/s when it begins to hang: the last one of before
def test_a_device_that_hangs_and_then_catches_up_is_one_episode(few):
    """The load was the same: what waited is served afterwards, all at once. One request has no mix of reads and writes."""
    parts = list(night(7))
    begin = 60
    for place, rate, ms, queue in ((0, few, 9.0, 15e3), (1, 0.0, 0.0, 45e3), (2, 106.0, 9e5, 60e3)):
        part = parts[begin + place]
        stuck = Load(Flow(rate, 0.0, rate * 8192, rate * ms), Flow(0, 0, 0, 0), aqu=queue)
        if place == 2:
            stuck = Load(Flow(0, 0, 0, 0), Flow(rate, 0.0, rate * 8192, rate * ms), aqu=queue)
        loads = {**part.loads, "web": stuck, "sda": stuck}
        parts[begin + place] = replace(part, loads=loads)

    (found,) = episodes(STACK, IntervalSeries(parts))

    assert (found.first, found.last, found.stuck) == (begin, begin + 2, True)
    assert found.changed is Change.SLOWER
    assert found.awaits.during == pytest.approx(9e5, rel=0.01)


def test_an_idle_device_has_none():
    """An interval without requests has no await, and 0 is none."""
    result = IntervalSeries()
    for place in range(100):
        busy = place % 9 == 0
        flow = Flow(50.0 * busy, 0.0, 4096.0 * busy, 300.0 * busy)
        load = Load(Flow(0.0, 0.0, 0.0, 0.0), flow, aqu=0.3 * busy)
        result.add(Interval({"sda": load}, time=1e9 + place, seconds=1.0))
    assert episodes(STACK, result) == []


def test_a_long_series_is_the_same_in_arrays():
    """More intervals than are held as they are: any part of them has the same figures."""
    long = IntervalSeries()
    for place in range(HELD + 3):
        flow = Flow(float(place), None, place * 4096.0, place * 2.0)
        load = Load(Flow(1.0, 0.0, 2.0, 3.0), flow, aqu=place / 7)
        loads = {"sda": load, **({"sdb": Load(aqu=0.5)} if place > HELD else {})}
        long.add(Interval(loads, stamp=str(place), clock=place * 5.0))
    part = long.intervals([(3, 4), (HELD, HELD + 1)])

    assert [each.stamp for each in part] == ["3", "4", str(HELD), str(HELD + 1)]
    assert part[1].loads == {
        "sda": Load(Flow(1.0, 0.0, 2.0, 3.0), Flow(4.0, None, 16384.0, 8.0), aqu=4 / 7)
    }
    assert part[3].loads["sdb"] == Load(aqu=0.5)
    assert long.clock().pace == 5.0


@pytest.mark.parametrize("seed", range(6))
def test_an_end_at_once_is_no_slow_edge(seed):
    """The last part of a burst is low by chance, so that its end is less high than its middle."""
    random = Random(seed)

    def level(ms, count, noise):
        return [log(ms * random.lognormvariate(0, noise)) for _ in range(count)]

    logs = [*level(3.6, 100, 0.2), *level(68, 200, 0.06), *level(9, 60, 0.3), *level(3.6, 150, 0.2)]
    span = (100, 359)

    found = _slow_edges(logs, span, level_without(logs, [span]), (False, True), Clock())
    assert found == span


@pytest.mark.parametrize("seed", range(8))
def test_a_drift_begins_where_the_await_leaves_its_level(seed):
    """It rises slowly: no threshold says where it began."""
    first, last = 50, 110
    random = Random(seed)
    result = IntervalSeries()
    for place in range(NIGHT):
        share = (place - first) / (last - first) if first <= place <= last else 0.0
        rate = 50 * random.lognormvariate(0, 0.2)
        wait = 6 * random.lognormvariate(0, 0.15) * 12**share
        flow = Flow(rate, 0.0, rate * 8192, rate * wait)
        load = Load(Flow(0.0, 0.0, 0.0, 0.0), flow, aqu=rate * wait / 1000)
        result.add(Interval({"sda": load}, time=1e9 + place * PACE, seconds=PACE))
    (found,) = episodes(STACK, result)

    assert abs(found.first - first) <= (last - first) / 8
    assert abs(found.last - last) <= 2


@pytest.mark.parametrize("seed", range(8))
def test_short_runs_that_look_alike_and_come_all_night_are_usual(seed):
    """A job without a fixed period. Twice is no habit, nor is one part of the night."""
    random = Random(seed)
    often = [(p := n * 16 + random.randrange(12), p + 1, 9.0) for n in range(9)]

    assert episodes(STACK, series(seed, slower=often)) == []
    assert len(episodes(STACK, series(seed, slower=often[3:5]))) == 2


def test_hourly_load_is_usual_where_the_disk_is_slow_in_some_hours_only():
    """A disk near its limit: the load says that it recurs, the await of a third of the hours does not."""
    result = IntervalSeries()
    random = Random(5)
    for place in range(NIGHT):
        job = place % 6 == 2
        rate = (250 if job else 50) * random.lognormvariate(0, 0.1)
        wait = 6 * random.lognormvariate(0, 0.15) * (8 if job and place % 18 == 2 else 1)
        flow = Flow(rate, 0.0, rate * 8192, rate * wait)
        load = Load(Flow(0.0, 0.0, 0.0, 0.0), flow, aqu=rate * wait / 1000)
        result.add(Interval({"sda": load}, time=1e9 + place * PACE, seconds=PACE))
    assert episodes(STACK, result) == []


def test_a_spike_that_adds_little_to_the_day_is_none():
    """One minute of a day, 9 times the await: 0.6 % of what the day waits. 20 minutes of it are one."""
    minutes = IntervalSeries()
    hour = IntervalSeries()
    random = Random(2)
    for place in range(1440):
        wait, rate = 6 * random.lognormvariate(0, 0.1), 50.0
        for result, last in ((minutes, 700), (hour, 719)):
            ms = wait * 9 if 700 <= place <= last else wait
            load = Load(Flow(0.0, 0.0, 0.0, 0.0), Flow(rate, 0.0, rate * 8192, rate * ms), aqu=0.3)
            result.add(Interval({"sda": load}, time=1e9 + place * 60, seconds=60.0))
    assert episodes(STACK, minutes) == []
    assert [each.span for each in episodes(STACK, hour)] == [(700, 719)]


def test_the_columns_of_a_text_are_those_of_its_loads():
    """Tables go into the columns many at a time; rows, headings and devices change in between."""
    head = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
    other = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
    text = "".join(
        (
            other + f"sda {n} {n} 2.0 0 0\n"
            if 20 <= n < 30
            else head + f"sda {n} 1 {n} 8 0.{n} 2 {n} 1\n"
        )
        + (f"sdb 1 {n} 2 3 4 5 6 7\n" if n % 7 == 3 and n < 20 else "")
        + "\n"
        for n in range(1, 60)
    )
    read = [each for each in intervals(iter([text.encode()]), "text") if not each.since_boot]
    printed = IntervalSeries(read)
    loads = IntervalSeries(replace(each, loads={**each.loads}) for each in read)

    assert {*loads.devices} == {"sda", "sdb"}
    for name, columns in loads.devices.items():
        ours = printed.devices[name]
        for place in range(len(read)):
            assert ours.load(place) == columns.load(place)


@pytest.mark.parametrize(("rate", "found"), [(1.0, []), (20.0, [(70, 70)])])
def test_a_request_now_and_then_is_no_episode(rate, found):
    """Of a disk that is nearly idle, ten minutes of reads that miss a cache slow down nearly nobody."""
    random, night = Random(5), IntervalSeries()
    for place in range(NIGHT):
        wait = (20.0 if place == 70 else 0.2) * random.lognormvariate(0, 0.1)
        read, none = Flow(rate, 0.0, rate * 8192, rate * wait), Flow(0.0, 0.0, 0.0, 0.0)
        loads = {"sda": Load(read, none, aqu=rate * wait / 1000)}
        night.add(Interval(loads, time=1e9 + (place + 1) * PACE, seconds=PACE))

    assert [each.span for each in episodes(STACK, night)] == found


@pytest.mark.parametrize("seed", range(3))
def test_the_rates_of_an_episode_are_of_its_span_where_the_device_came_later(seed):
    """A disk that was added at the 23rd interval: 6 times the rate from the 60th to the 71st."""
    result = IntervalSeries()
    for place, interval in enumerate(night(seed, more=[(60, 71, 6.0)], noise=0.1)):
        known = {"sdz"} if place < 23 else interval.loads.keys()
        result.add(replace(interval, loads={n: interval.loads[n] for n in known}))
    (found,) = episodes(STACK, result)

    assert abs(found.first - 60) <= 2
    assert found.rates["write"].ratio == pytest.approx(6, rel=0.45)


def waits(count, pace, high):
    """The figures of a disk with 50 requests per second: 6 ms, and 48 ms in the intervals that are *high*."""
    random = Random(3)
    awaits = [
        6 * random.lognormvariate(0, 0.1) * (8 if place in high else 1) for place in range(count)
    ]
    rates = [50.0] * count
    queues = [rate * ms / 1000 for rate, ms in zip(rates, awaits, strict=True)]
    return Figures(awaits, rates, queues), Clock([1e9 + pace * n for n in range(count)], pace)


def test_a_job_every_quarter_of_an_hour_is_usual_though_one_has_a_second_run():
    """Four minutes of each of twelve; once also half a period later, which is unusual."""
    job = {quarter * 30 + place for quarter in range(12) for place in range(10, 18)}
    once = range(5 * 30 + 25, 5 * 30 + 33)

    assert unusual(*waits(360, 30.0, job)) == []
    found = unusual(*waits(360, 30.0, job.union(once)))
    assert [(run.first, run.last) for run in found] == [(once[0], once[-1])]


@pytest.mark.parametrize("minute", [17, 25, 38, 47])
def test_an_hourly_job_is_no_excuse_for_the_rest_of_the_hour(minute):
    """Two minutes of each of ten hours, and once six minutes at another time."""
    high = {hour * 60 + minutes for hour in range(10) for minutes in (5, 6)}
    more = range(7 * 60 + minute, 7 * 60 + minute + 6)
    assert [run[:2] for run in unusual(*waits(600, 60.0, high.union(more)))] == [
        (more[0], more[-1])
    ]
    assert unusual(*waits(600, 60.0, high)) == []


def test_the_excess_of_a_run_is_what_waited_beyond_the_usual():
    """50 requests per second wait 42 ms longer: 2.1 more are in flight, for 12 intervals."""
    figures, clock = waits(143, 600.0, range(60, 72))
    (run,) = unusual(figures, clock)

    assert (run.first, run.last, run.stuck) == (60, 71, False)
    assert run.usual == pytest.approx(6, rel=0.1)
    assert run.during == pytest.approx(48, rel=0.1)
    assert run.excess == pytest.approx(12 * 50 * 0.042, rel=0.15)
