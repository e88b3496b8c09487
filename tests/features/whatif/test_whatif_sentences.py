"""What a projection says, of figures drawn by hand: each sentence from its numbers, and none without them."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from stackmap.features.whatif import sentences
from stackmap.features.whatif.quantities import Band, exact
from stackmap.model.raid import layout

GIB = 1 << 30
MIB = 1 << 20


def figures(said):
    """The numbers of a sentence in their order, with a unit or sign; the words are its own."""
    return re.findall(r"(?<![\w.])[-+]?\d[\d.]*\d|(?<![\w.])\d|[KMG]iB|%|as now", said)


def load(requests, count=4, bytes_=None, moved=None):
    return SimpleNamespace(requests=requests, count=count, bytes=bytes_, moved=moved)


def projected(**more):
    """774 requests per second at 4 disks now; 334, between 307 and 384, at 6 of a RAID10."""
    then = load(Band(307, 334, 384), 6)
    now = load(exact(774.0))
    given = {
        "idle": False, "is_check": False, "costs": None, "needs_larger": False, "need": None, "room": None,
        "total": None, "bytes_known": True, "device": SimpleNamespace(title="vg/lv"),
        "now": SimpleNamespace(disks=now, members=load(exact(99.0)), layout=layout("raid5", 4, 65536), usable=None),
        "projected": SimpleNamespace(disks=then, members=load(exact(7.0)), layout=layout("raid10", 6, 65536), usable=None),
    }  # fmt: skip
    return SimpleNamespace(**{**given, **more})


def side(base, **more):
    return SimpleNamespace(**{**vars(base), **more})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"idle": True}, []),
        ({}, ["774", "334", "-57", "%", "307", "384"]),
        ({"is_check": True, "costs": (4.0, exact(2.0))}, ["774", "334", "-57", "%", "307", "384"]),
        ({"costs": (4.0, exact(2.0))}, ["774", "334", "-57", "%", "307", "384", "2.00", "4.00"]),
        ({"costs": (2.0, exact(2.0))}, ["774", "334", "-57", "%", "307", "384", "2.00", "as now"]),
    ],
)
def test_the_headline_has_requests_and_cost_now_and_then(more, said):
    """One that checks the model has no cost: its layout is the present one."""
    assert figures(sentences.headline(projected(**more))) == said


def test_the_lowest_layer_that_is_known_on_both_sides_is_compared():
    base = projected()
    assert sentences.compared(base)[0] == "disk"
    for name in ("now", "projected"):
        half = side(getattr(base, name), disks=load(None))
        where, now, then = sentences.compared(side(base, **{name: half}))
        assert (where, now.requests, then.requests) == ("member", exact(99.0), exact(7.0))


def test_what_cannot_be_compared_is_not():
    base = projected()
    unknown = load(None)
    then = side(base.projected, disks=unknown, members=unknown)
    assert figures(sentences.headline(side(base, projected=then))) == []
    now = side(base.now, disks=unknown, members=unknown)
    assert figures(sentences.headline(side(base, now=now))) == ["7.00"]
    assert sentences.details(side(base, now=now)) == sentences.details(side(base, idle=True)) == ""


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        (exact(100), Band(40, 100, 250), "-60 % to +150 %"),
        (exact(100), exact(50), "-50 %"),
        (exact(100), Band(40, 50, 60), "-50 %, range 40.0 to 60.0"),
        (exact(0), exact(50), "previously 0"),
    ],
)
def test_a_wide_range_is_named_by_its_ends(now, then, said):
    """From three times as high as low."""
    assert sentences._changed(now, then) == said
    assert not sentences.is_wide(Band(10, 20, 30))
    assert sentences.is_wide(Band(10, 20, 31))


def test_the_load_per_device_and_the_throughput():
    """774 on 4 are 194 each; 334 on 6 are 56. 8 MiB/s become 4, or stay."""
    base = projected()
    each = ["55.7", "6", "194", "4"]
    assert figures(sentences.details(base)) == each
    now = side(base.now, disks=load(exact(774.0), 4, 8 * MIB))
    for moved, said in (
        (exact(4.0 * MIB), ["4", "MiB", "8", "MiB", "50", "%"]),
        (exact(8.0 * MIB), ["8", "MiB", "as now"]),
        (Band(2.0 * MIB, 3.0 * MIB, 4.0 * MIB), ["2", "MiB", "4", "MiB", "8", "MiB"]),
    ):
        then = side(base.projected, disks=load(Band(307, 334, 384), 6, None, moved))
        told = sentences.details(side(base, now=now, projected=then))
        assert figures(told) == [*each, *said]


def test_the_space_that_a_layout_needs():
    """RAID10 of 4 with 200 MiB each holds 400 MiB of the present 600: 6 such, or 4 of 300."""
    base = projected()
    now = side(base.now, usable=600 * MIB, members=SimpleNamespace(count=4))
    then = side(
        base.projected,
        usable=400 * MIB,
        layout=layout("raid10", 4, 65536),
        members=SimpleNamespace(count=4),
    )
    need = SimpleNamespace(members=6, member_bytes=200 * MIB)
    given = side(base, now=now, projected=then, need=need)
    enough = side(
        given,
        need=SimpleNamespace(members=4, member_bytes=300 * MIB),
        projected=side(then, usable=600 * MIB),
    )
    words = [" ".join(figures(sentences.capacity(each))) for each in (given, enough)]
    assert words == [
        "1.2 GiB 600 MiB 800 MiB 6 200 MiB 4 300 MiB",
        "4 300 MiB 600 MiB 600 MiB",
    ]
    larger = figures(sentences.capacity(side(given, needs_larger=True)))
    assert " ".join(larger) == "600 MiB 6 200 MiB 400 MiB"
    for lacking in (
        side(given, need=None),
        side(given, now=side(now, usable=None)),
        side(given, projected=side(then, usable=None)),
    ):
        assert sentences.capacity(lacking) == ""


@pytest.mark.parametrize(
    ("free", "members", "suffices", "words"),
    [
        ((7 * GIB,), 1, True, "5 GiB 1 1 7 GiB"),
        ((7 * GIB, 11 * GIB), 2, True, "5 GiB 2 2 7 GiB 11 GiB"),
        ((7 * GIB, 7 * GIB), 2, False, "5 GiB 2 2 7 GiB"),
    ],
)
def test_the_room_beside_the_present_layout(free, members, suffices, words):
    """What a copy needs, on how many PVs, and what they have; and whether that is too little."""
    space = SimpleNamespace(free=free, members=members, member_bytes=5 * GIB, suffices=suffices)
    said, _, command = sentences.room(projected(room=space)).partition("`")
    assert " ".join(figures(said)) == words
    assert ("too little" in said) is not suffices
    assert command.startswith("stackmap plan --to raid10:members=6 vg/lv`")
    assert sentences.room(projected()) == sentences.room(projected(room=space, is_check=True)) == ""


@pytest.mark.parametrize(
    ("now", "then", "request_"),
    [
        (layout("raid5", 4, 65536), layout("raid10", 4, 65536), "raid10"),
        (layout("raid5", 4, 65536), layout("raid10", 6, 131072), "raid10:members=6,chunk=128k"),
        (layout("raid5", 4, 65536), layout("raid5", 4, 131072), "raid5:chunk=128k"),
        (None, layout("raid1", 2), "raid1:members=2"),
        (layout("raid5", 4, 65536), layout("linear", 1), "linear"),
    ],
)
def test_the_plan_names_what_differs(now, then, request_):
    base = projected()
    given = side(base, now=side(base.now, layout=now), projected=side(base.projected, layout=then))
    assert sentences._plan(given) == f"`stackmap plan --to {request_} vg/lv`"
