"""Users of files as disks: loop devices, swap, virtual machines, and processes that write."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import Use
from stackmap.sources import guests, mountinfo
from stackmap.sources.sysfs import ROOT, attribute, link, list_names

WRITING = 0o3  # O_WRONLY or O_RDWR, of a descriptor's flags

Files = Iterator[tuple[str, Use]]


def file_uses(host: Host) -> Files:
    """Yield the path and the user of each file that *host* uses as a disk."""
    for name in list_names(host, ROOT):
        if name.startswith("loop"):
            source = f"{ROOT}/{name}/loop/backing_file"
            if path := attribute(host, source):
                yield path, Use("loop", name, source)
    for path in mountinfo.swap_files(host):
        yield path, Use("swap", "[SWAP]", mountinfo.SWAPS)
    for domain in guests.domains(host):  # the images and their backing files
        for path in domain.images:
            yield path, Use("vm", domain.name, domain.source)


def guest_number(path: str) -> str:
    """
    Return the number of the Proxmox guest that the image at *path* is named after, "" for none.

    >>> guest_number("/var/lib/vz/images/100/vm-100-disk-0.qcow2")
    '100'
    """
    return guests.guest_number(path.rpartition("/")[2].partition(".")[0])


def writers(host: Host, name: str) -> Files:
    """
    Yield the descriptors open for writing of any file called *name*, as /proc paths, with their users.

    Only the last part of a path is compared, because a process may have another
    root. Processes that may not be inspected are skipped; see ``sees_all_processes``.
    """
    for pid in list_names(host, "/proc"):
        if pid.isdecimal():
            for number in list_names(host, f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{number}"
                called = link(host, path).rpartition("/")[2]  # "" if it was closed meanwhile
                if called and called == name and _writes(host, pid, number):
                    who = attribute(host, f"/proc/{pid}/comm") or "a process"
                    yield path, Use("open", f"{who} ({pid})", path)


def sees_all_processes(host: Host) -> bool:
    """Whether the open files of every process can be inspected; only root can inspect PID 1."""
    try:
        host.names_in("/proc/1/fd")
    except SourceError:
        return False
    return True


def _writes(host: Host, pid: str, number: str) -> bool:
    lines = attribute(host, f"/proc/{pid}/fdinfo/{number}").splitlines()
    flags = next((line.split()[1] for line in lines if line.startswith("flags:")), "0")
    return bool(int(flags, 8) & WRITING)
