"""``stackmap check``: what it prints besides the checks themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

SAMPLE = "sample_topologies/vghdd"


def printed(*arguments):
    return CliRunner().invoke(
        stackmap, ["--from", SAMPLE, "check", *arguments], catch_exceptions=False
    )


@pytest.mark.parametrize("words", [[], ["--problems"]])
def test_what_passed_is_one_line(words):
    """Without a problem, the number of checks is all there is to say; --all lists them."""
    assert printed(*words).stdout == "No problems: 10 checks passed.\n"
    assert printed("--all").stdout.count(" ok ") == 10


DEGRADED = Path("../shared/captures/zoo/degraded.tar.gz")


@pytest.mark.skipif(not DEGRADED.exists(), reason="the recorded machines are not part of a clone")
def test_the_worst_problem_comes_first():
    """A failed md member is critical, without any interval."""
    result = CliRunner().invoke(stackmap, ["--from", str(DEGRADED), "check", "--exit-code"])
    lines = result.stdout.splitlines()

    assert lines[0] == "1 critical, 2 infos; 60 checks passed."
    assert lines[1] == "md127"
    assert "CRITICAL md127 is degraded" in lines[2]
    assert result.exit_code == 11


def test_nothing_checked_is_not_all_well(tmp_path):
    """A machine of which nothing is known: 12, could not judge."""
    (tmp_path / "sys/block").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/diskstats").write_text("")
    result = CliRunner().invoke(stackmap, ["--from", str(tmp_path), "check", "--exit-code"])

    assert result.stdout.startswith("Could not check anything")
    assert result.exit_code == 12
