"""Whether a device or a file may be given to a job that overwrites it: only one that nobody has a use for."""

from __future__ import annotations

from stackmap.model.device import Kind, Use
from stackmap.model.topology import Topology

USED = {
    "mount": "is mounted at {who}",
    "swap": "is swapped to",
    "vm": "is the disk of {who}",
    "pv": "is a physical volume of LVM",
    "md": "is a member of an md array",
    "loop": "is what {who} stands on",
    "open": "is held open for writing by {who}",
}
# Where nobody keeps files for tests; what is there is the system's.
SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
)  # fmt: skip
SECTOR = 512  # bytes; nothing that was made for direct I/O ends within one
HEAD = 69_632  # bytes of a file that its content is told from: btrfs' magic is the last, at 65,600
# Where a file says what it is: fio's own content says nothing.
SIGNATURES = (
    (0, b"QFI\xfb", "a qcow2 image"),
    (0, b"KDMV", "a VMDK image"),
    (0, b"<<< ", "a VDI image"),
    (0, b"vhdxfile", "a VHDX image"),
    (0, b"conectix", "a VHD image"),
    (0, b"LUKS\xba\xbe", "encrypted (LUKS)"),
    (0, b"XFSB", "an XFS file system"),
    (1080, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    (65_600, b"_BHRfS_M", "a btrfs file system"),
    (32_769, b"CD001", "an ISO 9660 image"),
    (512, b"EFI PART", "an image with a partition table"),
    (510, b"\x55\xaa", "an image with a boot sector or a partition table"),
    (512, b"LABELONE", "a physical volume of LVM"),
    (4096, b"\xfc\x4e\x2b\xa9", "a member of an md array"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0, b"\x7fELF", "a program"),
    (0, b"#!", "a script"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x1f\x8b", "compressed (gzip)"),
    (0, b"\xfd7zXZ\0", "compressed (xz)"),
    (0, b"\x28\xb5\x2f\xfd", "compressed (zstd)"),
    (0, b"PK\x03\x04", "a zip archive"),
)
HIDDEN = frozenset({Kind.MEMBER, Kind.THIN_POOL})


def in_use(topology: Topology, name: str) -> str:
    """Return who has a use for the device *name*, as a sentence without a subject; "" for nobody."""
    device = topology[name]
    for use in device.uses:
        return used_by(use)
    above = [topology[edge.above].title for edge in topology.above(name)]
    if above:
        return f"is what {', '.join(sorted(set(above)))} stands on"
    if device.kind in HIDDEN:
        return f"is a {device.kind}, no volume of its own"
    return "is read-only" if device.read_only else ""


def used_by(use: Use) -> str:
    """Return *use* as a sentence without a subject."""
    return USED.get(use.kind, "is used by {who} ({how})").format(who=use.name, how=use.kind)


def not_a_test_file(path: str, size: int, head: bytes, *, executable: bool) -> str:
    """
    Return why the file at *path*, with no link in it, was hardly made for tests; "" where it may have been.

    *size*: its bytes; *head*: the first ``HEAD`` of them.
    """
    if any(path.startswith(f"{folder}/") for folder in SYSTEM):
        return f"is the system's: nothing below /{path.split('/')[1]} is there for tests"
    for start, magic, what in SIGNATURES:
        if head[start : start + len(magic)] == magic:
            return f"is {what}, by its content"
    if executable:
        return "is a program: it may be executed"
    return f"has {size} bytes, which are no whole sectors: no test's file" if size % SECTOR else ""


def is_source(topology: Topology, source: str, target: str) -> bool:
    """Whether the load of *source* was measured on what *target* is, or is made of."""
    stack = {*topology.with_all_below(source), *topology.with_all_above(source)}
    return target in stack
