"""``stackmap check``: what it prints besides the checks themselves."""

from __future__ import annotations

from click.testing import CliRunner

from stackmap.cli import stackmap

SAMPLE = "sample_topologies/vghdd"


def printed(*arguments):
    return CliRunner().invoke(
        stackmap, ["--from", SAMPLE, "check", *arguments], catch_exceptions=False
    )


def test_no_problem_is_not_nothing_to_check():
    """With --problems, a healthy machine has no problem; the checks were made."""
    assert printed("--problems").stdout == "No problems found.\n"
    assert " ok " in printed().stdout
