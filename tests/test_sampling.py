"""Intervals of a machine whose devices come and go."""

import pytest

from stackmap.model.interval import Interval
from stackmap.model.load import IDLE
from stackmap.sampling import choose, intervals, of_the_same
from stackmap.sources import diskstats
from tests.machine import DrawnHost

SEQNUM = "/sys/kernel/uevent_seqnum"
KNOWN = {"sda": "2", "dm-3": "7"}


@pytest.fixture
def host():
    return DrawnHost(
        {
            SEQNUM: "31\n",
            "/sys/class/block/sda/uevent": "DEVNAME=sda\nDISKSEQ=2\n",
            "/sys/class/block/dm-3/uevent": "DEVNAME=dm-3\nDISKSEQ=7\n",
        }
    )


@pytest.fixture
def reports():
    return iter([Interval(dict.fromkeys(("sda", "dm-3"), IDLE)) for _ in range(3)])


def test_a_device_that_was_replaced_has_no_more_figures(host, reports):
    """Its counters need not have gone back, and its place in the topology is another's."""
    same = of_the_same(host, KNOWN, reports)
    assert set(next(same).loads) == {"sda", "dm-3"}
    host.files = host.files | {SEQNUM: "37\n", "/sys/class/block/dm-3/uevent": "DISKSEQ=11\n"}
    for later in same:
        assert set(later.loads) == {"sda"}
        assert later.events == ("dm-3: replaced by another device of that name; no figures for it",)


def test_while_nothing_happens_no_device_is_looked_at(host, reports):
    same = of_the_same(host, KNOWN, reports)
    next(same)
    host.asked.clear()
    assert [report.events for report in same] == [(), ()]
    assert host.asked == [SEQNUM, SEQNUM]


def test_without_a_count_each_is_looked_at_each_time(host, reports):
    del host.files[SEQNUM]
    same = of_the_same(host, KNOWN, reports)
    next(same)
    host.files["/sys/class/block/sda/uevent"] = "DISKSEQ=13\n"
    assert set(next(same).loads) == {"dm-3"}


@pytest.mark.parametrize("which", ["last", "all", "1"])
def test_a_texts_own_averages_are_reports_only_where_it_has_no_others(which):
    """``sar`` ends with its averages: the last report is the last interval, not these."""
    interval, own = Interval({}, stamp="07:10:11"), Interval({}, stamp="Average:", summary=True)

    assert [interval] == list(choose([own, interval, own], which, "text"))
    assert [own] == list(choose([own], which, "text"))


class Clock:
    """A host that has only the time: a second a tick."""

    def ticks(self, interval, count):
        return (100.0 + interval * tick for tick in range(count))


def test_each_sample_is_one_read_of_the_counters():
    """Four intervals take five samples, and /proc/diskstats is read five times, no more."""

    class Counting(Clock):
        asked = 0

        def read(self, path):
            assert path == diskstats.PATH
            self.asked += 1
            return f"   8       0 sda {self.asked} 0 0 0 0 0 0 0 0 0 0\n"

    host = Counting()

    assert [1.0] * 4 == [each.loads["sda"].read.ios for each in intervals(host, 1.0, 4)]
    assert host.asked == 5
