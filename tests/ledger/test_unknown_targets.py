"""Whether a device with an unknown target passes requests on, as its counters tell."""

from __future__ import annotations

import pytest

from stackmap.document.sentences import sentences
from stackmap.ledger.amplification import figures_of
from stackmap.ledger.blame import blame, targets
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge, Topology
from tests.drawn import did, disk, moved, passing

SECONDS = 10.0
PAGE = 4096
SHARED = {"one": did(31, PAGE), "two": did(17, 2 * PAGE)}
BOTH = did(31, PAGE) + did(17, 2 * PAGE)


def tree(*more: Edge, target: str = "vendor") -> Topology:
    """Volumes one and two on a mapped device of a vendor, on a disk."""
    mapped = Device("x", Kind.DM, "254:9", target=target, dm_name="x")
    devices = [disk("sda"), mapped, passing("one"), passing("two"), passing("other")]
    edges = [Edge("one", "x", Role.DATA), Edge("two", "x", Role.DATA), Edge("x", "sda", Role.DATA)]
    return Topology(devices, [*edges, *more])


def ledger(below=BOTH, topology=None, seconds=SECONDS, reads=None):
    loads = {name: moved(write=flow) for name, flow in SHARED.items()}
    loads |= {"x": moved(reads, BOTH), "sda": moved(reads, below), "other": moved()}
    return Ledger(topology or tree(), loads, seconds)


def passes_on(found: Ledger) -> bool | None:
    known = found.sent.unknown_targets.get("x")
    return None if known is None else known.passes_on


def test_equal_requests_and_bytes_pass_through():
    assert passes_on(ledger()) is True


def test_requests_that_merge_below_were_sent_one_by_one():
    merged = BOTH._replace(ios=13.0, merges=BOTH.ios - 13.0)

    assert passes_on(ledger(merged)) is True


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (BOTH + BOTH, False),  # it mirrors
        (BOTH + did(7, PAGE), False),  # it writes a log as well
        (did(29, PAGE), False),  # it caches
        (did(2 * BOTH.ios, BOTH.bytes / BOTH.ios / 2), None),  # it, or the disk's queue, splits
        (did(0, 0), False),
    ],
)
def test_other_requests_do_not(below, expected):
    assert passes_on(ledger(below)) is expected


@pytest.mark.parametrize("below", [BOTH, BOTH + BOTH])
def test_few_requests_tell_nothing(below):
    """48 requests per second for two seconds: 96."""
    assert passes_on(ledger(below, seconds=2.0)) is None
    assert passes_on(ledger(below, seconds=None)) is None


def test_each_direction_needs_requests():
    """Nine reads that are equal say little beside hundreds of writes."""
    assert passes_on(ledger(reads=did(0.9, PAGE))) is None
    assert passes_on(ledger(reads=did(11, PAGE))) is True


@pytest.mark.parametrize(
    "topology",
    [
        tree(Edge("other", "sda", Role.DATA)),  # another device sends there, too
        tree(Edge("x", "other", Role.DATA)),  # its requests go to two devices
        tree(target="cache"),  # known
        tree(target=""),
    ],
)
def test_where_counters_cannot_tell_nothing_is_said(topology):
    assert ledger(topology=topology).sent.unknown_targets == {}


def test_requests_in_flight_prove_nothing():
    """4 % of the bytes are missing below, which 19 requests in flight explain."""
    found = ledger(did(46, BOTH.bytes / BOTH.ios))
    loads = dict(found.loads)
    assert passes_on(found) is False
    loads["x"] = loads["x"]._replace(in_flight_at_ends=19.0)
    loads["sda"] = loads["sda"]._replace(in_flight_at_ends=1.0)

    assert passes_on(Ledger(tree(), loads, SECONDS)) is None


def test_volumes_are_told_apart_below_as_an_estimate():
    found = ledger()
    share = found.shares("one")["sda"]

    assert (share.write.arrivals, share.write.bytes) == (31, 31 * PAGE)
    assert share.estimated
    loaders = {each.tops: each for each in blame(found, "sda").loaders}
    assert loaders["one",].arrivals == 31
    assert loaders["two",].bytes == 17 * 2 * PAGE
    assert loaders["one",].estimated
    assert blame(found, "sda").accounted is None
    assert [each.estimated for each in targets(found, "one")] == [True]


@pytest.mark.parametrize("below", [BOTH + BOTH, did(2 * BOTH.ios, BOTH.bytes / BOTH.ios / 2)])
def test_else_they_are_not(below):
    found = ledger(below)

    assert found.shares("one")["sda"].write.arrivals is None
    assert {each.tops for each in blame(found, "sda").loaders} == {("one", "two"), ()}


def test_what_was_inferred_from_arrivals_does_not_confirm_them():
    """Accounted would be 1.000 by construction."""
    (stack,) = figures_of(ledger(), ["one"])

    assert stack.layers[-1].accounted == {
        "read": None,
        "write": None,
        "discard": None,
        "total": None,
    }


@pytest.mark.parametrize(
    ("below", "words"),
    [
        (BOTH, "x passes requests through (estimated from counters): its target vendor is unknown"),
        (
            BOTH + BOTH,
            (
                "x makes requests of its own (estimated from counters): its target vendor is unknown, "
                "and 2.00 requests per request and 2.00 bytes per byte arrive at sda"
            ),
        ),
    ],
)
def test_it_is_said(below, words):
    (stack,) = figures_of(ledger(below), ["one"])

    assert words in sentences(stack)
