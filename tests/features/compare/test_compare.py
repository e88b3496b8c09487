"""A RAID5 volume and what became of it as RAID10: figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from stackmap.features.compare.await_change import classes
from stackmap.features.compare.compare import compare
from stackmap.features.compare.comparison import RATIOS
from stackmap.features.compare.document import _load, conclusions, document
from stackmap.features.compare.json import compare_json
from stackmap.features.compare.recording import MAX_BATCHES, recording_of
from stackmap.model.device import Queue
from stackmap.model.interval import Interval
from stackmap.model.topology import Machine, Topology
from tests.drawn import DISKS, did, moved, raid_volume, topology
from tests.terminal_text import render_text

RAID5 = topology(raid_volume("vm", "raid5", 8, label="vg/vm", size=700 << 20))
RAID10 = topology(raid_volume("new", "raid10", 17, label="vg/vm", size=700 << 20))
PAGE = 4096


def loads(top, writes, reads_below, writes_below, wait, size=PAGE):
    """*writes* a second of *size*; each member and disk has its quarter of what is below."""
    below = moved(
        did(reads_below / 4, size, wait=reads_below * 2),
        did(writes_below / 4, size, wait=writes_below),
    )
    nothing = moved()
    return {
        top: moved(None, did(writes, size, wait=writes * wait), aqu=writes * wait / 1000),
        **{f"{top}_rimage_{place}": below for place in range(4)},
        **{f"{top}_rmeta_{place}": nothing for place in range(4)},
        **dict.fromkeys(DISKS, below),
    }


def raid5(writes, wait=40.0):
    """Each write reads two pages and writes two (read-modify-write)."""
    return loads("vm", writes, 2 * writes, 2 * writes, wait)


def raid10(writes, wait=10.0):
    return loads("new", writes, 0, 2 * writes, wait)


def recorded(where, top, made, rates, wait=None):
    given = [made(rate) if wait is None else made(rate, wait) for rate in rates]
    reports = [(where, Interval(each, 1001.0 + place, 1.0)) for place, each in enumerate(given)]
    return recording_of("there", where, (top,), reports)


def rates(count=40, mean=100.0, seed=5):
    random = Random(seed)
    return [mean * random.uniform(0.8, 1.25) for _ in range(count)]


BEFORE = recorded(RAID5, "vm", raid5, rates())
AFTER = recorded(RAID10, "new", raid10, rates(seed=7))


def figure_comparison(before=BEFORE, after=AFTER):
    (stack,) = compare(before, after, [("vm", "new")]).stacks
    return stack


@pytest.mark.parametrize(
    ("key", "layer", "direction", "before", "after"),
    [
        ("write_cost", "disks", "write", 4.0, 2.0),
        ("completed", "disks", "total", 4.0, 2.0),
        ("bytes", "disks", "total", 4.0, 2.0),
        ("requests", "members", "write", 2.0, 2.0),
        ("await", "top", "write", 40.0, 10.0),
    ],
)
def test_figures_are_ratios_of_sums(key, layer, direction, before, after):
    """Four for a write, two of them read, become two; ten milliseconds of forty."""
    each = figure_comparison().find(key, layer, direction)

    assert each.before.value == pytest.approx(before)
    assert each.after.value == pytest.approx(after)
    assert each.change.ratio == pytest.approx(after / before)


def test_what_changed_is_significant_and_what_did_not_is_not():
    """The cost of a write halved; two writes at the members for one are two as before."""
    stack = figure_comparison()

    assert stack.find("write_cost", "disks", "write").significant
    assert stack.find("await", "top", "write").significant
    assert not stack.find("requests", "members", "write").significant
    wait, first, second, *_ = conclusions(stack)
    assert wait.startswith("Write await: 40.00 → 10.00 ms (-75.0 %;")
    assert first.startswith("Disk bytes per byte written: 4.00 → 2.00 (-50.0 %; 95 % interval -5")
    assert second.startswith("Disk requests per request: 4.00 → 2.00 (-50.0 %;")
    assert first.endswith("; significant).")
    assert second.endswith("; significant).")


def test_reads_that_went_are_gone():
    """No read at the top, two at the members for each write, and then none: no ratio to a read."""
    stack = figure_comparison()

    assert stack.find("requests", "members", "read") is None
    assert stack.find("write_cost", "disks", "write").change.ratio == pytest.approx(0.5)


def test_waits_of_other_loads_are_not_compared():
    """A hundred writes a second and four hundred; what a write costs holds for both."""
    stack = figure_comparison(after=recorded(RAID10, "new", raid10, rates(mean=400)))
    wait = stack.find("await", "top", "write")

    assert wait.change is None
    assert "the loads differ" in wait.reason
    assert (wait.before.value, wait.after.value) == pytest.approx((40.0, 10.0))
    assert stack.find("write_cost", "disks", "write").change.ratio == pytest.approx(0.5)


def test_a_load_that_ended_or_began_is_a_change():
    """A load of 0 has no factor, so both rates are shown."""
    (idle_before, busy_before), (idle, busy) = (
        [recorded(where, top, made, [rate] * 40) for rate in (0.0, 31.0)]
        for where, top, made in ((RAID5, "vm", raid5), (RAID10, "new", raid10))
    )

    assert "writes/s 31.00 → 0.00" in _load(figure_comparison(busy_before, idle))
    assert "writes/s 0.00 → 31.00" in _load(figure_comparison(idle_before, busy))
    assert "Change of the load: none." in _load(figure_comparison(idle_before, idle))


def test_the_share_of_similar_load_is_told():
    """Of forty intervals after, four have the rate of before: 10 %, too few to compare await."""
    after = recorded(RAID10, "new", raid10, [400.0] * 36 + [100.0] * 4)
    stack = figure_comparison(recorded(RAID5, "vm", raid5, [100.0] * 40), after)
    wait = stack.find("await", "top", "write")

    assert stack.shared == pytest.approx(0.1)
    assert wait.reason == (
        "the loads differ: 100.0 requests per second before, 370.0 after; "
        "10 % of the intervals have similar load"
    )
    assert wait.reason.code == "loads-differ"


def test_the_mix_of_reads_and_writes_is_told():
    """All writes before, and a fifth of the requests are reads after."""

    def mixed(rate):
        given = raid10(0.8 * rate)
        own = given["new"]
        reads = did(0.2 * rate, PAGE, wait=0.2 * rate * 10.0)
        return {**given, "new": moved(reads, own.write, aqu=rate / 100)}

    stack = figure_comparison(after=recorded(RAID10, "new", mixed, rates()))
    wait = stack.find("await", "top", "write")

    assert wait.reason == "100 % of the requests were writes before, 80 % after"
    assert wait.reason.code == "mix-differs"


def test_a_recording_without_batches_has_a_size_of_one():
    """Nothing is divided by their number."""
    empty = recording_of("there", RAID5, ("vm",), [])

    assert (empty.batches, empty.batch_size, empty.length) == ((), 1, None)


def test_who_sets_the_pace():
    """Four in flight before and after, and four times the writes done: the load waits for the volume."""
    before = recorded(RAID5, "vm", raid5, rates(), wait=40.0)
    after = recorded(RAID10, "new", raid10, rates(mean=400), wait=10.0)

    assert any("requests/s ×4.00" in each for each in conclusions(figure_comparison(before, after)))
    assert not any("limits the rate" in each for each in conclusions(figure_comparison()))


def test_waits_are_weighted_alike():
    """
    The wait is 10 ms at 100 a second and 30 at 200, before and after; only the hours differ.

    Means over each recording would be 26.7 and 13.3 ms, of the same device at the same load.
    """

    def taken(where, top, busy):
        reports = []
        for second in range(40):
            rate, wait = (200.0, 30.0) if second % 4 < busy else (100.0, 10.0)
            made = raid5(rate, wait) if top == "vm" else raid10(rate, wait)
            reports.append((where, Interval(made, 1000.0 + second, 1.0)))
        return recording_of("there", where, (top,), reports)

    stack = figure_comparison(taken(RAID5, "vm", 3), taken(RAID10, "new", 1))

    assert stack.find("await", "top", "write").change.ratio == pytest.approx(1.0)
    assert stack.shared == pytest.approx(0.5)


def test_waits_of_other_sizes_are_not_compared():
    def larger(rate):
        return loads("new", rate, 0, 2 * rate, 10.0, size=2 * PAGE)

    stack = figure_comparison(after=recorded(RAID10, "new", larger, rates()))

    assert stack.find("await", "top", "write").reason.code == "sizes-differ"
    assert "was 4.0 KiB before and 8.0 KiB after" in stack.find("await", "top", "write").reason
    assert any("4.0 KiB" in each for each in stack.warnings)


def test_a_steady_load_is_in_one_class():
    """99.9 and 100.1 a second are one load, wherever a round number lies."""
    found = classes([99.9] * 10, [100.1] * 10)

    assert found.shared == 1.0
    assert classes([100.0] * 10, [300.0] * 10).shared == 0.0
    assert classes([0.0, None, 5.0], [5.0]).before == (None, None, 1)


def working(where, state):
    devices = [
        device._replace(state=state) if device.layout else device
        for device in where.devices.values()
    ]
    return Topology(devices, where.edges, machine=where.machine)


def test_a_rebuild_is_left_out_where_it_ends():
    """Ten intervals of a resync beside forty without: only those forty are compared, with a note."""
    syncing = working(RAID5, "resync 12.5 %")
    reports = []
    for second, rate in enumerate(rates(50)):
        made = loads("vm", rate, 900, 900, 40) if second < 10 else raid5(rate)
        where = syncing if second < 10 else RAID5
        reports.append((where, Interval(made, 1000.0 + second, 1.0)))
    stack = figure_comparison(before=recording_of("there", RAID5, ("vm",), reports))

    assert stack.find("write_cost", "disks", "write").before.value == pytest.approx(4.0)
    assert any("10 intervals are left out" in each for each in stack.warnings)


def test_a_rebuild_all_the_time_is_no_measure():
    """Nothing below the volume is compared, and a note says why."""
    syncing = working(RAID5, "resync 12.5 %")
    stack = figure_comparison(before=recorded(syncing, "vm", raid5, rates()))

    each = stack.find("write_cost", "disks", "write")
    assert each.before is None
    assert each.change is None
    assert any(
        "during all intervals" in warning and "resync" in warning for warning in stack.warnings
    )


def test_another_stack_is_left_out():
    """A recording that goes on over the migration is of its first layout."""
    reports = []
    for second, rate in enumerate(rates(20)):
        moved_on = second >= 15
        where, made = (RAID10, raid10) if moved_on else (RAID5, raid5)
        reports.append((where, Interval(made(rate), 1000.0 + second, 1.0)))
    found = recording_of("there", RAID5, ("vm",), reports)

    assert (found.count, found.changed) == (15, 5)


def test_other_machines_and_sizes_are_told():
    elsewhere = Topology(
        [d._replace(size=d.size * 2) if d.size else d for d in RAID10.devices.values()],
        RAID10.edges,
        machine=Machine("other", "6.12.1"),
    )
    here = Topology(RAID5.devices.values(), RAID5.edges, machine=Machine("this", "6.1.0"))
    stack = figure_comparison(
        recorded(here, "vm", raid5, rates()), recorded(elsewhere, "new", raid10, rates())
    )
    words = " ".join(stack.warnings)

    assert "host other, not this; kernel 6.12.1, not 6.1.0" in words
    assert "2.00 times the size" in words


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [("256", "1025", True), ("256", "256", False), (None, "1025", False), ("256", None, False)],
)
def test_what_is_set_otherwise_is_told(was, now, words):
    """A stripe cache that a reshape left larger spares reads, whatever the layout is; so of all that both have."""

    def having(where, name, cache):
        facts = {} if cache is None else {"stripe cache": cache}
        devices = [d._replace(facts=facts) if d.name == name else d for d in where.devices.values()]
        return Topology(devices, where.edges, machine=where.machine)

    before = recorded(having(RAID5, "vm", was), "vm", raid5, rates())
    after = recorded(having(RAID10, "new", now), "new", raid10, rates())
    said = "stripe cache of vg/vm is 1025, before 256" in " ".join(
        figure_comparison(before, after).warnings
    )

    assert said == words


@pytest.mark.parametrize(
    ("was", "now", "said"), [(0, 192, True), (192, 192, False), (None, 0, False)]
)
def test_pieces_that_one_kernel_counts_are_told(was, now, said):
    """From about Linux 7.1 md cuts writes at full stripes before it counts them."""

    def cutting(boundary):
        queue = Queue(boundary=None if boundary is None else boundary << 10)
        changed = {"vm": RAID5["vm"]._replace(queue=queue)}
        return Topology({**RAID5.devices, **changed}.values(), RAID5.edges, machine=RAID5.machine)

    before, after = (recorded(cutting(each), "vm", raid5, rates()) for each in (was, now))
    (stack,) = compare(before, after, [("vm", "vm")]).stacks

    words = "after, md cuts writes at full stripes of 192 KiB and counts the pieces"
    assert any(words in warning for warning in stack.warnings) == said


def test_few_intervals_have_no_range():
    stack = figure_comparison(
        recorded(RAID5, "vm", raid5, rates(5)), recorded(RAID10, "new", raid10, rates(5))
    )
    cost = stack.find("write_cost", "disks", "write")

    assert cost.change.ratio == pytest.approx(0.5)
    assert (cost.change.low, cost.change.chance, cost.significant) == (None, None, False)
    assert any(
        "too few intervals to test significance" in each and "5 before" in each
        for each in stack.warnings
    )


def test_a_week_is_some_hundred_batches():
    """Sums over all of them are those of all intervals, however many a batch has."""
    found = recorded(RAID5, "vm", raid5, rates(4 * MAX_BATCHES))

    assert MAX_BATCHES / 2 <= len(found.batches) < MAX_BATCHES
    assert found.count == 4 * MAX_BATCHES
    assert found.batch_size * len(found.batches) == found.count
    assert found.batch_size > 1
    assert sum(b.loads["vm"].write.ios * b.seconds for b in found.batches) == pytest.approx(
        sum(rates(4 * MAX_BATCHES))
    )


def test_text_and_json_say_the_same():
    found = compare(BEFORE, AFTER, [("vm", "new")])
    text, words = render_text(document(found)), compare_json(found)

    (stack,) = words["stacks"]
    cost = next(e for e in stack["ratios"] if e["figure"] == "write_cost")
    assert cost["change"]["significant"]
    assert cost["before"]["low"] <= 4.0 <= cost["before"]["high"]
    assert "vg/vm (vm → new)  raid5 3+1 → raid10 2×2" in text
    assert "-50.0 %" in text


@pytest.mark.parametrize(
    ("side", "key", "code"), [("after", "waits", "loads-differ"), ("before", "layers", "resync")]
)
def test_each_reason_in_json_has_a_code(side, key, code):
    """Await at another load, and layers below an array that resyncs: a program need not read the words."""
    syncing = recorded(working(RAID5, "resync 12.5 %"), "vm", raid5, rates())
    busier = recorded(RAID10, "new", raid10, rates(mean=400))
    before, after = (BEFORE, busier) if side == "after" else (syncing, AFTER)
    (stack,) = compare_json(compare(before, after, [("vm", "new")]))["stacks"]
    places = [*stack["waits"], *stack["before"]["layers"], *stack["after"]["layers"]]
    named = stack["waits"] if key == "waits" else stack["before"]["layers"]

    assert all((place["reason"] is None) == (place["reason_code"] is None) for place in places)
    assert code in {place["reason_code"] for place in named}


def test_intervals_of_another_stack_are_told():
    """Five of twenty are those of the RAID10 that it became."""
    reports = [(RAID5, Interval(raid5(rate), 1000.0 + n, 1.0)) for n, rate in enumerate(rates(15))]
    reports += [
        (RAID10, Interval(raid10(rate), 1020.0 + n, 1.0)) for n, rate in enumerate(rates(5))
    ]
    stack = figure_comparison(before=recording_of("there", RAID5, ("vm",), reports))

    told = [each for each in stack.warnings if "left out" in each]
    assert told == ["before: 5 intervals are left out: the stack was different"]
    assert not any("left out" in each for each in figure_comparison().warnings)


@pytest.mark.parametrize(("count", "is_proven"), [(40, True), (5, False)])
def test_changes_are_proven_by_enough_intervals(count, is_proven):
    before = recorded(RAID5, "vm", raid5, rates(count))
    after = recorded(RAID10, "new", raid10, rates(count, seed=7))

    said = conclusions(figure_comparison(before, after))
    assert ("Too few intervals to prove these changes." in said) is not is_proven


def test_a_closed_loop_is_limited_by_the_volume():
    """4 in flight all the time: 100 requests per second of 40 ms, and then 400 of 10 ms."""
    after = recorded(RAID10, "new", raid10, rates(mean=400.0, seed=7))
    (said,) = [
        each for each in conclusions(figure_comparison(after=after)) if "similar queue" in each
    ]

    assert said.count("await") == 1
    assert "write await 40.00 → 10.00 ms: the volume limits the rate, not the load." in said
    assert not any("similar queue" in each for each in conclusions(figure_comparison()))


def test_parity_reads_are_told_from_others_below_parity_alone():
    """At the members and disks of a RAID5; without that there is no cost of a write there."""
    before, after = figure_comparison().before, figure_comparison().after
    assert (before.parity, before.caused) == (True, {"members", "disks"})
    assert (after.parity, after.caused) == (False, frozenset())

    (cost,) = [each for each in RATIOS if each.key == "write_cost"]
    assert cost.measured(before, "disks", "write").value == pytest.approx(4.0)
    assert cost.measured(replace(before, caused=frozenset()), "disks", "write") is None
    assert cost.measured(after, "disks", "write").value == pytest.approx(2.0)
