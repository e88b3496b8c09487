"""``explain --baseline``: what is usual is usual on one machine."""

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
TABLE = """\
Linux 6.1.0-56-amd64 ({host}) \t11/21/2026 \t_x86_64_\t(2 CPU)

Device            r/s     rkB/s     w/s     wkB/s   rareq-sz wareq-sz r_await w_await  aqu-sz  %util
dm-8             0.00      0.00   13.00     52.00       0.00     4.00    0.00    7.00    0.09   3.10
"""


@pytest.mark.parametrize("host", ["{ours}", "{ours}.example.org", "other"])
def test_a_baseline_of_another_host_is_told(tmp_path, host):
    """By the host in the text's banner; a domain beside it makes no other."""
    ours = (SAMPLE / "proc/sys/kernel/hostname").read_text().strip()
    text = tmp_path / "night.txt"
    text.write_text(TABLE.format(host=host.format(ours=ours)))
    words = ["--from", str(SAMPLE), "explain", "--baseline", str(text)]
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)

    assert ("host other" in result.stderr) == (host == "other")
    assert ("the baseline may not fit" in result.stderr) == (host == "other")
