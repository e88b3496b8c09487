"""
The target of a fio job: a device or file that is unused on every machine involved.

A job overwrites its target. So a device that anything uses is refused, and a file whose content is
no test data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from stackmap.discover import discover
from stackmap.discover.find import find
from stackmap.discover.uses import file_uses, guest_number, sees_all_processes, writers
from stackmap.errors import InputError, NameNotFound, TargetRefused
from stackmap.features.plan.plan import path_of
from stackmap.model.device import Kind, Use
from stackmap.model.operand import AbsolutePath
from stackmap.model.topology import NO_TOPOLOGY, Topology
from stackmap.model.units import SECTOR

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.host import Host
    from stackmap.measurement.source import Measurement

DEV = "/dev/"
# Blanks end a name in fio's job file, # and ; begin a comment, and $ may run a program (bc).
NOT_IN_A_JOB = frozenset(" #;$")
UNSEEN = "not known: whether another user's process writes to {path}; run as root to find out"
WRITTEN = "{path} has {size} bytes of data, which the job overwrites"
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


class Target(NamedTuple):
    """A path for a job, None for the user to set, and notes on it."""

    path: AbsolutePath | None
    notes: tuple[str, ...] = ()


NONE = Target(None)


def target_of(session: Session, measured: Measurement, source: str, target: str) -> Target:
    """
    Return the device or file of *target*; ``TargetRefused`` if it is, or may be, in use.

    It is checked on the measured machine and on this one, where fio may run:
    a path may mean another device there.
    """
    from stackmap.host.live import LiveHost

    here: Host = session.host if session.live else LiveHost()
    topology = measured.topology
    machines = [topology]
    if not session.live or NO_TOPOLOGY in topology.unknown:
        machines.append(discover(here))
    paths = [_judged(machine, source, target, first=machine is topology) for machine in machines]
    path = next(filter(None, paths), None)
    chosen = Target(path) if path else _file(session.host, here, target)
    if chosen.path is not None and NOT_IN_A_JOB & {*chosen.path}:
        raise TargetRefused(f"{chosen.path}: a job file cannot name it")
    return chosen


def _judged(machine: Topology, source: str, target: str, *, first: bool) -> AbsolutePath | None:
    devices = find(machine, target)
    if len(devices) > 1:
        raise click.UsageError(f"--target {target} matches {len(devices)} devices: choose one")
    if not devices:
        return None
    (name,) = devices
    if first and is_source(machine, source, name):
        raise TargetRefused(f"{target} is, or is part of, the measured volume")
    reason = in_use(machine, name)
    if reason:
        raise TargetRefused(f"{target} {reason}: choose an unused volume")
    return path_of(machine[name])


def _file(there: Host, here: Host, target: str) -> Target:
    """Return the file *target* of this machine, *here*; refused if the measured one, *there*, uses it."""
    if target.startswith(DEV) or os.sep not in target:
        raise NameNotFound(f"no device named '{target}'")
    if not os.path.isfile(target):
        raise InputError(f"{target}: no such file; create it first, in the size of the test")
    path = os.path.realpath(target)
    status = os.stat(path)
    reason = next(map(used_by, _uses(there, here, path)), "") or _content(path, status)
    if reason:
        raise TargetRefused(f"{target} {reason}: choose an unused file")
    written = status.st_size and status.st_blocks  # a file of holes has nothing to lose
    notes = [WRITTEN.format(path=path, size=status.st_size)] if written else []
    if not sees_all_processes(here):
        notes.append(UNSEEN.format(path=path))
    return Target(AbsolutePath(os.path.abspath(target)), tuple(notes))


def _uses(there: Host, here: Host, path: str) -> Iterator[Use]:
    """Yield the uses of the file at *path*, which has no link in it."""
    if number := guest_number(path):
        yield Use("vm", f"guest {number}", "file name")
    for host in (here,) if there is here else (here, there):
        yield from (use for used, use in file_uses(host) if _is_same(used, path))
    for used, use in writers(here, os.path.basename(path)):
        if _is_same(used, path):
            yield use


def _is_same(used: str, path: str) -> bool:
    if used == path:
        return True
    try:
        return os.path.samefile(used, path)
    except (OSError, ValueError):  # removed, of the recorded machine, or no path at all
        return False


def _content(path: str, status: os.stat_result) -> str:
    """Return the reason against tests on the file at *path*, "" for none; an unreadable one may hold anything."""
    try:
        # The kernel's log would wait for a message.
        with open(path, "rb", opener=lambda name, how: os.open(name, how | os.O_NONBLOCK)) as file:
            head = file.read(HEAD)
    except OSError as error:
        return f"cannot be read ({error.strerror}), so its content is not known"
    return not_a_test_file(path, status.st_size, head, executable=bool(status.st_mode & 0o111))


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
