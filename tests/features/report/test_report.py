"""The content of a report: what it keeps of a long measurement, and what two intervals show."""

from __future__ import annotations

from types import SimpleNamespace

from stackmap.document.blocks import Paragraph
from stackmap.features.report.figures import Hour, Measuring
from stackmap.features.report.load_over_time import _size_chart
from stackmap.features.report.page import page_of
from stackmap.features.report.proposals import NO_PROJECTION, projection_section
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Flow
from stackmap.model.topology import Edge, Topology
from stackmap.render.markdown import render_markdown
from tests.drawn import did, disk, moved, passing

SIZE = 4096
TWO = Topology(
    [disk("sda"), passing("one"), passing("other")],
    [Edge("one", "sda", Role.DATA), Edge("other", "sda", Role.DATA)],
)


def sizes(named=()):
    """The size classes after one interval of 7 seconds, with 11 and 13 writes per second."""
    measuring = Measuring(TWO, named)
    loads = {"one": moved(None, did(11, SIZE)), "other": moved(None, did(13, SIZE))}
    measuring.add(Interval(loads | {"sda": moved(None, did(24, SIZE))}, 1000.0, 7.0))
    return [measuring.kept.sizes.of(name, "write") for name in ("one", "other")]


def test_sizes_are_kept_of_all_tops_or_of_those_named():
    """7 seconds of 11 writes are 77, of 13 are 91; a report on one volume keeps only its own."""
    assert sizes() == [{SIZE: 77.0}, {SIZE: 91.0}]
    assert sizes(("one",)) == [{SIZE: 77.0}, {}]


def test_two_intervals_are_enough_to_see_overload():
    """23 reads per second take 2 ms alone, and 59 take 29 ms with 17 requests in flight: 14.5 times."""
    tree = Topology([disk("sda")], [])
    measuring = Measuring(tree)
    quiet = moved(Flow(23.0, 0.0, 23.0 * SIZE, 46.0), aqu=0.046)
    loaded = moved(Flow(59.0, 0.0, 59.0 * SIZE, 59 * 29.0), aqu=17.0)
    for second, load in enumerate((quiet, loaded)):
        measuring.add(Interval({"sda": load}, 1000.0 + second, 1.0))

    assert [(each.rule.id, each.device) for each in measuring.report().judged.findings] == [
        ("SM401", "sda")
    ]


def test_the_busiest_stack_comes_first():
    """13 writes per second come before 11, whatever the names; no rule finds anything."""
    measuring = Measuring(TWO)
    loads = {"one": moved(None, did(11, SIZE)), "other": moved(None, did(13, SIZE))}
    measuring.add(Interval(loads | {"sda": moved(None, did(24, SIZE))}, 1000.0, 7.0))
    report = measuring.report()

    assert not report.judged.findings
    assert [stack.top.name for stack in report.stacks] == ["other", "one"]


def test_what_could_not_be_judged_is_kept():
    """602 requests per second, and no await."""
    measuring = Measuring(Topology([disk("sda")], []))
    load = moved(Flow(602.0, 0.0, 602.0 * SIZE, None), aqu=None)
    measuring.add(Interval({"sda": load}, 1000.0, 1.0))
    report = measuring.report()
    (question,) = report.judged.open_questions

    assert question.question.subject == "slow disks"
    page = render_markdown(page_of(report, ()))
    assert "**Do first:** Use `iostat -x` with all disks" in page
    assert "**Not judged:** slow disks." in page
    assert "**Slow disks not judged:** the input has no await or no queue depth of sda" in page


def test_an_idle_device_has_a_figure_of_0():
    """It is not unknown, however often it was idle before and after; its mean is over all seconds."""
    profile = Hour()
    profile.add({"sda": IDLE}, 3.0)
    profile.add({"sda": moved(None, did(11, SIZE)), "sdb": IDLE}, 2.0)
    profile.add({"sda": IDLE, "sdb": IDLE}, 5.0)

    assert profile.seconds == 10.0
    assert profile.mean(("sda", "write", "ios")) == 2.2
    assert profile.mean(("sdb", "write", "ios")) == profile.most["sdb"] == 0.0


def test_averages_since_boot_count_only_without_others():
    """They are shown as long as there is nothing else; a measured interval replaces them."""
    measuring = Measuring(Topology([disk("sda")], []))
    load = {"sda": moved(None, did(11, SIZE))}
    old = Interval(load, 1000.0, 700.0, since_boot=True)
    measuring.add(old)
    measuring.add(old)
    assert (measuring.kept.period.count, measuring.kept.period.seconds) == (2, 1400.0)

    measuring.add(Interval(load, 1007.0, 7.0))
    measuring.add(old)
    measuring.add(Interval(load, 1014.0, 7.0))
    assert (measuring.kept.period.count, measuring.kept.period.seconds) == (2, 14.0)


def test_the_shares_of_size_classes_sum_to_one():
    stack = SimpleNamespace(top=SimpleNamespace(name="dm-0", title="vg/lv"))
    chart = _size_chart(stack, {"read": {4096: 3.0, 8192: 1.0}, "write": {8192: 7.0}})
    assert [line.values for line in chart.lines] == [(0.0, 0.75, 0.25, 0.0), (0.0, 0.0, 1.0, 0.0)]
    assert chart.words.startswith("75.0 % of the reads were 4 KiB to ")


def test_the_projection_says_why_there_is_none():
    (intro,) = projection_section(None, ()).blocks
    assert intro == Paragraph(NO_PROJECTION)
