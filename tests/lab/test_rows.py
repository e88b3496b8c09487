"""
The cost of a row of RAID5 and RAID6, page by page: the table in stackmap-kernel(7), "RAID write paths".

A write of k of the d data pages of a row, none of it cached, reads and writes
by the cheaper of two ways: read-modify-write reads what it will write, and
parity; reconstruction reads what it will not write, and wins a tie.
"""

from __future__ import annotations

import pytest

from tests.lab import judged

pytestmark = pytest.mark.lab("all")

# (level, members): pages read and written for a row, k = 1, 2 ...
TABLE = {
    (5, 3): ["1/2", "0/3"],
    (5, 4): ["2/2", "1/3", "0/4"],
    (5, 5): ["2/2", "2/3", "1/4", "0/5"],
    (5, 8): ["2/2", "3/3", "4/4", "3/5", "2/6", "1/7", "0/8"],
    (6, 4): ["1/3", "0/4"],
    (6, 6): ["3/3", "2/4", "1/5", "0/6"],
    (6, 8): ["3/3", "4/4", "3/5", "2/6", "1/7", "0/8"],
}
SHAPES = pytest.mark.parametrize("shape", TABLE, ids=lambda shape: f"raid{shape[0]}n{shape[1]}")
PAGE = 4096
ROWS = 6 * 16  # of each case: stripes written, pages in a chunk


@pytest.fixture
def workloads(lab, kernel):
    return judged.measured(lab("rows", kernel=kernel, disks=8, timeout=1200))


def parity_of(workload):
    said = workload.said("rows")
    assert said["parity"]["reason"] is None
    return said["parity"]


@SHAPES
def test_a_row_reads_and_writes_what_the_table_says(workloads, shape):
    """By the counters of the members, as stackmap reads them."""
    level, members = shape
    measured = []
    for k in range(1, len(TABLE[shape]) + 1):
        said = workloads[f"raid{level}n{members}.k{k}"].said("rows")
        disks = said["layers"][-1]
        pages = (disks[d]["bytes"] * said["seconds"] / PAGE for d in ("read", "write"))
        measured.append("/".join(f"{page / ROWS:.4g}" for page in pages))
    assert measured == TABLE[shape]


@SHAPES
def test_parity_is_told_from_a_row(workloads, shape):
    """Pages a row, the cost of a byte, and a range of full stripes with the truth in it."""
    level, members = shape
    data = len(TABLE[shape])
    for k, cell in enumerate(TABLE[shape], 1):
        parity = parity_of(workloads[f"raid{level}n{members}.k{k}"])
        reads, writes = map(int, cell.split("/"))
        assert parity["pages_per_row"] == pytest.approx(k, rel=0.01)
        assert parity["cost_bytes_per_byte"] == pytest.approx((reads + writes) / k, rel=0.01)
        full, true = parity["full_stripe"], float(k == data)
        assert full["low"] - 0.01 <= true <= full["high"] + 0.01
        if k in (1, data):
            assert (full["low"], full["high"]) == pytest.approx((true, true), abs=0.02)


@SHAPES
def test_half_in_full_stripes_is_within_the_range(workloads, shape):
    """Of each d + 1 pages d filled a stripe; exact where two disks hold data."""
    level, members = shape
    data = len(TABLE[shape])
    full = parity_of(workloads[f"raid{level}n{members}.half"])["full_stripe"]
    true = data / (data + 1)
    assert full["low"] - 0.01 <= true <= full["high"] + 0.01
    if data == 2:
        assert (full["low"], full["high"]) == pytest.approx((true, true), abs=0.03)
