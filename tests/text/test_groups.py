"""Groups of ``iostat -g``: each row is the sum of the devices above it, so it is no device."""

from __future__ import annotations

import json

import pytest

from stackmap.text import intervals

HEADING = "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\n"
ROW = "{:13}{:8.2f}{:13.2f}{:13.2f}{:13.2f}{:11d}{:11d}{:11d}\n"
ROWS = {
    "sda": (2, 3, 5, 7),
    "sdb": (11, 13, 17, 19),
    "sdc": (23, 29, 31, 37),
    "sdd": (41, 43, 47, 53),
}


def row(name, *members):
    figures = [sum(each) for each in zip(*(ROWS[member] for member in members), strict=True)]
    return ROW.format(name, *figures, *figures[1:])


def devices(text):
    return [[*each.loads] for each in intervals([text.encode()], "text")]


TABLE = HEADING + row("sda", "sda") + row("sdb", "sdb") + row(" fast", "sda", "sdb") + row("sdc", "sdc") + row("sdd", "sdd") + row(" slow", "sdc", "sdd")  # fmt: skip


@pytest.mark.parametrize("indent", ["", "    ", "> "])
def test_a_group_is_no_device(indent):
    text = "".join(f"{indent}{line}\n" for line in TABLE.splitlines()) + "\n"
    assert devices(text + text) == [["sda", "sdb", "sdc", "sdd"]] * 2


def test_groups_alone_are_used():
    assert devices(HEADING + row(" fast", "sda", "sdb") + row(" slow", "sdc", "sdd")) == [["fast", "slow"]]  # fmt: skip


def test_a_row_with_other_figures_is_a_device():
    """A paste may have a blank too many."""
    assert devices(HEADING + row("sda", "sda") + row(" sdb", "sdb")) == [["sda", "sdb"]]


def test_a_group_at_the_end_of_a_line():
    """sysstat 12.6 prints wrong sums with --pretty."""
    text = "     r/s     rkB/s Device\n    2.00      3.00 sda\n    5.00      7.00 sdb\n  911.00    997.00  fast\n\n"
    text += "     w/s     wkB/s Device\n   11.00     13.00 sda\n   17.00     19.00 sdb\n    0.00      0.00  fast\n\n"
    assert devices(text) == [["sda", "sdb"]]


@pytest.mark.parametrize(("names", "found"), [(["sda", "sdb", " fast"], ["sda", "sdb"]), ([" fast"], ["fast"])])  # fmt: skip
def test_a_group_in_json(names, found):
    disks = [
        {"disk_device": name, "tps": 2.0, "kB_read/s": 3.0, "kB_wrtn/s": 5.0} for name in names
    ]
    host = {"nodename": "db1", "statistics": [{"disk": disks}]}
    (told,) = devices(json.dumps({"sysstat": {"hosts": [host]}}, indent=1))
    assert [name.strip() for name in told] == found
