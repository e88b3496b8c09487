"""Which of many intervals are wanted."""

import pytest

from stackmap.errors import NoInterval
from stackmap.host.capture import CapturedHost
from stackmap.model.interval import Interval
from stackmap.sampling import select, since_boot, without_summaries


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
