"""What ``trace --events`` prints of a recorded stream, as text and as JSON."""

from __future__ import annotations

import pytest

import stackmap
from stackmap.document.blocks import Table
from stackmap.features.trace.command import EventOptions
from stackmap.features.trace.events.document import (
    request_blocks,
    requests_json,
    summary_json,
    totals_blocks,
)
from stackmap.features.trace.events.follow import Follower
from stackmap.features.trace.events.request import Totals
from stackmap.render.terminal import Style, render_text
from stackmap.sources import trace_text
from tests.paths import ROOT

STREAMS = ROOT / "tests" / "streams"


@pytest.fixture(scope="module")
def joined():
    topology = stackmap.open(str(STREAMS / "6.1" / "topology.tar.gz")).topology()
    follower = Follower(topology, ["dm-8"])
    text = (STREAMS / "6.1" / "r5.stream").read_text()
    requests = follower.feed(trace_text.parse_events(text.splitlines()))
    totals = Totals()
    totals.add(follower.dispatched())
    return topology, requests, totals


def test_a_write_with_what_it_caused(joined):
    """RAID5 of 4: two data pages are read to reconstruct parity; then data and parity are written."""
    topology, requests, _ = joined
    blocks = request_blocks(topology, requests[1:2], requests[0].queued, follow=True)
    lines = render_text(blocks, Style(100)).splitlines()[2:]
    words = [line.split()[:3] for line in lines]
    assert words[0] == ["t/r5", "write", "fio"]
    members = [line.split()[0] for line in lines[1::2]]
    assert len(set(members)) == 4
    assert [line.split()[1:3] for line in lines[1::2]] == [["read", "data"]] * 2 + [
        ["write", "data"],
        ["write", "parity"],
    ]
    assert all(line.startswith("    sd") for line in lines[2::2])


def test_pages_of_one_member_are_one_line():
    """A write of two full stripes: per member 32 pages, of which parity is shown apart; a disk merged 64."""
    topology = stackmap.open(str(STREAMS / "6.1" / "topology.tar.gz")).topology()
    follower = Follower(topology, ["dm-8"])
    text = (STREAMS / "6.1" / "r5seq.stream").read_text()
    first, second = follower.feed(trace_text.parse_events(text.splitlines()))
    lines = [
        render_text(request_blocks(topology, [each], 0.0, follow=True), Style(120)).splitlines()[2:]
        for each in (first, second)
    ]
    members = [line.split()[:4] for line in lines[0] if "rimage" in line]
    assert ["t/r5_rimage_3", "write", "parity", "×16"] in members
    assert sum(int(words[3][1:]) for words in members) == 2 * 4 * 16
    disks = [line for line in lines[0] if line.startswith("    sd")]
    assert len([line for line in disks if "↑" not in line]) == 4
    assert all("256.0" in line for line in disks)
    assert all("↑" in line for line in lines[1] if line.startswith("    sd"))


def test_without_follow_there_is_one_line_per_request(joined):
    topology, requests, _ = joined
    text = render_text(request_blocks(topology, requests, 0.0, follow=False), Style(100))
    assert text.count("t/r5 ") == len(requests) == 10
    assert "rimage" not in text


def test_what_is_derived_is_said(joined):
    topology, requests, totals = joined
    text = render_text(totals_blocks(topology, len(requests), totals, 0, 0.012), Style(200))
    assert "40 of data and parity, 32 of metadata" in text
    assert "t/r5: the kernel does not report which request caused which member's request" in text
    assert "lost" not in text


def test_lost_events_are_said():
    text = render_text(totals_blocks(None, 0, Totals(), 7, 0.0), Style(200))
    assert "7 events were lost" in text


def test_json_has_every_request_once_with_its_cause(joined):
    topology, requests, totals = joined
    found = list(requests_json(topology, requests, requests[0].queued, follow=True))
    ids = [each["id"] for each in found]
    assert len(ids) == len(set(ids)) == 10 + 4 * 10 + 4 * 10
    for each in found:
        assert set(each["caused_by"]) <= set(ids)
        assert each["derived"] == ("rimage" in each["label"])
    assert sum(each["dispatched"] for each in found) == 40
    assert summary_json(10, totals, 30, 0, 0.0)["unknown"] == 0


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (EventOptions(operation="write"), 10),
        (EventOptions(operation="read"), 0),
        (EventOptions(slower=1000.0), 0),
        (EventOptions(slower=0.0), 10),
    ],
)
def test_filters(joined, options, count):
    assert sum(map(options.wants, joined[1])) == count


def test_a_request_has_its_time_if_all_of_it_is_done(joined):
    """In milliseconds, from its submission to its end; unknown while a part is under way."""
    topology, requests, _ = joined
    request = requests[1]

    def took(alike):
        (block,) = [
            each
            for each in request_blocks(topology, alike, 0.0, follow=False)
            if isinstance(each, Table)
        ]
        return block.groups[0].rows[0][-1].number

    assert took([request]) == pytest.approx((request.done - request.queued) * 1000)
    request.done, done = None, request.done
    assert took([request]) is None
    request.done = done
