"""Times as people write them, in a capture of a day and a half."""

from datetime import datetime

import pytest

from stackmap.errors import UsageError
from stackmap.measurement.capture_part import (
    MINUTES_OF_A_DAY,
    CapturePart,
    Resolution,
    instant,
    length,
    note_on,
)


def local(*when):
    return datetime(*when).timestamp()  # noqa: DTZ001 - this machine's own clock is what is meant


BEGIN, END = local(2026, 11, 20, 6, 0), local(2026, 11, 21, 18, 30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T14:30", local(2026, 11, 21, 14, 30)),
        ("2026-11-21 14:30:10", local(2026, 11, 21, 14, 30, 10)),
        ("2026-11-21", local(2026, 11, 21)),
        ("2026-11-21T13:30:00Z", 1795267800.0),
        ("2026-11-21T14:30:00+01:00", 1795267800.0),
        ("@1795267800.5", 1795267800.5),
        ("-1h", END - 3600),
        ("+90min", BEGIN + 5400),
        ("-2d", END - 2 * 86400),
        ("10:00", local(2026, 11, 21, 10, 0)),
        ("19:00", local(2026, 11, 20, 19, 0)),
    ],
)
def test_since(text, expected):
    """A time of day means the last one before the end."""
    assert instant(text, (BEGIN, END), END, later=False) == expected


@pytest.mark.parametrize(
    ("text", "near", "expected"),
    [
        ("10:00", BEGIN, local(2026, 11, 20, 10, 0)),
        ("05:00", BEGIN, local(2026, 11, 21, 5, 0)),
        ("11:00", local(2026, 11, 21, 10, 0), local(2026, 11, 21, 11, 0)),
    ],
)
def test_until(text, near, expected):
    """A time of day means the first one after the beginning."""
    assert instant(text, (BEGIN, END), near, later=True) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "25:00",
        "2026-13-01",
        "-1x",
        "-",
        "@x",
        "@nan",
        "@inf",
        "@1e18",
        "9" * 400,
        "-" + "9" * 400 + "d",
    ],
)
def test_what_is_no_time_says_so(text):
    with pytest.raises(UsageError, match=r"is not a time|is not a length"):
        instant(text, (BEGIN, END), END, later=False)


@pytest.mark.parametrize("text", ["", "0", "-5", "1e3", "five", "5 parsecs", "1_0"])
def test_what_is_no_length_says_so(text):
    with pytest.raises(UsageError, match="is not a length of time"):
        length(text)


class Recording:
    """A recording of so many seconds with a sample per second; *window*: what was selected of it."""

    path = "here"
    window = None

    def __init__(self, seconds):
        self.seconds = seconds

    def span(self):
        return None if self.seconds is None else (BEGIN, BEGIN + self.seconds)

    def spacing(self):
        return 1.0

    def ticks(self, _interval, _count):
        return iter([BEGIN])

    def read(self, _path):
        return "8 0 sda\n8 16 sdb\n"

    def select(self, window):
        self.window = window


LIMITS = Resolution(3600, 1440, 1800)


def test_a_whole_capture_stays_whole():
    recording = Recording(7200)
    assert CapturePart().show(recording) == ""
    assert recording.window is None


def test_a_part_is_selected_by_its_times():
    """Without a resolution its samples are all used, however many."""
    recording = Recording(36 * 3600)
    assert CapturePart("-2h", "+35h", "30s").show(recording) == ""
    assert recording.window == (BEGIN + 34 * 3600, BEGIN + 35 * 3600, 30.0)


@pytest.mark.parametrize(
    ("part", "seconds", "every"),
    [
        (CapturePart(), 7200, 5.0),
        (CapturePart(since="-1h"), 7200, None),
        (CapturePart(since="-5000s"), 9000, 4.0),
        (CapturePart(until="+4000s"), 9000, 3.0),
        (CapturePart(), 3600, None),
    ],
)
def test_a_long_part_has_at_most_1440_intervals_and_a_note(part, seconds, every):
    """One of an hour has each sample; the part counts, not the recording. Too many to hold need a shorter part."""
    for held, also in ((1800, "--since and --until with "), (86400, "")):
        recording = Recording(seconds)
        note = part.show(recording, Resolution(3600, 1440, held))

        assert recording.window.every == every
        if every is None:
            assert note == ""
        else:
            assert f"intervals of {every:g} s, from samples of 1 s" in note
            assert f"use {also}--every 1 for each sample" in note


def test_as_many_intervals_as_can_be_held_may_be_wanted():
    recording = Recording(3600)
    assert CapturePart(every="2s").show(recording, LIMITS) == ""
    assert recording.window.every == 2.0
    with pytest.raises(
        UsageError, match="3600 intervals of 1 s are too many at once, at most 1800"
    ):
        CapturePart(every="1s").show(recording, LIMITS)
    assert CapturePart(every="1s").show(recording, Resolution(3600, 1440)) == ""


def test_a_capture_without_samples_has_no_part():
    assert CapturePart().show(Recording(None), LIMITS) == ""
    with pytest.raises(UsageError, match="here has no samples for --since"):
        CapturePart(since="-1h").show(Recording(None), LIMITS)


def test_as_many_intervals_as_are_held_are_not_refused():
    """1,800 of 2 s in an hour; one of a length with a fraction counts in full."""
    assert LIMITS.refusal(3600.0, 2.0) == Resolution(3600, 1440).refusal(3600.0, 1.0) == ""
    assert LIMITS.refusal(3602.0, 2.0).startswith("1801 intervals of 2 s ")
    assert LIMITS.step(3600.0, None) is LIMITS.step(3600.0, 1.0) is None
    assert LIMITS.step(3601.0, 1.0) == 3.0


@pytest.mark.parametrize(("devices", "seconds"), [(7, 60.0), (15_000, 10800.0), (10**7, 86400.0)])
def test_very_many_devices_have_fewer_intervals(devices, seconds):
    """Loads times intervals are what takes memory and time; one interval is there for any number of devices."""
    assert MINUTES_OF_A_DAY.step(86400.0, 1.0, devices) == seconds


@pytest.mark.parametrize(
    ("step", "pace", "words"),
    [
        (60.0, 1.0, "of 60 s, from samples of 1 s"),
        (0.01, 0.001, "of 0.01 s, from samples of 0.001 s"),
    ],
)
def test_a_note_has_no_length_of_0_s(step, pace, words):
    assert words in note_on(step, pace, too_long=False)
