"""A few cases of each part of the campaign of ``./run fuzz``: see ``tests/fuzz/campaign.py``."""

import random

import pytest

from tests.fuzz import campaign, processes
from tests.fuzz.running import Tally, prepare


@pytest.mark.parametrize("part", campaign.RANDOM)
def test_hostile_input_is_refused_in_one_line(part, tmp_path):
    """Status, memory, time, no traceback, no control characters, no process left behind."""
    prepare()
    tally = Tally(part)
    for number in range(6):
        campaign.RANDOM[part][0](tally, random.Random(f"test {part} {number}"), tmp_path)

    assert not tally.failures


def test_a_recording_that_is_killed_keeps_its_samples(tmp_path):
    """At most the sample under way is lost, and every reader accepts the rest."""
    tally = Tally("kills")
    for number in range(4):
        processes.killed_recording(tally, random.Random(number), tmp_path)

    assert not tally.failures
