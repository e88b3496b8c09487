"""Which device a name in a text means."""

import pytest

from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE
from stackmap.model.topology import Machine, Topology, of_another
from stackmap.text.device_names import Names, aliases, kernel_name

ROOT = Device("dm-2", Kind.VOLUME, "253:2", label="vg-a/café", dm_name="vg--a-café", uuid="LVM-abc")
DISK = Device("sda", Kind.DISK, "8:0", model="Best Disk", serial="S7", wwn="0x5000c500a1b2c3d4")
ARRAY = Device("md127", Kind.ARRAY, "9:127", facts={"alias": "home"})
STACK = Topology([ROOT, DISK, ARRAY])


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("dm-2", "dm-2"),
        ("/dev/sda", "sda"),
        ("dev253-2", "dm-2"),
        ("dev8-0", "sda"),
        ("vg--a-café", "dm-2"),
        (r"vg--a-caf\xc3\xa9", "dm-2"),
        ("/dev/mapper/vg--a-café", "dm-2"),
        ("vg-a/café", "dm-2"),
        ("dm-uuid-LVM-abc", "dm-2"),
        ("wwn-0x5000c500a1b2c3d4", "sda"),
        ("0x5000c500a1b2c3d4", "sda"),
        ("/dev/disk/by-id/ata-Best_Disk_S7", "sda"),
        ("md/home", "md127"),
        ("dev253-3", None),
        ("dm-3", None),
        ("ALL", None),
        ("", None),
    ],
)
def test_names(printed, name):
    """All forms of sysstat's options; an unknown name, such as a group of devices, has no device."""
    assert name == kernel_name(printed, aliases(STACK))


def test_a_kernel_name_is_never_anothers():
    """Someone named a volume sda, and gave a disk the serial number of a volume's name."""
    volume = Device("dm-3", Kind.VOLUME, "253:3", label="sda", dm_name="S7")

    known = aliases(Topology([DISK, volume]))

    assert ("sda", "dm-3") == (known["sda"], known["S7"])


def test_what_two_devices_bear_means_neither():
    """The paths of a multipath disk have its WWN."""
    paths = [
        Device(name, Kind.DISK, number, wwn="0x5")
        for name, number in (("sda", "8:0"), ("sdb", "8:16"))
    ]

    assert kernel_name("wwn-0x5", aliases(Topology(paths))) is None


def test_strangers_are_counted():
    """Row by row; figures stay under the printed name."""
    names = Names(STACK)
    report = Interval({"vg--a-café": IDLE, "vdx": IDLE})

    first, second = names.resolved(report), names.resolved(report)

    assert first.loads == second.loads == {"dm-2": IDLE, "vdx": IDLE}
    assert (names.strangers, names.known) == ({"vdx": 2}, 2)


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        (Machine(), ""),
        (Machine("lab.example.org", "6.1.0"), ""),
        (Machine("", "6.1.0"), ""),
        (Machine("other", "6.1.0"), "host other, not lab"),
        (Machine("lab", "6.12.3"), "kernel 6.12.3, not 6.1.0"),
        (Machine("other", "6.12.3"), "host other, not lab; kernel 6.12.3, not 6.1.0"),
    ],
)
def test_what_gives_another_machine_away(theirs, told):
    """A host is the same with and without its domain; missing facts prove nothing."""
    assert told == of_another(Machine("lab", "6.1.0", "boot"), theirs)


def test_the_only_path_to_an_nvme_namespace_has_its_figures():
    """Kernels that count no I/O of a namespace with native multipath have that of its paths."""
    stack = Topology([Device(f"nvme{n}n1", Kind.DISK, f"259:{n}") for n in (2, 3, 4)])
    rows = ["nvme2c7n1", "nvme3c8n1", "nvme3c9n1", "nvme4c4n1", "nvme4n1", "nvme5c5n1"]
    names = Names(stack)
    resolved = names.resolved(Interval(dict.fromkeys(rows, IDLE)))
    assert [*resolved.loads] == ["nvme2n1", *rows[1:]]
    assert [*names.strangers] == ["nvme3c8n1", "nvme3c9n1", "nvme4c4n1", "nvme5c5n1"]


def test_an_array_that_only_its_alias_names():
    """`mdadm --detail /dev/md/data` does not tell md127; where two arrays have figures, neither is known."""
    one = Topology([Device("md/data", Kind.ARRAY, ""), DISK])
    for word in ("md127", "dev9-127"):
        loads = Names(one).resolved(Interval({word: IDLE, "sda": IDLE})).loads
        assert [*loads] == ["md/data", "sda"]
    two = Names(one)
    assert [*two.resolved(Interval({"md127": IDLE, "md126": IDLE})).loads] == ["md127", "md126"]
    assert [*two.strangers] == ["md127", "md126"]
