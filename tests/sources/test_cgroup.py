"""io.stat of control groups."""

from typing import ClassVar

from stackmap.errors import SourceDenied, SourceMissing
from stackmap.model.cgroup_io import CgroupCounters, CgroupLoad, cgroup_loads
from stackmap.sources import cgroup

LINE = "254:8 rbytes=2 wbytes=3 rios=5 wios=7 dbytes=11 dios=13"


class Groups:
    """A host with a tree of groups; one of them may not be read, one is gone."""

    FILES: ClassVar = {
        "": ["cgroup.procs", "io.stat", "system.slice", "machine.slice", "init.scope"],
        "/system.slice": ["cgroup.procs", "cpu.stat", "db.service", "io.service"],
        "/system.slice/db.service": ["cgroup.procs", "io.stat", "memory.max"],
        "/system.slice/io.service": ["io.stat"],
        "/machine.slice": ["io.max"],
        "/init.scope": ["io.stat"],
    }

    def names_in(self, path):
        return self.FILES[path.removeprefix(cgroup.ROOT)]

    def read(self, path):
        if "machine" in path:
            raise SourceMissing(path)
        if "init" in path:
            raise SourceDenied(path)
        return f"{LINE}\n"


def test_the_innermost_groups_are_asked():
    """A group's figures include those of its subgroups: only the innermost are reported."""
    found = cgroup.read(Groups())

    assert set(found) == {
        ("/system.slice/db.service", "254:8"),
        ("/system.slice/io.service", "254:8"),
    }


def test_fields_are_told_by_name():
    """Each figure is a different prime; a line without figures, as for an idle device, is ignored."""
    assert cgroup.parse(f"8:0 \n{LINE}\n9:1 rbytes=x wbytes=1 rios=1 wios=1\n") == {
        "254:8": CgroupCounters(reads=5, read_bytes=2, writes=7, write_bytes=3)
    }


def test_what_grew_is_a_rate():
    """17 requests and 19 bytes in half a second; a group that is new, or was made again, has none."""
    before = {
        ("/a", "8:0"): CgroupCounters(2, 3, 5, 7),
        ("/back", "8:0"): CgroupCounters(9, 9, 9, 9),
    }
    after = {
        ("/a", "8:0"): CgroupCounters(13, 12, 11, 17),
        ("/new", "8:0"): CgroupCounters(99, 99, 99, 99),
        ("/back", "8:0"): CgroupCounters(1, 1, 99, 99),
    }

    assert cgroup_loads(before, after, 0.5) == [CgroupLoad("/a", "8:0", 34.0, 38.0)]


OLDER = {
    "": ["blkio", "cpu", "systemd", "unified"],
    "/blkio": ["a", "blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced", "tasks"],
    "/blkio/a": ["b", "blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced", "tasks"],
    "/blkio/a/b": ["blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced", "tasks"],
    "/systemd": ["a", "tasks"],
    "/systemd/a": ["tasks"],
}


def test_version_1_tells_of_each_group_alone():
    """Each group has its own counters, without those of its subgroups."""
    host = Groups()
    host.FILES = OLDER
    lines = "254:8 Read {}\n254:8 Write {}\n254:8 Sync 1\n254:8 Total 1\nTotal 1\n"
    host.read = lambda path: lines.format(*((2, 3) if path.endswith("serviced") else (5, 7)))

    charge = CgroupCounters(reads=2, read_bytes=5, writes=3, write_bytes=7)
    assert {("/a", "254:8"): charge, ("/a/b", "254:8"): charge} == cgroup.read(host)


def test_a_damaged_file_of_version_1_tells_nothing():
    """One direction, an invalid figure, or bytes without requests: no counters, and no zeros."""
    assert {} == cgroup.parse_v1("8:0 Read 2\n", "8:0 Read 3\n8:0 Write 5\n")
    assert {} == cgroup.parse_v1("8:0 Read x\n8:0 Write 5\n", "8:0 Read 3\n8:0 Write 5\n")
    assert {} == cgroup.parse_v1("8:0 Read 2\n8:0 Write 5\n", "8:16 Read 3\n8:16 Write 5\n")
