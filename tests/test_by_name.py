"""What names alone tell."""

import pytest

from stackmap.discover.find import is_hidden, topology_from_names
from stackmap.model.device import Kind, Role
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
    ],
)
def test_kinds(name, kind):
    """A kernel name with a hyphen is no LV."""
    assert topology_from_names([name], LAB)[name].kind is kind


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
