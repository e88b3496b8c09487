"""What processes read and write: differences of ``/proc/PID/io``, the largest first."""

from __future__ import annotations

from stackmap.model.cgroup_io import ProcessIo
from stackmap.sources import process_io
from tests.machine import DrawnHost

IO = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: {}\nwrite_bytes: {}\ncancelled_write_bytes: {}\n"


def host(**figures):
    """Processes by "pN": bytes read, written and cancelled."""
    files = {f"/proc/{name[1:]}/io": IO.format(*each) for name, each in figures.items()}
    return DrawnHost(files | {"/proc/7/comm": "fio\n", "/proc/uptime": "1 1\n"})


def test_the_largest_comes_first_with_its_name():
    """7 read 11 and wrote 13 more, of which 5 were deleted before they were written; 17 wrote 3; 1 did nothing."""
    before = process_io.read(host(p1=(1, 1, 0), p7=(100, 200, 0), p17=(0, 2, 0)))
    later = host(p1=(1, 1, 0), p7=(122, 226, 10), p17=(0, 5, 0), p19=(99, 99, 0))
    found = process_io.loads(later, before, process_io.read(later), 2.0)

    assert [ProcessIo("7", "fio", 11.0, 8.0), ProcessIo("17", "", 0.0, 1.5)] == found


def test_a_process_has_the_owner_of_its_group():
    """By version 2's line; in version 1 by that of blkio, not by another controller's. The root group is none."""
    docker = "/system.slice/docker-0123456789abcdef.scope"
    texts = {
        f"0::{docker}\n": ("container", "docker 0123456789ab"),
        f"7:cpu,cpuacct:/\n4:blkio:{docker}\n1:name=systemd:/x.service\n0::/\n": ("container", "docker 0123456789ab"),
        "0::/system.slice/mariadb.service\n": ("service", "mariadb"),
        "4:memory:/a.service\n0::/\n": None,
        "": None,
    }  # fmt: skip
    for text, owner in texts.items():
        drawn = host(p7=(5, 0, 0))
        drawn.files["/proc/7/cgroup"] = text
        (found,) = process_io.loads(drawn, {"7": (0, 0)}, process_io.read(drawn), 1.0)
        assert found.owner == owner
        assert found.group == (
            docker
            if owner and owner[0] == "container"
            else "/system.slice/mariadb.service"
            if owner
            else ""
        )
        assert found.title == "fio (7)" + (f" in {owner[1]}" if owner else "")


def test_without_root_there_are_ones_own():
    """The figures of the first process are refused, as those of one that has ended."""
    drawn = host(p7=(1, 2, 0))
    drawn.files["/proc/1/comm"] = "init\n"

    assert process_io.read(drawn) == {"7": (1, 2)}
    assert "/proc/1/io" in drawn.asked
