"""
``/proc/PID/io``: the bytes that a process has caused to be read from storage and to be written to it.

They are of all devices together. ``write_bytes`` counts a page when the process makes it dirty, not when it is
written; direct I/O, on btrfs and XFS too, counts at once. Other users' processes need root, and a container may
not inspect those outside. A process that ends
between two samples is not seen.
"""

from collections.abc import Mapping

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.cgroup_io import ProcessIo
from stackmap.sources.cgroup import group_of_process, owner
from stackmap.sources.sysfs import attribute, list_names

MOST = 10  # processes that are named


def read(host: Host) -> dict[str, tuple[int, int]]:
    """Return the bytes read and written by each process since its start, by PID; without root, by one's own."""
    moved = {}
    for pid in list_names(host, "/proc"):
        if pid[0] in "123456789":
            try:
                moved[pid] = parse(host.read(f"/proc/{pid}/io"))
            except SourceError:  # it has ended, or is another user's
                continue
    return moved


def parse(text: str) -> tuple[int, int]:
    r"""
    Return the bytes read and written; what was deleted before it was written does not count.

    >>> parse("rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n")
    (4096, 4096)
    """
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    done, written, cancelled = (
        int(values.get(key, "0")) for key in ("read_bytes", "write_bytes", "cancelled_write_bytes")
    )
    return done, written - cancelled


def loads(
    host: Host,
    before: Mapping[str, tuple[int, int]],
    after: Mapping[str, tuple[int, int]],
    seconds: float,
) -> list[ProcessIo]:
    """Return the processes with most bytes between two samples, with their names and groups, the largest first."""
    grown = [
        (max(0, now[0] - then[0]), max(0, now[1] - then[1]), pid)
        for pid, now in after.items()
        if (then := before.get(pid)) is not None and now != then
    ]
    grown.sort(key=lambda process: -(process[0] + process[1]))
    largest = []
    for done, written, pid in grown[:MOST]:
        if done or written:
            name, group = attribute(host, f"/proc/{pid}/comm"), group_of_process(host, pid)
            rates = done / seconds, written / seconds
            largest.append(ProcessIo(pid, name, *rates, group, owner(group)))
    return largest
