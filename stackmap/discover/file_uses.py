"""Who uses files as disks: loop devices, swap, virtual machines, and whoever has one open for writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.model.device import Use
from stackmap.sources import libvirt, proxmox, swaps
from stackmap.sources.sysfs import attribute, names_in

if TYPE_CHECKING:
    from stackmap.host import Host

BLOCKS = "/sys/block"
WRITING = 0o3  # O_WRONLY or O_RDWR, of a descriptor's flags

Files = Iterator[tuple[str, Use]]


def file_uses(host: Host) -> Files:
    """Yield the files that *host* uses as disks, by their paths there, and by whom each is used."""
    return chain.from_iterable(finder(host) for finder in FINDERS)


def loops(host: Host) -> Files:
    """Yield the files behind loop devices."""
    for name in names_in(host, BLOCKS):
        if name.startswith("loop"):
            source = f"{BLOCKS}/{name}/loop/backing_file"
            if path := attribute(host, source):
                yield path, Use("loop", name, source)


def swapped(host: Host) -> Files:
    """Yield the files swapped to."""
    try:
        paths = swaps.files(host)
    except SourceError:
        return
    for path in paths:
        yield path, Use("swap", "[SWAP]", swaps.PATH)


def images(host: Host) -> Files:
    """Yield the disks of libvirt's domains, those that a disk is a snapshot of among them."""
    for domain in libvirt.read(host):
        for path in domain.images:
            yield path, Use("vm", domain.name, domain.source)


def guest_number(path: str) -> str:
    """
    Return the number of the Proxmox guest whose disk the file at *path* is called, "" for none.

    >>> guest_number("/var/lib/vz/images/100/vm-100-disk-0.qcow2")
    '100'
    """
    return proxmox.guest_number(path.rpartition("/")[2].partition(".")[0])


def writers(host: Host, name: str) -> Files:
    """
    Yield the descriptors that are open for writing of any file called *name*, as paths of /proc, with whose they are.

    A process may know a file by another path, where it has a root of its own; the
    last part of it stays. A process that may not be looked at is passed over:
    whether there may be such is told by ``is_all_seen``.
    """
    for pid in names_in(host, "/proc"):
        if pid.isdecimal():
            for number in _opened(host, pid):
                path = f"/proc/{pid}/fd/{number}"
                if _is_called(host, path, name) and _writes(host, pid, number):
                    who = attribute(host, f"/proc/{pid}/comm") or "a process"
                    yield path, Use("open", f"{who} ({pid})", path)


def sees_all_processes(host: Host) -> bool:
    """Whether the files of all processes may be looked at: the first one's may by root alone."""
    try:
        host.names_in("/proc/1/fd")
    except SourceError:
        return False
    return True


def _opened(host: Host, pid: str) -> list[str]:
    return names_in(host, f"/proc/{pid}/fd")


def _is_called(host: Host, path: str, name: str) -> bool:
    try:
        return host.link(path).rpartition("/")[2] == name
    except SourceError:  # it was closed meanwhile
        return False


def _writes(host: Host, pid: str, number: str) -> bool:
    lines = attribute(host, f"/proc/{pid}/fdinfo/{number}").splitlines()
    flags = next((line.split()[1] for line in lines if line.startswith("flags:")), "0")
    return bool(int(flags, 8) & WRITING)


FINDERS: tuple[Callable[[Host], Files], ...] = (loops, swapped, images)
