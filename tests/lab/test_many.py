"""Two thousand devices: ``stackmap tree`` costs what looking at them costs."""

from __future__ import annotations

from statistics import median

import pytest

pytestmark = pytest.mark.lab("all")


@pytest.fixture
def out(lab, kernel):
    return lab("many", kernel=kernel, disks=1, icount=0, timeout=2400)


def seconds(out, command):
    """The median of its runs, each with all that it loads in the guest's memory."""
    return median(float(line) for line in (out / f"{command}.seconds").read_text().split())


def test_all_are_shown(out):
    assert int((out / "devices").read_text()) == 2000
    text = (out / "tree.txt").read_text()
    assert all(f"many{i}" in text for i in (0, 1000, 1999))


def test_it_takes_not_much_longer_than_what_python_can_do(out):
    """
    By the guest's clock, which goes by instructions: beside one file that asks and prints, no more.

    With Python's start that file takes longer than lsblk: ``bench.py lab`` has the figures.
    """
    assert seconds(out, "stackmap-tree") < 3 * seconds(out, "python-tree_by_ioctl-py")


def test_it_stays_below_100_mib(out):
    assert int((out / "tree.kib").read_text()) < 100 * 1024
