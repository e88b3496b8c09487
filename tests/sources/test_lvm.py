"""LVM's names and uuids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.model.device import Role
from stackmap.sources import lvm_names
from tests.machine import lvm_uuid

NAMES = {
    ("vg--md-home--dirs", ""): ("vg-md/home-dirs", "", Role.DATA),
    ("my--vg-r5_rimage_0", ""): ("my-vg/r5_rimage_0", "rimage", Role.DATA),
    # Since LVM 2.03.36 hidden LVs have a layer in the uuid.
    ("tank-r5_rmeta_11", "real"): ("tank/r5_rmeta_11", "rmeta", Role.METADATA),
    ("tank-pool", "pool"): ("tank/pool", "", Role.DATA),
    ("tank-pool-tpool", "tpool"): ("tank/pool-tpool", "tpool", Role.DATA),
    ("tank-pool_tmeta", "tmeta"): ("tank/pool_tmeta", "tmeta", Role.METADATA),
    ("tank-x_corig", "real"): ("tank/x_corig", "corig", Role.ORIGIN),
    ("tank-fast_cvol-cdata", "cdata"): ("tank/fast_cvol-cdata", "cdata", Role.CACHE),
    ("tank-cpool_cpool_cmeta", "cmeta"): ("tank/cpool_cpool_cmeta", "cmeta", Role.METADATA),
    ("tank-i_rimage_0_imeta", ""): ("tank/i_rimage_0_imeta", "imeta", Role.METADATA),
    ("tank-snap-cow", "cow"): ("tank/snap-cow", "cow", Role.COW),
    ("tank-pvmove0", ""): ("tank/pvmove0", "pvmove", Role.DATA),
    ("tank-rimage", ""): ("tank/rimage", "", Role.DATA),
}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[0])
def test_what_a_name_says(name):
    """Label, ending and role of a hidden LV."""
    found = lvm_names.parse(name[0], lvm_uuid(7, name[1]))
    assert NAMES[name] == (found.label, found.ending, found.role)


def test_the_place_of_one_of_several():
    assert 11 == lvm_names.parse("tank-r5_rmeta_11", lvm_uuid(7)).position


def test_a_name_alone_is_not_lvms():
    """Another device may have a name like an LV's; only the uuid counts."""
    assert lvm_names.parse("tank-r5_rimage_0", "CRYPT-LUKS2-abc-tank-r5_rimage_0") is None


PART = st.from_regex(r"[a-z0-9_.+][a-z0-9_.+-]{0,8}", fullmatch=True)


@given(st.lists(PART, min_size=1, max_size=3))
def test_doubled_hyphens_come_back(parts):
    """The parts that LVM joins are separated again."""
    assert parts == lvm_names.split_name("-".join(part.replace("-", "--") for part in parts))


@given(st.text(max_size=20))
def test_mangling_comes_back(name):
    r"""Bytes outside of the whitelist stand as ``\xNN``."""
    mangled = "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\x{byte:02x}"
        for byte in name.encode()
    )
    assert name == lvm_names.unmangle(mangled)
