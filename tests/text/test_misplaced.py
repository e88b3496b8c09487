"""Damaged texts: a figure of another device or column is worse than none."""

from __future__ import annotations

import pytest

from stackmap import text as statistics
from stackmap.errors import InputError

HEADING = "Device r/s w/s rkB/s wkB/s await %util"
WHOLE = "sdz 5.51 6.61 7.71 8.81 9.91 10.01"


def read(*lines):
    """Return requests and KiB of each device."""
    try:
        found = statistics.intervals(["\n".join(lines).encode() + b"\n"], "text")
        loads = [interval.loads for interval in found]
    except InputError:
        return {}
    return {
        name: [load.read.ios, load.write.ios, _kib(load.read.bytes), _kib(load.write.bytes)]
        for each in loads
        for name, load in each.items()
    }


def _kib(count):
    return None if count is None else round(count / 1024, 9)


def test_the_rest_of_another_row_is_not_that_of_a_cut_one():
    """The head of the other row was lost."""
    found = read(HEADING, "sda 1.11 2.21", "3.31 4.41", WHOLE)

    assert found["sda"] == [1.11, 2.21, None, None]
    assert found["sdz"] == [5.51, 6.61, 7.71, 8.81]


def test_a_row_of_more_figures_than_columns_is_of_another_heading():
    found = read(HEADING, "sda 1.11 2.21", "3.31 4.41 5.51 6.61 7.71", WHOLE)

    assert set(found) == {"sdz"}


@pytest.mark.parametrize("mark", ["```", "~~~", ">", "|", "***"])
def test_a_mark_of_a_mail_is_no_device(mark):
    """With the figures beside it or on the next line."""
    figures = WHOLE.removeprefix("sdz ")

    assert not read(HEADING, f"{mark} {figures}")
    assert not read(HEADING, mark, figures)
    assert set(read(HEADING, f"{mark} 1.11 2.21", WHOLE)) <= {"sdz"}


def test_a_heading_with_a_row_behind_it_does_not_go_on_below():
    """Line ends were lost: the next line is another heading."""
    found = read("Device r/s w/s sda 1.11 2.21", "rkB/s wkB/s", "sdb 3.31 4.41 5.51 6.61")

    assert found.get("sdb", [None] * 4) == [None] * 4


def test_a_heading_without_a_name_may_lack_columns():
    """A cut row below it names none of them."""
    assert not read("w/s rkB/s wkB/s await", "sda 1.11 2.21", "", "")
