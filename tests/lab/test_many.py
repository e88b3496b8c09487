"""Two thousand devices: ``stackmap tree`` costs what looking at them costs."""

from __future__ import annotations

from statistics import median

import pytest

pytestmark = pytest.mark.lab("all")


@pytest.fixture
def out(lab):
    return lab("many", disks=1, timeout=600)


def seconds(path):
    return [float(line) for line in path.read_text().split()]


def test_all_are_shown(out):
    assert int((out / "devices").read_text()) == 2000
    text = (out / "tree.txt").read_text()
    assert all(f"many{i}" in text for i in (0, 1000, 1999))


def test_a_tree_takes_not_much_longer_than_lsblk(out):
    """4 times as long where the CPU is emulated, which makes Python dear; tests/bench has it without."""
    assert median(seconds(out / "tree.seconds")) < 6 * median(seconds(out / "lsblk.seconds"))


def test_it_stays_below_100_mib(out):
    assert int((out / "tree.kib").read_text()) < 100 * 1024
