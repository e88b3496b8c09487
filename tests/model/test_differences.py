"""What is different between two topologies."""

from stackmap.model.device import Device, Kind, Role
from stackmap.model.differences import Change, differences
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.render.json import differences_json
from stackmap.render.tree import render_differences

DISKS = [Device(name, Kind.DISK, "", serial=f"S{name}") for name in ("sda", "sdb")]
VOLUME = Device(
    "dm-7", Kind.VOLUME, "254:7", label="vg/lv", uuid="LVM-7", size=3 << 30, state="active",
    layout=layout("raid5", 4, 65536),
)  # fmt: skip


def one(*devices, edges=()):
    return Topology([*DISKS, *devices], edges)


def test_the_same_is_no_difference():
    found = differences(one(VOLUME), one(VOLUME))
    assert ((), (), ()) == (found.appeared, found.gone, found.changed)
    assert "nothing changed\n" == render_differences(found)


def test_a_device_under_another_number_is_the_same():
    """Kernel names change from boot to boot; the uuid stays, and a disk's serial."""
    other = Topology(
        [DISKS[0]._replace(name="sdb"), DISKS[1]._replace(name="sda"), VOLUME._replace(name="dm-9")]
    )
    found = differences(one(VOLUME), other)
    assert () == (*found.appeared, *found.gone)
    assert {"name"} == {change.what for _, changes in found.changed for change in changes}


def test_what_came_and_what_went():
    new = VOLUME._replace(name="dm-8", uuid="LVM-8", label="vg/new")
    found = differences(one(VOLUME), one(new))
    assert (["vg/new"], ["vg/lv"]) == (
        [device.title for device in found.appeared],
        [device.title for device in found.gone],
    )
    assert "+ vg/new: raid5 3+1, 64 KiB, 3 GiB" in render_differences(found)


def test_what_changed():
    """A migration to RAID10 on another disk, grown."""
    after = VOLUME._replace(layout=layout("raid10", 4, 65536), size=5 << 30)
    found = differences(
        one(VOLUME, edges=[Edge("dm-7", "sda", Role.DATA)]),
        one(after, edges=[Edge("dm-7", "sdb", Role.DATA)]),
    )
    ((device, changes),) = found.changed
    assert "vg/lv" == device.title
    assert Change("layout", "raid5 3+1", "raid10 2×2") in changes
    assert Change("below", "sda (data)", "sdb (data)") in changes
    assert "~ vg/lv: size 3 GiB → 5 GiB\n" in render_differences(found)
    assert "stackmap.diff/1" == differences_json(found)["schema"]


def test_progress_is_no_difference():
    """A check that goes on is the same check."""
    a, b = (VOLUME._replace(state=f"check {done} %") for done in ("3.0", "50.0"))
    assert () == differences(one(a), one(b)).changed
    assert 1 == len(differences(one(VOLUME), one(b)).changed)


def test_paths_to_one_disk_are_apart():
    """They share its WWN."""
    paths = [Device(name, Kind.DISK, "", uuid="0x5000") for name in ("sdm", "sdn")]
    found = differences(one(*paths), one(paths[0]))
    assert (["sdn"], ()) == ([device.title for device in found.gone], found.appeared)
