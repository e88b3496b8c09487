"""Samples, the intervals between them, and which are wanted."""

import pytest

from stackmap.model.interval import Interval
from stackmap.sampling import choose, intervals
from stackmap.sources import diskstats


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
