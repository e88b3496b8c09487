"""A state that changes during a measurement is named in the first line of ``explain``."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

pytestmark = pytest.mark.lab("all")

# What the first line says, by the change that was staged.
FIRST = {
    "md-check": "does background work (check ",
    "md-read-only": "md127 became read-only",
    "md-degraded": " is degraded",
    "md-recover": " was degraded during the measurement",
    "md-failed": "a is failed",
    "dm-suspended": "g/plain is suspended",
    "dm-read-only": "g/plain became read-only",
    "pool-full": "g/pool-tpool is out of data space",
    "snapshot-lost": "g/snap is invalid and lost",
    "dm-degraded": "g/mirror is degraded",
    "path-lost": "paths is degraded",
    "paths-lost": "paths is failed",
}


@pytest.fixture
def out(lab, kernel):
    return lab("changes", kernel=kernel, disks=6, timeout=1800)


@pytest.mark.parametrize("change", FIRST)
def test_the_first_line_names_it(out, change):
    """Neither an all-clear nor another finding comes before it."""
    result = CliRunner().invoke(stackmap, ["--from", str(out / f"{change}.recorded"), "explain"])

    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert FIRST[change] in first, result.stdout
