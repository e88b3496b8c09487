"""Rows pasted without a heading: believed only where the figures tell which it was."""

from __future__ import annotations

import pytest

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.text import intervals
from stackmap.text.repairs import INFERRED, NO_SIZES


def read(text: str) -> list[Interval]:
    return list(intervals([text.encode()], "text"))


def test_one_heading_fits():
    """7 reads of 4 kB are 28 kB, not MB or sectors: the note names the unit."""
    row = "dm-2 7.00 11.00 28.00 88.00 2.00 3.00 22.22 21.43 13.00 17.00 0.28 4.00 8.00 0.00 1.00"
    (interval,) = read(row)
    assert interval == Interval(
        {
            "dm-2": Load(
                Flow(7, 2, 28 * 1024, 7 * 13), Flow(11, 3, 88 * 1024, 11 * 17), aqu=0.28, busy=0.01
            )
        },
        notes=(INFERRED,),
    )


def test_several_fit():
    """Old and newer sar differ only in the unit: requests are known, sizes are not."""
    (interval,) = read("03:50:21 PM rl-a 77.00 7.00 1533.00 20.00 5.00 64.00 4.96 38.35")
    assert interval.loads["rl-a"].whole == Flow(ios=77, wait=77 * 64)
    assert interval.loads["rl-a"].total.bytes is None
    assert (interval.stamp, interval.notes) == ("03:50:21 PM", (NO_SIZES,))


@pytest.mark.parametrize(
    "row",
    [
        "dm-2 7.00 11.00 29.00 88.00 2.00 3.00 22.22 21.43 13.00 17.00 0.28 4.00 8.00 0.00 1.00",
        "dm-2 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00",
        "dm-2 2.00 3.00 5.00 7 11",
    ],
    ids=["contradicts", "idle", "nothing to check"],
)
def test_none_is_believed(row):
    """Figures that contradict every heading, or prove none, are refused: no figures rather than wrong ones."""
    with pytest.raises(InputError):
        read(row)
