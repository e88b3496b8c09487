"""How long disks last at what each volume writes to them: in the rules, in the answer, and where nothing is known."""

from __future__ import annotations

import json

import pytest

from stackmap.features.fleet.promql import Expressions
from stackmap.rules.errors import worn_out
from tests.features.fleet.arrays import Array
from tests.features.fleet.promql import firing, ruled
from tests.features.fleet.stub import INFO, ask, serving, small_fleet, vector

BYTES = 2 << 20  # that each disk of the array writes per second: 32 stripes of 64 KiB
WRITTEN = 1e14  # to each disk since it was made
MINUTE = 40
ALL = Expressions(seconds=1800)
RECORDED = "instance_top_disk:stackmap_written_bytes:rate5m"
OF_ALL = "instance_disk:stackmap_written_bytes:rate5m"
# 100 TB took half of its life, 49 to 51 % with the rounding, so 96 to 104 TB are left: for 2 MiB per second.
YEARS = (1.4518, 1.5727)


def lives(used, instance="a"):
    """Return what disks of a host say: the used share of each."""
    of = {disk: f'{{job="n",instance="{instance}",device="{disk}",name="{disk}"}}' for disk in used}
    return {
        **{f"stackmap_device_life_used_ratio{of[disk]}": f"{share}x300" for disk, share in used.items()},
        **{f"stackmap_device_life_written_bytes_total{of[disk]}": f"{WRITTEN:.0f}x300" for disk in used},
    }  # fmt: skip


def by_disk(answers):
    return {each.labels["disk"]: each.value for each in answers}


def test_the_disk_that_a_volume_wears_out_first(tmp_path):
    """It need not be the disk with the most writes. A disk whose rate of wear is not known yet does not count."""
    series = {**Array("a").series(), **lives({"sda": 0.1, "sdb": 0.5, "sdc": 0.02})}
    written, first, used = ruled(
        tmp_path, series, RECORDED, ALL.part("wear"), ALL.life("stackmap_device_life_used_ratio"),
        at=60 * MINUTE,
    )  # fmt: skip

    assert by_disk(written) == pytest.approx({"sda": BYTES, "sdb": BYTES, "sdc": BYTES})
    assert by_disk(first) == pytest.approx({"sdb": BYTES * 0.5 / WRITTEN / 0.5})
    assert {each.labels["top"] for each in first} == {"md0"}
    assert by_disk(used) == {"sda": 0.1, "sdb": 0.5}


def test_the_head_of_an_nvme_path_tells_its_life(tmp_path):
    """The volume's disk is the path that the kernel shows, nvme1c0n1; only nvme1n1 can be asked."""
    series = {
        key.replace('disk="sdb"', 'disk="nvme1c0n1"'): values
        for key, values in Array("a").series().items()
    }
    (written,) = ruled(tmp_path, {**series, **lives({"nvme1n1": 0.5})}, RECORDED, at=60 * MINUTE)
    assert by_disk(written) == pytest.approx({"nvme1n1": BYTES})


def test_what_everything_writes_to_a_disk(tmp_path):
    """The array, and twice as much again that is no part of a stack; only of disks that tell their life."""
    series = {**Array("a").series(), **lives({"sdb": 0.5, "sdc": 0.01})}
    (counter,) = [
        key for key in series if key.startswith("node_disk_written_bytes") and 'device="sdb"' in key
    ]
    series[counter] = f"0+{3 * 60 * BYTES}x300"
    found = ruled(tmp_path, series, OF_ALL, ALL.written_to_disks, at=60 * MINUTE)

    for answers in found:
        assert by_disk(answers) == pytest.approx({"sdb": 3 * BYTES, "sdc": BYTES})


def test_a_disk_at_its_end_comes_before_all_others(tmp_path):
    series = {**Array("a").series(), **lives({"sda": 1.3, "sdb": 0.99})}
    (first,) = ruled(tmp_path, series, ALL.part("wear"), at=60 * MINUTE)

    assert set(by_disk(first)) == {"sda"}


def test_a_device_on_several_disks_hides_where_it_writes(tmp_path):
    """All of the volume's wear is unknown: what is known of other disks is too little."""
    series = {**Array("a").series(), **lives({"sda": 0.1, "sdb": 0.5})}
    (without,) = [key for key in series if "disk_info" in key and 'disk="sda"' in key]
    del series[without]

    assert ruled(tmp_path, series, RECORDED, at=60 * MINUTE) == [[]]


@pytest.mark.parametrize(("used", "is_worn"), [(0.79, False), (0.8, True), (1.04, True)])
def test_a_worn_disk_is_a_trouble(used, is_worn, tmp_path):
    """From the share on that ``check`` warns at; the alert follows in an hour."""
    assert worn_out.limits["warning"] == 0.8
    series = {**Array("a").series(), **lives({"sdb": used})}
    series['node_disk_info{job="n",instance="a",device="sdb",model="M",serial="S7"}'] = "1x300"
    now = 'instance_device:stackmap_trouble:now{what="worn"}'
    (found,) = ruled(tmp_path, series, now, at=60 * MINUTE)
    alerts = firing(tmp_path, series, "StackmapDiskWorn", (50, 70))

    assert [(each.labels["device"], each.labels["serial"], each.value) for each in found] == [
        ("sdb", "S7", used)
    ] * is_worn
    assert [len(each) for each in alerts] == [0, is_worn]


def answer_with(used, rate, worn=(), everything=None):
    """Answer as a server whose volume wears out sdb, to which *everything* is written per second."""

    def answer(query):
        disk = {"job": "n", "instance": "h1", "disk": "sdb"}
        if query.startswith("count(stackmap_device_life"):
            return 200, vector(*[({}, 1)] * (used is not None))
        if "instance_disk:stackmap_written_bytes" in query:
            return 200, vector(*[(disk, everything)] * (everything is not None))
        if query.startswith("max by (cluster, job, instance, disk)"):
            return 200, vector(
                (disk, used if "used_ratio" in query.partition(" and ")[0] else WRITTEN)
            )
        if "instance_top_disk:stackmap_written_bytes" in query:
            return 200, vector(({**INFO, "disk": "sdb"}, rate))
        if query.startswith("instance_device:stackmap_trouble:now"):
            return 200, vector(*worn)
        return small_fleet(query)

    return answer


def test_the_years_of_a_volume():
    """By hand: see above."""
    with serving(answer_with(0.5, BYTES / WRITTEN)) as (url, _):
        (volume,) = json.loads(ask(url, "-J").stdout)["volumes"]
        table, csv = ask(url).stdout, ask(url, "--csv").stdout.splitlines()
        page = ask(url, "--report", "-", "-m").stdout
        (worst,) = json.loads(ask(url, "-J", "--sort", "wear", "--limit", "1").stdout)["volumes"]

    assert volume["wear"].pop("years") == pytest.approx(YEARS, abs=1e-4)
    assert volume["wear"] == {
        "disk": "sdb", "bytes_per_day": 181_193_932_800, "used": 0.5, "all_bytes_per_day": None, "all_years": None,
    }  # fmt: skip
    assert worst["name"] == volume["name"]
    assert "sdb 1.4 to 1.6 (-)" in table
    assert "| sdb 1.4 to 1.6 (-) |" in page
    assert "; disk life: the disk that" in page
    assert csv[0].endswith(
        ",worn_disk,worn_disk_years_low,worn_disk_years_high,worn_disk_all_years_low,worn_disk_all_years_high"
    )
    assert ",sdb,1.45" in csv[1]
    assert csv[1].endswith(",,")


def test_the_years_of_a_disk_to_which_others_write_too():
    """Four times as much in all lasts a quarter of the time."""
    with serving(answer_with(0.5, BYTES / WRITTEN, everything=4 * BYTES)) as (url, _):
        (volume,) = json.loads(ask(url, "-J").stdout)["volumes"]
        table, csv = ask(url).stdout, ask(url, "--csv").stdout.splitlines()

    assert volume["wear"]["years"] == pytest.approx(YEARS, abs=1e-4)
    assert volume["wear"]["all_years"] == pytest.approx([each / 4 for each in YEARS], abs=1e-4)
    assert volume["wear"]["all_bytes_per_day"] == 4 * 181_193_932_800
    assert "sdb 1.4 to 1.6 (0.3 to 0.4)" in table
    assert csv[1].rpartition(",0.36")[2].count(",") == 1


@pytest.mark.parametrize(
    ("used", "years"), [(1.2, [0, 0]), (1.0, [0, pytest.approx(0.0153, abs=1e-4)])]
)
def test_nothing_is_left_of_a_disk_beyond_its_life(used, years):
    with serving(answer_with(used, BYTES * used / 0.001 / WRITTEN)) as (url, _):
        (volume,) = json.loads(ask(url, "-J").stdout)["volumes"]

    assert volume["wear"]["years"] == years
    assert volume["wear"]["bytes_per_day"] == pytest.approx(181_193_932_800)


@pytest.mark.parametrize("rate", [0, -1, 1e-320])
def test_what_writes_nothing_has_no_years(rate):
    with serving(answer_with(0.5, rate)) as (url, _):
        (volume,) = json.loads(ask(url, "-J").stdout)["volumes"]

    assert volume["wear"] is None


def test_nothing_is_shown_or_asked_where_no_disk_tells():
    with serving(answer_with(None, 1)) as (url, asked):
        (volume,) = json.loads(ask(url, "-J").stdout)["volumes"]
        table = ask(url).stdout
        page = ask(url, "--report", "-", "-m").stdout
        chosen = ask(url, "-o", "volume,wear").stdout

    assert volume["wear"] is None
    assert "life" not in table + page
    assert ["vg/lv", "-"] in [line.split() for line in chosen.splitlines()]
    assert not [query for query, _ in asked if "instance_top_disk" in query]


def test_a_worn_disk_is_a_line_of_health():
    worn = {"job": "n", "instance": "h1", "what": "worn", "device": "sdb", "name": "sdb", "model": "M", "serial": "S7"}  # fmt: skip
    with serving(answer_with(0.84, 1e-9, [(worn, 0.84)])) as (url, _):
        lines = ask(url).stdout
        (trouble,) = json.loads(ask(url, "-J").stdout)["health"]

    assert "worn: sdb (M, serial S7) on h1, 84% of its life used" in lines
    assert (trouble["what"], trouble["value"]) == ("worn", 0.84)
