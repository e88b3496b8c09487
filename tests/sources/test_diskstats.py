"""``/proc/diskstats``, by the number of its fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.errors import ParseError
from stackmap.model.interval import Counters
from stackmap.model.load import IDLE
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample

LINE = "   8       0 sda 2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59"


def test_fields_are_told_apart():
    """Every field is a different prime, so none can be mistaken for another; sectors are 512 bytes."""
    expected = Counters(2, 3, 2560, 7, 11, 13, 8704, 19, 29, 31, 37, 41, 22016, 47, 53, 59, 23)

    assert ("sda", expected) == diskstats.parse_line(LINE)


@pytest.mark.parametrize(
    ("fields", "discards", "flushes"),
    [(14, None, None), (18, 37, None), (20, 37, 53), (23, 37, 53)],
)
def test_fields_are_known_by_how_many_there_are(fields, discards, flushes):
    """Kernels add fields at the end; absent ones are unknown, later ones are left."""
    words = [*LINE.split(), "61", "67", "71"][:fields]
    _, counters = diskstats.parse_line(" ".join(words))

    assert (discards, flushes) == (counters.discards, counters.flushes)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "8 0 sda 1 2 3",
        "8 0 sda 2 3 5 7 11 13 x 19 23 29 31",
        LINE.replace(" 11 ", f" {'9' * 400} "),
        LINE.replace(" 11 ", f" -{'9' * 21} "),
    ],
)
def test_a_line_that_is_none_says_so(line):
    """The message has the line; a value that no kernel counter can have is refused."""
    with pytest.raises(ParseError, match="diskstats"):
        diskstats.parse_line(line)


def test_lines_that_did_not_change_are_not_parsed():
    """A line that equals the one before is not parsed: the device is idle."""
    broken = "   8      16 sdb not parsed"
    later = LINE.replace(" 2 3 5 ", " 5 3 5 ")

    interval = diskstats.between(Sample(1.0, (broken, LINE)), Sample(3.0, (broken, later)))

    assert interval.loads["sdb"] is IDLE
    assert interval.loads["sda"].read.ios == 1.5


@pytest.mark.parametrize(
    ("fields", "discard", "flush"), [(11, None, None), (15, 0, None), (17, 0, 0)]
)
def test_a_line_that_did_not_change_knows_what_its_kernel_counts(fields, discard, flush):
    """Discards and flushes that the kernel does not count are unknown; what hangs is in flight."""
    line = "8 0 sda " + " ".join("7" if place == 8 else "100" for place in range(fields))

    load = diskstats.between(Sample(0.0, (line,)), Sample(1.0, (line,))).loads["sda"]

    assert (load.read.ios, load.discard.ios, load.flush.ios) == (0, discard, flush)
    assert load.in_flight_at_ends == 14
    assert load.idle


def test_no_line_is_parsed_twice(monkeypatch):
    """What was parsed of a sample serves the next interval too; no sample keeps an older one."""
    parsed, parse_line = [], diskstats.parse_line
    monkeypatch.setattr(
        diskstats, "parse_line", lambda line: parsed.append(line) or parse_line(line)
    )
    idle = LINE.replace("sda", "sdb")
    lines = [LINE.replace(" 2 3 5 ", f" {reads} 3 5 ") for reads in range(50)]
    sample = Sample(0, (lines[0], idle))
    for second, line in enumerate(lines[1:], 1):
        last, sample = sample, Sample(second, (line, idle), sample)
        assert diskstats.between(last, sample).loads["sda"].read.ios == 1

    assert parsed == [lines[1], lines[0], *lines[2:]]
    assert not any(isinstance(value, Sample) for value in vars(sample).values())


def test_a_load_without_change_follows_the_line():
    """Requests in flight stay known while a line changes, rests, and changes back."""
    waiting = LINE.replace(" 23 ", " 5 ")
    lines = [LINE, waiting, waiting, LINE, LINE, waiting]
    samples = [Sample(0, (LINE,))]
    for second, line in enumerate(lines[1:], 1):
        samples.append(Sample(second, (line,), samples[-1]))

    def ends(earlier, later):
        return diskstats.between(samples[earlier], samples[later]).loads["sda"].in_flight_at_ends

    assert [10, 46, 10, 46] == [ends(1, 2), ends(3, 4), ends(1, 5), ends(0, 4)]


def test_a_device_that_comes_or_goes_has_no_rate():
    """A device in only one sample has an event and no rates; the others keep their rates."""
    other = LINE.replace("sda", "sdb")
    third = LINE.replace("sda", "sdc")
    later = third.replace(" 2 3 5 ", " 13 3 5 ")

    interval = diskstats.between(Sample(0.0, (LINE, third)), Sample(1.0, (other, later)))

    assert set(interval.loads) == {"sdc"}
    assert interval.loads["sdc"].read.ios == 11
    assert interval.events == ("sdb appeared", "sda went away")


def test_of_devices_that_are_not_wanted_nothing_is_parsed():
    """Other devices keep their figures; appearance and disappearance are reported."""
    broken = "   8      16 sdb not parsed"
    third = LINE.replace("sda", "sdc")
    later = LINE.replace(" 2 3 5 ", " 5 3 5 ")
    only = {"sda", "sdd"}

    same = diskstats.between(Sample(1.0, (broken, LINE)), Sample(3.0, (broken + "!", later)), only)
    other = diskstats.between(Sample(1.0, (LINE, third)), Sample(3.0, (later,)), only)

    assert set(same.loads) == set(other.loads) == {"sda"}
    assert same.loads["sda"].read.ios == other.loads["sda"].read.ios == 1.5
    assert other.events == ("sdc went away",)


def test_counters_that_went_back_have_no_rate():
    """Counters that decreased belong to another device: an event, never a rate."""
    later = LINE.replace(" 11 13 17 ", " 10 13 17 ")

    interval = diskstats.between(Sample(0.0, (LINE,)), Sample(1.0, (later,)))

    assert "sda" not in interval.loads
    assert "went back" in interval.events[0]


@pytest.mark.parametrize("more", [(), (LINE.replace("sda", "sdc"),)], ids=["same", "appeared"])
def test_what_went_back_is_told_of_whom_is_wanted(more):
    """Whether or not another device appeared: an unselected device has no figures."""
    back = LINE.replace(" 11 13 17 ", " 10 13 17 ")
    samples = [
        Sample(float(n), (line, line.replace("sda", "sdb"), *others))
        for n, line, others in ((0, LINE, ()), (1, back, more))
    ]

    interval = diskstats.between(*samples, {"sdb"})

    assert not interval.loads
    assert [each.split()[0] for each in interval.events if "went back" in each] == ["sdb:"]


def test_samples_out_of_order_are_refused():
    """Time that does not pass gives no rate."""
    with pytest.raises(ParseError, match="out of order"):
        diskstats.between(Sample(2.0, (LINE,)), Sample(2.0, (LINE,)))


@given(st.lists(st.integers(0, 2**63), min_size=17, max_size=17))
def test_what_the_kernel_prints_comes_back(values):
    """Round trip: any counters, printed as the kernel prints them."""
    line = f"{259:4d} {3:7d} nvme0n1" + "".join(f" {v}" for v in values)
    name, counters = diskstats.parse_line(line)

    assert name == "nvme0n1"
    assert [counters.reads, counters.write_bytes, counters.flush_ms] == [
        values[0],
        values[6] * 512,
        values[16],
    ]
