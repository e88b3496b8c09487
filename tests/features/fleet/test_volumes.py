"""Figures of a volume and of a group of them, from primes; what is made of one that is unknown is unknown."""

from __future__ import annotations

import pytest

from stackmap.features.fleet.document import (
    COLUMNS,
    DEFAULT,
    _groups,
    _slowest,
    _sums,
    needed_parts,
)
from stackmap.features.fleet.volumes import (
    SORTS,
    Fleet,
    Group,
    Key,
    SlowestMember,
    Volume,
    Wear,
    fleet_json,
)
from stackmap.ledger.wear import Years

KEY = Key("eu", "node", "web1", "dm-8", "vg/lv")
FULL = Volume(
    KEY, "raid5", "u", members=4, state="active", read_bytes=17.0, write_bytes=13.0, reads=7.0, writes=3.0,
    parity_bytes=52.0, parity_write_bytes=13.0, disk_bytes=90.0, disk_requests=41.0, wasted_bytes=5.0,
    wasted_requests=2.0, io_seconds=0.05, ideal=4 / 3, slowest=SlowestMember("sdc", 3.0),
    wear=Wear("sdb", 19.0, 23.0, 0.5, Years(1.0, 2.0), 46.0, Years(0.5, 1.0)),
)  # fmt: skip


def fleet(*, volumes=(FULL,), groups=(), by=""):
    return Fleet(
        "1h", 1763732411.0, 1, volumes=volumes, levels=(), partial=(), groups=groups, by=by
    )


def test_figures_of_a_volume():
    """10 requests take 50 ms together; RAID10 would write 26 bytes of 52, with 7 + 2 × 3 requests of 41."""
    assert FULL.iops == 10.0
    assert FULL.await_ms == pytest.approx(5.0)
    assert FULL.cost == 4.0
    assert FULL.disk_bytes_per_byte == 3.0
    assert FULL.raid10_saves == 26.0
    assert FULL.raid10_saves_requests == 28.0


@pytest.mark.parametrize(
    ("unknown", "figures"),
    [
        ("io_seconds", {"await_ms"}),
        ("reads", {"iops", "await_ms", "raid10_saves_requests"}),
        ("writes", {"iops", "await_ms", "raid10_saves_requests"}),
        ("parity_bytes", {"cost", "raid10_saves", "raid10_saves_requests"}),
        ("parity_write_bytes", {"cost", "raid10_saves", "raid10_saves_requests"}),
        ("disk_requests", {"raid10_saves_requests"}),
        ("disk_bytes", {"disk_bytes_per_byte"}),
        ("read_bytes", {"disk_bytes_per_byte"}),
    ],
)
def test_what_rests_on_an_unknown_figure_is_unknown(unknown, figures):
    without = FULL._replace(**{unknown: None})
    every = (
        "iops",
        "await_ms",
        "cost",
        "disk_bytes_per_byte",
        "raid10_saves",
        "raid10_saves_requests",
    )
    assert {name for name in every if getattr(without, name) is None} == figures


def test_a_key_sorts_by_its_figure():
    assert {key: sort(FULL) for key, sort in SORTS.items()} == {
        "wasted": 5.0, "wasted-iops": 2.0, "cost": 4.0, "iops": 10.0, "written": 13.0,
        "await": pytest.approx(5.0), "slowest": 3.0, "raid10": 26.0, "wear": 19.0,
    }  # fmt: skip
    without = FULL._replace(slowest=None, wear=None)
    assert SORTS["slowest"](without) is SORTS["wear"](without) is None


def test_each_figure_of_a_volume_has_its_key_in_json():
    (found,) = fleet_json(fleet(), "2025-11-21T13:40:11Z")["volumes"]
    assert found == {
        "cluster": "eu", "host": "web1", "job": "node", "top": "dm-8", "name": "vg/lv", "uuid": "u",
        "shared": False, "level": "raid5", "members": 4, "state": "active", "iops": 10.0,
        "await": pytest.approx(5.0), "read_bytes": 17.0, "write_bytes": 13.0, "reads": 7.0, "writes": 3.0,
        "cost_bytes_per_byte": 4.0, "disk_bytes_per_byte": 3.0, "ideal_bytes_per_byte": 4 / 3,
        "wasted_bytes": 5.0, "wasted_requests": 2.0, "slowest_member": {"device": "sdc", "ratio": 3.0},
        "raid10_saves_bytes": 26.0, "raid10_saves_requests": 28.0,
        "wear": {"disk": "sdb", "bytes_per_day": 23.0 * 86400, "used": 0.5, "years": [1.0, 2.0], "all_bytes_per_day": 46.0 * 86400, "all_years": [0.5, 1.0]},
    }  # fmt: skip
    (bare,) = fleet_json(fleet(volumes=(Volume(KEY._replace(cluster="")),)), "now")["volumes"]
    assert {bare[key] for key in ("cluster", "uuid", "slowest_member", "iops", "await")} == {None}


def test_groups_of_disks_count_disks_and_others_volumes():
    """50 requests take 350 ms together; without any, no await."""
    group = Group(
        "x",
        hosts=2,
        volumes=3,
        write_bytes=11.0,
        requests=50.0,
        io_seconds=0.35,
        wasted_bytes=7.0,
        troubles=1,
    )
    model = Group("ST4", hosts=2, disks=5, requests=50.0, io_seconds=0.35)
    assert group.await_ms == pytest.approx(7.0)
    assert group._replace(requests=0.0).await_ms is None

    numbers = []
    for each, by in ((group, "zone"), (model, "model")):
        table = _groups(fleet(groups=(each,), by=by))
        (row,) = table.groups[0].rows
        assert len(row) == len(table.columns)
        numbers.append([cell.number for cell in row[1:]])
    assert numbers == [
        [2, 3, 50.0, pytest.approx(7.0), 11.0, 7.0, None, 1],
        [2, 5, 50.0, pytest.approx(7.0), None],
    ]
    found = [
        fleet_json(fleet(groups=(each,), by="by"), "now")["groups"][0] for each in (group, model)
    ]
    assert [(each["by"], each["volumes"], each["disks"]) for each in found] == [
        ("x", 3, None),
        ("ST4", None, 5),
    ]


def test_the_slowest_member_has_its_name_and_its_ratio():
    cell = _slowest(FULL)
    assert "sdc" in str(cell)
    assert "3" in str(cell)
    assert "sdc" not in str(_slowest(FULL._replace(slowest=None)))


@pytest.mark.parametrize(
    ("shared", "words"),
    [(0, "2 volumes on"), (1, "2 volumes and 1 shared array or pool on"), (3, "2 volumes and 3 shared arrays or pools on")],
)  # fmt: skip
def test_shared_arrays_have_their_plural(shared, words):
    levels = (Group("raid5", volumes=2, shared=shared, wasted_bytes=1.0, wasted_requests=1.0),)
    assert _sums(fleet()._replace(levels=levels)).startswith(words)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda each: each.key)
def test_what_a_column_needs_is_all_that_it_shows(column):
    """Without each of its fields its cell is another; all the other figures may be unknown."""
    known = needed_parts([column.key], "wasted")
    facts = {"key", "level", "uuid", "shared"}
    others = {field: None for field in Volume._fields if field not in facts | known}

    assert column.cell(FULL._replace(**others)) == column.cell(FULL)
    for field in column.needs:
        assert column.cell(FULL._replace(**{field: None})) != column.cell(FULL), field


@pytest.mark.parametrize("sort", SORTS)
def test_a_key_needs_what_its_column_needs(sort):
    known = needed_parts(["host"], sort)
    others = {field: None for field in Volume._fields if field not in {"key", *known}}

    assert SORTS[sort](FULL._replace(**others)) == SORTS[sort](FULL)


def test_the_default_columns_need_wear_and_chosen_ones_only_their_own():
    assert "wear" in needed_parts(DEFAULT, "wasted")
    assert needed_parts(("host", "written"), "cost") == {
        "level", "write_bytes", "parity_bytes", "parity_write_bytes",
    }  # fmt: skip
