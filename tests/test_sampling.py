"""Which of many intervals are wanted."""

import pytest

from stackmap.errors import NoInterval
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.sampling import select, since_boot, without_summaries
from stackmap.sampling.snapshots import identities
from stackmap.sources.uevent import UeventDelta


@pytest.mark.parametrize("which", ["last", "all", "1"])
def test_a_texts_own_averages_are_reports_only_where_it_has_no_others(which):
    """``sar`` ends with its averages: the last report is the last interval, not these."""
    interval, own = Interval({}, stamp="07:10:11"), Interval({}, stamp="Average:", summary=True)

    assert [interval] == list(select(without_summaries([own, interval, own]), which, "text"))
    assert [own] == list(select(without_summaries([own]), which, "text"))


def test_no_averages_since_boot_without_a_readable_sample(tmp_path):
    """A recording whose log is gone."""
    (tmp_path / "capture.json").write_text('{"format": 3}')

    with pytest.raises(NoInterval, match="no readable sample"):
        since_boot(CapturedHost(str(tmp_path)))


@pytest.mark.parametrize(
    ("before", "after", "added", "removed", "same"),
    [
        ("1", "1", 0, 0, "1"),
        ("1", "1", 1, 1, "1"),  # the number tells that nothing took the name between
        ("", "", 1, 1, None),  # without numbers, another device may have had the name
        ("1", "2", 1, 1, None),
        ("1", None, 0, 1, "1"),
        ("1", None, 1, 2, None),  # it came again before it went for good
        ("1", None, 0, 0, None),
        (None, "1", 1, 0, "1"),
        (None, "1", 2, 1, None),
    ],
)
def test_who_had_a_name_between_two_surveys(before, after, added, removed, same):
    """None where the events allow two devices; *before* and *after* are the kernel's diskseq."""
    first, second = (
        Topology(
            [Device("sdb", Kind.DISK, "8:16", diskseq=number)] if number is not None else [], []
        )
        for number in (before, after)
    )
    (found,) = identities(first, second, UeventDelta({"sdb": added}, {"sdb": removed})).values()
    assert found == (None if same is None else f"8:16 {same}")
