"""What ``trace --events`` prints of a recorded stream, as text and as JSON."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import click
import pytest

import stackmap
from stackmap.document.blocks import Table
from stackmap.features.trace import command
from stackmap.features.trace.command import EventOptions
from stackmap.features.trace.events.document import (
    _rows,
    request_blocks,
    requests_json,
    summary_json,
    totals_blocks,
)
from stackmap.features.trace.events.follow import Follower
from stackmap.features.trace.events.request import Totals
from stackmap.render.terminal import Style
from stackmap.sources import trace_text
from tests.paths import ROOT
from tests.terminal_text import render_text

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


def test_requests_in_one_line_begin_at_the_lowest(joined):
    """Its size is their sum, its time runs from the first submission to the last end."""
    topology, requests, _ = joined
    alike = sorted(requests[:5], key=lambda each: -each.sector)
    (block,) = (
        b for b in request_blocks(topology, requests, 0.0, follow=False) if isinstance(b, Table)
    )
    lines = [row for group in block.groups for row in group.rows]
    assert [row[4].number for row in lines] == [each.sector * 512 for each in requests]

    (row,) = _rows(topology, alike, 0.0, follow=False)
    assert row[4].number == min(each.sector for each in requests[:5]) * 512
    assert row[5].number == sum(each.sectors for each in requests[:5]) * 512
    assert row[7].number == pytest.approx(
        (max(each.done for each in alike) - alike[0].queued) * 1000
    )


def test_each_request_has_its_place_and_size_in_json(joined):
    """In bytes; the kernel prints sectors of 512."""
    topology, requests, _ = joined
    text = (STREAMS / "6.1" / "r5.stream").read_text()
    queued = re.findall(r"block_bio_queue: 254,8 \S+ (\d+) \+ (\d+) ", text)
    found = requests_json(topology, requests, requests[0].queued, follow=False)

    assert [(each["offset"], each["size"]) for each in found] == [
        (512 * int(sector), 512 * int(count)) for sector, count in queued
    ]


class Ended:
    """A trace of two batches that its overhead ended."""

    start, events, lost = 0.0, 7, 0
    overhead = SimpleNamespace(share=0.25)

    def __init__(self, batches):
        self.batches, self.totals, self.asked = batches, Totals(), None

    def requests(self, *asked):
        self.asked = asked
        yield from self.batches


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("stopped", ["stopped after 1.0 s: it took too much", ""])
def test_a_trace_that_ends_early_says_why(joined, monkeypatch, capsys, as_json, stopped):
    """On standard error; what was traced until then is printed, filtered, and counted."""
    topology, requests, _ = joined
    trace = Ended([requests[:3], [SimpleNamespace(operation="read")], requests[3:]])
    trace.stopped = stopped
    monkeypatch.setattr(command, "RequestTrace", lambda *_, **__: trace)
    monkeypatch.setattr(command.signal, "signal", lambda *_: None)
    limits = SimpleNamespace(seconds=3.0, max_overhead=0.05)
    options = EventOptions(operation="write")
    with click.Context(click.Command("trace")):
        command.print_events(
            None, topology, ["dm-8"], limits, options, as_json=as_json, heading=True
        )
    out, err = capsys.readouterr()

    assert trace.asked == (3.0, 0.05)
    assert ("stopped after 1.0 s" in err) is bool(stopped)
    if as_json:
        *found, summary = map(json.loads, out.splitlines())
        assert len(found) == 10
        assert (summary["requests"], summary["events"], summary["overhead"]) == (10, 7, 0.25)
    else:
        assert out.count("write") >= 10
