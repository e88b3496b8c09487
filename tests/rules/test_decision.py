"""What is done first, and which advice has to wait for it: the same answer in every command."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.document.episodes import first_line
from stackmap.document.rule_words import (
    before_converting,
    has_to_wait,
    what_to_do_first,
)
from stackmap.ledger.episodes import Episode, Pair
from stackmap.ledger.time_series import IntervalSeries
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.rules import decision
from stackmap.rules.checks import no_bitmap
from stackmap.rules.context import Context
from stackmap.rules.decision import Judged, JudgedEpisode, Times, decide, judge_over_time
from stackmap.rules.disk import sick_disk
from stackmap.rules.hung import hung
from stackmap.rules.parity import partial_stripe
from stackmap.rules.peers import slow_member
from stackmap.rules.rule import Finding, Outcome, Severity, observe
from stackmap.rules.saturation import overloaded
from stackmap.rules.state import background_work, broken
from stackmap.rules.throttle import throttled
from stackmap.rules.unjudged import LAYOUT, Unjudged
from tests.drawn import did, disk, moved, raid_volume, topology
from tests.paths import ROOT

PARTS = topology(raid_volume("lv", "raid5", 8))
VOLUME, DISK, OTHER = "lv", "sda", "sdb"


def found(*rules, severity=None):
    """A finding of each rule: disks' on the first disk, those of arrays on the volume."""
    of_disks = {sick_disk, slow_member, overloaded}
    return [
        Finding(rule, observe(DISK if rule in of_disks else VOLUME, severity=severity))
        for rule in rules
    ]


@pytest.mark.parametrize(
    ("rules", "first", "waits"),
    [
        ((partial_stripe, slow_member), slow_member, True),
        ((partial_stripe, overloaded), partial_stripe, False),
        ((partial_stripe, background_work), background_work, True),
        ((partial_stripe, throttled), throttled, True),
        ((sick_disk, broken), broken, False),
        ((overloaded, slow_member), slow_member, False),
        ((partial_stripe,), partial_stripe, False),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_causes_come_before_effects_and_a_conversion_waits_for_them(rules, first, waits):
    """Another layout mends no disk, no cap and no resync; a load that is too much for the disks is its matter."""
    several = found(*rules)
    decision = decide(PARTS, several)
    layout = [each for each in several if each.rule is partial_stripe]

    assert decision.causes[0].rule is first
    assert [has_to_wait(PARTS, decision, each) for each in layout] == [waits] * len(layout)
    assert bool(before_converting(PARTS, decision)) == any(
        each in (slow_member, sick_disk, background_work, throttled, broken) for each in rules
    )


def test_a_disk_of_another_stack_is_no_reason_to_wait():
    """Only what a volume stands on slows it."""
    assert decide(PARTS, found(slow_member), VOLUME).before_layout
    assert not decide(PARTS, found(slow_member), OTHER).before_layout


def test_a_remark_decides_nothing():
    remarks = found(slow_member, partial_stripe, severity=Severity.INFO)
    decision = decide(PARTS, remarks)

    assert not decision.causes
    assert what_to_do_first(PARTS, decision) == "Nothing. No finding needs action."


def test_where_only_the_layout_is_open_the_first_line_says_what_to_send():
    """A ticket without a topology has figures that are fine, and no answer about its layout."""
    decision = decide(PARTS, found(slow_member, severity=Severity.INFO))
    first = what_to_do_first(PARTS, decision, [Unjudged(LAYOUT, observe(""))])
    assert first.startswith("Nothing in these figures.")
    assert "`lsblk -J -O; cat /proc/mdstat; dmsetup table`" in first


def test_the_keys_say_what_the_sentence_says():
    """On a real machine: a slow disk under RAID5."""
    words = ["--from", str(ROOT / "sample_topologies/vghdd"), "explain", "--json"]
    answer = json.loads(CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout)
    decision = answer["decision"]

    assert decision["why"] == {"id": "SM202", "device": "sda", "outcome": Outcome.SICK}
    assert decision["then"] == [
        {"id": "SM101", "device": "dm-8", "outcome": Outcome.LAYOUT, "waits": True}
    ]
    assert decision["first"].startswith("sda is 12.9× as slow as its peers.")
    assert "only then decide about the layout of vghdd/vm-disk1" in decision["first"]
    assert all(each["load"] for each in answer["findings"])


def test_an_episode_without_a_cause_is_no_all_clear(tmp_path):
    """What no rule explains needs a look, not nothing: the first line tells when, how slow, and what changed."""
    assert first_line(Judged(Context(PARTS), [], [])).startswith("Nothing.")
    row = "Device r/s w/s rkB/s wkB/s await aqu-sz %util\nsdb {0} 0.00 {1} 0.00 {2} {3} {4}\n"
    times = [f"2024-11-13 10:{minute:02}:00\n" for minute in range(60)]
    quiet, loaded = row.format(12, 96, 9, 0.1, 10), row.format(94, 752, 29, 2.7, 70)
    text = "\n".join(time + (loaded if 20 <= n < 30 else quiet) for n, time in enumerate(times))
    path = tmp_path / "night.txt"
    path.write_text(text)

    words = ["explain", "--json", "--input", str(path)]
    answer = json.loads(CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout)

    assert answer["decision"]["first"] == (
        "Find what sent more from 10:19 to 10:29: sdb await 9.0 → 29.0 ms (3.22×). "
        "More load, 7.83 times the reads (12.00 → 94.00 per second)."
    )


@pytest.mark.parametrize(
    ("lasting", "in_it", "first"),
    [
        (partial_stripe, hung, hung),  # critical
        (partial_stripe, overloaded, partial_stripe),  # as grave
        (partial_stripe, None, partial_stripe),
        (no_bitmap, overloaded, overloaded),  # the load comes before the setup
        (no_bitmap, None, None),
        (None, overloaded, overloaded),
    ],
)
def test_the_worst_episode_comes_before_what_lasts_only_if_it_is_graver(lasting, in_it, first):
    """A disk that hung for a minute was named after the layout, and any episode after a missing bitmap."""
    loads = {DISK: moved(read=did(100.0, 4096, wait=300.0))}
    series = IntervalSeries(Interval(loads, 1795262400.0 + 60 * n, 60.0) for n in range(30))
    episode = Episode(series, 9, 11, DISK, (DISK,), (DISK,), Pair(3.0, 33.0), 1.0, stuck=False)
    inside, always = (found(*filter(None, [rule])) for rule in (in_it, lasting))
    times = Times(series, [JudgedEpisode(episode, inside, ())], 1, [])
    judged = Judged(Context(PARTS), always, [], times=times)
    decided = judged.decide()

    assert [each.rule for each in decided.causes[:1]] == [*filter(None, [first])]
    assert decided.episode is (None if first and first is lasting else episode)
    assert ("12:08–12:11 UTC" in first_line(judged).replace(" to ", "–")) == bool(decided.episode)


def test_an_episode_is_judged_by_the_series_of_its_own_stack(monkeypatch):
    """200 disks of which 20 had a bad hour took 31 s: each episode had the series of all disks."""
    contexts = []
    monkeypatch.setattr(decision, "findings", lambda context, _: contexts.append(context) or [])
    names = ["sda", "sdb", "sdc"]
    quick, slow = (moved(read=did(100.0, 4096, wait=ms * 100)) for ms in (1.0, 50.0))
    bad = {"sda": range(30, 60), "sdb": range(40, 70)}
    intervals = (
        {name: slow if n in bad.get(name, ()) else quick for name in names} for n in range(120)
    )
    series = IntervalSeries(
        Interval(loads, 1795262400.0 + n, 1.0) for n, loads in enumerate(intervals)
    )

    judged = judge_over_time(Topology(map(disk, names), []), series)

    assert [each.episode.devices for each in judged.times.worst] == [("sda",), ("sdb",)]
    *episodes, whole = contexts
    assert [{*part.loads} for each in episodes for part in each.series[:1]] == [{"sda"}, {"sdb"}]
    assert [[each.name for each in context.disks] for context in episodes] == [["sda"], ["sdb"]]
    assert {each.name for each in episodes[0].all_disks} == {*names}  # to compare with
    assert {*whole.series[0].loads} == {*episodes[0].loads} == {*names}


def test_the_text_says_how_many_episodes_there_are_and_how_many_are_judged(tmp_path):
    """Only the worst are judged: of thousands, the text said "20 episodes"."""
    lines = []
    for number in range(300):
        lines.append("Device r/s w/s rkB/s wkB/s await aqu-sz %util")
        for disk_number in range(25):
            wait = 40.0 if number // 10 == disk_number else 2.0
            lines.append(f"sd{disk_number}x 10 20 40 80 {wait} {wait * 0.03:.2f} 5")
        lines.append("")
    path = tmp_path / "spikes.txt"
    path.write_text("\n".join(lines))

    words = ["explain", "--input", str(path)]
    answer = json.loads(CliRunner().invoke(stackmap, [*words, "-J"]).stdout)

    assert (answer["episodes_found"], len(answer["episodes"])) == (25, decision.JUDGED)
    headline = "25 episodes of slow I/O in 300 intervals; the 20 worst are judged"
    assert headline in CliRunner().invoke(stackmap, words).stdout
