"""Whether a job may overwrite a device or file: only if it is unused."""

from __future__ import annotations

from stackmap.model.device import Kind, Use
from stackmap.model.topology import Topology
from stackmap.model.units import SECTOR

USED = {
    "mount": "is mounted at {who}",
    "swap": "is swap space",
    "vm": "is the disk of {who}",
    "pv": "is a physical volume of LVM",
    "md": "is a member of an md array",
    "loop": "is used by {who}",
    "open": "is held open for writing by {who}",
}
# Folders of the system, which hold no test files.
SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
)  # fmt: skip
HEAD = 69_632  # bytes of a file that are checked: the last signature, of btrfs, is at 65,600
# Signatures by offset; fio's own content has none.
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
    """Return who uses the device *name*, as a predicate ("is mounted at /srv"); "" if it is unused."""
    device = topology[name]
    for use in device.uses:
        return used_by(use)
    above = [topology[edge.above].title for edge in topology.above(name)]
    if above:
        return f"is used by {', '.join(sorted(set(above)))}"
    if device.kind in HIDDEN:
        return f"is a {device.kind}, not a volume"
    return "is read-only" if device.read_only else ""


def used_by(use: Use) -> str:
    """Return *use* as a predicate."""
    return USED.get(use.kind, "is used by {who} ({how})").format(who=use.name, how=use.kind)


def not_a_test_file(path: str, size: int, head: bytes, *, executable: bool) -> str:
    """
    Return why the file at *path*, without symbolic links, is no test file; "" if it may be one.

    *size*: bytes; *head*: the first ``HEAD`` bytes.
    """
    if any(path.startswith(f"{folder}/") for folder in SYSTEM):
        return f"is a system file: it is below /{path.split('/')[1]}"
    for start, magic, what in SIGNATURES:
        if head[start : start + len(magic)] == magic:
            return f"is {what}, by its content"
    if executable:
        return "is a program: it is executable"
    return (
        f"has {size} bytes, which is not a multiple of {SECTOR}: not a test file"
        if size % SECTOR
        else ""
    )


def is_source(topology: Topology, source: str, target: str) -> bool:
    """Whether *target* is *source*, or in its stack."""
    stack = {*topology.with_all_below(source), *topology.with_all_above(source)}
    return target in stack
