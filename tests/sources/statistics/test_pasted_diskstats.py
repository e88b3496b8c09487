"""/proc/diskstats without a word of when: totals that are right against each other."""

from __future__ import annotations

from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.sources.statistics import intervals
from stackmap.sources.statistics.untimed_diskstats import NO_LENGTH, SINCE_BOOT

OLD = "   8       0 sda 2 3 5 7 11 13 17 19 0 23 29\n"
NEWER = " 253       2 dm-2 2 0 5 7 11 0 17 19 0 23 29 31 37 41 43 47 53\n"


def read(text: str) -> list[Interval]:
    return list(intervals([text.encode()], "text"))


def test_one_copy():
    """All since boot, as totals; the queue and the busy share need a length, so are unknown."""
    (interval,) = read("$ cat /proc/diskstats\n" + OLD)
    assert interval == Interval(
        {"sda": Load(Flow(2, 3, 5 * 512, 7), Flow(11, 13, 17 * 512, 19))},
        since_boot=True,
        notes=(SINCE_BOOT,),
    )


def test_two_copies():
    """What they differ by."""
    (interval,) = read(OLD + OLD.replace(" 2 3 5 7 ", " 7 8 10 12 "))
    assert interval.loads == {"sda": Load(Flow(5, 5, 5 * 512, 5), Flow(0, 0, 0, 0))}
    assert (interval.seconds, interval.notes) == (None, (NO_LENGTH,))


def test_discards_and_flushes():
    """Lines of 14, 18 and 20 fields stand side by side."""
    (interval,) = read(OLD + NEWER)
    assert interval.loads["dm-2"].flush == Flow(ios=47, wait=53)
    assert interval.loads["sda"].discard == Flow()


def test_cut():
    """A line that was cut is left out, and said."""
    (interval,) = read(NEWER + OLD[:40])
    assert list(interval.loads) == ["dm-2"]
    assert interval.notes == (SINCE_BOOT, "1 lines were cut or damaged")
