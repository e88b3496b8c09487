"""Times as people write them, in a capture of a day and a half."""

from datetime import datetime

import pytest

from stackmap.errors import UsageError
from stackmap.measurement.capture_part import instant, length


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
