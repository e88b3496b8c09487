"""A few cases of each part of the campaign of ``./run fuzz``: see ``tests/fuzz/campaign.py``."""

import subprocess
import sys

import pytest

from tests.fuzz import campaign
from tests.paths import ROOT


def _campaign(*arguments: str) -> None:
    """
    Run the campaign in a process of its own; it must find nothing.

    Its cases are forked: from a test runner they would inherit the runner's memory,
    and be judged by it.
    """
    command = [sys.executable, "-m", "tests.fuzz.campaign", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# A case of this part takes as long as ten of another.
CASES = {campaign.GENERATED: "2"}


@pytest.mark.parametrize("part", campaign.RANDOM)
def test_hostile_input_is_refused_in_one_line(part):
    """Status, memory, time, no traceback, no control characters, no process left behind."""
    _campaign("--cases", CASES.get(part, "6"), part)


def test_a_recording_that_is_killed_keeps_its_samples():
    """At most the sample under way is lost, and every reader accepts the rest."""
    _campaign("--kills", "4", campaign.KILLS)
