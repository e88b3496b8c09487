"""A state that changes during a measurement is named in the first line of ``explain``."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

pytestmark = pytest.mark.lab("all")

# What the first line says, by the change that was staged.
FIRST = {"md-degraded": " is degraded", "md-recover": " was degraded during the measurement"}


@pytest.fixture
def out(lab, kernel):
    return lab("changes", kernel=kernel, disks=3, timeout=900)


@pytest.mark.parametrize("change", FIRST)
def test_the_first_line_names_it(out, change):
    """Neither an all-clear nor another finding comes before it."""
    result = CliRunner().invoke(stackmap, ["--from", str(out / f"{change}.recorded"), "explain"])

    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert FIRST[change] in first, result.stdout
