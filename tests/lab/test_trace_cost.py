"""What a trace costs, by the IOPS of null_blk with and without it: what is printed must be what happens."""

from __future__ import annotations

import json

import pytest
from tabulate import tabulate

pytestmark = pytest.mark.lab("all")

NEAR = 0.8, 1.4  # times what was measured
LAYERS = 2  # dm-linear on null_blk
PROBED = ("trace", "all", "blame")
MODES = (*PROBED, "other", "events", "follow", "fallback")


@pytest.fixture
def out(lab, kernel):
    # Instructions are the guest's time, so a ratio does not depend on what else this machine does.
    return lab("trace-cost", kernel=kernel, disks=0, timeout=5400, icount=0)


def seconds_per_request(out, name):
    job = json.loads((out / f"{name}.fio").read_text())["jobs"][0]["write"]
    return 1 / job["iops"]


def added(out, mode):
    """What the trace added to a request, in seconds."""
    return seconds_per_request(out, mode) - seconds_per_request(out, f"{mode}-without")


def said(out, mode):
    return json.loads((out / f"{mode}.out").read_text().splitlines()[-1])


@pytest.mark.parametrize("mode", ["trace", "all"])
def test_the_printed_cost_of_a_request_is_what_it_costs(out, mode):
    each = said(out, mode)["overhead_us"]
    printed = (each["layer"] * LAYERS + each["disk"]) / 1e6
    assert added(out, mode) * NEAR[0] <= printed <= added(out, mode) * NEAR[1]


@pytest.mark.parametrize("mode", PROBED)
def test_the_printed_share_of_the_cpu_is_what_the_requests_lost(out, mode):
    """One CPU; the load is the only I/O, and the trace runs longer than it."""
    found = said(out, mode)
    job = json.loads((out / f"{mode}.fio").read_text())["jobs"][0]["write"]
    lost = added(out, mode) * job["total_ios"]
    seconds = found["seconds"]
    assert lost * NEAR[0] <= found["overhead"] * seconds <= lost * NEAR[1]
    if mode != "blame":
        assert found["overhead_peak"] > found["overhead"]


def test_a_device_that_is_not_traced_costs_less(out):
    assert 0 < added(out, "other") < added(out, "trace") / 2
    assert said(out, "other")["overhead"] < said(out, "trace")["overhead"]


def test_above_the_limit_the_probes_are_removed(out):
    """In the middle of an interval of `blame --trace`; then requests are as fast as without."""
    assert "more than the limit of 0.001 %" in said(out, "limited")["stopped"]
    assert "submit" not in (out / "limited-left.txt").read_text()
    limited, without = (seconds_per_request(out, n) for n in ("limited", "blame-without"))
    assert limited == pytest.approx(without, rel=0.1)


def test_table(out, kernel, capsys):
    """Print what the manual's table has."""
    rows = [
        (
            mode,
            f"{seconds_per_request(out, f'{mode}-without') * 1e6:.1f}",
            f"{seconds_per_request(out, mode) * 1e6:.1f}",
            f"{seconds_per_request(out, f'{mode}-without') / seconds_per_request(out, mode):.2f}",
        )
        for mode in MODES
    ]
    with capsys.disabled():
        print(f"\n{kernel}\n{tabulate(rows, ('mode', 'µs without', 'µs with', 'IOPS ratio'))}")
    assert all(float(ratio) < 1 for *_, ratio in rows)
