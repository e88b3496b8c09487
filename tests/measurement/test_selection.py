"""Which intervals a selection means, on a machine and on what was recorded."""

import pytest

from stackmap.measurement.machines import CaptureSource, LiveSource
from stackmap.measurement.source import IntervalSelection
from stackmap.measurement.text import TextSource


@pytest.mark.parametrize(
    ("selection", "live", "recorded"),
    [
        (IntervalSelection(), "all", "average"),
        (IntervalSelection(5.0), "all", "all"),
        (IntervalSelection(which="last"), "last", "last"),
        (IntervalSelection(5.0, which="average"), "average", "average"),
    ],
)
def test_what_is_meant_by_default(selection, live, recorded):
    """A recording is averaged unless an interval is requested."""
    assert selection.resolved(recorded=False) == live
    assert selection.resolved(recorded=True) == recorded


@pytest.mark.parametrize(
    ("selection", "live", "recorded"),
    [
        (IntervalSelection(), (1.0, 7, "all"), (None, None, "all")),
        (IntervalSelection(5.0), (5.0, 1, "all"), (5.0, None, "all")),
        (IntervalSelection(5.0, 3), (5.0, 3, "all"), (5.0, 3, "all")),
        (IntervalSelection(which="average"), (1.0, 7, "all"), (None, None, "all")),
        (IntervalSelection(which="2"), (1.0, 7, "2"), (None, None, "2")),
    ],
)
def test_every_interval_is_examined(selection, live, recorded):
    """On a machine a number of them by default; an average is made of all, and no other choice is overruled."""
    for expected, is_live in ((live, True), (recorded, False)):
        every = selection.every(7, live=is_live)
        assert (every.seconds, every.count, every.which) == expected


@pytest.mark.parametrize(
    ("source", "live", "changes", "rereadable"),
    [
        (LiveSource, True, True, False),
        (CaptureSource, False, True, True),
        (TextSource, False, False, False),
    ],
)
def test_only_this_machine_is_live_and_only_a_capture_is_read_again(
    source, live, changes, rereadable
):
    """The topology of a text cannot change: it has none of its own. One of a pipe cannot be read again."""
    assert (source.live, source.changes, source.rereadable) == (live, changes, rereadable)
