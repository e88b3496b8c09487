"""Plans for md arrays: the words of each change and of the way back, what is waited for, and what is refused."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from stackmap.errors import PlanRefused
from stackmap.features.plan.lvm_steps import detach_layers, require_room
from stackmap.features.plan.md_new_array import _layout_option, new_name, waiting
from stackmap.features.plan.strategies import STRATEGIES, _next_step
from stackmap.model.device import Device, Kind, Use
from stackmap.model.raid import layout
from stackmap.model.topology import Topology
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup
from tests.features.plan.plans import CHUNK, EXTENT, MIB, lv_context, md_context, mount

KIB = 1024


def grow(level, members, wanted, onto="", component=64 * MIB, **given):
    """The plan of mdadm's own way, with the disks of these letters added."""
    named = tuple(f"sd{letter}" for letter in onto)
    context = md_context(level, members, wanted, onto=named, **given)
    return STRATEGIES["grow"].plan(replace(context, component_sizes={"md0": component}))


def reshapes(found):
    """The steps that change the array's shape."""
    return [
        s for s in found.steps if s.command[:2] == ("mdadm", "--grow") and "bitmap" not in s.line
    ]


@pytest.mark.parametrize(
    ("level", "members", "wanted", "onto", "back"),
    [
        ("raid5", 3, "raid6", "d", "--level=5 --raid-devices=3 --backup-file=/var/tmp/md0-raid5-3.mdadm"),
        ("raid6", 4, "raid5", "", "--level=6 --raid-devices=4 --backup-file=/var/tmp/md0-raid6-4.mdadm"),
        ("raid5", 3, "raid5:chunk=128k", "", "--chunk=64 --backup-file=/var/tmp/md0-raid5-3.mdadm"),
        ("raid0", 2, "raid10", "cd", "--level=0"),
        ("raid1", 2, "raid5", "c", "--level=1"),
    ],
)  # fmt: skip
def test_the_way_back_is_a_command(level, members, wanted, onto, back):
    """What mdadm makes it unmakes where no disk was dropped, and that is said in full."""
    first = reshapes(grow(level, members, wanted, onto))[0]

    assert (f"mdadm --grow /dev/md0 {back}",) == first.undo_lines
    assert first.undo_remark == "first wait until it is in sync"


def test_a_copy_that_was_added_is_taken_off_first():
    (step,) = reshapes(grow("raid1", 2, "raid1:copies=3", "c"))

    assert (
        "mdadm /dev/md0 --fail /dev/sdc --remove /dev/sdc",
        "mdadm --grow /dev/md0 --raid-devices=2",
    ) == step.undo_lines
    assert "step before added" in step.undo_remark


@pytest.mark.parametrize(
    ("level", "members", "wanted", "onto"),
    [("raid5", 3, "raid5:members=4", "d"), ("raid10", 4, "raid10:members=6", "ef"), ("raid5", 3, "raid0", "")],
)  # fmt: skip
def test_where_there_is_no_way_back_that_is_said(level, members, wanted, onto):
    last = reshapes(grow(level, members, wanted, onto))[-1]

    assert () == last.undo
    assert last.undo_remark.startswith("not possible")


@pytest.mark.parametrize(("level", "members"), [("raid5", 3), ("raid10", 4)])
def test_redundancy_that_is_given_up_is_said_to_be(level, members):
    """Asked for or not: no disk may die from there on."""
    assert "NO REDUNDANCY" in reshapes(grow(level, members, "raid0"))[-1].risks


@pytest.mark.parametrize(("wanted", "onto"), [("raid0", ""), ("raid10", "de")])
def test_a_reshape_to_raid0_is_a_step_of_its_own(wanted, onto):
    """mdadm that would have to change the level after it may wait for ever, and the level stays as it is."""
    first, proof, second, *_ = grow("raid5", 3, wanted, onto).steps

    assert ("--layout=parity-last", "--backup-file") == (first.command[3], first.command[4][:13])
    assert "Layout : parity-last" in proof.line
    assert ("mdadm", "--grow", "/dev/md0", "--level=0") == second.command


@pytest.mark.parametrize(
    ("level", "members", "wanted", "onto"),
    [
        ("raid5", 3, "raid10", "de"),
        ("raid10", 4, "raid5", "e"),
        ("raid0", 2, "raid5", "c"),
        ("raid0", 2, "raid10", "cd"),
    ],
)
def test_what_was_a_raid0_has_a_bitmap_in_the_end(level, members, wanted, onto):
    """No raid0 has one, so what passed through it has lost its own."""
    assert (
        "mdadm --grow /dev/md0 --bitmap=internal"
        == grow(level, members, wanted, onto).steps[-2].line
    )


def test_mdadm_chooses_the_chunk_of_a_raid1():
    """A chunk of 64 KiB is the default: the command has no --chunk."""
    found = grow("raid1", 2, "raid5", "c")

    assert 64 * KIB == found.result.chunk
    assert not any("--chunk" in step.line for step in found.steps)


@pytest.mark.parametrize(
    ("level", "members", "wanted", "component", "why"),
    [
        ("raid1", 2, "raid5", 64 * MIB + 16 * KIB, "64 KiB do not divide"),
        ("raid5", 3, "raid5:chunk=128k", 64 * MIB + 64 * KIB, "do not divide the 67174400 bytes"),
        ("raid5", 3, "raid5:chunk=128k", None, "do not divide the size that md uses"),
        ("raid10", 3, "raid0", 64 * MIB, "not whole pairs"),
        ("raid6", 4, "raid10", 64 * MIB, "no tested path"),
    ],
)
def test_what_md_refuses_is_not_planned(level, members, wanted, component, why):
    with pytest.raises(PlanRefused, match=why):
        grow(level, members, wanted, "ef", component)


def test_a_raid0_in_zones_is_not_converted():
    """md has a raid0 of unequal members in zones of fewer and fewer of them."""
    context = md_context("raid0", 2, "raid10", onto=("sdc", "sdd"))
    devices = [d._replace(size=d.size + MIB) if d.name == "sdb" else d
               for d in context.topology.devices.values()]  # fmt: skip

    assert STRATEGIES["grow"].plan(context)
    with pytest.raises(PlanRefused, match="different sizes"):
        STRATEGIES["grow"].plan(
            replace(context, topology=Topology(devices, context.topology.edges))
        )


@pytest.mark.parametrize(("level", "members", "wanted", "fits"),
                         [("raid5", 3, "raid6", True), ("raid10", 4, "raid5", False)])  # fmt: skip
def test_a_disk_is_large_enough_for_what_will_be(level, members, wanted, fits):
    """A member may be more than md uses of it; what was a raid10 uses all of it as a raid0."""
    context = md_context(level, members, wanted, onto=("sdg",))
    devices = [d._replace(size=256 * MIB) if d.name == "sdg" else d
               for d in context.topology.devices.values()]  # fmt: skip
    context = replace(context, topology=Topology(devices, context.topology.edges))

    if fits:
        assert STRATEGIES["grow"].plan(context)
    else:
        with pytest.raises(PlanRefused, match="too small"):
            STRATEGIES["grow"].plan(context)


def test_an_array_with_a_lockless_bitmap_is_not_reshaped():
    """Linux and mdadm may do it; nobody has tried."""
    context = md_context("raid5", 3, "raid6", onto=("sdd",))
    array = context.target._replace(facts={**context.target.facts, "bitmap": "llbitmap"})
    with pytest.raises(PlanRefused, match="lockless bitmap"):
        STRATEGIES["grow"].plan(replace(context, target=array))


def test_what_is_written_on_a_disk_is_left_alone():
    """mdadm asks nobody; where udev tells nothing, the reader has to look."""
    context = md_context("raid5", 3, "raid6", onto=("sdd",), contents={"sdd": "ext4"})
    with pytest.raises(PlanRefused, match="sdd contains ext4"):
        STRATEGIES["grow"].plan(context)

    for told, says in (("", False), (None, True)):
        plan = STRATEGIES["grow"].plan(replace(context, contents={"sdd": told}))
        assert says == any("contents of /dev/sdd" in text for text in plan.unchecked)


def test_who_was_never_stopped_in_a_lab_is_said():
    """Mounts of ext4 and XFS and swap were; another file system, like a VM, is left to the reader."""
    mounts = {"/srv": mount("xfs", "rw"), "/win": mount("vfat", "rw")}
    domain = Use("vm", "web", "/run/libvirt/qemu/web.xml")
    for use, says in (
        (Use("mount", "/srv", ""), False),
        (Use("swap", "[SWAP]", ""), False),
        (Use("mount", "/win", ""), True),
        (domain, True),
    ):
        context = md_context("raid5", 3, "raid10:members=4", onto=("sde", "sdf", "sdg", "sdh"),
                           uses=(use,), mounts=mounts)  # fmt: skip
        unchecked = STRATEGIES["array-copy"].plan(context).unchecked
        assert says == any(f"stopping and restarting {use.name} (" in text for text in unchecked)


def test_a_sync_after_a_reshape_is_let_run():
    """mdadm leaves it a limit at which it would stop for ever; a new array has none."""
    waits = [s.line for s in grow("raid5", 3, "raid10", "de").steps if s.command[0] == "sh"]

    assert 3 == len(waits)
    assert all('echo max > "$md/sync_max"' in line and line.count("free;") == 2 for line in waits)
    assert "sync_max" not in waiting("/dev/md0", layout("raid1", 2)).line


DETAIL = """/dev/md0:
        Raid Level : {level}
      Raid Devices : {members}
             State : {state} 
        Chunk Size : {chunk}K
"""  # noqa: W291 - as mdadm prints it


MDADM = """#!/bin/sh
cd {folder}
cat "$(ls look* | head -1)"
[ "$(ls look* | wc -l)" = 1 ] || rm "$(ls look* | head -1)"
"""


@pytest.fixture
def waited(tmp_path, monkeypatch):
    """What a wait ends with when mdadm says one thing after the other, the last again and again."""

    def run(wanted, *looks):
        for number, look in enumerate(looks):
            (tmp_path / f"look{number}").write_text(look)
        for name, text in (("mdadm", MDADM.format(folder=tmp_path)), ("sleep", "#!/bin/sh\n")):
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        return subprocess.run(waiting("/dev/md0", wanted).command, check=False).returncode

    return run


def detail(level, members, *, chunk=64, state="clean", busy=""):
    status = f" {busy} Status : 3% complete\n" if busy else ""
    return DETAIL.format(level=level, members=members, chunk=chunk, state=state) + status


def test_a_wait_outlasts_what_follows_a_reshape(waited):
    """mdadm is quiet for a moment between a reshape and the sync after it."""
    quiet = detail("raid6", 4, state="clean, degraded")
    rebuilt = detail("raid6", 4, state="clean, degraded, recovering", busy="Rebuild")
    looks = detail("raid6", 4, busy="Reshape"), quiet, rebuilt

    assert 0 == waited(layout("raid6", 4, CHUNK), *looks, detail("raid6", 4))


@pytest.mark.parametrize(
    "last",
    [
        detail("raid5", 4),
        detail("raid6", 3),
        detail("raid6", 4, chunk=128),
        detail("raid6", 4, state="clean, degraded"),
        "",
    ],
)
def test_a_wait_fails_where_it_is_not_what_was_asked_for(waited, last):
    """Another level, too few members, another chunk, a member short, or no answer."""
    assert 0 != waited(layout("raid6", 4, CHUNK), last)


def test_an_array_that_just_fits_is_copied():
    """
    mdadm reserves up to a tenth of 1 GiB and 1 MiB: 965,319,066 of 1,073,741,824 bytes are left.

    Half of four disks is twice that; one byte more has no room.
    """
    room = 2 * 965_319_066
    context = md_context("raid5", 3, "raid10:members=4", onto=("sde", "sdf", "sdg", "sdh"))
    fits, misses = (context.target._replace(size=size) for size in (room, room + 1))

    assert STRATEGIES["array-copy"].plan(replace(context, target=fits))
    with pytest.raises(PlanRefused, match=f"these disks holds {room}"):
        STRATEGIES["array-copy"].plan(replace(context, target=misses))


@pytest.mark.parametrize(
    ("wanted", "onto", "words"),
    [
        ("raid5:members=4,chunk=128k", "defg", "--level=5 --raid-devices=4 --chunk=128"),
        ("raid1:copies=2", "de", "--level=1 --raid-devices=2"),
    ],
)
def test_a_new_array_has_the_wanted_shape(wanted, onto, words):
    """mdadm counts the chunk in KiB; RAID1 has none."""
    context = md_context("raid5", 3, wanted, onto=tuple(f"sd{letter}" for letter in onto))
    context = replace(context, target=context.target._replace(size=64 * MIB))
    steps = STRATEGIES["array-copy"].plan(context).steps
    create = next(step for step in steps if "--create" in step.line)

    assert words in create.line
    assert ("--chunk" in create.line) == ("--chunk" in words)


def test_a_plan_is_online_if_all_of_its_steps_are():
    """One step that stops users is enough."""
    found = grow("raid5", 3, "raid6", "d")
    first, *rest = found.steps

    assert found.online
    assert rest
    assert not replace(found, steps=(replace(first, online=False), *rest)).online
    assert not replace(found, steps=(replace(first, redundant=False), *rest)).redundant


@pytest.mark.parametrize("level", ["linear", "striped"])
@pytest.mark.parametrize("method", ["array-copy", "move"])
def test_a_new_array_has_a_raid_level(level, method):
    """mdadm's --level takes a number here; the refusal names the level, not that number."""
    context = md_context("raid5", 4, f"{level}:members=2" if level == "striped" else level,
                         onto=("sdg", "sdh"))  # fmt: skip
    group = VolumeGroup(
        "vg", EXTENT, "wz--n-", shared=False, volumes={},
        pvs=(PhysicalVolume("/dev/md0", "md0", 48, 10),),
    )  # fmt: skip
    context = replace(context, groups={"vg": group})

    with pytest.raises(PlanRefused, match=f"^{level} is no RAID level"):
        STRATEGIES[method].plan(context)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (layout("raid1", 2), ()),
        (layout("raid0", 3, 65536), ()),
        (layout("raid5", 4, 65536), ()),
        (layout("raid5", 4, 65536, variant="ls"), ()),
        (layout("raid5", 4, 65536, variant="ra"), ("--layout=right-asymmetric",)),
        (layout("raid6", 5, 65536), ()),
        (layout("raid10", 4, 65536), ("--layout=n2",)),
        (layout("raid10", 4, 65536, variant="far"), ("--layout=f2",)),
    ],
)
def test_only_what_is_no_default_of_mdadm_is_an_option(wanted, words):
    """As in mdadm(8): left-symmetric and near with 2 copies; raid10 is always said."""
    assert tuple(map(str, _layout_option(wanted))) == words


def test_a_rotation_that_mdadm_has_no_name_for_is_refused():
    with pytest.raises(PlanRefused, match="raid6 with the layout ls_6 is not known"):
        _layout_option(layout("raid6", 5, 65536, variant="ls_6"))


@pytest.mark.parametrize(
    ("kind", "state", "words"),
    [
        (Kind.VOLUME, "degraded", "repair it first: `lvconvert --repair -- vg/lv`"),
        (Kind.ARRAY, "degraded", "repair it first: `mdadm /dev/md0 --add NEW`"),
        (Kind.VOLUME, "resync 5 %", "wait until it ends"),
        (Kind.VOLUME, "suspended", "wait until it ends, or repair it"),
        (Kind.ARRAY, "suspended", "wait until it ends, or repair it"),
    ],
)
def test_what_to_do_about_a_device_depends_on_its_state(kind, state, words):
    """A degraded array lacks a member; one that is suspended may lack none."""
    name, label = ("md0", "") if kind is Kind.ARRAY else ("dm-9", "vg/lv")
    device = Device(name, kind, "9:0", label=label, layout=layout("raid5", 4), state=state)
    assert _next_step(device) == words
    assert (
        _next_step(device._replace(layout=None, state="suspended"))
        == "wait until it ends, or repair it"
    )


def test_the_room_that_is_needed_may_be_just_there():
    context = lv_context("raid5", 4, "raid10", free=7)
    path = context.group.pvs[0].path
    require_room(context, {path: 7}, "it")
    with pytest.raises(PlanRefused, match=f"it needs 8 free extents on {path}, which has 7"):
        require_room(context, {path: 8}, "it")
    with pytest.raises(PlanRefused, match="needs 1 free extents on /dev/sdz, which has 0"):
        require_room(context, {"/dev/sdz": 1}, "it")


def test_a_part_of_an_lv_of_an_unknown_type_is_refused():
    context = lv_context("raid5", 4, "raid10")
    part = context.target._replace(kind=Kind.MEMBER, label="vg/lv_part")
    with pytest.raises(PlanRefused, match="vg/lv_part is a sub-LV of a type that is not supported"):
        detach_layers(replace(context, target=part))


def test_the_name_of_a_new_array_must_be_free():
    """It is the present one's with -new."""
    context = md_context("raid5", 4, "raid10")
    assert new_name(context) == "md0-new"
    other = Device("md1", Kind.ARRAY, "9:1", facts={"alias": "md0-new"})
    topology = Topology([*context.topology, other], context.topology.edges)
    with pytest.raises(PlanRefused, match="needs the name md0-new, which is in use"):
        new_name(replace(context, topology=topology))
