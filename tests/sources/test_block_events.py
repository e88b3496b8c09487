"""Lines of trace_pipe, from both kernels and with hostile names."""

from __future__ import annotations

import pytest

from stackmap.sources.trace_text import BlockEvent, Step, parse_events

HEAD = "             fio-884     [001] .....   303.028908: "


def one(line):
    [event] = parse_events([line])
    return event


def test_a_queued_request():
    event = one(f"{HEAD}block_bio_queue: 254,18 FWFS 11856 + 8 [fio]")
    assert event == BlockEvent(303.028908, Step.QUEUE, "fio", 884, "254:18", "FWFS", 11856, 8)
    assert event.operation == "write"


def test_a_remap():
    event = one(f"{HEAD}block_bio_remap: 8,0 R 325200 + 8 <- (254,18) 11856")
    assert (event.number, event.sector, event.source) == ("8:0", 325200, ("254:18", 11856))


@pytest.mark.parametrize(
    ("text", "sector", "sectors"),
    [
        ("block_rq_issue: 8,0 WSM 512 () 2056 + 1 [kworker/0:1H]", 2056, 1),
        ("block_rq_issue: 8,0 WSM 512 () 2056 + 1 be,0,4 [kworker/0:1H]", 2056, 1),  # 6.12
        ("block_rq_complete: 8,0 WSM () 2056 + 1 be,0,4 [0]", 2056, 1),
        ("block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]", 0, 0),  # no sector
        ("block_rq_issue: 8,0 N 36 (12 00 00 00 24 00) 0 + 0 [fio]", 0, 0),
    ],
)
def test_requests_of_both_kernels(text, sector, sectors):
    event = one(HEAD + text)
    assert (event.sector, event.sectors) == (sector, sectors)


@pytest.mark.parametrize(
    ("flags", "sectors", "operation"),
    [
        ("R", 8, "read"),
        ("RAM", 8, "read"),
        ("WS", 8, "write"),
        ("FWFSM", 8, "write"),
        ("FWS", 0, "flush"),
        ("DS", 8, "discard"),
        ("N", 1, "other"),
    ],
)
def test_operations(flags, sectors, operation):
    event = BlockEvent(0.0, Step.QUEUE, "", 1, "8:0", flags, 0, sectors)
    assert event.operation == operation


@pytest.mark.parametrize("name", ["a b-1 [0] x", "x] [y", "-1", "a: b", "kworker/0:1H", "\x1b[2J"])
def test_names_may_contain_anything(name):
    event = one(f"{name:>16}-77      [000] d.h1.   1.5: block_bio_queue: 8,0 R 0 + 8 [{name}]")
    assert (event.command, event.pid, event.number) == (name, 77, "8:0")


def test_other_lines_are_ignored():
    lines = [
        "# tracer: nop",
        "CPU:1 [LOST 42 EVENTS]",
        "",
        f"{HEAD}block_plug: [fio]",
        "8,0 R 0 + 8",
    ]
    assert list(parse_events(lines)) == []
