"""Names as people write them."""

import pytest

from stackmap.discover.find import (
    find,
    find_all,
    find_existing,
    find_one_name,
    not_found,
    unmatched,
)
from stackmap.errors import NameNotFound
from stackmap.model.device import Device, Kind, Use
from stackmap.model.topology import Topology

TOPOLOGY = Topology(
    [
        Device("dm-2", Kind.VOLUME, "254:2", label="vg-md/home-dirs"),
        Device("dm-3", Kind.MEMBER, "254:3", label="vg-md/home-dirs_rimage_0"),
        Device("dm-5", Kind.VOLUME, "254:5", label="other/home-dirs"),
        Device("dm-7", Kind.THIN_POOL, "254:7", label="other/pool-tpool"),
        Device("dm-11", Kind.CRYPT, "254:11", label="luks-home"),
        Device("md127", Kind.ARRAY, "9:127", facts={"alias": "array5"}),
        Device("sda", Kind.DISK, "8:0", uses=(Use("mount", "/srv", "mountinfo"),)),
    ]
)

NAMES = {
    "sda": ["sda"],
    "8:0": ["sda"],
    "/dev/sda": ["sda"],
    "dm-2": ["dm-2"],
    "vg-md/home-dirs": ["dm-2"],
    "/dev/vg-md/home-dirs": ["dm-2"],
    "/dev/mapper/vg--md-home--dirs": ["dm-2"],
    "/dev/mapper/other-pool-tpool": ["dm-7"],
    "/dev/mapper/luks-home": ["dm-11"],
    "home-dirs": ["dm-5", "dm-2"],
    "vg-md": ["dm-2"],
    "md127": ["md127"],
    "array5": ["md127"],
    "/dev/md/array5": ["md127"],
    "md/array5": ["md127"],
    "/srv": ["sda"],
    "/srv/": ["sda"],
    "": [],
    "/dev/": [],
    "nothing": [],
}


PATTERNS = {
    "sd*": ["sda"],
    "/dev/sd?": ["sda"],
    "dm-[2-3]": ["dm-2"],
    "vg-md/*": ["dm-2"],
    "*_rimage_[0-9]": ["dm-3"],
    "*home-dirs": ["dm-2", "dm-5"],
    "array*": ["md127"],
    "/sr*": ["sda"],
    "SD*": [],
    "x*": [],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_a_pattern_matches(pattern):
    """All devices with such a name; LVM's sub-LVs only if nothing else matches."""
    assert sorted(PATTERNS[pattern]) == sorted(find_existing(TOPOLOGY, [pattern]))
    assert find(TOPOLOGY, pattern) == []


def test_an_exact_name_comes_first():
    """[SWAP] is a user, although it looks like a pattern that matches one letter."""
    swap = Device("sdb", Kind.DISK, "8:16", uses=(Use("swap", "[SWAP]", "swaps"),))
    topology = Topology([swap, Device("S", Kind.DISK, "8:32")])

    assert find_existing(topology, ["[SWAP]"]) == ["sdb"]
    assert find_one_name(topology, "[SWAP]") == ["sdb"]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_name_means(name):
    assert NAMES[name] == find(TOPOLOGY, name)


def test_each_device_once():
    """A VG and an LV in it are that VG."""
    assert ["dm-2"] == find_all(TOPOLOGY, ["vg-md", "vg-md/home-dirs"])


def test_some_found():
    """A name that is not found does not stop a command if another is; it is reported."""
    assert ["sda"] == find_all(TOPOLOGY, ["sda", "nothing"])
    assert ["nothing"] == unmatched(TOPOLOGY, ["sda", "nothing"])


def test_none_found():
    with pytest.raises(NameNotFound, match="'nothing' or 'no one'"):
        find_all(TOPOLOGY, ["nothing", "no one"])


def test_no_names_is_no_wish():
    assert [] == find_all(TOPOLOGY, [])


@pytest.mark.parametrize(
    ("name", "similar"),
    [("home-dir", "home-dirs"), ("VG-MD", "vg-md"), ("/SRV", "/srv"), ("xyz", "")],
)
def test_a_similar_name_is_suggested(name, similar):
    """In any case; the command that lists all names if none is similar."""
    message = not_found(TOPOLOGY, [name])

    assert message.partition("; ")[0] == f"no device named '{name}'"
    advice = f"did you mean '{similar}'?" if similar else "run `stackmap tree` to list names"
    assert message.partition("; ")[2] == advice
