"""A state needs no interval: ``explain`` and ``check`` both report it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from stackmap.document.rule_words import action, filled, words_of
from stackmap.model.device import NEVER_SYNCED, Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.raid import layout
from stackmap.model.reason import StateChange
from stackmap.model.topology import Edge, Topology
from stackmap.rules.checks import checks
from stackmap.rules.context import Context, measured_context
from stackmap.rules.rule import Severity
from stackmap.rules.table import findings
from tests.drawn import disk

DISKS = ("sda", "sdb", "sdc")


def array(state="active", roles=(), states=(), **facts):
    """md0 over three disks that are members with *roles* and *states*."""
    md = Device(
        "md0", Kind.ARRAY, "9:0", layout=layout("raid5", 3, 65536), state=state, facts=facts
    )
    roles = roles or [Role.DATA] * len(DISKS)
    states = states or ["active"] * len(DISKS)
    disks = [disk(name, state=its) for name, its in zip(DISKS, states, strict=True)]
    edges = [Edge("md0", name, role) for name, role in zip(DISKS, roles, strict=True)]
    return Topology([*disks, md], edges)


def reported(topology):
    """Return what both commands say: id, device, severity, and the words of the sentence."""
    context = Context(topology)
    explained, checked = [
        [(f.rule.id, f.device, f.severity, dict(f.observed.words)) for f in found if f.is_grave]
        for found in (findings(context), checks(context))
    ]
    assert explained == checked
    return explained


@pytest.mark.parametrize(
    "state", ["degraded", "degraded, check 5.0 %", "failed", "not in sync", "failed, check 5.0 %"]
)
def test_a_broken_device_is_critical(state):
    """Its state is in the sentence, with the member that failed."""
    failed = array(state, [Role.DATA, Role.DATA, Role.FAILED], ["active", "active", "faulty"])
    ((rule, device, severity, words),) = [each for each in reported(failed) if each[0] == "SM301"]

    assert (rule, device, severity) == ("SM301", "md0", Severity.CRITICAL)
    cause = "members that are not active: sdc (faulty)"
    assert {key: words[key] for key in ("state", "cause", "array")} == {
        "state": state,
        "cause": cause,
        "array": "md0",
    }


@pytest.mark.parametrize(
    ("device", "command"),
    [
        (Device("md0", Kind.ARRAY, "9:0"), ": see `mdadm --detail /dev/md0`"),
        (
            Device("dm-1", Kind.VOLUME, "253:1", label="vg/lv"),
            ": see `lvs -a -o +devices,lv_health_status vg/lv`",
        ),
        (Device("dm-2", Kind.DM, "253:2", label="x"), ""),
        (
            Device("dm-3", Kind.MULTIPATH, "253:3", dm_name="mpatha"),
            ": see `multipath -ll mpatha`",
        ),
        (
            Device("nvme0n1", Kind.DISK, "259:0", facts={"paths": "1 of 2"}),
            ": see `nvme list-subsys /dev/nvme0n1`",
        ),
    ],
    ids=["md", "LVM", "another target", "multipath", "NVMe"],
)
def test_the_command_for_a_broken_device_is_that_of_its_tool(device, command):
    topology = Topology([device._replace(state="degraded")], [])
    found = findings(Context(topology, Interval({}), (), None, (), {}))
    (first,) = [each for each in found if each.rule.id == "SM301"]
    assert action(topology, first) == f"Repair it first{command}."


@pytest.mark.parametrize(
    ("level", "state", "expected"),
    [("raid5", "degraded", True), ("raid1", "degraded", False), ("raid5", "failed", False)],
)
def test_only_parity_reads_all_other_members(level, state, expected):
    """A mirror, a pool or a path has no such cost, and a broken array reads nothing."""
    device = Device("md0", Kind.ARRAY, "9:0", layout=layout(level, 3, 65536), state=state)
    (first,) = [each for each in findings(Context(Topology([device]))) if each.rule.id == "SM301"]
    advice = filled(first.rule.advice, words_of(Topology([device]), first.observed))

    assert ("reads all other members" in advice) == expected


def test_a_full_pool_is_extended():
    """There is nothing to repair."""
    pool = Device(
        "dm-4",
        Kind.MEMBER,
        "253:4",
        label="vg/p-tpool",
        target="thin-pool",
        state="out of data space",
    )
    topology = Topology([pool])
    (first,) = [each for each in findings(Context(topology)) if each.rule.id == "SM301"]

    assert action(topology, first) == "Extend it first: `lvextend --size +SIZE -- vg/p`."


def test_the_place_of_a_missing_pv_is_broken():
    """LVM gives it a target that fails all requests."""
    target = Device(
        "dm-5", Kind.MEMBER, "253:5", label="vg/lv_rimage_1", target="error", state="active"
    )
    ((_, device, severity, words),) = reported(Topology([target]))

    assert (device, severity) == ("dm-5", Severity.CRITICAL)
    assert words["state"] == "missing (target error)"


def changed(was, *states):
    """Return what is found where md0 was in the state *was* at the start, and in *states* one after the other."""
    first = array(was)
    identity = first["md0"].identity
    events = [StateChange("md0", "md0", identity, a, b) for a, b in pairwise((was, *states))]
    intervals = [Interval({}, seconds=1.0, events=(event,)) for event in events]
    found = findings(measured_context(first, intervals))
    return [(each.rule.id, each.severity, dict(each.observed.words)) for each in found]


@pytest.mark.parametrize(
    ("states", "rule", "severity", "words"),
    [
        (("active", "degraded"), "SM301", "critical", {"state": "degraded", "was": "active"}),
        (("degraded", "active"), "SM307", "warning", {"state": "degraded", "now": "active"}),
        (("active", "degraded", "active"), "SM307", "warning", {"state": "degraded"}),
        (("active", "suspended"), "SM306", "critical", {}),
        (("active", "suspended", "active"), "SM307", "warning", {"state": "suspended"}),
        (("active", "read-only"), "SM317", "warning", {}),
        (("read-only", "writable"), "SM307", "warning", {"now": "writable"}),
        (("active", "resync 1.0 %"), "SM302", "warning", {"was": "active"}),
        (("resync 99 %", "active"), "SM302", "warning", {"state": "resync 99 %"}),
        (("degraded", "recover 2.0 %"), "SM307", "warning", {"now": "recover 2.0 %"}),
    ],
)
def test_a_state_that_changed_comes_first(states, rule, severity, words):
    """The state at the end is judged; one that passed is reported too."""
    first, *_ = changed(*states)

    assert first[:2] == (rule, severity)
    assert words.items() <= first[2].items()


def test_a_change_of_another_device_of_that_name():
    """What was replaced later says nothing of the device that was measured first."""
    first = array("active")
    event = StateChange("md0", "md0", "another", "active", "degraded")

    assert findings(measured_context(first, [Interval({}, seconds=1.0, events=(event,))])) == []


@pytest.mark.parametrize(
    ("level", "members", "lacks"),
    [("raid5", 4, "1 of its 4 members"), ("raid5", 5, ""), ("raid6", 4, ""), ("raid6", 5, "2 of its 5 members"), ("raid1", 4, ""), ("raid1", 3, ""), ("raid10", 4, "")],
)  # fmt: skip
def test_an_array_without_redundancy_is_told(level, members, lacks):
    """Three of its members are there; copies are lost with the last one, or which of RAID10's is open."""
    whole = array("degraded")
    md = whole["md0"]._replace(layout=layout(level, members, 65536))
    topology = Topology([*(whole[name] for name in DISKS), md], whole.edges)

    ((_, device, _, words),) = reported(topology)

    assert (device, words["lacks"]) == ("md0", lacks)


@pytest.mark.parametrize(
    ("state", "member", "lacks"),
    [("recover 3.0 %", "recovering", "1 of its 3 members"), ("recover 3.0 %", "active", ""), ("resync 3.0 %", "recovering", "")],
)  # fmt: skip
def test_a_rebuild_has_no_redundancy_yet(state, member, lacks):
    """All members are there, and one has no data yet; a replacement is made from one that has."""
    topology = array(state, states=("active", "active", member))
    (first,) = [each for each in findings(Context(topology)) if each.rule.id == "SM302"]

    assert words_of(topology, first.observed)["lacks"] == lacks


@pytest.mark.parametrize(
    ("level", "members", "cause"),
    [("raid5", 3, "no device below it has failed"), ("raid5", 4, "a member is missing"), ("raid6", 6, "3 members are missing")],
)  # fmt: skip
def test_missing_members_are_counted(level, members, cause):
    """Three members are there."""
    whole = array("failed")
    md = whole["md0"]._replace(layout=layout(level, members, 65536))
    ((_, _, _, words),) = reported(Topology([*(whole[name] for name in DISKS), md], whole.edges))

    assert words["cause"] == cause


def test_paths_that_wait_have_not_failed():
    """The storage offers three paths for another time; only the lost one is the cause."""
    states = {"nvme0c0n1": "non-optimized", "nvme0c1n1": "inaccessible", "nvme0c2n1": "dead"}
    head = Device("nvme0n1", Kind.DISK, "259:0", state="degraded")
    paths = [Device(name, Kind.DISK, "", state=state) for name, state in states.items()]
    topology = Topology([head, *paths], [Edge("nvme0n1", name, Role.PATH) for name in states])
    ((_, _, _, words),) = reported(topology)

    assert words["cause"] == "members that are not active: nvme0c2n1 (dead)"


@pytest.mark.parametrize(
    ("state", "advice"),
    [("invalid", "Remove it: `lvremove -- vg/s`."), ("overflow", "Remove it: `lvremove -- vg/s`."), ("merge failed", "Repair it first: see `lvs -a -o +devices,lv_health_status vg/s`.")],
)  # fmt: skip
def test_a_lost_snapshot_is_removed(state, advice):
    """Nothing repairs it."""
    topology = Topology([Device("dm-4", Kind.SNAPSHOT, "253:4", label="vg/s", state=state)])
    (first,) = [each for each in findings(Context(topology)) if each.rule.id == "SM301"]

    assert action(topology, first) == advice


def test_a_mirror_with_one_copy_left_is_told():
    roles, states = [Role.DATA, Role.DATA, Role.DATA], ["active", "faulty", "faulty"]
    whole = array("degraded", roles, states)
    md = whole["md0"]._replace(layout=layout("raid1", 3, 65536))

    found = reported(Topology([*(whole[name] for name in DISKS), md], whole.edges))

    assert {device: words.get("lacks") for _, device, _, words in found}[
        "md0"
    ] == "2 of its 3 members"


def test_a_failed_member_that_a_spare_replaced():
    """The array has its redundancy; the failed disk is still a member, and reported itself."""
    roles, states = [Role.DATA, Role.DATA, Role.FAILED], ["active", "active", "faulty"]
    ((_, device, _, words),) = reported(array("active", roles, states))

    assert (device, words["cause"]) == ("sdc", "it is a member of md0")


def test_a_spare_is_not_a_failed_member():
    """A degraded array with a spare that does not replace anything yet."""
    found = reported(
        array("degraded", [Role.DATA, Role.DATA, Role.SPARE], ["active", "active", "spare"])
    )

    assert [words["cause"] for *_, words in found] == ["a member is missing"]


@pytest.mark.parametrize(
    ("role", "state", "expected"),
    [(Role.JOURNAL, "journal", []), (Role.FAILED, "faulty", ["SM301"])],
)
def test_an_array_without_its_journal(role, state, expected):
    """A journal that failed is no journal."""
    found = reported(
        array(
            "active",
            [Role.DATA, Role.DATA, role],
            ["active", "active", state],
            consistency="journal",
        )
    )

    assert [rule for rule, *_ in found] == expected


@pytest.mark.parametrize("work", ["recover 45.0 %", "resync 1.0 %", "reshape 3.0 %"])
def test_work_is_a_warning(work):
    """A rebuild is visible without a measurement."""
    ((rule, device, severity, _),) = reported(array(work))

    assert (rule, device, severity) == ("SM302", "md0", Severity.WARNING)


def test_an_array_that_was_never_synced():
    """RAID5 with four data disks keeps wrong parity."""
    md = Device(
        "md0", Kind.ARRAY, "9:0", layout=layout("raid5", 5, 65536), state="active",
        facts={NEVER_SYNCED: "--nosync"},
    )  # fmt: skip

    assert [rule for rule, *_ in reported(Topology([md], []))] == ["SM304"]
    assert not reported(Topology([md._replace(facts={})], []))
