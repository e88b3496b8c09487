"""What names alone tell."""

import pytest

from stackmap.discover.find import is_hidden, topology_from_names
from stackmap.model.device import Kind, Role
from stackmap.model.far_side import far_side
from stackmap.model.topology import Machine

LAB = Machine("lab", "6.1.0")


def edges(*names):
    return {(e.above, e.below, str(e.role)) for e in topology_from_names(names, LAB).edges}


def test_sub_lvs_stand_below_their_lv():
    """RAID below a thin pool: three layers, with metadata separate; disks are not guessed."""
    names = (
        "vg-p-tpool",
        "vg-p_tdata",
        "vg-p_tmeta",
        "vg-p_tdata_rimage_0",
        "vg-p_tdata_rmeta_0",
        "sda",
    )

    assert edges(*names) == {
        ("vg-p-tpool", "vg-p_tdata", "data"),
        ("vg-p-tpool", "vg-p_tmeta", "metadata"),
        ("vg-p_tdata", "vg-p_tdata_rimage_0", "data"),
        ("vg-p_tdata", "vg-p_tdata_rmeta_0", "metadata"),
    }


@pytest.mark.parametrize(
    ("upper", "lower", "role"),
    [
        ("vg-lv", "vg-lv_mimage_1", Role.DATA),
        ("vg-lv", "vg-lv_corig", Role.ORIGIN),
        ("vg-lv", "vg-lv-cow", Role.COW),
        ("a--b-c--d", "a--b-c--d_rimage_0", Role.DATA),
        ("sda1", "sda", Role.DATA),
        ("nvme0n1p3", "nvme0n1", Role.DATA),
    ],
)
def test_what_stands_on_what(upper, lower, role):
    """Whatever order the text has them in; of another's sub-LV, or none to stand on, nothing."""
    assert edges(lower, upper) == {(upper, lower, str(role))}
    assert edges(lower, "vg-other", "sdb") == set()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sda", Kind.DISK),
        ("nvme0n1", Kind.DISK),
        ("dm-0", Kind.DM),
        ("dev8-0", Kind.DISK),
        ("dev253-0", Kind.DM),
        ("md127", Kind.ARRAY),
        ("vg-root", Kind.VOLUME),
        ("luks", Kind.DISK),
        ("luks-0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d", Kind.CRYPT),
        ("dm_crypt-0", Kind.CRYPT),
        ("mpatha-part1", Kind.DM),
        ("360050768018e8f0b1c2d3e4f5a6b7c8d", Kind.DM),
        ("docker-253:0-1234-pool", Kind.DM),
        ("wwn-0x5000c500a1b2c3d4", Kind.DISK),
        ("scsi-35000c500a1b2c3d4", Kind.DISK),
        ("nvme-eui.0025385b71b00e3a", Kind.DISK),
        ("ata-ST4000NM0035-1V4107_ZC1A2B3C", Kind.DISK),
        ("ST4000NM0035-1V4107_ZC1A2B3C", Kind.DISK),
        ("nvme-data", Kind.VOLUME),
        ("vg-LV_20261112", Kind.VOLUME),
        ("ora-REDO_LOGS", Kind.VOLUME),
    ],
)
def test_kinds(name, kind):
    """A kernel name with a hyphen is no LV, nor is a name that an installer or udev makes of other parts."""
    device = topology_from_names([name], LAB)[name]

    assert device.kind is kind
    assert bool(device.label) == (kind is Kind.VOLUME or name == "dev8-0")


def test_the_name_of_a_disk_by_its_number():
    """The numbers of SCSI disks and arrays are fixed; others are given when a driver is loaded."""
    names = ["dev8-96", "dev65-165", "dev9-127", "dev7-0", "dev253-0", "dev259-1"]
    topology = topology_from_names(names, LAB)

    labels = ["sdg", "sdaa5", "md127", "", "", ""]
    assert [topology[name].label for name in names] == labels
    assert far_side(topology["dev7-0"]).what == "a loop device"


def test_a_raid_volume_is_one_by_what_is_below():
    """The level is unknown; the machine is that of the text."""
    tree = topology_from_names(["vg-lv", "vg-lv_rimage_0"], LAB)

    assert (tree["vg-lv"].target, tree["vg-lv"].layout, tree["vg-lv"].label) == (
        "raid",
        None,
        "vg/lv",
    )
    assert (tree.machine, len(tree.unknown)) == (LAB, 1)


def test_hidden():
    """Only LVM gives such names."""
    assert [is_hidden(n) for n in ("vg-lv_rimage_0", "vg-lv", "sda")] == [True, False, False]
