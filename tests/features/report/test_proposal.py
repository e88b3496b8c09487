"""What is proposed from a long measurement: of averages of intervals, each of as many as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackmap.features.report.figures import Measuring
from stackmap.features.report.proposals import Proposing
from stackmap.model.layout_request import parse
from tests.features.whatif.test_whatif import RANDOM, machine


def test_the_projection_weighs_stretches_by_their_intervals():
    """480 intervals are kept as 240 averages, the 481st, 482 times as busy, as itself: (480 + 482) / 481."""
    quiet = replace(RANDOM, seconds=None)  # of a text that does not tell how long they were
    busy = {name: load.scaled(482) for name, load in quiet.loads.items()}
    measured = Measuring(machine("raid5"))
    for each in (*[quiet] * 480, replace(quiet, loads=busy)):
        measured.add(each)
    proposing = Proposing(measured, "r", timed=False)
    found = proposing.propose("raid10", parse("raid10"), "no plan is asked for").projection

    assert len(measured.parts) == 241
    assert found.intervals == 481
    assert found.read.requests == pytest.approx(53 * (480 + 482) / 481)
    assert found.levels["volume"].p95 == pytest.approx(94)
