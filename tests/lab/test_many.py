"""Two thousand devices: ``stackmap tree`` costs what looking at them costs."""

from __future__ import annotations

from statistics import median

import pytest

pytestmark = pytest.mark.lab("all")


@pytest.fixture
def out(lab):
    return lab("many", disks=1, timeout=900)


def seconds(out, command):
    """The median of its runs, each with all that it loads in the guest's memory."""
    return median(float(line) for line in (out / f"{command}.seconds").read_text().split())


def test_all_are_shown(out):
    assert int((out / "devices").read_text()) == 2000
    text = (out / "tree.txt").read_text()
    assert all(f"many{i}" in text for i in (0, 1000, 1999))


def test_a_tree_takes_not_much_longer_than_lsblk(out):
    """
    No more than twice as long, and no longer beside what any Python program with click costs to start.

    The emulated CPU runs no slower in the kernel, where lsblk spends its time, but twenty times
    in Python. As long as lsblk it is not there: ``bench.py lab`` has the figures.
    """
    tree, start = seconds(out, "stackmap-tree"), seconds(out, "python--c-import--click")
    assert tree < 2 * seconds(out, "lsblk") + start


def test_it_stays_below_100_mib(out):
    assert int((out / "tree.kib").read_text()) < 100 * 1024
