"""Mounts and swaps."""

from stackmap.sources import mountinfo
from stackmap.sources.mountinfo import Mount

TEXT = r"""
42 35 254:0 / /srv/my\040disk rw,relatime shared:7 master:3 - ext4 /dev/mapper/vg--md-data rw
43 35 0:44 /@ /home rw - btrfs /dev/sda2 rw,subvol=/@
truncated 35 0:4
"""

SWAPS = """Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority
/dev/dm-4                               partition\t65532\t\t0\t\t-2
/swap\\040file                           file\t65532\t\t0\t\t-3
"""


def test_a_mount_has_its_device_and_its_path():
    """Any number of optional fields precedes the separator; paths are octal-escaped."""
    expected = [
        Mount("254:0", "/srv/my disk", "ext4", "/dev/mapper/vg--md-data", {}, "/", "rw,relatime"),
        Mount("0:44", "/home", "btrfs", "/dev/sda2", {"subvol": "/@"}, "/@", "rw"),
    ]
    assert expected == mountinfo.parse(TEXT)


def test_only_devices_are_swapped_to():
    """A swap file is on a mounted file system, so only devices are listed."""
    assert ["/dev/dm-4"] == mountinfo.parse_swaps(SWAPS)
