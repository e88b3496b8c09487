"""Nothing found is no all-clear: which questions stay open, and why."""

from __future__ import annotations

import pytest

from stackmap.discover.find import topology_from_names
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Flow, Load
from stackmap.model.topology import UNKNOWN_MACHINE, Edge, Topology
from stackmap.rules.context import Context
from stackmap.rules.table import findings
from stackmap.rules.unjudged import DISKS, LAYOUT, LOAD, OVERLOAD, is_judged, unjudged
from tests.drawn import did, disk, moved, passing

SDA = Topology([disk("sda", rotational=True)], [])


def busy(rate, ms, size=16384):
    """Requests that keep rate × await in flight."""
    return moved(
        did(rate, size, wait=rate * ms), aqu=rate * ms / 1000, busy=min(1.0, rate * ms / 1000)
    )


def questions(topology, loads, part=None, **more):
    interval = more.pop("interval", None) or Interval(loads, seconds=10.0)
    context = Context(topology, interval, **more)
    found = findings(context)
    return [each.question for each in unjudged(context, found, part or topology.devices)]


@pytest.mark.parametrize(
    "loads", [{}, {"sda": IDLE}, {"sda": busy(0.5, 8)}], ids=["no", "idle", "few"]
)
def test_without_a_load_nothing_is_judged(loads):
    """No counters, no I/O, five requests."""
    assert questions(SDA, loads) == [LOAD]


def test_averages_since_boot_are_no_present_load():
    interval = Interval({"sda": busy(100, 5)}, seconds=10.0, since_boot=True)

    assert questions(SDA, {}, interval=interval) == [LOAD]


@pytest.mark.parametrize(
    ("rate", "ms", "expected"),
    [
        (600, 40, [OVERLOAD]),  # 24 in flight
        (300, 13.5, [OVERLOAD]),  # 4.05 in flight
        (130, 7.8, []),  # 1 in flight is a low queue depth itself
        (40_000, 0.4, []),  # 16 in flight, but an await that short cannot have risen by 1 ms
    ],
)
def test_overload_is_open_with_a_long_queue(rate, ms, expected):
    """It is judged against the disk's await at a low queue depth; a short queue is low."""
    assert questions(SDA, {"sda": busy(rate, ms)}) == expected


@pytest.mark.parametrize(("rate", "expected"), [(130, True), (0.3, False), (0, False)])
def test_a_disk_with_few_requests_was_not_judged(rate, expected):
    """Beside a loaded SSD in the lab, twelve disks with a write or two counted as judged."""
    context = Context(SDA, Interval({"sda": busy(rate, 5)}, seconds=10.0))

    assert is_judged(context, SDA["sda"]) == expected


def test_a_baseline_or_a_quiet_interval_answers_it():
    quiet, loaded = (
        Interval({"sda": busy(130, 7.8)}, seconds=1.0),
        Interval({"sda": busy(600, 40)}, seconds=1.0),
    )

    assert questions(SDA, loaded.loads, baseline=quiet) == []
    assert questions(SDA, loaded.loads, series=(quiet, loaded, loaded)) == []
    assert questions(SDA, loaded.loads, series=(loaded, loaded)) == [OVERLOAD]


def test_a_load_that_begins_in_an_interval_is_not_a_quiet_one():
    """
    In the lab, 1.8 requests in flight on average in the first second, 7.8 while there was any.

    The queue of 10 lasts for a third of the measurement; before, other requests had 14 ms.
    """
    other = moved(did(5, 32768, wait=5 * 14), aqu=0.07, busy=0.07)
    begins = moved(
        did(4.8, 32768, wait=70), did(46.4, 32768, wait=46.4 * 36.7), aqu=1.77, busy=0.226
    )
    full = moved(
        did(5.5, 32768, wait=110), did(168.6, 32768, wait=168.6 * 58.3), aqu=9.95, busy=0.84
    )
    mean = moved(did(5, 32768, wait=90), did(85, 32768, wait=85 * 46), aqu=3.9, busy=0.45)
    loads = [other, other, other, begins, full, full]
    series = tuple(Interval({"sda": load}, seconds=3.2) for load in loads)

    assert questions(SDA, {"sda": mean}, series=series) == [OVERLOAD]


@pytest.mark.parametrize(
    "load", [Load(whole=Flow(120.0, None, 1e6)), Load(Flow(60.0, 0.0, 1e6), Flow(60.0, 0.0, 1e6))]
)
def test_a_text_without_await_judges_no_disk(load):
    """``iostat -d`` has rates only."""
    assert questions(SDA, {"sda": load}) == [DISKS]


def test_figures_of_a_volume_alone_judge_its_only_disk():
    """A volume on a disk of its own stands for it; a disk that others use too is unknown."""
    lv = passing("dm-0")
    own = Topology([disk("sda"), lv], [Edge("dm-0", "sda", Role.DATA)])
    shared = Topology(
        [disk("sda"), lv, passing("dm-1")],
        [Edge("dm-0", "sda", Role.DATA), Edge("dm-1", "sda", Role.DATA)],
    )

    assert questions(own, {"dm-0": busy(600, 40)}) == [OVERLOAD]
    assert questions(own, {"dm-0": busy(130, 7.8)}) == []
    assert questions(shared, {"dm-0": busy(130, 7.8)}) == [DISKS]


def test_only_the_devices_that_were_named_count():
    """Another disk's open question is not this one's."""
    both = Topology([disk("sda"), disk("sdb")], [])
    loads = {"sda": busy(130, 7.8), "sdb": busy(600, 40)}

    assert questions(both, loads, ["sda"]) == []
    assert questions(both, loads, ["sdb"]) == [OVERLOAD]


def test_a_sick_disk_is_an_answer():
    """What explains the await leaves nothing open."""
    assert questions(SDA, {"sda": busy(5, 900)}) == []


def test_names_alone_leave_the_layout_open():
    """A text of an unknown host: its disks are judged; where none is named, only overload is."""
    named = topology_from_names(["sda", "dm-0"], UNKNOWN_MACHINE)
    assert questions(named, {"sda": busy(130, 7.8), "dm-0": busy(600, 40)}) == [LAYOUT]

    volumes = topology_from_names(["dm-0"], UNKNOWN_MACHINE)
    assert questions(volumes, {"dm-0": busy(600, 40)}) == [DISKS, OVERLOAD, LAYOUT]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("dev8-0", Kind.DISK), ("dev8-16", Kind.DISK), ("dev8-17", Kind.PARTITION),
        ("dev253-89", Kind.DM), ("dev9-127", Kind.ARRAY), ("dev259-3", Kind.DISK),
    ],
)  # fmt: skip
def test_sars_numbers_tell_the_kind(name, kind):
    """``sar -d`` without -p prints major and minor."""
    device = topology_from_names([name], UNKNOWN_MACHINE)[name]

    assert (device.kind, device.number) == (kind, name[3:].replace("-", ":"))


def test_no_verdict_on_a_volume_of_an_unknown_host():
    """Its await says nothing about the disks below, which others may use."""
    named = topology_from_names(["dm-0"], UNKNOWN_MACHINE)
    context = Context(named, Interval({"dm-0": busy(5, 900)}, seconds=10.0))

    assert [each.rule.id for each in findings(context) if each.is_grave] == []
    sick = Context(
        Topology([Device("sda", Kind.DISK, "8:0")], []),
        Interval({"sda": busy(5, 900)}, seconds=10.0),
    )
    assert [each.rule.id for each in findings(sick)] == ["SM201"]
