"""The queries of ``fleet``, evaluated by promtool: a host with a problem is named, and no other."""

from __future__ import annotations

import pytest

from stackmap.features.fleet.health import doubts
from stackmap.features.fleet.promql import KIND_LEVEL, PARTS, Expressions
from stackmap.features.fleet.volumes import SORTS
from tests.features.fleet.promql import printed

NOW = 3600  # seconds since promtool's epoch
ALL = Expressions(seconds=3600)
LEVEL = 'kind="volume",level="raid5"'


def host(name, *, start=0, end=80, clock=0, age=30, more=""):
    """Return the series of a host from *start* to *end* minutes; *clock*: by how much it is ahead of the server's."""
    labels = f'job="n",instance="{name}"{more}'
    blank = f"_x{start} " if start else ""
    return {
        f"node_boot_time_seconds{{{labels}}}": f"7x{end}",
        f"node_time_seconds{{{labels}}}": f"{clock}+60x{end}",
        f"stackmap_topology_timestamp_seconds{{{labels}}}": f"{clock - age}+60x{end}",
        f'stackmap_build_info{{{labels},version="1"}}': f"1x{end}",
        f"instance_level:stackmap_volumes:count{{{labels},{LEVEL}}}": f"{blank}2x{end - start}",
    }


def volume(name, top, figure, level="raid5"):
    """Return the series of a volume; each figure is *figure* times one of its own."""
    of = f'job="n",instance="{name}",top="{top}",name="vg/{top}"'
    values = {
        f'instance_top_layer:stackmap_read_bytes:rate5m{{{of},layer="volume"}}': 1,
        f'instance_top_layer:stackmap_written_bytes:rate5m{{{of},layer="volume"}}': 2,
        f'instance_top_layer:stackmap_reads:rate5m{{{of},layer="volume"}}': 3,
        f'instance_top_layer:stackmap_writes:rate5m{{{of},layer="volume"}}': 4,
        f"instance_top:stackmap_parity_cost_bytes:rate5m{{{of}}}": 7,
        f"instance_top:stackmap_parity_written_bytes:rate5m{{{of}}}": 2,
        f"instance_top:stackmap_disk_bytes:rate5m{{{of}}}": 9,
        f"instance_top:stackmap_disk_requests:rate5m{{{of}}}": 10,
        f"instance_top:stackmap_wasted_bytes:rate5m{{{of}}}": 5,
        f"instance_top:stackmap_wasted_requests:rate5m{{{of}}}": 6,
        f"instance_top:stackmap_io_seconds:rate5m{{{of}}}": 8,
        f'instance_top_device:stackmap_slowest_member:ratio_rate5m{{{of},device="dm-1"}}': 1,
        f'instance_top_disk:stackmap_written_bytes:rate5m{{{of},disk="sda"}}': 3,
        f'instance_top_disk:stackmap_written_bytes:rate5m{{{of},disk="sdb"}}': 4,
    }
    disk = f'{{job="n",instance="{name}",device="sda",name="sda"}}'
    return {
        **{series: f"{value * figure}x80" for series, value in values.items()},
        f"stackmap_device_life_used_ratio{disk}": "0.2x80",
        f"stackmap_device_life_written_bytes_total{disk}": "7x80",
        f'stackmap_stack_info{{{of},kind="volume",level="{level}"}}': "1x80",
        f"stackmap_stack_members{{{of}}}": "4x80",
    }


def evaluated(tmp_path, series, *expressions, at=NOW):
    return printed(tmp_path, series, *expressions, at=at)


def named(tmp_path, series, what):
    """Return the hosts in the answer to the doubt that has *what* in its text."""
    names = {key.partition('instance="')[2].partition('"')[0] for key in series}
    (expression,) = [each for each, text in doubts(ALL) if what in text]
    (found,) = evaluated(tmp_path, series, expression)
    return {name for name in names if f'instance="{name}"' in found}


DOUBTS = {
    "several series": (
        {
            **host("b", more=',replica="1"'),
            **host("b", more=',replica="2"'),
            **host("c"),
            'stackmap_build_info{job="n",instance="c",version="0"}': "1x80",  # of a second textfile
        },
        {"b", "c"},
    ),
    "without topology": ({'node_boot_time_seconds{job="n",instance="bare"}': "7x80"}, {"bare"}),
    "unknown state": ({'stackmap_stack_members{job="n",instance="u",top="md0"}': "4x80"}, {"u"}),
    "rebooted": (
        {'node_boot_time_seconds{job="n",instance="r"}': "7x30 1900x50"}
        | {k: v for k, v in host("r").items() if "boot" not in k},
        {"r"},
    ),
    "a part of the window": (host("new", start=40), {"new"}),
    "and none at": (host("gone", end=30), {"gone"}),
    "target labels": (
        {'stackmap_layer_weight{job="n",instance="c",role="db",exported_role="data"}': "1x80"},
        {"c"},
    ),
    "leaves out": (
        {
            'instance_top_layer:stackmap_devices_without_counters:count{job="n",instance="d",top="md0"}': "1x80"
        },
        {"d"},
    ),
}


@pytest.mark.parametrize("what", DOUBTS)
def test_a_doubtful_host_is_named_and_no_other(what, tmp_path):
    """A host without a problem is beside it and is not named."""
    series, expected = DOUBTS[what]
    assert len([each for each, _ in doubts(ALL)]) == len(DOUBTS)

    assert named(tmp_path, {**series, **host("fine")}, what) == expected


def test_a_silent_host_is_in_the_health_and_not_again_among_those_without_volumes(tmp_path):
    silent = {
        'instance_device:stackmap_trouble:now{job="n",instance="gone",what="silent",reason="no textfile"}': "1x80"
    }

    assert named(tmp_path, {**host("gone", end=30), **silent}, "and none at") == set()


@pytest.mark.parametrize("sort", SORTS)
def test_a_volume_that_was_removed_takes_no_place_of_the_worst(sort, tmp_path):
    """Its means of the window are still there, as those of a snapshot that a backup takes and removes."""
    series = {**volume("a", "dm-8", 1), **volume("b", "dm-8", 2), **volume("b", "dm-9", 3)}
    (removed,) = [key for key in series if "stack_info" in key and 'top="dm-9"' in key]
    series[removed] = "1x20 stale"
    (found,) = evaluated(tmp_path, series, ALL.worst(sort, 2))

    assert 'top="dm-9"' not in found
    assert found.count("instance=") == 2


@pytest.mark.parametrize("part", PARTS)
def test_each_figure_is_one_value_per_volume(part, tmp_path):
    series = {**volume("a", "dm-8", 1), **volume("b", "dm-8", 2), **volume("b", "dm-9", 3, "raid6")}
    both, one = evaluated(
        tmp_path, series, ALL.part(part), ALL._replace(host="b", top="dm-9").part(part)
    )
    unknown = part in ("ideal", "state")  # not in these series

    assert both.count("instance=") == (0 if unknown else 3)
    assert one.count("instance=") == (0 if unknown else 1)
    assert unknown or 'top="dm-9"' in one


def test_a_host_is_renamed_if_a_uuid_had_two_names_in_the_window(tmp_path):
    """Two names of two UUIDs are none; nor are those of equal UUIDs on two hosts, as of clones."""

    def info(name, top, uuid, values):
        return {
            f'stackmap_stack_info{{job="n",instance="{name}",top="{top}",uuid="{uuid}"}}': values
        }

    series = {
        **info("moved", "dm-3", "A", "1x20 stale"), **info("moved", "dm-8", "A", "_x20 1x60"),
        **info("fine", "dm-3", "A", "1x80"), **info("fine", "dm-8", "B", "1x80"),
        **info("none", "dm-3", "", "1x20 stale"), **info("none", "dm-8", "", "1x80"),
    }  # fmt: skip
    hosts, names = evaluated(tmp_path, series, ALL.renamed, ALL._replace(host="moved").names)

    assert [each in hosts for each in ("moved", "fine", "none")] == [True, False, False]
    assert ('top="dm-3"' in names, 'top="dm-8"' in names, "fine" in names) == (True, True, False)


@pytest.mark.parametrize("sort", SORTS)
def test_the_worst_come_from_the_level(sort, tmp_path):
    """A volume of another level with higher figures takes no place in the table."""
    series = {**volume("a", "dm-8", 1), **volume("b", "dm-8", 2), **volume("b", "dm-9", 3, "raid6")}
    (found,) = evaluated(tmp_path, series, ALL._replace(level="raid5").worst(sort, 2))

    assert 'top="dm-9"' not in found
    assert found.count("instance=") == 2


def test_the_savings_are_of_the_volumes_that_gain(tmp_path):
    """
    7 - 2 x 2 bytes per figure; a volume that RAID10 makes worse is not subtracted.

    One that two versions of stackmap, or two hosts of one name, tell with and without a UUID stops nothing.
    """
    series = {**volume("a", "dm-8", 1), **volume("b", "dm-8", 2), **volume("b", "dm-9", 3, "raid6")}
    twice = next(key for key in series if "stack_info" in key and 'top="dm-9"' in key)
    series[f'{twice[:-1]},uuid="U"}}'] = "1x80"
    worse = next(key for key in series if "parity_cost" in key and 'instance="a"' in key)
    saves, gaining = evaluated(
        tmp_path,
        series | {worse: "1x80"},
        *(ALL.by(KIND_LEVEL, field) for field in ("raid10_saves", "gaining")),
    )

    assert 'level="raid5"} 6E+00' in saves
    assert 'level="raid6"} 9E+00' in saves
    assert 'level="raid5"} 1E+00' in gaining
