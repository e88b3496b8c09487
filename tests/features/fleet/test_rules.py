"""The shipped rules and the queries of ``fleet``, evaluated by promtool over the series of whole hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackmap.features.fleet.health import LOOKED, NOW, SINCE
from stackmap.features.fleet.promql import Expressions
from tests.features.fleet.arrays import Array
from tests.features.fleet.promql import FIRING, firing, ruled

MINUTE = 60
HOUR = 3600

FIGURES = {
    # A full stripe of 4 chunks of 64 KiB, 32 times a second: 8 MiB/s written, 10 MiB/s at the disks.
    'instance_top_layer:stackmap_written_bytes:rate5m{layer="volume"}': 8 * 2**20,
    "instance_top:stackmap_disk_bytes:rate5m": 10 * 2**20,
    "instance_top:stackmap_disk_requests:rate5m": 32 * 5,
    "instance_top:stackmap_parity_cost:ratio_rate5m": 1.25,
    "instance_level:stackmap_volumes:count": 1,
    "instance_level:stackmap_written_bytes:rate5m": 8 * 2**20,
}


@pytest.mark.parametrize("label", ["cluster", "replica", "name", "role", "level", "disk", "space"])
def test_equal_names_of_two_targets_stop_no_figure_of_another_host(label, tmp_path):
    """Host a is in two clusters, or has two targets that one of stackmap's own labels tells apart."""
    series = Array("b").series()
    for value in ("1", "2"):
        series |= Array("a", target={label: value}).series()
    found = ruled(tmp_path, series, *FIGURES, at=20 * MINUTE)

    for (expression, value), answers in zip(FIGURES.items(), found, strict=True):
        (of_b,) = [each for each in answers if each.labels["instance"] == "b"]
        assert of_b.value == pytest.approx(value), expression


@pytest.mark.parametrize("label", ["cluster", "rack"])
def test_labels_of_the_target_stay(label, tmp_path):
    """Each of two clusters has its own figures of host a, whatever label tells them apart."""
    series = Array("a", target={label: "x"}).series() | Array("a", target={label: "y"}).series()
    found = ruled(tmp_path, series, *FIGURES, at=20 * MINUTE)

    for (expression, value), answers in zip(FIGURES.items(), found, strict=True):
        assert {each.labels.get(label) for each in answers} == {"x", "y"}, expression
        assert [each.value for each in answers] == pytest.approx([value] * 2)


@pytest.mark.parametrize("hourly", [False, True])
def test_cost_divides_what_was_written_while_the_cost_is_known(hourly, tmp_path):
    """Ten times the writes during a resync, whose parity is unknown, do not make the cost less than the least: 5/4."""
    array = Array(
        "a",
        writes=((140, 320), (160, 32)),
        state={"sync_active": [1] * 150 + [0] * 150},
    )
    cost, saves = ruled(
        tmp_path,
        array.series(),
        Expressions(seconds=4 * 3600, hourly=hourly).worst("cost", 5),
        Expressions(seconds=4 * 3600, hourly=hourly).worst("raid10", 5),
        at=4 * 3600,
    )

    assert [each.value for each in cost] == pytest.approx([1.25])
    # RAID10 writes 2 bytes per byte: 3/4 of a byte more than this array did, which wrote 8 MiB/s.
    assert [each.value for each in saves] == pytest.approx([-0.75 * 8 * 2**20])


def test_full_stripes_waste_nothing(tmp_path):
    """Each write of 4 chunks is 5 requests of the disks, which is the least there can be."""
    wasted = ruled(
        tmp_path,
        Array("a").series(),
        "instance_top:stackmap_wasted_requests:rate5m",
        "instance_top:stackmap_wasted_bytes:rate5m",
        at=20 * MINUTE,
    )

    for answers in wasted:
        assert [each.value for each in answers] == pytest.approx([0], abs=1e-6)


@pytest.mark.parametrize("name", ["volumes:count", "written_bytes:rate5m", "requests:rate5m"])
def test_a_second_textfile_of_another_version_counts_no_volume_again(name, tmp_path):
    """One that writes no uuid: all else that both have is one series, or node_exporter leaves it out."""
    series = Array("a").series()
    (info,) = [key for key in series if key.startswith("stackmap_stack_info")]
    second = {f'{info[:-1]},uuid="LVM-7"}}': series[info]}
    sums = f"instance_level:stackmap_{name}"
    (alone,) = ruled(tmp_path, series, sums, at=20 * MINUTE)
    (both,) = ruled(tmp_path, {**series, **second}, sums, at=20 * MINUTE)
    assert [each.value for each in alone] == [each.value for each in both]
    assert len(alone) == 1


@pytest.mark.parametrize("down", [0, 250])
def test_a_degraded_array_whose_textfile_vanishes_still_fires(down, tmp_path):
    """Nothing says that it is whole again, whether node_exporter answers or not."""
    up = (1,) * (300 - down) + (0,) * down
    array = Array("a", state={"degraded": [0] * 10 + [1] * 20}, file=30, up=up)
    assert named(tmp_path, array, "StackmapDegraded", 25, 60, 290) == [["md0"]] * 3


@pytest.mark.parametrize(
    "array",
    [
        Array("a", state={"degraded": [1] * 30 + [0] * 270}),  # it is repaired
        Array("a", state={"degraded": [1] * 30}),  # a new file lacks it: it was stopped
        Array("a", state={"degraded": [1] * 30}, file=30, up=(1,) * 30),  # the target is removed
    ],
    ids=["repaired", "stopped", "removed"],
)
def test_an_array_that_is_whole_or_gone_does_not_fire(array, tmp_path):
    assert named(tmp_path, array, "StackmapDegraded", 25, 45) == [["md0"], []]


def test_a_write_mostly_member_is_not_slow(tmp_path):
    """The host compares only members that are meant to be equal; the rules do not compare again."""
    healthy = Array("a", state={"slow_members": [0] * 300}, slower={"sdb": 150}).series()
    slowest, firing = ruled(
        tmp_path,
        healthy,
        "instance_top_device:stackmap_slowest_member:ratio_rate5m",
        FIRING.format("StackmapSlowMember"),
        at=50 * MINUTE,
    )

    assert slowest == []
    assert firing == []


def named(tmp_path, array, alert, *minutes):
    """Return the volumes for which *alert* fires at each of *minutes*."""
    found = firing(tmp_path, array.series(), alert, minutes)
    return [[each.labels["name"] for each in answers] for answers in found]


def health(tmp_path, series, at):
    """Return what ``fleet`` says is wrong: the kind, host, and volume or device."""
    (found,) = ruled(tmp_path, series, NOW % "", at=at * MINUTE)
    return {
        (each.labels["what"], each.labels["instance"], each.labels.get("name") or each.labels.get("device"))
        for each in found
    }  # fmt: skip


def test_a_sick_or_hung_disk_has_its_model_and_serial(tmp_path):
    """The member is a partition; two volumes have it; a disk without a known model is named all the same."""
    slow = 'stackmap_slow_member_ratio{{job="n",instance="a",top="{0}",name="{0}",device="sdb1"}}'
    series = {
        slow.format("md0"): "4x60",
        slow.format("md1"): "5x60",
        'stackmap_device_disk_info{job="n",instance="a",device="sdb1",disk="sdb"}': "1x60",
        'stackmap_device_hung{job="n",instance="a",device="sdc",name="sdc"}': "1x60",
        'stackmap_device_hung{job="n",instance="b",device="sdd",name="sdd"}': "1x60",
        **{
            f'node_disk_info{{job="n",instance="a",device="{disk}",major="8",minor="1",path="p",model="M4",serial="{disk}Z",wwn="w"}}': "1x60"
            for disk in ("sda", "sdb", "sdc")
        },
    }
    (found,) = ruled(tmp_path, series, NOW % "", at=20 * MINUTE)
    keys = ("what", "instance", "device", "model", "serial")

    assert {(*(each.labels.get(key) for key in keys), each.value) for each in found} == {
        ("sick", "a", "sdb", "M4", "sdbZ", 5),
        ("hung", "a", "sdc", "M4", "sdcZ", 1),
        ("hung", "b", "sdd", None, None, 1),
    }


def test_a_disk_that_is_two_for_five_minutes_hides_no_trouble(tmp_path):
    """A replaced disk of a host whose series come through a federation, where nothing marks the old ones as stale."""
    info = 'node_disk_info{{job="n",instance="a",device="{}",major="8",minor="1",path="p",model="M4",serial="{}",wwn="w"}}'
    series = {
        **Array("b", state={"degraded": [1] * 300}).series(),
        **Array("a").series(),
        'stackmap_slow_member_ratio{job="n",instance="a",top="md0",name="md0",device="sdb"}': "4x60",
        'stackmap_device_disk_info{job="n",instance="a",device="sdb",disk="sdz"}': "1x60",
        'stackmap_device_life_used_ratio{job="n",instance="a",device="sdb",name="sdb"}': "0.9x60",
        'stackmap_device_life_used_ratio{job="n",instance="a",device="sdz",name="sdz"}': "0.1x60",
        info.format("sdb", "OLD"): "1x60",
        info.format("sdb", "NEW"): "1x60",
    }
    found, disks, written = ruled(
        tmp_path, series, NOW % "", "instance_model:stackmap_disks:count", "instance_top_disk:stackmap_written_bytes:rate5m",
        at=20 * MINUTE,
    )  # fmt: skip
    serials = {each.labels["serial"] for each in found if each.labels["device"] == "sdb"}

    assert {(each.labels["what"], each.labels["device"]) for each in found} == {
        ("degraded", "md0"), ("sick", "sdb"), ("sick", "sdz"), ("worn", "sdb"),
    }  # fmt: skip
    assert len(serials) == 1
    assert [each.value for each in disks] == [1]
    assert len(written) == 1


def test_a_target_whose_labels_collide_has_one_alert(tmp_path):
    """However many volumes it has."""
    series = Array("a", target={"name": "web"}).series()
    infos = [key for key in series if key.startswith("stackmap_stack_info")]
    for key in infos:
        series |= {f'{key[:-1]},uuid="{each}",shared="1"}}': series[key] for each in "AB"}
    (found,) = firing(tmp_path, series, "StackmapLabelsReplaced", [30])

    assert [each.labels["instance"] for each in found] == ["a"]


def test_what_is_wrong_has_begun_once(tmp_path):
    """Since when: the first minute, also while the textfile is missing; and again after a repair."""
    array = Array("a", state={"degraded": [0] * 10 + [1] * 20 + [0] * 30 + [1] * 40}, file=80)
    for minute, begun in ((25, 10), (65, 60), (95, 60)):
        (found,) = ruled(tmp_path, array.series(), SINCE % 'what="degraded"', at=minute * MINUTE)
        assert [each.value for each in found] == [begun * MINUTE]
    (count,) = ruled(tmp_path, array.series(), LOOKED % "", at=40 * MINUTE)
    assert [each.value for each in count] == [0]


def test_two_clusters_with_equal_names_are_two_hosts(tmp_path):
    """Each volume has its figures, its waste and its troubles; a sum by cluster has one of each."""
    east, west = (Array("a", target={"cluster": c}) for c in ("east", "west"))
    slower = replace(west, writes=((300, 16),), state={"degraded": [1] * 300})
    scope = Expressions(seconds=HOUR)
    written, by_cluster, trouble = ruled(
        tmp_path,
        east.series() | slower.series(),
        scope.mean("write_bytes"),
        scope.by("cluster", "write_bytes"),
        NOW % "",
        at=80 * MINUTE,
    )

    for answers in (written, by_cluster):
        assert {each.labels["cluster"]: each.value for each in answers} == pytest.approx(
            {"east": 8 * 2**20, "west": 4 * 2**20}
        )
    assert [each.labels["cluster"] for each in trouble] == ["west"]


def test_fleet_names_what_is_broken_full_and_silent(tmp_path):
    """Each is named as long as it lasts, and a healthy host is not."""
    pool = 'stackmap_thin_pool_{}_used_ratio{{job="n",instance="p",device="dm-2",name="vg/pool"}}'
    series = {
        **Array("healthy").series(),
        **Array("broken", state={"degraded": [1] * 300}).series(),
        **Array("blind", state={"degraded": [1] * 30}, file=30).series(),
        **Array("silent", up=(1,) * 20 + (0,) * 280, file=20).series(),
        pool.format("data"): "0.94x300",
        pool.format("metadata"): "0.97x300",
        'stackmap_slow_member_ratio{job="n",instance="s",top="md0",name="md0",device="sdb"}': "4x300",
        'up{job="other",instance="printer"}': "0x300",
    }

    assert health(tmp_path, series, 280) == {
        ("degraded", "broken", "md0"),
        ("degraded", "blind", "md0"),
        ("silent", "blind", None),
        ("silent", "silent", None),
        ("full", "p", "vg/pool"),
        ("sick", "s", "sdb"),
    }
