"""How long disks last: laws in primes, by hand."""

from __future__ import annotations

import pytest

from stackmap.document.sentences import sentences
from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.causes import Cause
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.wear import DAY, YEAR, life, rated_life, shortest, wear, years
from stackmap.model.health import Health, Life
from stackmap.model.interval import Interval
from stackmap.render.figures_json import layers_json
from tests.drawn import did, moved
from tests.ledger.test_ledger import raid5_of_three
from tests.machine import block, mapped
from tests.rules.cases_state import nvme
from tests.rules.scripted import Did, Scripted, disks, intervals

PAGE = 4096


def test_the_rest_of_a_life_is_a_range_of_one_point():
    """Of 7 % used by 1,009 bytes between 6 and 8 %: the rest is 1009 × (1 − u) ÷ u."""
    rest = life(Health(used=0.07, written=1009))
    assert rest.low == pytest.approx(1009 * 0.92 / 0.08)
    assert rest.high == pytest.approx(1009 * 0.94 / 0.06)
    assert rest.low < 1009 * 0.93 / 0.07 < rest.high


@pytest.mark.parametrize(
    "health",
    [
        Health(),
        Health(used=0.02, written=1009),  # between 1 and 3 %: a factor of three
        Health(used=0.07),
        Health(used=0.07, written=0),
        Health(written=1009),
    ],
)
def test_a_disk_that_does_not_say_enough_has_no_figure(health):
    assert life(health) is None


def test_three_percent_is_enough():
    assert life(Health(used=0.03, written=1009)) is not None


@pytest.mark.parametrize("used", [1.0, 1.13, 2.55])
def test_a_disk_beyond_its_life_has_nothing_left_at_least(used):
    rest = life(Health(used=used, written=1009))
    assert rest.low == 0.0
    assert rest.high == pytest.approx(max(0.0, 1009 * (1.01 - used) / (used - 0.01)))


def test_twice_the_rate_is_half_the_years():
    rest = Life(7 * YEAR, 11 * YEAR)
    assert years(rest, 1, 1) == (7, 11)
    assert years(rest, 2, 2) == (3.5, 5.5)
    assert years(rest, 0, 0) is None


def test_an_uncertain_rate_widens_the_range():
    assert years(Life(7 * YEAR, 11 * YEAR), 1, 2) == (3.5, 11)


def test_a_rated_life_needs_no_answer_of_the_disk():
    assert rated_life(1009, None) == Life(1009, 1009, rated=True)
    rest = rated_life(1009, 0.07)
    assert (rest.low, rest.high) == pytest.approx((1009 * 0.92, 1009 * 0.94))
    assert rated_life(1009, 0.0).high == 1009  # no more than a new one


def of_raid5(lives):
    drawn = raid5_of_three()
    return Ledger(drawn.topology, drawn.loads, drawn.seconds, lives)


def test_a_volumes_wear_is_what_its_disks_wrote():
    """vm writes 31 pages over three disks: 31 of data, 31 of parity, 21 bitmap writes of 512 bytes."""
    disks = ("sda", "sdb", "sdc")
    ledger = of_raid5(dict.fromkeys(disks, Life(7 * YEAR, 11 * YEAR, 0.07)))
    found = wear(ledger, "vm")
    assert [each.disk for each in found] == [*disks]
    by_cause = {
        cause: sum(each.causes.get(cause, 0.0) for each in found)
        for cause in (Cause.DATA, Cause.PARITY, Cause.BITMAP)
    }
    assert by_cause == pytest.approx(
        {Cause.DATA: 31 * PAGE, Cause.PARITY: 31 * PAGE, Cause.BITMAP: 21 * 512}
    )
    for each in found:
        assert sum(each.causes.values()) == pytest.approx(each.bytes)
        assert each.bytes == pytest.approx(ledger.load(each.disk).write.bytes)
        assert each.years == pytest.approx((7 / each.bytes, 11 / each.bytes))
        assert each.all_years == pytest.approx(each.years)  # nothing else writes


def test_only_disks_of_a_known_life_have_wear():
    ledger = of_raid5({"sdb": Life(7 * YEAR, 11 * YEAR)})
    assert [each.disk for each in wear(ledger, "vm")] == ["sdb"]
    assert wear(of_raid5({}), "vm") == []


def test_another_writer_shortens_the_life_of_a_shared_disk():
    drawn = raid5_of_three()
    written = drawn.loads["sdb"].write.bytes
    loads = {**drawn.loads, "sdb": moved(write=did(2, written))}
    (found,) = wear(Ledger(drawn.topology, loads, 1.0, {"sdb": Life(YEAR, YEAR)}), "vm")
    assert found.all_bytes == 2 * written
    assert found.all_years.low == pytest.approx(1 / (2 * written))


def worn(host, parts, disk_lives, top):
    topology, (interval,) = intervals(host, [parts])
    return wear(Ledger(topology, interval.loads, interval.seconds, disk_lives), top)


def test_what_is_written_over_two_paths_wears_out_one_disk():
    """Each path has half of the writes, and each tells the life of the same disk."""
    life_left = Life(7 * YEAR, 11 * YEAR, 0.5)
    paths = ("sda", "sdb")
    host = Scripted(
        disks(paths), mapped(0, "paths", "mpath-3600", 65536, paths),
        targets=["paths: 0 65536 multipath 0 0 1 1 round-robin 0 2 1 8:0 1 8:16 1"],
    )  # fmt: skip
    parts = {"dm-0": Did(writes=22), "sda": Did(writes=13), "sdb": Did(writes=9)}
    (found,) = worn(host, parts, dict.fromkeys(paths, life_left), "dm-0")
    assert (found.disk, found.bytes, found.all_bytes) == ("dm-0", 22 * PAGE, 22 * PAGE)
    assert found.years == pytest.approx((7 / found.bytes, 11 / found.bytes))


def test_an_nvme_disk_with_paths_tells_its_life_by_its_head():
    parts = {"nvme0n1": Did(writes=22), "nvme0c0n1": Did(writes=13), "nvme0c1n1": Did(writes=9)}
    disk_lives = {"nvme0n1": Life(7 * YEAR, 11 * YEAR, 0.5)}
    (found,) = worn(Scripted(nvme("numa")), parts, disk_lives, "nvme0n1")
    assert (found.disk, found.bytes) == ("nvme0n1", 22 * PAGE)


@pytest.mark.parametrize("rated", [False, True])
def test_all_namespaces_of_a_controller_wear_out_one_disk(rated):
    """A rating is by the size of the one namespace."""
    host = Scripted(
        *(block(f"nvme{n}", f"259:{i}", 65536) for i, n in enumerate(("0n1", "0n2", "1n1")))
    )
    parts = {"nvme0n1": Did(writes=7), "nvme0n2": Did(writes=13), "nvme1n1": Did(writes=17)}
    disk_lives = {"nvme0n1": Life(YEAR, YEAR, 0.5, rated)}
    (found,) = worn(host, parts, disk_lives, "nvme0n1")
    assert (found.bytes, found.all_bytes) == (7 * PAGE, (7 if rated else 20) * PAGE)


def test_the_disk_that_lasts_the_shortest_comes_first():
    lives = {"sda": Life(7 * YEAR, 11 * YEAR), "sdb": Life(3 * YEAR, 5 * YEAR)}
    assert shortest(wear(of_raid5(lives), "vm")).disk == "sdb"
    assert shortest([]) is None


def test_the_sentence_and_the_keys_have_the_same_figures():
    life_left = 13 * 2**30 * 365.25  # bytes: 13 GiB per day for a year
    ledger = of_raid5({"sdb": Life(life_left, 2 * life_left, 0.13)})
    stack = StackFigures(ledger, ledger.topology["vm"])
    (found,) = wear(ledger, "vm")
    (said,) = [each for each in sentences(stack) if each.startswith("disk life")]
    assert "sdb lasts" in said
    assert "87 % of its life left, by its own count of wear" in said
    (key,) = layers_json([stack], Interval(ledger.loads))["stacks"][0]["wear"]
    assert key["device"] == "sdb"
    assert key["years"] == list(found.years)
    assert key["bytes_per_day"] == pytest.approx(found.bytes * DAY)
    assert sum(key["causes"].values()) == pytest.approx(key["bytes_per_day"])
    assert key["used"] == 0.13


def test_where_no_life_is_known_nothing_is_said():
    ledger = of_raid5({})
    stack = StackFigures(ledger, ledger.topology["vm"])
    assert [each for each in sentences(stack) if "disk life" in each] == []
    assert layers_json([stack], Interval(ledger.loads))["stacks"][0]["wear"] == []
