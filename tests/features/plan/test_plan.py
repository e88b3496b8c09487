"""Plans: which steps in which order, where they stand, and what is refused; on stacks drawn by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from stackmap.errors import PlanRefused
from stackmap.features.plan import lvm_convert
from stackmap.features.plan.document import redundancy
from stackmap.features.plan.lab_results import LVM2, announced
from stackmap.features.plan.lvm_steps import metadata_extents, place
from stackmap.features.plan.plan import disks, target
from stackmap.features.plan.strategies import (
    STRATEGIES,
    is_current_layout,
    outcomes,
    require_finished,
)
from stackmap.model.device import Device, Kind, Role, Use
from stackmap.model.layout_request import parse
from stackmap.model.topology import Edge, Topology
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup
from tests.features.plan.plans import (
    CHUNK,
    EXTENT,
    MIB,
    cached_context,
    disk_names,
    lv_context,
    md_context,
    mount,
    pool_context,
)

MOUNT = (Use("mount", "/srv", "/proc/self/mountinfo"),)
MOUNTED = {"/srv": mount("ext4", "rw,noatime")}


def plan(context, strategy):
    """The plan of one way; what it refuses is raised."""
    return STRATEGIES[strategy].plan(context)


def lines(context, strategy):
    return [step.line for step in plan(context, strategy).steps]


def verbs(steps):
    """The first words of each command, a wait as such."""
    return ["wait" if step.command[0] == "sh" else step.command[0] for step in steps]


# Going through lvconvert's table.

REDUNDANT = ("raid4", "raid5_ls", "raid5_n", "raid6_zr", "raid6_ls_6", "raid6_n_6", "raid10")


@pytest.mark.parametrize(
    ("before", "after"), [(a, b) for a in REDUNDANT for b in REDUNDANT if a != b]
)
def test_a_path_is_bare_only_where_it_must_be(before, after):
    """Parity levels reach each other without striped in between; only raid10 is reached through it."""
    legs = lvm_convert.path(before, after)
    bare = {leg.after for leg in legs} & lvm_convert.STRIPED

    assert bool(bare) == ("raid10" in (before, after))
    assert [leg.before for leg in legs[1:]] == [leg.after for leg in legs[:-1]]


@pytest.mark.parametrize("leg", sorted(lvm_convert.TAKEOVERS | lvm_convert.RESHAPES))
def test_every_leg_has_a_way_back(leg):
    """What lvconvert makes it can unmake, one leg or more."""
    assert lvm_convert.path(leg[1], leg[0])


def test_only_raid0_meta_goes_up():
    """PVs are named only where all members have metadata: LVM would put it all on those PVs."""
    ups = {
        (a, b)
        for a, b in lvm_convert.TAKEOVERS
        if a in lvm_convert.STRIPED and b not in lvm_convert.STRIPED
    }

    assert {"raid0_meta"} == {a for a, _ in ups}
    steps = plan(lv_context("striped", 3, "raid10"), "convert").steps
    assert [("raid0_meta", 0), ("raid10", 3)] == [
        (s.command[3], len(s.command[6:])) for s in steps if s.command[0] == "lvconvert"
    ]


@pytest.mark.parametrize(
    ("segtype", "members", "wanted"),
    [("raid5", 4, "raid10"), ("raid5", 4, "striped"), ("raid10", 4, "raid0"), ("raid6", 5, "raid5"),
     ("striped", 3, "raid5"), ("raid5", 4, "raid6:layout=ls_6")],
)  # fmt: skip
def test_what_is_printed_to_go_back_leads_back(segtype, members, wanted):
    """Each command of it is a pair of lvconvert's table, and the last leads to where the step began."""
    steps = plan(lv_context(segtype, members, wanted, count=8), "convert").steps
    here = lvm_convert.canonical(segtype)
    for step in (step for step in steps if step.command[0] == "lvconvert"):
        began, here = here, step.command[3]
        there = here
        for words in step.undo:
            assert ("lvconvert", "--yes", "--type", "--", "vg/lv") == (*words[:3], *words[4:])
            assert (there, words[3]) in lvm_convert.TAKEOVERS | lvm_convert.RESHAPES
            there = words[3]
        assert there == began


def test_no_path_leads_out_of_mirrors():
    """raid1 and linear have a way of their own, and none in this table."""
    assert lvm_convert.path("raid5_ls", "raid1") is None


def test_raid5_to_raid10_by_lvconvert():
    """Four disks hold 3+1; six hold 3×2: three members are new, on the freed disk and on fresh ones."""
    steps = plan(lv_context("raid5", 4, "raid10", count=7), "convert").steps
    conversions = [step for step in steps if step.command[0] == "lvconvert"]

    assert ["raid5_n", "raid0_meta", "raid10"] == [step.command[3] for step in conversions]
    assert 3 == len(conversions[-1].command[6:])
    assert not {"/dev/sda", "/dev/sdb", "/dev/sdc"} & set(conversions[-1].command[6:])
    # From the takeover to raid0 until the end of the sync that follows the last step.
    bare = [step.redundant for step in steps]
    first = steps.index(conversions[1])
    assert [True] * first + [False] * (len(steps) - first) == bare
    assert all("NO REDUNDANCY" in step.risks for step in conversions[1:])


def test_the_disk_of_dropped_parity_is_used_again():
    """raid5_n has its parity on the last member: of six disks, three hold data, and three are found."""
    steps = plan(lv_context("raid5", 4, "raid10", count=6), "convert").steps
    (last,) = (step for step in steps if step.command[3:4] == ("raid10",))

    assert {"/dev/sdd", "/dev/sde", "/dev/sdf"} == set(last.command[6:])


def test_the_second_of_each_pair_is_used_again():
    """RAID10 gives up each second member: on four disks that is room for RAID5's parity."""
    steps = plan(lv_context("raid10", 4, "raid5", count=4), "convert").steps
    (parity,) = (s for s in steps if s.command[3:4] == ("raid5_n",))

    assert ("/dev/sdb",) == parity.command[6:]


def test_five_disks_are_too_few_for_three_more():
    with pytest.raises(PlanRefused, match="3 PVs on separate disks"):
        plan(lv_context("raid5", 4, "raid10", count=5), "convert")


def test_raid5_to_raid6_is_redundant_throughout():
    steps = plan(lv_context("raid5", 4, "raid6"), "convert").steps

    assert ["raid6_ls_6", "raid6_zr"] == [
        s.command[3] for s in steps if s.command[0] == "lvconvert"
    ]
    assert all(step.redundant and step.online for step in steps)


def test_never_synced_is_never_converted():
    """LVM adds no member to what was made with --nosync; a copy does not care."""
    context = lv_context("raid5", 4, "raid6", attributes="Rwi-aor---")

    with pytest.raises(PlanRefused, match="nosync"):
        plan(context, "convert")
    assert plan(context, "copy").steps


@pytest.mark.parametrize("wanted", ["raid6:members=6", "raid6:chunk=128k"])
def test_what_lvconvert_keeps_is_not_promised(wanted):
    """Data stripes and chunk stay: another number of members, or another chunk, is refused."""
    with pytest.raises(PlanRefused):
        plan(lv_context("raid5", 4, wanted), "convert")


def test_a_striped_lv_that_grew_is_not_converted():
    """LVM has one segment of it for each time: what lvconvert makes of two was not tried."""
    context = lv_context("striped", 3, "raid10")
    grown = replace(context.volume, segtypes=("striped", "striped"))
    group = replace(context.group, volumes={**context.group.volumes, "lv": grown})

    with pytest.raises(PlanRefused, match="2 segments"):
        plan(replace(context, groups={"vg": group}), "convert")


def test_raid6_has_three_data_stripes_at_least():
    """Of fewer LVM makes three by itself, and the LV grows: that is no plan of ours."""
    with pytest.raises(PlanRefused, match="needs 5 or more"):
        plan(lv_context("raid5", 3, "raid6"), "convert")


def test_a_reshape_needs_room_on_every_member():
    context = lv_context("raid5", 4, "raid5:layout=n", free=0)

    with pytest.raises(PlanRefused, match="needs 1 free extents on /dev/sda"):
        plan(context, "convert")


# Copies by LVM.


def test_linear_to_raid1():
    """A mirror is added on another disk, with room for its bitmap: 24 extents and 1."""
    found = plan(lv_context("linear", 1, "raid1"), "mirror")

    assert found.steps[0].command == (
        "lvconvert", "--yes", "--type", "raid1", "--mirrors", "1", "--", "vg/lv", "/dev/sdb"
    )  # fmt: skip
    assert (2, True, True) == (found.result.copies, found.online, found.redundant)


def test_dropping_copies_says_what_is_lost():
    (step,) = plan(lv_context("raid1", 3, "linear"), "mirror").steps

    assert ("lvconvert", "--yes", "--mirrors", "0", "--", "vg/lv") == step.command
    assert step.does == "removes 2 of 3 copies"
    assert "NO REDUNDANCY" in step.risks


def test_dropping_parity_says_what_is_lost():
    """A requested loss of redundancy is not reported as temporary, nor the reverse."""
    asked = plan(lv_context("raid10", 4, "striped"), "convert").steps[-1].risks
    passing = [step.risks for step in plan(lv_context("raid5", 4, "raid10", count=7), "convert").steps
               if not step.redundant and step.command[0] == "lvconvert"]  # fmt: skip

    assert "NO REDUNDANCY from here on, as requested" == asked
    assert 2 == len(passing)
    assert all("until the sync after this step" in risks for risks in passing)


@pytest.mark.parametrize(
    ("context", "strategy", "said", "marked"),
    [
        (lv_context("raid10", 4, "striped"), "convert", "WITHOUT REDUNDANCY from step 1 on", 1),
        (lv_context("raid5", 4, "raid0"), "convert", "WITHOUT REDUNDANCY from step 3 on", 1),
        (lv_context("raid5", 4, "raid0"), "copy", "WITHOUT REDUNDANCY from step 10 on", 2),
        (lv_context("raid1", 3, "linear"), "mirror", "WITHOUT REDUNDANCY from step 1 on", 1),
        (lv_context("raid5", 4, "raid10", count=7), "convert", "WITHOUT REDUNDANCY in steps", 3),
        (lv_context("raid6", 5, "raid5"), "convert", "survives 1 failed disk, not 2", 0),
        (lv_context("raid1", 3, "raid1:copies=2"), "mirror", "survives 1 failed disk, not 2", 0),
        (lv_context("raid1", 4, "raid1:copies=3"), "mirror", "survives 2 failed disks, not 3", 0),
        (lv_context("raid5", 4, "raid6"), "convert", "as redundant as before throughout", 0),
        (lv_context("striped", 3, "raid5"), "convert", "as redundant as before throughout", 0),
        (lv_context("linear", 1, "striped"), "copy", "as redundant as before throughout", 0),
        (md_context("raid5", 3, "raid0"), "grow", "WITHOUT REDUNDANCY from step 3 on", 3),
        (md_context("raid6", 4, "raid5"), "grow", "survives 1 failed disk, not 2", 0),
    ],
)
def test_what_may_die_is_said(context, strategy, said, marked):
    """Each step during which one disk failure loses the volume is marked; lower redundancy at the end is reported too."""
    found = plan(context, strategy)
    bare = [step.redundant for step in found.steps].count(False)

    assert said in redundancy(found, context)
    assert marked == bare
    assert found.redundant == (not marked)


@pytest.mark.parametrize("level", ["mirror", "raid4"])
def test_what_no_lab_has_made_is_no_end(level):
    """LVM's old mirror has a log that would need room of its own; raid1 took its place."""
    with pytest.raises(PlanRefused, match=f"does not support {level}"):
        outcomes(lv_context("raid5", 4, level))


# A new LV beside the old one.


def test_a_copy_in_order():
    """Users stop only after the new volume is in sync, and start only after the names are exchanged."""
    context = lv_context("raid5", 4, "raid10", uses=MOUNT, mounts=MOUNTED)
    steps = plan(context, "copy").steps

    assert [
        "lvcreate", "wait", "umount", "lvchange", "lvchange", "lvchange", "dd", "cmp", "lvchange", "lvchange",
        "lvrename", "lvrename", "e2fsck", "mount", "lvremove",
    ] == verbs(steps)  # fmt: skip
    offline = [step.online for step in steps]
    assert [True] * 2 + [False] * 12 + [True] == offline
    assert [False] * 14 + [True] == [step.later for step in steps]
    assert "mount -t ext4 -o rw,noatime -- /dev/vg/lv /srv" == steps[-2].line


def test_a_copy_has_room_for_every_byte():
    """25 extents in stripes of two are 26; each member has 13 and one for its bitmap."""
    context = lv_context("raid5", 4, "raid10:members=4", extents=25, free=14)
    command = plan(context, "copy").steps[0].command

    assert "26" == command[command.index("--extents") + 1]
    with pytest.raises(PlanRefused, match="14 free extents"):
        plan(lv_context("raid5", 4, "raid10:members=4", extents=25, free=13), "copy")


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("raid10", "--type raid10 --mirrors 1 --stripes 2 --stripesize 64k"),
        ("raid6:members=6,chunk=128k", "--type raid6 --stripes 4 --stripesize 128k"),
        ("raid1:copies=3", "--type raid1 --mirrors 2"),
        ("raid0", "--type raid0 --stripes 4 --stripesize 64k"),
        ("linear", "--type linear"),
    ],
)
def test_layouts_in_lvcreates_words(wanted, words):
    (line, *_) = lines(lv_context("raid5", 4, wanted), "copy")

    assert line.startswith(f"lvcreate --yes {words} --extents 24 ")


def test_names_are_quoted_for_a_shell():
    """A mount point with blanks and quotes is one word, as it is."""
    point = "/srv/it's a disk; rm -rf"
    uses = (Use("mount", point, ""),)
    context = lv_context("raid5", 4, "raid10", uses=uses, mounts={point: mount("xfs", "rw")})

    assert "umount -- '/srv/it'\"'\"'s a disk; rm -rf'" in lines(context, "copy")


@pytest.mark.parametrize("letter", ["\n", "\x1b", "\u202e"])
def test_what_cannot_be_printed_is_refused(letter):
    point = f"/srv/a{letter}b"
    uses = (Use("mount", point, ""),)
    context = lv_context("raid5", 4, "raid10", uses=uses, mounts={point: mount("xfs", "rw")})

    with pytest.raises(PlanRefused, match="unprintable characters"):
        plan(context, "copy")


@pytest.mark.parametrize(
    ("use", "kind", "why"),
    [
        (Use("mount", "/", ""), "ext4", "cannot be unmounted"),
        (Use("mount", "/elsewhere", ""), "ext4", "only a part"),
        (Use("zfs", "[ZFS pool]", ""), "ext4", "uses vg/lv; stackmap cannot tell how to stop it"),
        (
            Use("vm", "100", "LV name"),
            "ext4",
            "the VM 100 uses vg/lv; stackmap cannot tell how to stop it",
        ),
    ],
)
def test_users_that_cannot_be_stopped(use, kind, why):
    mounts = {"/": mount(kind, "rw"), "/srv": mount(kind, "rw")}
    context = lv_context("raid5", 4, "raid10", uses=(use,), mounts=mounts)

    with pytest.raises(PlanRefused, match=why):
        plan(context, "copy")


def test_a_btrfs_moves_while_it_is_mounted():
    """By btrfs's own command, also where several of its subvolumes are mounted; not beside another user."""
    uses = (Use("mount", "/srv", ""), Use("mount", "/srv/sub", ""))
    mounts = {use.name: mount("btrfs", "rw", "/sub") for use in uses}
    context = lv_context("raid5", 4, "raid10", uses=uses, mounts=mounts)
    found = plan(context, "copy")
    moving = found.steps[2]

    assert found.online
    assert moving.line == "btrfs replace start -B -- /dev/vg/lv /dev/vg/lv_new /srv"
    assert moving.undo_lines == ("btrfs replace start -B -- /dev/vg/lv_new /dev/vg/lv /srv",)
    assert [s.command for s in found.steps[3:5]] == [
        ("lvrename", "--", "vg", "lv", "lv_old"), ("lvrename", "--", "vg", "lv_new", "lv"),
    ]  # fmt: skip
    more = lv_context("raid5", 4, "raid10", uses=(*uses, Use("swap", "[SWAP]", "")), mounts=mounts)
    with pytest.raises(PlanRefused):
        plan(more, "copy")
    crypt = Device("dm-20", Kind.CRYPT, "254:20", dm_name="safe", uuid="CRYPT-LUKS2-x",
                   label="safe", state="active", uses=MOUNT)  # fmt: skip
    above = ([crypt], [Edge("dm-20", "dm-9", Role.DATA)])
    with pytest.raises(PlanRefused, match="is btrfs"):
        plan(lv_context("raid5", 4, "raid10", more=above,
                        mounts={"/srv": mount("btrfs", "rw")}), "copy")  # fmt: skip


def test_who_continues_through_online_steps_is_said():
    """A sentence names the users that continued in the lab, another the rest; without users there is neither."""
    uses = (Use("mount", "/srv", ""), Use("swap", "[SWAP]", ""), Use("zfs", "[ZFS pool]", ""))
    context = lv_context("raid5", 4, "raid6", uses=uses, mounts=MOUNTED)
    (way, *_) = outcomes(context)

    assert way.plan.online
    assert "no need to stop /srv (ext4), [SWAP] (swap): such users continued in the lab" in (
        way.plan.checked
    )
    assert "whether [ZFS pool] (zfs) continues during these steps was not tested" in (
        way.plan.unchecked
    )
    (idle, *_) = outcomes(lv_context("raid5", 4, "raid6"))
    assert not any("no need to stop" in each for each in idle.plan.checked)


@pytest.mark.parametrize(
    ("segtype", "wanted", "way", "says"),
    [
        ("raid5", "raid6", "convert", "raid5 to raid6 was followed in a lab, on Linux "),
        ("raid10", "raid1", "copy", "raid10 to raid1 was not followed in a lab; with the method "),
    ],
)
def test_where_it_was_followed_is_said(segtype, wanted, way, says):
    found = {each.strategy.name: each.plan for each in outcomes(lv_context(segtype, 4, wanted))}
    text = " ".join((*found[way].checked, *found[way].unchecked))

    assert says in text
    assert "6.1" in text
    assert LVM2 in text


def test_what_lvm_warns_of_is_announced_before_the_command():
    """On each lvconvert, which may find 0 % of a moment; on no wait, copy or rename."""
    context = lv_context("raid5", 4, "raid10", count=7)
    for way in (each for each in outcomes(context) if each.plan):
        said = {step.command[0]: announced(step.command) for step in way.plan.steps}
        for program, each in said.items():
            assert any("Sync status" in text for text in each) == (program == "lvconvert")
    cached = plan(cached_context("raid6:layout=ls_6", "cache", "fast_cpool"), "convert").steps
    (text,) = announced(cached[-1].command)[1:]
    assert "only in the cache" in text


def test_a_guest_is_shut_down_and_started():
    uses = (Use("vm", "build box", "/run/libvirt/qemu/build.xml"),)
    found = lines(lv_context("raid5", 4, "raid10", uses=uses), "copy")

    assert "virsh shutdown '--domain=build box'" in found
    assert "virsh start '--domain=build box'" in found


@pytest.mark.parametrize(
    ("kind", "check"), [("ext4", "e2fsck -fn --"), ("xfs", "xfs_repair -n --")]
)
def test_several_mounts_of_one_file_system(kind, check):
    """The later one, which may be below the earlier one, goes first; a check after a mount would fail."""
    uses = (Use("mount", "/srv", ""), Use("mount", "/srv/b", ""))
    mounts = {use.name: mount(kind, "rw") for use in uses}
    found = lines(lv_context("raid5", 4, "raid10", uses=uses, mounts=mounts), "copy")
    before = [line for line in found if line.startswith("umount")]
    after = found[found.index("lvrename -- vg lv_new lv") + 1 : -1]

    assert before == ["umount -- /srv/b", "umount -- /srv"]
    assert after == [
        f"{check} /dev/vg/lv",
        f"mount -t {kind} -o rw -- /dev/vg/lv /srv",
        f"mount -t {kind} -o rw -- /dev/vg/lv /srv/b",
    ]


@pytest.mark.parametrize(
    ("path", "priority", "words"),
    [
        ("/dev/dm-9", 10, "--priority 10 -- /dev/vg/lv"), ("/dev/dm-9", -2, "-- /dev/vg/lv"),
        ("/dev/dm-8", 10, "-- /dev/vg/lv"), ("/dev/vg/lv", 0, "--priority 0 -- /dev/vg/lv"),
    ],
)  # fmt: skip
def test_swap_keeps_the_priority_that_was_chosen(path, priority, words):
    uses = (Use("swap", "[SWAP]", ""),)
    context = lv_context("raid5", 4, "raid10", uses=uses, priorities={path: priority})
    (stop,) = (s for s in plan(context, "copy").steps if s.command[0] == "swapoff")

    assert stop.undo_lines == (f"swapon {words}",)
    assert f"swapon {words}" in lines(context, "copy")


def test_luks_is_closed_after_its_mount_and_opened_before():
    """What stands on the LV comes off from the top, and goes on from the bottom."""
    crypt = Device("dm-20", Kind.CRYPT, "254:20", dm_name="safe", uuid="CRYPT-LUKS2-x",
                   label="safe", state="active", uses=MOUNT)  # fmt: skip
    more = ([crypt], [Edge("dm-20", "dm-9", Role.DATA)])
    found = lines(lv_context("raid5", 4, "raid10", more=more, mounts=MOUNTED), "copy")
    inner = [found.index(word) for word in (
        "umount -- /srv", "cryptsetup close -- safe", "lvchange --activate n -- vg/lv",
        "cryptsetup open --type luks -- /dev/vg/lv safe", "e2fsck -fn -- /dev/mapper/safe",
        "mount -t ext4 -o rw,noatime -- /dev/mapper/safe /srv",
    )]  # fmt: skip

    assert sorted(inner) == inner


# Where members land.


def group_of(pvs):
    return VolumeGroup("vg", EXTENT, "wz--n-", shared=False, pvs=tuple(pvs), volumes={})


def test_no_two_members_on_one_disk():
    """Partitions of one disk are one disk: of PVs on sda1, sda2, sdb1 and sdc two members get two disks."""
    context = lv_context("linear", 1, "raid1", count=3)
    parts = {"sda1": "sda", "sda2": "sda", "sdb1": "sdb"}
    devices = [*context.topology.devices.values(), *(Device(p, Kind.PARTITION, "") for p in parts)]
    edges = [*context.topology.edges, *(Edge(p, whole, Role.DATA) for p, whole in parts.items())]
    topology = Topology(devices, edges)
    pvs = [PhysicalVolume(f"/dev/{name}", name, 100, 50 - place)
           for place, name in enumerate([*parts, "sdc"])]  # fmt: skip
    context = replace(context, topology=topology, groups={"vg": group_of(pvs)})

    for count in (1, 2, 3):
        chosen = place(context, count, 10)
        under = [disks(topology, pv.device) for pv in chosen]
        assert count == len(chosen)
        assert not any(a & b for a, b in combinations(under, 2))
    with pytest.raises(PlanRefused, match="only 3 qualify"):
        place(context, 4, 10)


def test_the_paths_of_a_multipath_device_are_one_disk():
    devices = [
        Device("dm-1", Kind.MULTIPATH, ""),
        *(Device(n, Kind.DISK, "") for n in ("sda", "sdb")),
    ]
    edges = [Edge("dm-1", name, Role.PATH) for name in ("sda", "sdb")]

    assert {"dm-1"} == disks(Topology(devices, edges), "dm-1")


def test_disks_of_the_same_sort_come_first():
    """The new members of an LV on turning disks are on turning disks, however much room an SSD has."""
    context = lv_context("linear", 1, "raid1", count=3)
    devices = [d._replace(rotational=d.name != "sdb") for d in context.topology.devices.values()]
    pvs = [replace(pv, free=pv.free + 20 * (pv.device == "sdb")) for pv in context.group.pvs]
    context = replace(
        context, topology=Topology(devices, context.topology.edges), groups={"vg": group_of(pvs)}
    )

    assert ["sdc"] == [pv.device for pv in place(context, 1, 10, avoiding=["sda"])]


def test_a_pv_that_lvm_cannot_use_gets_no_member():
    """Of sda to sdd the LV is on sda, sdb is not allocatable, and the device of sdc is missing: sdd is left."""
    context = lv_context("linear", 1, "raid1", count=4)
    changes = {"sdb": {"usable": False}, "sdc": {"device": ""}}
    pvs = [replace(pv, **changes.get(pv.device, {})) for pv in context.group.pvs]
    context = replace(context, groups={"vg": group_of(pvs)})

    assert [pv.device for pv in place(context, 1, 10, avoiding=["sda"])] == ["sdd"]
    with pytest.raises(PlanRefused, match="only 1 qualifies"):
        place(context, 2, 10, avoiding=["sda"])


def test_onto_is_kept_to():
    """A PV that is not named is not used, and one that is no PV is refused."""
    context = lv_context("raid5", 4, "raid10", onto=("sdh", "sdg", "sdf", "sde"))
    assert ["/dev/sdh", "/dev/sdg", "/dev/sdf", "/dev/sde"] == list(
        plan(context, "copy").steps[0].command[-4:]
    )
    with pytest.raises(PlanRefused, match="not an allocatable PV of vg"):
        plan(replace(context, onto=("dm-9",)), "copy")


def test_metadata_grows_with_its_bitmap():
    """A superblock of 4 KiB and a bit for each 2 MiB: 32 TiB of 4 MiB extents fill more than one half of one."""
    group = group_of([])
    assert 1 == metadata_extents(group, 1, None)
    assert 1 == metadata_extents(group, 8 * 1024**2, None)
    assert 2 == metadata_extents(group, 64 * 1024**2 // 4, 2 * MIB)


# What lies around it.


def test_a_pools_data_is_not_reshaped():
    """It would be left suspended; a rotation of parity that a takeover makes is named, and planned."""
    with pytest.raises(PlanRefused, match="raid6:layout=ls_6 needs none"):
        plan(pool_context("raid6", "raid5", 4), "convert")
    steps = plan(pool_context("raid6:layout=ls_6", "raid5", 4), "convert").steps

    assert ["raid6_ls_6", "raid1"] == [s.command[3] for s in steps if s.command[0] != "sh"]


def test_a_pools_metadata_goes_along():
    """Data on two disks is worth nothing with the metadata on one."""
    steps = plan(pool_context("raid1"), "mirror").steps

    assert ["vg/pool_tdata", "vg/pool_tmeta"] == [
        s.command[7] for s in steps if s.command[0] != "sh"
    ]
    assert "/dev/sda" not in steps[2].command
    with pytest.raises(PlanRefused, match="part of another LV"):
        plan(pool_context("raid1"), "copy")


@pytest.mark.parametrize(("segtype", "pool", "option"), [
    ("cache", "fast_cpool", ["--cachepool", "fast"]), ("cache", "fast_cvol", ["--cachevol", "fast"]),
    ("writecache", "fast_cvol", ["--cachevol", "fast"]),
])  # fmt: skip
def test_a_cache_comes_off_first_and_on_last(segtype, pool, option):
    """Its mode is kept; the LV keeps its name."""
    steps = plan(cached_context("raid6:layout=ls_6", segtype, pool), "convert").steps

    assert "lvconvert --yes --splitcache -- vg/lv" == steps[0].line
    assert {"vg/lv"} == {step.command[5] for step in steps[1:-1] if step.command[0] == "lvconvert"}
    assert ["--type", segtype, *option] == list(steps[-1].command[2:6])
    assert ("writeback" in steps[-1].command) == (segtype == "cache")


def test_checksums_come_off_first_and_on_last():
    """Not where a reshape lies between: what was taken off could not be put back."""
    seal = Device("dm-40", Kind.MEMBER, "", target="integrity", state="active")
    context = lv_context(
        "raid5", 4, "raid6:layout=ls_6", more=([seal], [Edge("dm-0", "dm-40", Role.DATA)])
    )
    steps = plan(context, "convert").steps

    with pytest.raises(PlanRefused, match="raid6:layout=ls_6 needs none"):
        plan(replace(context, request=parse("raid6")), "convert")
    assert ["n", "y"] == [s.command[3] for s in steps if "--raidintegrity" in s.command]
    assert ("--raidintegrity", "--raidintegrity") == (steps[0].command[2], steps[-1].command[2])


# md.


def test_md_raid5_to_raid6():
    """A spare is added first; the reshape keeps a backup; never bare."""
    found = plan(md_context("raid5", 4, "raid6", onto=("sde",)), "grow")

    assert "mdadm /dev/md0 --add /dev/sde" == found.steps[0].line
    assert found.steps[1].line.startswith(
        "mdadm --grow /dev/md0 --level=6 --raid-devices=5 --backup"
    )
    assert found.online
    assert found.redundant


def test_a_spare_is_not_added_again():
    """It is in the array, and md would refuse it: the reshape takes it as it is."""
    context = md_context("raid5", 3, "raid5:members=4")
    edges = [*context.topology.edges, Edge("md0", "sdd", Role.SPARE)]
    topology = Topology(context.topology.devices.values(), edges)
    steps = plan(replace(context, topology=topology), "grow").steps

    assert steps[0].line.startswith("mdadm --grow /dev/md0 --raid-devices=4 ")
    assert not any("--add" in step.command for step in steps)


def test_md_raid5_to_raid10_is_bare_until_its_end():
    found = plan(md_context("raid5", 3, "raid10", onto=("sdd", "sde")), "grow")
    flags = [(step.line.split()[1], step.redundant) for step in found.steps]

    # Parity moves to the last member while it is parity still.
    assert [("--grow", True), ("-c", True)] == flags[:2]
    assert [("--grow", False), ("-c", False), ("--grow", False), ("-c", False)] == flags[2:6]
    assert {True} == {redundant for _, redundant in flags[6:]}
    assert found.result.members == 4


@pytest.mark.parametrize(
    ("level", "members", "wanted", "why"),
    [
        ("raid6", 5, "raid10", "no tested path"),
        ("raid1", 3, "raid5", "only a raid1 of two members"),
        ("raid5", 4, "raid5:members=3", "not tested"),
        ("raid10", 4, "raid10:chunk=128k", "only of raid5 and raid6"),
        ("raid5", 4, "raid6", "needs 1 more disks"),
        ("raid10", 4, "raid10:members=6,layout=far", "more disks|no other"),
    ],
)
def test_what_mdadm_is_not_known_to_do(level, members, wanted, why):
    with pytest.raises(PlanRefused, match=why):
        plan(md_context(level, members, wanted), "grow")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"uses": MOUNT}, "in use: /srv"),
        ({"size": 64 * MIB}, "too small"),
        ({"read_only": True}, "read-only"),
        ({"state": "offline"}, "not active"),
    ],
)
def test_a_disk_that_is_not_free_is_not_taken(change, why):
    context = md_context("raid5", 4, "raid6", onto=("sde",))
    devices = [
        d._replace(**change) if d.name == "sde" else d for d in context.topology.devices.values()
    ]
    context = replace(context, topology=Topology(devices, context.topology.edges))

    with pytest.raises(PlanRefused, match=why):
        plan(context, "grow")


def test_a_member_of_another_array_is_not_taken():
    with pytest.raises(PlanRefused, match="in use by md0"):
        plan(md_context("raid5", 4, "raid6", onto=("sda",)), "grow")


def moving(used, size=1024 * MIB):
    """A PV on md0 with *used* extents, to be moved to four disks of *size*."""
    context = md_context("raid5", 4, "raid10", onto=("sde", "sdf", "sdg", "sdh"))
    devices = [d._replace(size=size) if d.name in context.onto else d
               for d in context.topology.devices.values()]  # fmt: skip
    group = group_of([PhysicalVolume("/dev/md0", "md0", used + 7, 7)])
    return replace(
        context, topology=Topology(devices, context.topology.edges), groups={"vg": group}
    )


def test_a_pv_moves_while_it_is_used():
    """Made, extended, moved, reduced: all online and redundant; only then is the old array given up."""
    found = plan(moving(40), "move")

    assert [
        "mdadm", "wait", "wipefs", "mdadm", "pvcreate", "vgextend", "pvmove", "vgreduce", "pvremove",
        "mdadm", "mdadm",
    ] == verbs(found.steps)  # fmt: skip
    assert found.online
    assert found.redundant
    assert [False] * 8 + [True] * 3 == [step.later for step in found.steps]


def test_a_pv_moves_only_where_it_fits():
    """Two data disks of 1 GiB, less a tenth for md's own use: 460 extents of 4 MiB at the most."""
    assert plan(moving(455), "move")
    with pytest.raises(PlanRefused, match="has 512 extents in use"):
        plan(moving(512), "move")


# The whole.


@pytest.mark.parametrize(
    "change", [{"shared": True}, {"attributes": "wzx-n-"}, {"attributes": "wz-pn-"}]
)
def test_a_vg_that_is_not_ours_alone_is_left_alone(change):
    context = lv_context("raid5", 4, "raid10")

    with pytest.raises(PlanRefused):
        outcomes(replace(context, groups={"vg": replace(context.group, **change)}))


@pytest.mark.parametrize("state", ["degraded", "resync 12.5 %", "suspended", None])
def test_nothing_is_planned_while_it_is_not_in_order(state):
    with pytest.raises(PlanRefused):
        outcomes(lv_context("raid5", 4, "raid10", state=state))


def test_a_snapshot_is_in_the_way_of_every_way():
    snap = Device("dm-30", Kind.SNAPSHOT, "", label="vg/snap", target="snapshot", state="active")
    context = lv_context("raid5", 4, "raid6", more=([snap], [Edge("dm-30", "dm-9", Role.ORIGIN)]))

    with pytest.raises(PlanRefused, match="the stack has snapshots"):
        outcomes(context)


def test_without_lvms_word_nothing_of_lvms_is_planned():
    context = replace(lv_context("raid5", 4, "raid10"), groups=None, reason="needs root")

    assert {None} == {each.plan for each in outcomes(context)}
    assert all("needs root" in each.refused for each in outcomes(context))


def test_the_safest_comes_first():
    """Redundant before bare, online before offline, whatever the table's order."""
    bare = outcomes(lv_context("raid5", 4, "raid10", uses=MOUNT, mounts=MOUNTED))
    safe = outcomes(lv_context("raid5", 4, "raid6", uses=MOUNT, mounts=MOUNTED))

    assert ["copy", "convert", "mirror"] == [each.strategy.name for each in bare]
    assert ["convert", "copy", "mirror"] == [each.strategy.name for each in safe]


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        ("raid5", True),
        ("raid5:members=4,chunk=64k", True),
        ("raid5:members=5", False),
        ("raid5:chunk=128k", False),
        ("raid10", False),
    ],
)
def test_what_is_there_already(wanted, there):
    assert there == is_current_layout(lv_context("raid5", 4, wanted))


def test_linear_is_there_already():
    assert is_current_layout(lv_context("linear", 1, "linear"))
    assert not is_current_layout(lv_context("linear", 1, "raid1"))


@pytest.mark.parametrize(
    ("state", "command"),
    [("degraded", "lvconvert --repair -- vg/lv"), ("recover 3.0 %", "wait until it ends")],
)
def test_a_present_layout_that_is_not_healthy(state, command):
    """It has the layout, and still something to do."""
    with pytest.raises(PlanRefused, match=command):
        require_finished(lv_context("raid5", 4, "raid5", state=state))


def test_a_conversion_that_was_interrupted():
    """lvconvert leaves the images that it took out; those of another LV do not count."""
    context = lv_context("raid5", 4, "raid5", state="degraded")
    volumes = context.groups["vg"].volumes
    image = volumes["lv_rimage_0"]
    volumes["other_rimage_4_extracted"] = replace(image, name="other_rimage_4_extracted")
    with pytest.raises(PlanRefused, match="lvconvert --repair"):
        require_finished(context)

    volumes["lv_rimage_4_extracted"] = replace(image, name="lv_rimage_4_extracted")
    with pytest.raises(
        PlanRefused, match=r"degraded.* left vg/lv_rimage_4_extracted.*lvremove -- vg/lv_rim"
    ):
        require_finished(context)


def test_a_healthy_layout_is_finished():
    require_finished(lv_context("raid5", 4, "raid5"))


# What changes.


def named(*names):
    context = lv_context("raid5", 4, "raid10")
    return target(context.topology, list(names)).name


def test_the_first_with_a_level_changes():
    """An LV itself; for a device above, the LV below; several are ambiguous."""
    crypt = Device("dm-20", Kind.CRYPT, "", dm_name="safe")
    context = lv_context("raid5", 4, "raid10", more=([crypt], [Edge("dm-20", "dm-9", Role.DATA)]))

    assert "dm-9" == named("dm-9")
    assert "dm-9" == target(context.topology, ["dm-20"]).name
    with pytest.raises(PlanRefused, match="not 2"):
        named("dm-9", "sda")
    with pytest.raises(PlanRefused, match="neither an LV nor an md array"):
        named("sda")


def test_of_an_lv_on_an_array_the_array_changes():
    array = md_context("raid5", 4, "raid10")
    lv = Device("dm-1", Kind.VOLUME, "", label="vg/lv", target="linear", uuid="LVM-x")
    topology = Topology(
        [*array.topology.devices.values(), lv],
        [*array.topology.edges, Edge("dm-1", "md0", Role.DATA)],
    )

    assert "md0" == target(topology, ["dm-1"]).name


def test_a_thin_volume_with_an_external_origin_has_two_volumes_below():
    """Its pool and its origin; neither is the one to convert."""
    kinds = {"thin": Kind.THIN, "pool": Kind.THIN_POOL, "origin": Kind.VOLUME, "sda": Kind.DISK}
    topology = Topology(
        [Device(name, kind, "") for name, kind in kinds.items()],
        [
            Edge("thin", "pool", Role.DATA),
            Edge("thin", "origin", Role.ORIGIN),
            Edge("pool", "sda", Role.DATA),
            Edge("origin", "sda", Role.DATA),
        ],
    )
    with pytest.raises(PlanRefused, match="uses several arrays or volumes: name one of them"):
        target(topology, ["thin"])


def test_drawn_grounds_are_as_they_are_named():
    """The tests above rest on it: members by disk, chunk, extents."""
    context = lv_context("raid5", 4, "raid10")
    assert (4, 3, CHUNK) == (
        context.target.layout.members, context.target.layout.data, context.target.layout.chunk
    )  # fmt: skip
    assert parse("raid10") == context.request
    assert set(disk_names(4)) == disks(context.topology, "dm-9")


def test_a_name_of_an_lv_and_of_its_parts_means_the_lv():
    """A pattern, or a VG's name, matches both; parts alone are ambiguous."""
    context = lv_context("raid5", 4, "raid10")
    parts = [each.name for each in context.topology if each.kind is Kind.MEMBER]
    assert len(parts) > 1

    assert named("dm-9", *parts) == "dm-9"
    with pytest.raises(PlanRefused, match=f"not {len(parts)}"):
        named(*parts)
